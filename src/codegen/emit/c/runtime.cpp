// Texts of the fixed part of generated sources.
#include "codegen/emit/c/runtime.h"

namespace pipec::codegen {

// clang-format off: it takes the texts for code of this file.
std::vector<Piece> wrapper_runtime() {
    return {
        {"", R"text(// ---- Checking arguments
)text"},
        {"index_limit", R"text(// Sizes, extents and the ends of domains are less than this.
constexpr int64_t index_limit = int64_t{1} << 30;
)text"},
        {"Fact", R"text(// A value that a sentence mentions: "R = 8 from `img`".
struct Fact {
    const char* name;
    double value;
    const char* from;  // null for parameters
    int digits;
};
)text"},
        {"Report",
         R"text(// Turns the first thing that is wrong into a status, and into a sentence where the caller wants one.
class Report {
public:
    Report(char* text, std::size_t size) : text_(text), left_(text == nullptr ? 0 : size) {
        if (left_ > 0) *text_ = 0;
    }

    template <class... Parts>
    pipe_status fail(int code, int argument, int dimension, const Parts&... parts) {
        (add(parts), ...);
        return code | ((argument + 1) & 0xff) << 8 | ((dimension + 1) & 0xff) << 16;
    }

private:
    template <class... Values>
    void print(const char* format, Values... values) {
        if (left_ == 0) return;
        const int length = std::snprintf(text_, left_, format, values...);
        const std::size_t used = length < 0 ? 0 : std::min(left_ - 1, static_cast<std::size_t>(length));
        text_ += used;
        left_ -= used;
    }
    void add(const char* text) { print("%s", text); }
    void add(int64_t number) { print("%lld", static_cast<long long>(number)); }
    void add(int number) { print("%d", number); }
    void add(std::initializer_list<Fact> facts) {
        const char* separator = " (";
        for (const Fact& fact : facts) {
            print("%s%s = %.*g", separator, fact.name, fact.digits, fact.value);
            if (fact.from != nullptr) print(" from %s", fact.from);
            separator = ", ";
        }
        if (facts.size() > 0) add(")");
    }

    char* text_;
    std::size_t left_;
};
)text"},
        {"Array", R"text(// A buffer with nothing left open.
struct Array {
    int64_t extent[max_rank];
    int64_t stride[max_rank];
    int64_t points;
};
)text"},
        {"Space",
         R"text(// Where a stage is computed, lo <= index < hi, and how its values lie in its region of the workspace.
struct Space {
    int32_t lo[max_rank];
    int32_t hi[max_rank];
    int64_t stride[max_rank];
    int64_t first;  // where the element at `lo` is
    int64_t points;
};
)text"},
        {"all_zero", R"text(bool all_zero(const int64_t* values, int count) {
    return std::all_of(values, values + count, [](int64_t value) { return value == 0; });
}
)text"},
        {"element_bytes", R"text(constexpr size_t element_bytes(pipe_type type) {
    switch (type) {
        case PIPE_BOOL: case PIPE_INT8: case PIPE_UINT8: return 1;
        case PIPE_INT16: case PIPE_UINT16: case PIPE_FLOAT16: return 2;
        case PIPE_INT32: case PIPE_UINT32: case PIPE_FLOAT32: return 4;
        default: return 8;
    }
}
)text"},
        {"take_extents",
         R"text(// Copies the extents that the caller gives; those of an output may be 0, "as computed".
[[maybe_unused]] pipe_status take_extents(Report& report, const pipe_buffer_info* buffers, int argument,
                                          const int64_t* given, Array& array) {
    const pipe_buffer_info& buffer = buffers[argument];
    std::copy(given, given + buffer.rank, array.extent);
    for (int d = 0; d < buffer.rank; ++d) {
        if ((given[d] >= 1 && given[d] < index_limit) || (given[d] == 0 && buffer.is_output)) continue;
        return report.fail(PIPE_ERROR_EXTENT, argument, d, "`", buffer.name, "`: extent ", d, " is ", given[d],
                           ", but must be from 1 to ", index_limit - 1);
    }
    return PIPE_OK;
}
)text"},
        {"solve_size", R"text(// Solves extent = divisor * size + rest for a size.
[[maybe_unused]] pipe_status solve_size(Report& report, const pipe_buffer_info* buffers, int argument, int dimension,
                                        const Array& array, int64_t divisor, int64_t rest, const char* name, int number,
                                        std::initializer_list<Fact> facts, int32_t& size) {
    const pipe_buffer_info& buffer = buffers[argument];
    const int64_t extent = array.extent[dimension];
    if (extent == 0) {
        return report.fail(PIPE_ERROR_EXTENT, argument, dimension, "`", buffer.name,
                           "`: extent ", dimension,
                           " must be given, because the size ", name, " follows from it");
    }
    if ((extent - rest) % divisor != 0) {
        return report.fail(PIPE_ERROR_EXTENT, argument, dimension, "`", buffer.name, "`: extent ", dimension, " is ",
                           extent, ", but must be ", buffer.extent_text[dimension], " for an integer ", name, facts);
    }
    const int64_t value = (extent - rest) / divisor;
    if (value <= -index_limit || value >= index_limit) {
        return report.fail(PIPE_ERROR_SIZE, number, -1, "the size ", name, " is ", value, " (from `", buffer.name,
                           "`), but must be less than ", index_limit, " in magnitude");
    }
    size = static_cast<int32_t>(value);
    return PIPE_OK;
}
)text"},
        {"take_size", R"text(// Takes a size that no extent gives.
[[maybe_unused]] pipe_status take_size(Report& report, int64_t given, const char* name, int number, int32_t& size) {
    if (given <= -index_limit || given >= index_limit) {
        return report.fail(PIPE_ERROR_SIZE, number, -1, "the size ", name, " is ", given, ", but must be less than ",
                           index_limit, " in magnitude");
    }
    size = static_cast<int32_t>(given);
    return PIPE_OK;
}
)text"},
        {"settle_extent", R"text(// Holds an extent against the shape, or sets it where it is open.
[[maybe_unused]] pipe_status settle_extent(Report& report, const pipe_buffer_info* buffers, int argument, int dimension,
                                           int64_t expected, std::initializer_list<Fact> facts, Array& array) {
    const pipe_buffer_info& buffer = buffers[argument];
    int64_t& extent = array.extent[dimension];
    const bool constant = buffer.fixed_extent[dimension] != 0;
    const char* const text = constant ? "" : buffer.extent_text[dimension];
    const char* const equals = constant ? "" : " = ";
    if (expected < 1 || expected >= index_limit) {
        return report.fail(PIPE_ERROR_EXTENT, argument, dimension, "`", buffer.name, "`: extent ", dimension,
                           " would be ", text, equals, expected, facts, ", but must be from 1 to ", index_limit - 1);
    }
    if (extent == 0) extent = expected;
    if (extent == expected) return PIPE_OK;
    return report.fail(PIPE_ERROR_EXTENT, argument, dimension, "`", buffer.name, "`: extent ", dimension, " is ",
                       extent, ", but must be ", text, equals, expected, facts);
}
)text"},
        {"settle_strides", R"text(// Takes the caller's strides, or dense ones where they are all 0.
[[maybe_unused]] pipe_status settle_strides(Report& report, const pipe_buffer_info* buffers, int argument,
                                            const int64_t* given, Array& array) {
    const pipe_buffer_info& buffer = buffers[argument];
    const int64_t limit = PTRDIFF_MAX / static_cast<int64_t>(element_bytes(buffer.type)) - 1;
    const bool dense = all_zero(given, buffer.rank);
    array.points = 1;
    int64_t last = 0;  // offset of the last element
    for (int i = buffer.rank - 1; i >= 0; --i) {
        const int d = buffer.order[i];
        array.stride[d] = dense ? array.points : given[d];
        if (array.stride[d] < 1) {
            return report.fail(PIPE_ERROR_STRIDE, argument, d, "`", buffer.name, "`: stride ", d, " is ",
                               array.stride[d], ", but must be at least 1 (or all of them 0, for dense)");
        }
        const int64_t steps = array.extent[d] - 1;
        if ((steps > 0 && array.stride[d] > (limit - last) / steps) || array.points > limit / array.extent[d]) {
            return report.fail(PIPE_ERROR_SIZE, -1, -1, "`", buffer.name, "` is larger than memory can be");
        }
        last += steps * array.stride[d];
        array.points *= array.extent[d];
    }
    if (!buffer.is_output) return PIPE_OK;
    // No two elements share memory: every stride steps over all that dimensions with smaller strides reach.
    int sorted[max_rank];
    for (int i = 0; i < buffer.rank; ++i) {
        const int d = buffer.order[i];
        int at = i;
        for (; at > 0 && array.stride[d] < array.stride[sorted[at - 1]]; --at) sorted[at] = sorted[at - 1];
        sorted[at] = d;
    }
    int64_t reach = 0;
    for (int i = 0; i < buffer.rank; ++i) {
        const int d = sorted[i];
        if (array.extent[d] == 1) continue;
        if (array.stride[d] <= reach) {
            return report.fail(PIPE_ERROR_STRIDE, argument, d, "`", buffer.name, "`: stride ", d, " is ",
                               array.stride[d], ", but must be at least ", reach + 1,
                               ", or elements of the output overlap");
        }
        reach += (array.extent[d] - 1) * array.stride[d];
    }
    return PIPE_OK;
}
)text"},
        {"line_bytes", R"text(// Regions, rows and elements with indices 0 lie on multiples of this, in bytes.
constexpr int64_t line_bytes = 128;
)text"},
        {"padded_row",
         R"text(// The elements from one row to the next: rows start on lines where they are long, and not all on the same ones of a
// cache.
[[maybe_unused]] int64_t padded_row(int64_t elements, int64_t bytes) {
    int64_t row = (elements * bytes + line_bytes - 1) / line_bytes * line_bytes;
    if (row % 4096 == 0) row += line_bytes;
    return row / bytes;
}
)text"},
        {"check_box", R"text(// Indices must be less than index_limit in magnitude.
[[maybe_unused]] pipe_status check_box(Report& report, const char* stage, int rank, const int64_t (*box)[2]) {
    for (int d = 0; d < rank; ++d) {
        const int64_t lo = box[d][0], hi = std::max(box[d][0], box[d][1]);
        if (lo > -index_limit && hi < index_limit) continue;
        return report.fail(PIPE_ERROR_SIZE, -1, -1, "the sizes are too large: `", stage, "` is computed from ", lo,
                           " to ", hi - 1, " in dimension ", d);
    }
    return PIPE_OK;
}
)text"},
        {"place",
         R"text(// Lays out a stage over lo <= index < hi, and makes its region large enough. The stage is dense, except for the padding
// of the first row from inside that has 512 bytes. The region begins so that the element with all indices 0 is, or
// would be, on a line's start: what is aligned depends on indices alone.
[[maybe_unused]] pipe_status place(Report& report, const char* stage, int rank, int64_t bytes, const int64_t (*box)[2],
                                   Space& space, size_t& region) {
    if (const pipe_status status = check_box(report, stage, rank, box)) return status;
    const int64_t limit = PTRDIFF_MAX / 8 / bytes;
    const int64_t line = line_bytes / bytes;
    bool padded = false;
    int64_t elements = 1;
    space.points = 1;
    space.first = 0;
    for (int d = rank - 1; d >= 0; --d) {
        const int64_t lo = box[d][0], hi = std::max(box[d][0], box[d][1]);
        space.lo[d] = static_cast<int32_t>(lo);
        space.hi[d] = static_cast<int32_t>(hi);
        space.stride[d] = elements;
        space.first = (space.first + lo % line * (elements % line)) % line;
        const int64_t extent = hi - lo;
        if (extent > 0 && elements > limit / extent) {
            return report.fail(PIPE_ERROR_SIZE, -1, -1, "the images are too large: `", stage,
                               "` does not fit into memory");
        }
        elements *= extent;
        space.points *= extent;
        if (!padded && d > 0 && elements * bytes >= 512) {
            elements = padded_row(elements, bytes);
            padded = true;
        }
    }
    if (space.first < 0) space.first += line;
    region = std::max(region, static_cast<size_t>((space.first + elements) * bytes));
    return PIPE_OK;
}
)text"},
        {"stack_regions",
         R"text(// Puts regions one behind the other: from their sizes to their offsets. `total` is the size of all.
[[maybe_unused]] pipe_status stack_regions(Report& report, size_t* regions, int count, size_t& total) {
    total = 0;
    for (int i = 0; i < count; ++i) {
        const size_t bytes = (regions[i] + line_bytes - 1) / line_bytes * line_bytes;
        regions[i] = total;
        if (bytes > PTRDIFF_MAX - total) {
            return report.fail(PIPE_ERROR_SIZE, -1, -1,
                               "the images are too large: the workspace does not fit into memory");
        }
        total += bytes;
    }
    return PIPE_OK;
}
)text"},
        {"check_pointer",
         R"text([[maybe_unused]] pipe_status check_pointer(Report& report, const pipe_buffer_info* buffers, int argument,
                                           const void* data) {
    const pipe_buffer_info& buffer = buffers[argument];
    if (data == nullptr) return report.fail(PIPE_ERROR_NULL, argument, -1, "`", buffer.name, "`: the pointer is null");
    const int64_t bytes = static_cast<int64_t>(element_bytes(buffer.type));
    if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) == 0) return PIPE_OK;
    return report.fail(PIPE_ERROR_ALIGNMENT, argument, -1, "`", buffer.name, "`: the pointer must be a multiple of ",
                       bytes, ", the size of an element");
}
)text"},
        {"Hull",
         R"text(// From the first byte of a buffer to the one behind its last; `gapless` where all between are its elements.
struct Hull {
    std::uintptr_t begin, last, end;
    bool gapless;
    bool holds(std::uintptr_t byte) const { return begin <= byte && byte < end; }
};
)text"},
        {"hull_of",
         R"text([[maybe_unused]] Hull hull_of(const pipe_buffer_info& buffer, const void* data, const Array& array) {
    int64_t last = 0;
    for (int d = 0; d < buffer.rank; ++d) last += (array.extent[d] - 1) * array.stride[d];
    const size_t bytes = element_bytes(buffer.type);
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(data);
    const std::uintptr_t last_byte = begin + static_cast<size_t>(last) * bytes;
    return {begin, last_byte, last_byte + bytes, last + 1 == array.points};
}
)text"},
        {"check_overlap",
         R"text(// Refuses an output that is certain to share an element with another buffer. Interleaved buffers whose gaps hold
// each other's elements are legal, so only these are certain: the same first element, or an end inside a gapless
// buffer.
[[maybe_unused]] pipe_status check_overlap(Report& report, const pipe_buffer_info* buffers, int argument,
                                           const Hull& output, int other_argument, const Hull& other) {
    const bool shared = output.begin == other.begin ||
                        (output.gapless && (output.holds(other.begin) || output.holds(other.last))) ||
                        (other.gapless && (other.holds(output.begin) || other.holds(output.last)));
    if (!shared) return PIPE_OK;
    return report.fail(PIPE_ERROR_OVERLAP, argument, -1, "`", buffers[argument].name, "` shares memory with `",
                       buffers[other_argument].name, "`");
}
)text"},
        {"check_workspace",
         R"text([[maybe_unused]] pipe_status check_workspace(Report& report, const void* workspace, size_t bytes, size_t needed,
                                             int alignment) {
    if (needed == 0) return PIPE_OK;
    if (workspace == nullptr) return report.fail(PIPE_ERROR_NULL, -1, -1, "the workspace is null");
    if (reinterpret_cast<std::uintptr_t>(workspace) % static_cast<std::uintptr_t>(alignment) != 0) {
        return report.fail(PIPE_ERROR_ALIGNMENT, -1, -1, "the workspace must be aligned to ", alignment, " bytes");
    }
    if (bytes >= needed) return PIPE_OK;
    return report.fail(PIPE_ERROR_WORKSPACE, -1, -1, "the workspace is too small");
}
)text"},
    };
}

std::vector<Piece> view_runtime() {
    return {
        {"", R"text(// ---- Arrays
)text"},
        {"View",
         R"text(// An n-d array in memory. A stride among the template arguments that is not 0 is known to the compiler.
template <class T, std::ptrdiff_t... known>
struct View {
    static constexpr int rank = static_cast<int>(sizeof...(known));
    T* data;
    std::ptrdiff_t origin;  // where element (0, ..., 0) is, or would be
    std::ptrdiff_t stride[rank == 0 ? 1 : rank];

    template <class... Index>
    T& operator()(Index... index) const {
        [[maybe_unused]] int d = 0;
        std::ptrdiff_t at = origin;
        ((at += static_cast<std::ptrdiff_t>(index) * (known != 0 ? known : stride[d]), ++d), ...);
        return data[at];
    }

    // The array has the strides that are known here.
    static bool fits(const Array& array) {
        [[maybe_unused]] int d = 0;
        bool same = true;
        ((same = same && (known == 0 || known == array.stride[d]), ++d), ...);
        return same;
    }
};
)text"},
        {"view_of", R"text(// A buffer of the caller's.
template <class V, class T>
V view_of(T* data, const Array& array) {
    V view{data, 0, {}};
    std::copy(array.stride, array.stride + V::rank, view.stride);
    return view;
}
)text"},
        {"Space", R"text(// A stage in the workspace.
template <class V>
[[maybe_unused]] V view_of(void* region, const Space& space) {
    V view{static_cast<decltype(V::data)>(region), space.first, {}};
    for (int d = 0; d < V::rank; ++d) {
        view.stride[d] = space.stride[d];
        view.origin -= space.lo[d] * space.stride[d];
    }
    return view;
}
)text"},
    };
}

// clang-format on

const std::vector<std::string_view>& runtime_names() {
    static const std::vector<std::string_view> kNames = {"Array",          "Fact",
                                                         "Hull",           "Plan",
                                                         "Report",         "Space",
                                                         "View",           "all_zero",
                                                         "args",           "buffers",
                                                         "bytes",          "check_conditions",
                                                         "check_overlap",  "check_pointer",
                                                         "check_pointers", "check_workspace",
                                                         "dense",          "element_bytes",
                                                         "hull_of",        "index_limit",
                                                         "line_bytes",     "make_plan",
                                                         "max_rank",       "padded_row",
                                                         "place",          "place_stages",
                                                         "plan",           "region",
                                                         "regions",        "report",
                                                         "resolve_shapes", "run",
                                                         "settle_extent",  "settle_strides",
                                                         "solve_size",     "stack_regions",
                                                         "status",         "stream",
                                                         "take_extents",   "take_size",
                                                         "version_launch", "version_workspace_size",
                                                         "view_of",        "workspace"};
    return kNames;
}

}  // namespace pipec::codegen
