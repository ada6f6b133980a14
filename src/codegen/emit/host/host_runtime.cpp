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
    };
}

// clang-format on

const std::vector<std::string_view>& host_runtime_names() {
    static const std::vector<std::string_view> kNames = {
        "Box", "box", "domain_of_output", "domain_of_stage", "for_pieces", "order", "piece", "piece_size", "within"};
    return kNames;
}

}  // namespace pipec::codegen
