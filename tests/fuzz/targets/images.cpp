// What pipec-run reads.
#include <new>
#include <stdexcept>

#include "fuzz/targets/memory_file.h"
#include "fuzz/targets/targets.h"
#include "runner/error.h"
#include "runner/files.h"

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

}  // namespace

void npy(std::string_view input) {
    read(input, [](const std::string& path) {
        const runner::Array array = runner::read_npy(path);
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
        const MemoryFile copy("");
        runner::write_pnm(copy.path(), *image);
        if (runner::read_pnm(copy.path()).value().extents != image->extents) throw std::logic_error("an image changes");
    });
}

}  // namespace pipec::fuzz
