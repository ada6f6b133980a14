#include "codegen/emit/host/host_runtime.h"

namespace pipec::codegen {

// clang-format off

std::vector<Piece> host_runtime() {
    return {
        {"", R"text(// ---- Boxes
)text"},
        {"Box", R"text(// Points with lo[d] <= index[d] < hi[d].
template <int rank>
struct Box {
    int32_t lo[rank], hi[rank];
};
)text"},
        {"within", R"text(// The nearest place to `at` from `lo` to `hi`; `lo` where there is none.
[[maybe_unused]] int32_t within(int64_t at, int32_t lo, int32_t hi) {
    return at <= lo ? lo : at < hi ? static_cast<int32_t>(at) : hi < lo ? lo : hi;
}
)text"},
        {"domain_of_output", R"text(// Where an output is computed.
template <int rank>
[[maybe_unused]] Box<rank> domain_of_output(const Array& array) {
    Box<rank> box{};
    for (int d = 0; d < rank; ++d) box.hi[d] = static_cast<int32_t>(array.extent[d]);
    return box;
}
)text"},
        {"domain_of_stage", R"text(// Where a stage in the workspace is computed.
template <int rank>
[[maybe_unused]] Box<rank> domain_of_stage(const Space& space) {
    Box<rank> box{};
    for (int d = 0; d < rank; ++d) box.lo[d] = space.lo[d], box.hi[d] = space.hi[d];
    return box;
}
)text"},
        {"piece_size", R"text(// The sizes of pieces of about so many points. `order`: dimensions from the outermost one in memory.
template <int rank>
[[maybe_unused]] Box<rank> piece_size(const Box<rank>& box, const int (&order)[rank], int64_t points) {
    Box<rank> size{};
    for (int i = rank - 1; i >= 0; --i) {
        const int d = order[i];
        const int64_t extent = std::max(int64_t{box.hi[d]} - box.lo[d], int64_t{1});
        const int64_t taken = std::max(std::min(extent, points), int64_t{1});
        size.hi[d] = static_cast<int32_t>(taken);
        points = (points + taken - 1) / taken;
    }
    return size;
}
)text"},
        {"for_pieces", R"text(// Cuts a box into pieces, and computes each of them; a thread takes the next one that is left.
template <int rank, class Compute>
[[maybe_unused]] void for_pieces(const Box<rank>& box, const Box<rank>& size, const Compute& compute) {
    int64_t count[rank], pieces = 1;
    for (int d = 0; d < rank; ++d) {
        const int64_t extent = int64_t{box.hi[d]} - box.lo[d];
        count[d] = extent <= 0 ? 0 : (extent + size.hi[d] - 1) / size.hi[d];
        pieces *= count[d];
    }
    PIPE_PRAGMA(omp parallel for schedule(dynamic) if (pieces > 1))
    for (int64_t piece = 0; piece < pieces; ++piece) {
        Box<rank> part{};
        int64_t rest = piece;
        for (int d = rank - 1; d >= 0; --d) {
            const int64_t from = box.lo[d] + rest % count[d] * size.hi[d];
            rest /= count[d];
            part.lo[d] = static_cast<int32_t>(from);
            part.hi[d] = static_cast<int32_t>(std::min(from + size.hi[d], int64_t{box.hi[d]}));
        }
        compute(part);
    }
}
)text"},
        {"bound", R"text(// Notes where a stage is computed that only tiles hold.
[[maybe_unused]] pipe_status bound(Report& report, const char* stage, int rank, const int64_t (*box)[2], Space& space) {
    if (const pipe_status status = check_box(report, stage, rank, box)) return status;
    for (int d = 0; d < rank; ++d) {
        space.lo[d] = static_cast<int32_t>(box[d][0]);
        space.hi[d] = static_cast<int32_t>(std::max(box[d][0], box[d][1]));
    }
    return PIPE_OK;
}
)text"},
        {"max_threads", R"text([[maybe_unused]] int max_threads() {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}
)text"},
        {"this_thread", R"text([[maybe_unused]] int this_thread() {
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}
)text"},
        {"threads_of", R"text(// The threads for which the workspace has memory.
[[maybe_unused]] int threads_of(size_t bytes, size_t of_thread) {
    return static_cast<int>(std::min(bytes / of_thread, static_cast<size_t>(max_threads())));
}
)text"},
        {"clip", R"text(// The points from `first` on that are in the box.
template <int rank>
[[maybe_unused]] void clip(Box<rank>& box, int d, int64_t first, int64_t count) {
    const int64_t lo = std::max(first, int64_t{box.lo[d]}), hi = std::min(first + count, int64_t{box.hi[d]});
    box.lo[d] = static_cast<int32_t>(std::min(lo, int64_t{box.hi[d]}));
    box.hi[d] = static_cast<int32_t>(std::max(hi, int64_t{box.lo[d]}));
}
)text"},
        {"extend", R"text(// Makes a range of a group's coordinates hold the points of an output; tiles begin at multiples of `unit`.
[[maybe_unused]] void extend(int64_t& from, int64_t& to, int32_t lo, int32_t hi, int64_t scale, int64_t unit) {
    const int64_t first = lo * scale;
    from = std::min(from, first - (first % unit + unit) % unit);
    to = std::max(to, (int64_t{hi} - 1) * scale + 1);
}
)text"},
        {"for_tiles", R"text(// Calls `compute(first, thread)` for each tile; a thread takes the next one that is left.
template <int rank, class Compute>
[[maybe_unused]] void for_tiles(const int64_t (&from)[rank], const int64_t (&to)[rank], const int64_t (&size)[rank],
                                [[maybe_unused]] int threads, const Compute& compute) {
    int64_t count[rank], tiles = 1;
    for (int d = 0; d < rank; ++d) {
        count[d] = to[d] <= from[d] ? 0 : (to[d] - from[d] + size[d] - 1) / size[d];
        tiles *= count[d];
    }
    PIPE_PRAGMA(omp parallel for schedule(dynamic) num_threads(threads) if (tiles > 1))
    for (int64_t tile = 0; tile < tiles; ++tile) {
        int64_t first[rank], rest = tile;
        for (int d = rank - 1; d >= 0; --d) {
            first[d] = from[d] + rest % count[d] * size[d];
            rest /= count[d];
        }
        compute(first, this_thread());
    }
}
)text"},
    };
}

// clang-format on

const std::vector<std::string_view>& host_runtime_names() {
    static const std::vector<std::string_view> kNames = {
        "Box",        "bound",      "box",       "clip", "domain_of_output", "domain_of_stage", "extend",
        "first",      "for_pieces", "for_tiles", "from", "max_threads",      "memory",          "order",
        "piece",      "piece_size", "scratch",   "size", "this_thread",      "thread",          "threads",
        "threads_of", "to",         "within"};
    return kNames;
}

}  // namespace pipec::codegen
