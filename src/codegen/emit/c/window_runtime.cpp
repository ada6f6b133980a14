// Texts of the fixed part for windows.
#include "codegen/emit/c/window_runtime.h"

namespace pipec::codegen {

// clang-format off: it takes the texts for code of this file.
std::vector<Piece> window_runtime() {
    return {
        {"", R"text(// ---- Windows
)text"},
        {"Ends", R"text(// What an integer can be: lo <= value <= hi.
struct Ends {
    int64_t lo, hi;
    Ends() : lo(0), hi(-1) {}
    Ends(int64_t value) : lo(value), hi(value) {}
    Ends(int64_t least, int64_t greatest) : lo(least), hi(greatest) {}
};
[[maybe_unused]] Ends operator+(Ends a, Ends b) { return {a.lo + b.lo, a.hi + b.hi}; }
[[maybe_unused]] Ends operator-(Ends a) { return {-a.hi, -a.lo}; }
[[maybe_unused]] Ends operator-(Ends a, Ends b) { return a + -b; }
[[maybe_unused]] Ends operator*(Ends a, Ends b) {
    const auto ends = std::minmax({a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi});
    return {ends.first, ends.second};
}
)text"},
        {"has_values", R"text([[maybe_unused]] bool has_values(Ends a) { return a.lo <= a.hi; }
)text"},
        {"wrapped", R"text(// In a type whose numbers wrap: any of them where one wraps.
template <class T>
[[maybe_unused]] Ends wrapped(Ends a) {
    const Ends all(std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    return all.lo <= a.lo && a.hi <= all.hi ? a : all;
}
)text"},
        {"least_of",
         R"text([[maybe_unused]] Ends least_of(Ends a, Ends b) { return {std::min(a.lo, b.lo), std::min(a.hi, b.hi)}; }
)text"},
        {"greatest_of",
         R"text([[maybe_unused]] Ends greatest_of(Ends a, Ends b) { return {std::max(a.lo, b.lo), std::max(a.hi, b.hi)}; }
)text"},
        {"quotient",
         R"text(// Rounded down, as the language divides; all of the type's numbers where the divisor is not one positive number.
template <class T>
[[maybe_unused]] Ends quotient(Ends a, Ends b) {
    if (b.lo != b.hi || b.lo <= 0) return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    const auto down = [&](int64_t n) { return n / b.lo - (n % b.lo < 0 ? 1 : 0); };
    return {down(a.lo), down(a.hi)};
}
)text"},
        {"remainder_of", R"text(template <class T>
[[maybe_unused]] Ends remainder_of(Ends a, Ends b) {
    if (b.lo != b.hi || b.lo <= 0) return {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    const Ends whole = quotient<T>(a, b);
    if (whole.lo != whole.hi) return {0, b.lo - 1};
    return a - whole * b;
}
)text"},
        {"less", R"text(// Conditions are 0 or 1, and {0, 1} where they can be either.
[[maybe_unused]] Ends less(Ends a, Ends b) { return {a.hi < b.lo, a.lo < b.hi}; }
)text"},
        {"equal", R"text([[maybe_unused]] Ends equal(Ends a, Ends b) {
    return {a.lo == a.hi && b.lo == b.hi && a.lo == b.lo, a.lo <= b.hi && b.lo <= a.hi};
}
)text"},
        {"either", R"text([[maybe_unused]] Ends either(Ends condition, Ends a, Ends b) {
    if (condition.lo > 0) return a;
    if (condition.hi < 1) return b;
    return {std::min(a.lo, b.lo), std::max(a.hi, b.hi)};
}
)text"},
        {"loop_over", R"text(// The values of a loop's variable.
[[maybe_unused]] Ends loop_over(Ends lo, Ends hi) { return {lo.lo, hi.hi - 1}; }
)text"},
        {"where_not_negative", R"text(// The values of a variable for which, besides, factor * value + rest >= 0.
[[maybe_unused]] Ends where_not_negative(Ends value, int64_t factor, Ends rest) {
    const auto down = [](int64_t n, int64_t d) { return n / d - (n % d < 0 ? 1 : 0); };
    if (factor > 0) return {std::max(value.lo, -down(rest.hi, factor)), value.hi};
    return {value.lo, std::min(value.hi, down(rest.hi, -factor))};
}
)text"},
        {"Part", R"text(// The part of a buffer or of a stage that is needed.
struct Part {
    Ends all[max_rank];  // the indices that there are
    Ends at[max_rank];   // those that are needed
    bool needed;
};
)text"},
        {"all_of", R"text(// A buffer has indices from 0 on.
[[maybe_unused]] void all_of(Part& part, int rank, const Array& array) {
    for (int d = 0; d < rank; ++d) part.all[d] = {0, array.extent[d] - 1};
}
// A stage is computed where its readers need it.
[[maybe_unused]] pipe_status all_of(Report& report, const char* stage, int rank, const int64_t (*box)[2], Part& part) {
    if (const pipe_status status = check_box(report, stage, rank, box)) return status;
    for (int d = 0; d < rank; ++d) part.all[d] = {box[d][0], box[d][1] - 1};
    return PIPE_OK;
}
)text"},
        {"need",
         R"text(// Notes what is read, as far as it exists: what does not is not read, for a reason that is not seen here.
[[maybe_unused]] void need(Part& part, std::initializer_list<Ends> indices) {
    Ends at[max_rank];
    int rank = 0;
    for (const Ends& index : indices) {
        const Ends& all = part.all[rank];
        at[rank] = {std::max(index.lo, all.lo), std::min(index.hi, all.hi)};
        if (!has_values(at[rank])) return;
        ++rank;
    }
    for (int d = 0; d < rank; ++d) {
        part.at[d] = part.needed ? Ends(std::min(at[d].lo, part.at[d].lo), std::max(at[d].hi, part.at[d].hi)) : at[d];
    }
    part.needed = true;
}
)text"},
        {"check_range", R"text(// A window lies in its buffer. `some`: it has elements.
[[maybe_unused]] pipe_status check_range(Report& report, const pipe_buffer_info& buffer, int argument,
                                         const int64_t* lo, const int64_t* hi, const Part& part, bool& some) {
    some = true;
    for (int d = 0; d < buffer.rank; ++d) {
        const int64_t extent = part.all[d].hi + 1;
        if (lo[d] < 0 || hi[d] < lo[d] || hi[d] > extent) {
            return report.fail(PIPE_ERROR_EXTENT, argument, d, "`", buffer.name, "`: the window in dimension ", d,
                               " is from ", lo[d], " to ", hi[d], ", but must lie in 0 to ", extent);
        }
        some = some && lo[d] < hi[d];
    }
    return PIPE_OK;
}
)text"},
        {"take_window",
         R"text(// An output's window. Dimensions of constant extent, such as channels, are computed as a whole.
[[maybe_unused]] pipe_status take_window(Report& report, const pipe_buffer_info* buffers, int argument,
                                         const int64_t* lo, const int64_t* hi, Part& part) {
    const pipe_buffer_info& buffer = buffers[argument];
    bool some = true;
    if (const pipe_status status = check_range(report, buffer, argument, lo, hi, part, some)) return status;
    if (!some) return PIPE_OK;
    for (int d = 0; d < buffer.rank; ++d) {
        if (buffer.fixed_extent[d] != 0 && hi[d] - lo[d] != buffer.fixed_extent[d]) {
            return report.fail(PIPE_ERROR_EXTENT, argument, d, "`", buffer.name, "`: the window in dimension ", d,
                               " is from ", lo[d], " to ", hi[d], ", but must be all of the constant extent, 0 to ",
                               buffer.fixed_extent[d]);
        }
        part.at[d] = {lo[d], hi[d] - 1};
    }
    part.needed = true;
    return PIPE_OK;
}
)text"},
        {"Held",
         R"text(// What the caller's memory has of a buffer: elements with indices from `lo` on. No points: there is no memory.
struct Held {
    Array array;
    int64_t lo[max_rank];
};
)text"},
        {"hold",
         R"text(// A window in memory that has nothing else, with the caller's strides, or dense ones where they are all 0.
[[maybe_unused]] pipe_status hold(Report& report, const pipe_buffer_info* buffers, int argument, const int64_t* lo,
                                  const int64_t* hi, const int64_t* strides, const Part& part, Held& held) {
    const pipe_buffer_info& buffer = buffers[argument];
    bool some = true;
    if (const pipe_status status = check_range(report, buffer, argument, lo, hi, part, some)) return status;
    for (int d = 0; d < buffer.rank; ++d) {
        if (!buffer.is_output && part.needed && (lo[d] > part.at[d].lo || hi[d] <= part.at[d].hi)) {
            return report.fail(PIPE_ERROR_EXTENT, argument, d, "`", buffer.name, "`: the window in dimension ", d,
                               " is from ", lo[d], " to ", hi[d], ", but ", part.at[d].lo, " to ", part.at[d].hi + 1,
                               " is needed");
        }
        held.lo[d] = lo[d];
        held.array.extent[d] = hi[d] - lo[d];
    }
    if (some) return settle_strides(report, buffers, argument, strides, held.array);
    for (int d = 0; d < buffer.rank; ++d) held.array.extent[d] = 0;
    return PIPE_OK;
}
)text"},
        {"box_of", R"text(// The box of a stage; none where nothing of it is needed.
[[maybe_unused]] void box_of(const Part& part, int rank, int64_t (*box)[2]) {
    for (int d = 0; d < rank; ++d) {
        box[d][0] = part.needed ? part.at[d].lo : 0;
        box[d][1] = part.needed ? part.at[d].hi + 1 : 0;
    }
}
)text"},
        {"give_window", R"text([[maybe_unused]] void give_window(const Part& part, int rank, int64_t* lo, int64_t* hi) {
    for (int d = 0; d < rank; ++d) {
        lo[d] = part.needed ? part.at[d].lo : 0;
        hi[d] = part.needed ? part.at[d].hi + 1 : 0;
    }
}
)text"},
    };
}

std::vector<Piece> host_window_runtime() {
    return {
        {"domain_of_window", R"text(// Where an output is computed that windows are written to.
template <int rank>
[[maybe_unused]] Box<rank> domain_of_window(const Held& held) {
    Box<rank> box{};
    for (int d = 0; d < rank; ++d) {
        box.lo[d] = static_cast<int32_t>(held.lo[d]);
        box.hi[d] = static_cast<int32_t>(held.lo[d] + held.array.extent[d]);
    }
    return box;
}
)text"},
        {"Held", R"text(template <class V, class T>
V view_of(T* data, const Held& held) {
    V view = view_of<V>(data, held.array);
    for (int d = 0; d < V::rank; ++d) view.origin -= held.lo[d] * view.stride[d];
    return view;
}
// The array has the strides that a view takes for known, or there is none.
template <class V>
[[maybe_unused]] bool fits(const Held& held) {
    return held.array.points == 0 || V::fits(held.array);
}
)text"},
        {"fits", R"text(template <class V>
[[maybe_unused]] bool fits(const Space& space) {
    Array array{};
    std::copy(space.stride, space.stride + V::rank, array.stride);
    return V::fits(array);
}
)text"},
        {"has_points", R"text(template <int rank>
[[maybe_unused]] bool has_points(const Box<rank>& box) {
    for (int d = 0; d < rank; ++d) {
        if (box.hi[d] <= box.lo[d]) return false;
    }
    return true;
}
)text"},
        {"copy_window", R"text(// Copies a window out of the workspace.
template <int rank, class V>
[[maybe_unused]] void copy_window(Crew& crew, const Box<rank>& window, const V& to, const V& from) {
    int order[rank];
    for (int d = 0; d < rank; ++d) order[d] = d;
    for_pieces(crew, window, piece_size(window, order, 1 << 16), [&](const Box<rank>& box) {
        int32_t at[rank];
        std::copy(box.lo, box.lo + rank, at);
        for (int d = 0; d >= 0;) {
            std::ptrdiff_t a = to.origin, b = from.origin;
            for (int i = 0; i < rank; ++i) a += at[i] * to.stride[i], b += at[i] * from.stride[i];
            for (int32_t i = box.lo[rank - 1]; i < box.hi[rank - 1]; ++i) {
                to.data[a] = from.data[b];
                a += to.stride[rank - 1], b += from.stride[rank - 1];
            }
            for (d = rank - 2; d >= 0 && ++at[d] == box.hi[d]; --d) at[d] = box.lo[d];
        }
    });
}
)text"},
    };
}

std::vector<Piece> device_window_runtime() {
    return {
        {"Held", R"text(template <class V>
V view_of(const void* data, const Held& held) {
    int64_t origin = 0;
    for (int d = 0; d < V::rank; ++d) origin -= held.lo[d] * held.array.stride[d];
    const std::uintptr_t bytes = static_cast<std::uintptr_t>(origin) * sizeof(typename V::Element);
    return view_at<V>(reinterpret_cast<std::uintptr_t>(data) + bytes, held.array.stride);
}
// The array is dense, or there is none.
template <class V>
bool is_dense(const Held& held) {
    if (held.array.points == 0) return true;
    int64_t reach = 0;
    for (int d = 0; d < V::rank; ++d) {
        if (!extend_reach(reach, held.lo[d] + held.array.extent[d] - 1, held.array.stride[d])) return false;
    }
    return V::has_known_strides(held.array.stride);
}
)text"},
        {"begin_of", R"text(// Where a stage's part begins; it is empty where nothing is needed.
[[maybe_unused]] int32_t begin_of(const Part& part, int d) {
    return part.needed ? static_cast<int32_t>(part.at[d].lo) : 0;
}
)text"},
        {"end_of", R"text([[maybe_unused]] int32_t end_of(const Part& part, int d) {
    return part.needed ? static_cast<int32_t>(part.at[d].hi + 1) : 0;
}
)text"},
        {"begin_of", R"text(// Where a window begins.
[[maybe_unused]] int32_t begin_of(const Held& held, int d) { return static_cast<int32_t>(held.lo[d]); }
)text"},
        {"end_of", R"text([[maybe_unused]] int32_t end_of(const Held& held, int d) {
    return static_cast<int32_t>(held.lo[d] + held.array.extent[d]);
}
)text"},
    };
}
// clang-format on

const std::vector<std::string_view>& window_runtime_names() {
    static const std::vector<std::string_view> kNames = {"Ends",
                                                         "Held",
                                                         "Part",
                                                         "Parts",
                                                         "WindowPlan",
                                                         "all_of",
                                                         "begin_of",
                                                         "end_of",
                                                         "arrays",
                                                         "box",
                                                         "box_of",
                                                         "check_range",
                                                         "check_window_pointers",
                                                         "copy_window",
                                                         "domain_of_window",
                                                         "either",
                                                         "equal",
                                                         "find_parts",
                                                         "fits",
                                                         "give_window",
                                                         "greatest_of",
                                                         "has_points",
                                                         "has_values",
                                                         "hold",
                                                         "hulls",
                                                         "least_of",
                                                         "less",
                                                         "loop_over",
                                                         "make_parts",
                                                         "need",
                                                         "part",
                                                         "parts",
                                                         "plan_window",
                                                         "quotient",
                                                         "remainder_of",
                                                         "run_window",
                                                         "take_window",
                                                         "where_not_negative",
                                                         "whole",
                                                         "window",
                                                         "window_regions",
                                                         "wrapped"};
    return kNames;
}

}  // namespace pipec::codegen
