#include "runner/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace pipec::runner {

namespace {

const abi::pipe_window_info& info_of(const Library& library) {
    if (library.window_info() != nullptr) return *library.window_info();
    throw usage_error(
        fmt::format("`{}` was compiled without functions for windows, which --tiles needs\n  note: `pipec --windows` "
                    "writes them",
                    library.info().name));
}

}  // namespace

Windows::Windows(const Library& library) : library_(library), info_(info_of(library)), memory_(info_.window_size) {
    std::memset(memory_.data(), 0, memory_.size());
}

std::int64_t* Windows::at(std::size_t offset) const {
    return reinterpret_cast<std::int64_t*>(memory_.data() + offset);
}

void Windows::set(const WindowBoxes& boxes) {
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        const Buffer& buffer = library_.buffers()[i];
        const abi::pipe_window_fields& fields = info_.buffers[i];
        if (buffer.rank() == 0) {
            const int wanted = boxes[i] ? 1 : 0;
            if (buffer.is_output) std::memcpy(memory_.data() + fields.lo_offset, &wanted, sizeof wanted);
            continue;
        }
        const Box box = boxes[i].value_or(whole_box(Extents(buffer.rank(), 0)));
        std::copy(box.lo.begin(), box.lo.end(), at(fields.lo_offset));
        std::copy(box.hi.begin(), box.hi.end(), at(fields.hi_offset));
    }
}

void Windows::require(const Arguments& args, WindowBoxes& boxes) {
    set(boxes);
    if (const abi::pipe_status status = info_.required(args.get(), memory_.data())) throw refused(args, status);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        const Buffer& buffer = library_.buffers()[i];
        if (buffer.is_output) continue;
        if (buffer.rank() == 0) {
            boxes[i] = Box{};  // never asked for, always given
            continue;
        }
        const std::int64_t *lo = at(info_.buffers[i].lo_offset), *hi = at(info_.buffers[i].hi_offset);
        const Box box{{lo, lo + buffer.rank()}, {hi, hi + buffer.rank()}};
        boxes[i] = box.empty() ? std::nullopt : std::optional(box);
    }
}

std::size_t Windows::workspace_size(const Arguments& args) const {
    const std::size_t size = info_.window_workspace_size(args.get(), get());
    if (size == SIZE_MAX) throw refused(args, 0);
    return size;
}

Error Windows::refused(const Arguments& args, abi::pipe_status status) const {
    std::string message(1024, '\0');
    const abi::pipe_status found = info_.check_window(args.get(), get(), message.data(), message.size());
    message.resize(std::strlen(message.c_str()));
    if (message.empty()) {
        message = fmt::format("`{}` failed (status {})", library_.info().name, status != 0 ? status : found);
    }
    return run_error(message);
}

}  // namespace pipec::runner
