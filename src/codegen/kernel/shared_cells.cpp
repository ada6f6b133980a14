#include "codegen/kernel/shared_cells.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/kernel/shared_memory.h"
#include "ir/type.h"

namespace pipec::codegen::kernel {

namespace {

std::int16_t warp_of(int thread) {
    return static_cast<std::int16_t>(thread / kWarp);
}

}  // namespace

SharedCells::SharedCells(const Kernel& kernel) : kernel_(&kernel) {
    std::int64_t cells = 0;
    for (const SharedArray& array : kernel.shared) {
        Place& place = places_.emplace_back();
        place.first = cells;
        place.size = 1;
        for (const std::int64_t extent : array.extents) place.size *= extent;
        place.row = array.extents.empty() ? 1 : place.size / array.extents[0];
        place.bytes = ir::bytes(array.type);
        place.pitch = array.pitch > 0 ? array.pitch : place.row * place.bytes;
        place.offset = array.offset;
        cells += place.size;
    }
    for (std::size_t a = 0; a < places_.size(); ++a) {
        for (std::size_t b = 0; b < places_.size(); ++b) {
            const Place &x = places_[a], &y = places_[b];
            if (a == b || x.offset < 0 || y.offset < 0) continue;
            if (x.offset < y.offset + bytes_of(kernel.shared[b]) && y.offset < x.offset + bytes_of(kernel.shared[a]))
                places_[a].overlaps.push_back(b);
        }
    }
    cells_.resize(static_cast<std::size_t>(cells));
}

/// `f` on the elements of other arrays that have a byte in common with this one.
template <class F>
void SharedCells::for_each_overlapping(std::size_t array, std::int64_t element, const F& f) {
    const Place& place = places_[array];
    const std::int64_t begin = place.offset + element / place.row * place.pitch + element % place.row * place.bytes;
    for (const std::size_t other : place.overlaps) {
        const Place& p = places_[other];
        const std::int64_t rows = p.size / p.row;
        // Of each byte, as elements may be larger or smaller; the row that it is in, and the element there.
        std::int64_t last = -1;
        for (std::int64_t byte = begin - p.offset; byte < begin - p.offset + place.bytes; ++byte) {
            if (byte < 0) continue;
            const std::int64_t row = std::min(byte / p.pitch, rows - 1), column = (byte - row * p.pitch) / p.bytes;
            const std::int64_t found = row * p.row + column;
            if (column >= p.row || found == last) continue;
            last = found;
            f(other, found);
        }
    }
}

std::string SharedCells::name(std::size_t array, std::int64_t element) const {
    const SharedArray& shared = kernel_->shared[array];
    std::vector<std::int64_t> indices(shared.extents.size());
    for (std::size_t d = indices.size(); d-- > 0;) {
        indices[d] = element % shared.extents[d];
        element /= shared.extents[d];
    }
    return fmt::format("`{}({})`", shared.name, fmt::join(indices, ", "));
}

void SharedCells::touch(std::size_t array, std::int64_t element) {
    Cell& c = cell(array, element);
    if (c.touched) return;
    c.touched = true;
    touched_.push_back(static_cast<std::size_t>(places_[array].first + element));
}

bool SharedCells::sees(const Cell& c, int thread) {
    if (c.copy >= 0) return false;
    if (c.seen == Seen::Block) return true;
    if (c.writer < 0 || thread < 0 || c.atomic) return false;
    return c.writer == thread || (c.seen == Seen::Warp && warp_of(c.writer) == warp_of(thread));
}

/// Another thread reads without a barrier behind it that `thread` has taken part in.
bool SharedCells::still_read(const Cell& c, int thread) {
    if (c.reader == kSeveral || (c.reader >= 0 && c.reader != thread)) return true;
    return c.older_warp == kSeveral || (c.older_warp >= 0 && c.older_warp != warp_of(thread));
}

SharedCells::Result SharedCells::read(std::size_t array, std::int64_t element, int thread, Certain certain) {
    Cell& c = cell(array, element);
    const bool surely = certain == Certain::Yes;
    if (surely) {
        touch(array, element);
        const std::int16_t warp = warp_of(thread);
        c.reader_warp = c.reader == kNobody || c.reader_warp == warp ? warp : kSeveral;
        c.reader = c.reader == kNobody || c.reader == thread ? static_cast<std::int16_t>(thread) : kSeveral;
    }
    if (c.written == Certain::Yes && sees(c, thread)) return Result::Proved;
    if (!surely || c.vague || c.written == Certain::Maybe) return Result::Unproved;
    problem_ = c.written == Certain::No ? fmt::format("{} is read, but nothing is in it", name(array, element))
               : c.copy >= 0            ? fmt::format("{} is read by thread {} while a copy into it is under way",
                                                      name(array, element), thread)
                             : fmt::format("{} is read by thread {} without a barrier after thread {} wrote it",
                                           name(array, element), thread, c.writer);
    return Result::Wrong;
}

/// Whether what is in an element is replaced while others may be reading or writing it.
bool SharedCells::races(std::size_t array, std::int64_t element, int thread) {
    const Cell& c = cell(array, element);
    if (c.copy >= 0 && c.written == Certain::Yes && !c.vague) {
        problem_ =
            fmt::format("{} is written by thread {} while a copy into it is under way", name(array, element), thread);
        return true;
    }
    const bool writes = c.written == Certain::Yes && !c.vague && !sees(c, thread);
    if (!writes && !still_read(c, thread)) return false;
    problem_ = fmt::format("{} is written by thread {} without a barrier after others {} it", name(array, element),
                           thread, writes ? "wrote" : "read");
    return true;
}

bool SharedCells::write(std::size_t array, std::int64_t element, int thread, Certain certain) {
    const bool surely = certain == Certain::Yes;
    bool race = surely && races(array, element, thread);
    for_each_overlapping(array, element, [&](std::size_t other, std::int64_t overlapped) {
        race = race || (surely && races(other, overlapped, thread));
        Cell& c = cell(other, overlapped);
        if (surely)
            c.written = Certain::No;
        else if (c.written == Certain::Yes)
            c.written = Certain::Maybe;
    });
    touch(array, element);
    Cell& c = cell(array, element);
    if (surely) {
        c.written = Certain::Yes;
        c.vague = false;
    } else {
        if (c.written == Certain::No) c.written = Certain::Maybe;
        c.vague = true;
    }
    c.seen = Seen::Writer;
    c.copy = kNobody;
    c.writer = surely || c.writer == thread ? static_cast<std::int16_t>(thread) : kNobody;
    return !race;
}

bool SharedCells::copy(std::size_t array, std::int64_t element, int thread, Certain certain) {
    const bool fine = write(array, element, thread, certain);
    cell(array, element).copy = 0;
    return fine;
}

void SharedCells::commit(const std::vector<bool>& threads) {
    for (const std::size_t i : touched_) {
        Cell& c = cells_[i];
        if (c.copy >= 0 && c.writer >= 0 && threads[static_cast<std::size_t>(c.writer)]) ++c.copy;
    }
}

void SharedCells::wait(const std::vector<bool>& threads, int pending) {
    for (const std::size_t i : touched_) {
        Cell& c = cells_[i];
        if (c.copy > pending && c.writer >= 0 && threads[static_cast<std::size_t>(c.writer)]) c.copy = kNobody;
    }
}

SharedCells::Result SharedCells::update(std::size_t array, std::int64_t element, int thread, Certain certain) {
    touch(array, element);
    Cell& c = cell(array, element);
    const bool same_warp = c.writer >= 0 && thread >= 0 && warp_of(c.writer) == warp_of(thread);
    const bool seen = !c.atomic ? sees(c, thread) : c.before == Seen::Block || (c.before == Seen::Warp && same_warp);
    const bool fine = c.written == Certain::Yes && seen;
    if (!fine && certain == Certain::Yes && c.written == Certain::No) {
        problem_ = fmt::format("{} is updated, but nothing is in it", name(array, element));
        return Result::Wrong;
    }
    if (!c.atomic) c.before = c.seen;
    c.writer = static_cast<std::int16_t>(c.atomic && !same_warp ? kNobody : thread < 0 ? kNobody : thread);
    c.atomic = c.vague = true;
    c.seen = Seen::Writer;
    return fine ? Result::Proved : Result::Unproved;
}

/// Whether it happens or not, something is in the element, and the thread sees it.
SharedCells::Result SharedCells::update_own(std::size_t array, std::int64_t element, int thread, Certain certain) {
    touch(array, element);
    Cell& c = cell(array, element);
    const bool fine = c.written == Certain::Yes && sees(c, thread);
    if (certain == Certain::Yes && races(array, element, thread)) return Result::Wrong;
    if (!fine && certain == Certain::Yes && c.written == Certain::No) {
        problem_ = fmt::format("{} is updated, but nothing is in it", name(array, element));
        return Result::Wrong;
    }
    c.seen = Seen::Writer;
    c.vague = !fine;
    c.writer = fine ? static_cast<std::int16_t>(thread) : kNobody;
    return fine ? Result::Proved : Result::Unproved;
}

/// Copies that are under way stay what they are: a barrier waits for none.
void SharedCells::block_barrier() {
    const auto under_way = [&](std::size_t i) { return cells_[i].copy >= 0; };
    const auto done = std::stable_partition(touched_.begin(), touched_.end(), under_way);
    for (auto i = done; i != touched_.end(); ++i) {
        Cell& c = cells_[*i];
        c.seen = Seen::Block;
        c.atomic = c.vague = c.touched = false;
        c.writer = c.reader = c.reader_warp = c.older_warp = kNobody;
    }
    touched_.erase(done, touched_.end());
}

void SharedCells::warp_barrier(const std::vector<bool>& warps) {
    for (const std::size_t i : touched_) {
        Cell& c = cells_[i];
        if (c.seen == Seen::Writer && c.copy < 0 && c.writer >= 0 &&
            warps[static_cast<std::size_t>(warp_of(c.writer))]) {
            c.seen = Seen::Warp;
            c.atomic = false;
        }
        if (c.reader == kNobody || c.reader_warp < 0 || !warps[static_cast<std::size_t>(c.reader_warp)]) continue;
        c.older_warp = c.older_warp == kNobody || c.older_warp == c.reader_warp ? c.reader_warp : kSeveral;
        c.reader = c.reader_warp = kNobody;
    }
}

void SharedCells::join(const SharedCells& other, bool by_warp) {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
        Cell& a = cells_[i];
        const Cell& b = other.cells_[i];
        if (!a.touched && b.touched) {
            a.touched = true;
            touched_.push_back(i);
        }
        const bool seen_by_all = a.seen == Seen::Block && b.seen == Seen::Block;
        const bool same_writer = a.writer == b.writer && (a.writer >= 0 || seen_by_all);
        // Warps of two ways: one may not write what the other one does not, either.
        const bool same_warp = a.writer >= 0 && b.writer >= 0 && warp_of(a.writer) == warp_of(b.writer);
        if (a.written != b.written || (by_warp && !same_writer && !same_warp)) {
            if (a.written != Certain::No || b.written != Certain::No) a.written = Certain::Maybe;
        }
        a.seen = std::min(a.seen, b.seen);
        a.atomic = a.atomic || b.atomic;
        a.before = std::min({a.before, b.before, a.seen});
        a.vague = a.vague || b.vague || !same_writer || (a.copy >= 0) != (b.copy >= 0);
        if (a.copy < 0 || (b.copy >= 0 && b.copy < a.copy)) a.copy = b.copy;
        if (!same_writer && !(same_warp && a.seen == Seen::Warp)) a.writer = kNobody;
        // Who may still be reading is asked for what is certain only: what one way alone has is forgotten.
        if (a.reader != b.reader || a.reader_warp != b.reader_warp) a.reader = a.reader_warp = kNobody;
        if (a.older_warp != b.older_warp) a.older_warp = kNobody;
    }
}

}  // namespace pipec::codegen::kernel
