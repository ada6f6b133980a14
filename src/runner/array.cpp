// Arrays: memory, strides, and copies between layouts.
#include "runner/array.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>

namespace pipec::runner {

namespace {
constexpr std::align_val_t kAlignment{64};

template <class Word>
void copy_words(const Extents& extents, const Word* from, const Extents& from_strides, Word* to,
                const Extents& to_strides) {
    const std::size_t rank = extents.size();
    if (std::any_of(extents.begin(), extents.end(), [](std::int64_t e) { return e == 0; })) return;
    if (rank == 0) {
        *to = *from;
        return;
    }
    // The dimension that is innermost in the target goes last, so that writes are contiguous.
    std::vector<std::size_t> dims(rank);
    std::iota(dims.begin(), dims.end(), std::size_t{0});
    std::stable_sort(dims.begin(), dims.end(), [&](auto a, auto b) { return to_strides[a] > to_strides[b]; });
    const std::size_t inner = dims.back();
    const std::int64_t n = extents[inner], from_step = from_strides[inner], to_step = to_strides[inner];
    Extents at(rank, 0);
    for (;;) {
        for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
        std::size_t level = rank - 1;  // the next row: count up the outer dimensions like an odometer
        for (;;) {
            if (level == 0) return;
            const std::size_t dim = dims[--level];
            from += from_strides[dim];
            to += to_strides[dim];
            if (++at[dim] < extents[dim]) break;
            from -= from_strides[dim] * extents[dim];
            to -= to_strides[dim] * extents[dim];
            at[dim] = 0;
        }
    }
}
}  // namespace

Memory::Memory(std::size_t size) : size_(size) {
    // The aligned operator new of libstdc++ rounds sizes up, and near SIZE_MAX around to small ones.
    if (size > PTRDIFF_MAX) throw std::bad_alloc();
    bytes_.reset(static_cast<std::byte*>(::operator new(std::max<std::size_t>(size, 1), kAlignment)));
}

void Memory::Free::operator()(std::byte* p) const {
    ::operator delete(p, kAlignment);
}

Array::Array(ir::Type element, Extents shape)
    : type(element), extents(std::move(shape)), data(byte_size(type, extents)) {}

std::size_t Array::size() const {
    return data.size() / static_cast<std::size_t>(ir::bytes(type));
}

std::size_t byte_size(ir::Type type, const Extents& extents) {
    auto result = static_cast<std::size_t>(ir::bytes(type));
    for (const std::int64_t extent : extents) {
        if (extent < 0 || __builtin_mul_overflow(result, static_cast<std::size_t>(extent), &result)) {
            throw std::bad_alloc();
        }
    }
    return result;
}

Extents dense_strides(const Extents& extents, const std::vector<int>& order) {
    Extents strides(extents.size());
    std::int64_t step = 1;
    for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
        strides[static_cast<std::size_t>(*dim)] = step;
        step *= extents[static_cast<std::size_t>(*dim)];
    }
    return strides;
}

Extents dense_strides(const Extents& extents) {
    std::vector<int> order(extents.size());
    std::iota(order.begin(), order.end(), 0);
    return dense_strides(extents, order);
}

std::size_t span_bytes(ir::Type type, const Extents& extents, const Extents& strides) {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < extents.size(); ++i) {
        if (extents[i] == 0) return 0;
        last += (extents[i] - 1) * strides[i];
    }
    return static_cast<std::size_t>(last + 1) * static_cast<std::size_t>(ir::bytes(type));
}

void copy_strided(ir::Type type, const Extents& extents, const std::byte* from, const Extents& from_strides,
                  std::byte* to, const Extents& to_strides) {
    const auto copy = [&](auto word) {
        using Word = decltype(word);
        copy_words(extents, reinterpret_cast<const Word*>(from), from_strides, reinterpret_cast<Word*>(to), to_strides);
    };
    switch (ir::bytes(type)) {
        case 1: return copy(std::uint8_t{});
        case 2: return copy(std::uint16_t{});
        case 4: return copy(std::uint32_t{});
        default: return copy(std::uint64_t{});
    }
}

Array transpose(const Array& array, const std::vector<int>& dims) {
    const Extents strides = dense_strides(array.extents);
    Extents extents, from_strides;
    for (const int dim : dims) {
        extents.push_back(array.extents[static_cast<std::size_t>(dim)]);
        from_strides.push_back(strides[static_cast<std::size_t>(dim)]);
    }
    Array result(array.type, extents);
    copy_strided(array.type, extents, array.data.data(), from_strides, result.data.data(), dense_strides(extents));
    return result;
}

std::string shape_text(const Extents& extents) {
    if (extents.empty()) return "a single value";
    std::string text;
    for (const std::int64_t extent : extents) text += (text.empty() ? "" : " x ") + std::to_string(extent);
    return text;
}

}  // namespace pipec::runner
