// Parts of files by pread and pwrite: pages that are mapped would count as memory of this process, and a full disk
// would be a signal.
#include "runner/raw_parts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

#include "runner/error.h"
#include "runner/pending.h"

namespace pipec::runner {

namespace {

class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { (void)close(); }
    [[nodiscard]] int get() const { return number_; }
    [[nodiscard]] bool close() { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

private:
    int number_;
};

/// Calls `each(element of the array, element of the part, count)` for the runs of a part that lie in a row in both.
void for_each_run(const Extents& extents, const Box& part,
                  const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& each) {
    if (part.empty()) return;
    const Extents size = part.extents(), strides = dense_strides(extents), part_strides = dense_strides(size);
    std::size_t outer = extents.size();  // from here on dimensions are whole, or the first of them is not
    std::int64_t run = 1;
    while (outer > 0) {
        --outer;
        run *= size[outer];
        if (size[outer] != extents[outer]) break;
    }
    Extents at(outer, 0);
    for (;;) {
        std::int64_t from = 0, to = 0;
        for (std::size_t dim = 0; dim < extents.size(); ++dim) {
            from += (part.lo[dim] + (dim < outer ? at[dim] : 0)) * strides[dim];
            if (dim < outer) to += at[dim] * part_strides[dim];
        }
        each(from, to, run);
        std::size_t dim = outer;
        for (;;) {
            if (dim == 0) return;
            --dim;
            if (++at[dim] < size[dim]) break;
            at[dim] = 0;
        }
    }
}

class RawReader : public PartReader {
public:
    RawReader(std::string path, RawLayout layout)
        : path_(std::move(path)), layout_(std::move(layout)), file_(open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (file_.get() < 0) throw bad(std::strerror(errno));
        struct stat status {};
        const std::size_t size = byte_size(layout_.type, layout_.extents);
        if (fstat(file_.get(), &status) != 0) throw bad(std::strerror(errno));
        const auto there = static_cast<std::size_t>(std::max<std::int64_t>(status.st_size - layout_.offset, 0));
        if (there < size) throw bad("it ends before its last element");
        type = layout_.type;
        extents = layout_.extents;
        grain.assign(extents.size(), 1);
    }

    Array read(const Box& part) override {
        Box stored = part;  // in the order of the file
        Extents stored_extents = extents;
        if (layout_.rows_reversed) {
            stored.lo[0] = extents[0] - part.hi[0];
            stored.hi[0] = extents[0] - part.lo[0];
        }
        if (layout_.first_inmost) {
            for (Extents* dims : {&stored.lo, &stored.hi, &stored_extents}) std::reverse(dims->begin(), dims->end());
        }
        Array array(type, stored.extents());
        const auto width = static_cast<std::int64_t>(ir::bytes(type));
        for_each_run(stored_extents, stored, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
            read_at(array.data.data() + to * width, static_cast<std::size_t>(count * width),
                    layout_.offset + from * width);
        });
        tidy_elements(array, layout_.swap);
        if (layout_.rows_reversed) return reversed(array);
        if (!layout_.first_inmost) return array;
        std::vector<int> dims(extents.size());
        std::iota(dims.rbegin(), dims.rend(), 0);
        return transpose(array, dims);
    }

private:
    [[nodiscard]] Error bad(const char* reason) const {
        return file_error(fmt::format("cannot read {}: {}", path_, reason));
    }

    void read_at(std::byte* to, std::size_t bytes, std::int64_t offset) const {
        while (bytes > 0) {
            const ssize_t count = pread(file_.get(), to, bytes, offset);
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) throw bad(std::strerror(errno));
            if (count == 0) throw bad("it ends before its last element");
            to += count;
            offset += count;
            bytes -= static_cast<std::size_t>(count);
        }
    }

    static Array reversed(const Array& array) {
        Array result(array.type, array.extents);
        const auto rows = static_cast<std::size_t>(array.extents[0]);
        const std::size_t bytes = rows == 0 ? 0 : array.data.size() / rows;
        for (std::size_t row = 0; row < rows; ++row) {
            std::memcpy(result.data.data() + row * bytes, array.data.data() + (rows - 1 - row) * bytes, bytes);
        }
        return result;
    }

    std::string path_;
    RawLayout layout_;
    Descriptor file_;
};

class RawWriter : public PartWriter {
public:
    RawWriter(const std::string& path, std::string shown, const std::string& header, ir::Type type, Extents extents)
        : shown_(std::move(shown)),
          offset_(static_cast<std::int64_t>(header.size())),
          width_(ir::bytes(type)),
          extents_(std::move(extents)),
          file_(create(path)) {
        if (file_.get() < 0) throw failed(errno);
        write_at(reinterpret_cast<const std::byte*>(header.data()), header.size(), 0);
        // A disk that is too small is better known now than after an hour. Some file systems cannot tell.
        const auto size = static_cast<off_t>(byte_size(type, extents_));
        if (size > 0 && fallocate(file_.get(), 0, offset_, size) != 0 && errno != EOPNOTSUPP) throw failed(errno);
    }

    void write(const Array& part, const Extents& lo) override {
        Box place{lo, lo};
        for (std::size_t dim = 0; dim < lo.size(); ++dim) place.hi[dim] += part.extents[dim];
        for_each_run(extents_, place, [&](std::int64_t to, std::int64_t from, std::int64_t count) {
            write_at(part.data.data() + from * width_, static_cast<std::size_t>(count * width_), offset_ + to * width_);
        });
    }

    void finish() override {
        if (!file_.close()) throw failed(errno);
    }

private:
    static int create(const std::string& path) {
        const PendingLock lock;
        return open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    }

    [[nodiscard]] Error failed(int reason) const {
        return file_error(fmt::format("cannot write {}: {}", shown_, std::strerror(reason)));
    }

    void write_at(const std::byte* from, std::size_t bytes, std::int64_t offset) const {
        while (bytes > 0) {
            const ssize_t count = pwrite(file_.get(), from, bytes, offset);
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0) throw failed(count < 0 ? errno : ENOSPC);
            from += count;
            offset += count;
            bytes -= static_cast<std::size_t>(count);
        }
    }

    std::string shown_;
    std::int64_t offset_;
    std::int64_t width_;
    Extents extents_;
    Descriptor file_;
};

}  // namespace

void tidy_elements(Array& array, bool big_endian) {
    std::byte *const first = array.data.data(), *const end = first + array.data.size();
    const int width = ir::bytes(array.type);
    for (std::byte* at = first; big_endian && width > 1 && at != end; at += width) std::reverse(at, at + width);
    if (array.type != ir::Type::Bool) return;  // any byte but 0 and 1 would be undefined behaviour later
    std::transform(first, end, first, [](std::byte b) { return b == std::byte{0} ? b : std::byte{1}; });
}

std::unique_ptr<PartReader> open_raw(const std::string& path, const RawLayout& layout) {
    return std::make_unique<RawReader>(path, layout);
}

std::unique_ptr<PartWriter> create_raw(const std::string& path, const std::string& shown, const std::string& header,
                                       ir::Type type, const Extents& extents) {
    return std::make_unique<RawWriter>(path, shown, header, type, extents);
}

}  // namespace pipec::runner
