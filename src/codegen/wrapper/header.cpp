// The C header: the same for every target.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "codegen/emit/c/c_names.h"
#include "codegen/emit/c/c_types.h"
#include "codegen/emit/c/code_names.h"
#include "codegen/emit/c/text.h"
#include "codegen/emit/host/host.h"
#include "codegen/windows.h"
#include "codegen/wrapper/window_parts.h"
#include "ir/print.h"

namespace pipec::codegen {

namespace {

/// What every generated header has in common; the first one that is included declares it.
constexpr std::string_view kRuntime = R"(#ifndef PIPE_RUNTIME_H_1
#define PIPE_RUNTIME_H_1

/* What a call came to: 0 is success. Bits 0 to 7 are the code below, bits 8 to 15 the number of the argument that is to
 * blame + 1 (buffers, inputs first; for PARAMETER and SIZE that of the parameter or size; for WHERE that of the
 * condition), bits 16 to 23 its dimension + 1; each 0 where there is none. */
typedef int32_t pipe_status;
enum {
    PIPE_OK = 0,
    PIPE_ERROR_NULL,      /* a pointer is null */
    PIPE_ERROR_EXTENT,    /* an extent does not fit the shape */
    PIPE_ERROR_STRIDE,    /* a stride is not positive, or elements of an output would overlap */
    PIPE_ERROR_ALIGNMENT, /* a pointer is not aligned */
    PIPE_ERROR_OVERLAP,   /* an output shares memory with another buffer */
    PIPE_ERROR_WHERE,     /* a condition of the pipeline does not hold */
    PIPE_ERROR_SIZE,      /* a size is out of range, or the images are too large */
    PIPE_ERROR_PARAMETER, /* a scalar parameter is not a value of its type */
    PIPE_ERROR_WORKSPACE, /* the workspace is too small */
    PIPE_ERROR_DEVICE     /* the device or the stream refused */
};

/* A sentence for the code of a status. */
static inline const char *pipe_status_string(pipe_status status)
{
    switch (status & 0xff) {
        case PIPE_OK: return "success";
        case PIPE_ERROR_NULL: return "a pointer is null";
        case PIPE_ERROR_EXTENT: return "an extent does not fit the shape";
        case PIPE_ERROR_STRIDE: return "a stride is not positive, or elements of an output would overlap";
        case PIPE_ERROR_ALIGNMENT: return "a pointer is not aligned";
        case PIPE_ERROR_OVERLAP: return "an output shares memory with another buffer";
        case PIPE_ERROR_WHERE: return "a condition of the pipeline does not hold";
        case PIPE_ERROR_SIZE: return "a size is out of range, or the images are too large";
        case PIPE_ERROR_PARAMETER: return "a scalar parameter is not a value of its type";
        case PIPE_ERROR_WORKSPACE: return "the workspace is too small";
        case PIPE_ERROR_DEVICE: return "the device or the stream refused";
        default: return "an unknown status";
    }
}

typedef enum {
    PIPE_BOOL, PIPE_INT8, PIPE_INT16, PIPE_INT32, PIPE_INT64, PIPE_UINT8, PIPE_UINT16, PIPE_UINT32, PIPE_UINT64,
    PIPE_FLOAT16, PIPE_FLOAT32, PIPE_FLOAT64
} pipe_type;

/* A buffer of a pipeline; the offsets are those of its fields in the pipeline's argument struct. */
typedef struct {
    const char *name;
    pipe_type type;
    int rank;
    int is_output;
    const int *order;               /* dimensions, outermost first in dense memory */
    const int64_t *fixed_extent;    /* for each dimension: the extent if it is a constant, else 0 */
    const char *const *extent_text; /* for each dimension: "R + 2" */
    size_t data_offset, extent_offset, stride_offset;
} pipe_buffer_info;

/* A scalar parameter, or a size that the caller passes. */
typedef struct {
    const char *name;
    pipe_type type;
    int has_default;
    size_t offset;
} pipe_scalar_info;

/* All that a program needs to call a pipeline that it does not know. */
typedef struct {
    int version; /* of these tables: 1. Another number means that the other fields may differ. */
    const char *name;
    int buffer_count;
    const pipe_buffer_info *buffers; /* inputs, then outputs */
    int parameter_count;
    const pipe_scalar_info *parameters;
    int size_count;
    const pipe_scalar_info *sizes;
    size_t args_size;
    const char *target; /* "host" or "cuda" */
    void (*defaults)(void *args);
    pipe_status (*resolve)(void *args);
    pipe_status (*check)(const void *args, char *message, size_t size);
    size_t (*workspace_size)(const void *args);
    pipe_status (*launch)(const void *args, void *workspace, size_t bytes, void *stream);
} pipe_info;

#endif /* PIPE_RUNTIME_H_1 */
)";

/// What headers with functions for windows have in common besides.
constexpr std::string_view kWindows = R"(#ifndef PIPE_WINDOWS_H_1
#define PIPE_WINDOWS_H_1

/* A buffer's fields in the pipeline's window struct. Without dimensions an output has its int32_t at lo_offset, and an
 * input nothing. */
typedef struct {
    size_t lo_offset, hi_offset;
} pipe_window_fields;

/* All that a program needs to ask for windows of a pipeline that it does not know. */
typedef struct {
    int version; /* of this table: 1. Another number means that the other fields may differ. */
    size_t window_size;
    const pipe_window_fields *buffers; /* inputs, then outputs */
    pipe_status (*required)(const void *args, void *window);
    pipe_status (*check_window)(const void *args, const void *window, char *message, size_t size);
    size_t (*window_workspace_size)(const void *args, const void *window);
    pipe_status (*launch_window)(const void *args, const void *window, void *workspace, size_t bytes, void *stream);
} pipe_window_info;

#endif /* PIPE_WINDOWS_H_1 */
)";

std::string shape(const ir::Pipeline& pipeline, const ir::Buffer& buffer) {
    std::string text =
        fmt::format("{}: {}[{}]", buffer.name, ir::name(buffer.type), ir::extents_text(pipeline, buffer));
    if (!std::is_sorted(buffer.order.begin(), buffer.order.end())) {
        text += fmt::format(" order({})", fmt::join(buffer.order, ", "));
    }
    return comment_text(text);
}

void buffer_fields(Writer& out, const ir::Pipeline& pipeline, const ir::Buffer& buffer,
                   const ArgumentNames::Buffer& names, bool is_output) {
    out.line("/* {} {} */", is_output ? "output" : "input", shape(pipeline, buffer));
    out.line("{}{} *{};", is_output ? "" : "const ", storage_type(buffer.type), names.data);
    if (buffer.rank() > 0) {
        out.line("int64_t {}[{}];", names.extent, buffer.rank());
        out.line("int64_t {}[{}];", names.stride, buffer.rank());
    }
}

void argument_struct(Writer& out, const Unit& unit, const std::string& name) {
    const ir::Pipeline& pipeline = *unit.pipeline;
    const ArgumentNames names = argument_names(unit);
    out.add(
        "/* Extents and strides are in elements; all strides 0: dense. An extent of an output that is 0: as computed. "
        "*/");
    out.open(fmt::format("typedef struct {}_args", name));
    std::size_t next = 0;
    for (const ir::Buffer& input : pipeline.inputs) buffer_fields(out, pipeline, input, names.buffers[next++], false);
    for (const ir::Output& output : pipeline.outputs) {
        buffer_fields(out, pipeline, output.buffer, names.buffers[next++], true);
    }
    for (std::size_t i = 0; i < pipeline.params.size(); ++i) {
        const ir::ScalarParameter& param = pipeline.params[i];
        std::string comment = fmt::format("parameter {}: {}", param.name, ir::name(param.type));
        if (param.default_value) comment += " = " + ir::to_string(pipeline, param.default_value);
        out.line("{} {}; /* {} */", storage_type(param.type), names.params[i], comment_text(comment));
    }
    for (std::size_t i = 0; i < pipeline.sizes.size(); ++i) {
        if (!names.sizes[i].empty()) out.line("int64_t {}; /* size, to be given */", names.sizes[i]);
    }
    out.close(fmt::format(" {}_args;", name));
}

void functions(Writer& out, const std::string& name) {
    out.add("/* Zeroes everything, then sets the parameters that have defaults. */");
    out.line("void {0}_defaults({0}_args *args);", name);
    out.add("/* Checks the extents of the inputs; fills in extents of the outputs and strides that are 0. */");
    out.line("pipe_status {0}_resolve({0}_args *args);", name);
    out.add("/* What launch checks of its arguments, with a sentence that says what is wrong; message may be NULL. */");
    out.line("pipe_status {0}_check(const {0}_args *args, char *message, size_t size);", name);
    out.add("/* Bytes of workspace that launch needs; SIZE_MAX where the arguments are wrong. */");
    out.line("size_t {0}_workspace_size(const {0}_args *args);", name);
    out.add(
        "/* Runs the pipeline. The workspace is aligned to 64 bytes (on a device to 256, as cudaMalloc does it); it "
        "may be "
        "NULL where none is needed. */");
    out.line("pipe_status {0}_launch(const {0}_args *args, void *workspace, size_t bytes, struct CUstream_st *stream);",
             name);
    out.add("/* The pipeline's buffers, parameters and functions as data. */");
    out.line("const pipe_info *{}_info(void);", name);
}

/// What windows are, and the functions for them.
void window_functions(Writer& out, const Unit& unit, const std::string& name) {
    const ArgumentNames names = argument_names(unit);
    const std::size_t inputs = unit.pipeline->inputs.size();
    out.add("/* Parts of the buffers, lo <= index < hi, where indices are those of the whole images. */");
    out.open(fmt::format("typedef struct {}_window", name));
    bool any = false;
    for (std::size_t i = 0; i < names.buffers.size(); ++i) {
        const WindowFields fields = window_fields(names.buffers[i]);
        const std::size_t rank = buffer_at(*unit.pipeline, i).rank();
        if (rank > 0)
            out.line("int64_t {0}[{2}], {1}[{2}];", fields.lo, fields.hi, rank);
        else if (i >= inputs)
            out.line("int32_t {}; /* 1: it is computed */", fields.wanted);
        any = any || rank > 0 || i >= inputs;
    }
    if (!any) out.line("int32_t nothing;");
    out.close(fmt::format(" {}_window;", name));
    out.blank();
    out.add(
        "/* The windows of the inputs that those of the outputs need: fills them in, an empty one, 0 to 0, where "
        "nothing "
        "is needed. The arguments are those of the whole images; pointers and strides are not looked at. */");
    out.line("pipe_status {0}_required(const {0}_args *args, {0}_window *window);", name);
    out.add("/* The window struct and the functions for windows as data. */");
    out.line("const pipe_window_info *{}_window_info(void);", name);
    out.add(
        "/* What launch_window checks, with a sentence that says what is wrong; message may be NULL. Extents are those "
        "of "
        "the whole images; pointers and strides those of memory that holds just the windows. Pointers of buffers with "
        "empty windows are not looked at. Windows of inputs may be larger than they must be. */");
    out.line(
        "pipe_status {0}_check_window(const {0}_args *args, const {0}_window *window, char *message, size_t size);",
        name);
    out.add("/* Bytes of workspace that launch_window needs; SIZE_MAX where the arguments are wrong. */");
    out.line("size_t {0}_window_workspace_size(const {0}_args *args, const {0}_window *window);", name);
    out.add("/* Computes the windows of the outputs: the same bits as in a launch of the whole images. */");
    out.line(
        "pipe_status {0}_launch_window(const {0}_args *args, const {0}_window *window, void *workspace, size_t bytes, "
        "struct CUstream_st *stream);",
        name);
}

/// Headers of one name in two folders may be included together, so the guard has the pipelines that are not named like
/// the file.
std::string include_guard(const std::string& base, const std::vector<std::string>& names) {
    std::string guard = "PIPE_GENERATED_" + base;
    for (const std::string& name : names) {
        if (name != base) guard += "_" + name;
    }
    guard += "_H";
    std::transform(guard.begin(), guard.end(), guard.begin(), [](unsigned char c) { return std::toupper(c); });
    return guard;
}

}  // namespace

std::string header(std::string_view program, const std::string& base, const std::vector<Unit>& units,
                   const Origin& origin) {
    return header(program, base, units, origin, false);
}

std::string header(std::string_view program, const std::string& base, const std::vector<Unit>& units,
                   const Origin& origin, bool windows) {
    const std::vector<std::string> names = pipeline_names(units);
    const std::string guard = include_guard(identifier(base), names);

    Writer out;
    out.line("/* {} as C functions. {} */", comment_text(base_name(program)), generated_by(origin));
    out.line("#ifndef {}", guard);
    out.line("#define {}", guard);
    out.blank();
    out.add("#include <stddef.h>");
    out.add("#include <stdint.h>");
    out.blank();
    out.verbatim(kRuntime);
    out.blank();
    if (windows) {
        out.verbatim(kWindows);
        out.blank();
    }
    out.add("struct CUstream_st; /* a CUDA stream; the host target wants NULL */");
    out.blank();
    out.verbatim("#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for (std::size_t i = 0; i < units.size(); ++i) {
        out.blank();
        if (const std::string doc = comment_text(units[i].pipeline->doc); !doc.empty()) out.line("/* {} */", doc);
        argument_struct(out, units[i], names[i]);
        out.blank();
        functions(out, names[i]);
        if (!windows) continue;
        out.blank();
        window_functions(out, units[i], names[i]);
    }
    out.blank();
    out.verbatim("#ifdef __cplusplus\n}\n#endif\n");
    out.line("#endif /* {} */", guard);
    return out.str();
}

}  // namespace pipec::codegen
