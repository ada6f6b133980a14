// What pipec-run reads.
#include <cstring>
#include <new>
#include <stdexcept>

#include "fuzz/targets/memory_file.h"
#include "fuzz/targets/targets.h"
#include "runner/error.h"
#include "runner/files.h"
#include "runner/parts.h"

namespace pipec::fuzz {

namespace {

/// A header may ask for more memory than there is, which pipec-run says.
template <class Read>
void read(std::string_view input, const Read& read_file) {
    const MemoryFile file(input);
    try {
        read_file(file.path());
    } catch (const runner::Error&) {
    } catch (const std::bad_alloc&) {
    }
}

/// What is read in parts is what is read as a whole.
void compare(const runner::Array& array, const std::unique_ptr<runner::PartReader>& parts) {
    const runner::Box whole = runner::whole_box(array.extents);
    if (parts == nullptr || parts->extents != array.extents) throw std::logic_error("parts have other extents");
    const runner::Array other = parts->read(whole);
    const std::size_t bytes = whole.empty() ? 0 : array.data.size();
    if (std::memcmp(other.data.data(), array.data.data(), bytes) != 0) throw std::logic_error("parts differ");
}

}  // namespace

void npy(std::string_view input) {
    read(input, [](const std::string& path) {
        const runner::Array array = runner::read_npy(path);
        compare(array, runner::open_npy(path));
        if (array.extents.size() > 32) return;  // NumPy has no more, and no pipeline so many
        const MemoryFile copy("");
        runner::write_npy(copy.path(), array);
        if (runner::read_npy(copy.path()).extents != array.extents) throw std::logic_error("an array changes");
    });
}

void pnm(std::string_view input) {
    read(input, [](const std::string& path) {
        const auto image = runner::read_pnm(path);
        if (!image) return;
        compare(*image, runner::open_pnm(path));
        const MemoryFile copy("");
        runner::write_pnm(copy.path(), *image);
        if (runner::read_pnm(copy.path()).value().extents != image->extents) throw std::logic_error("an image changes");
    });
}

}  // namespace pipec::fuzz
