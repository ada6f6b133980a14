// What was meant by a name that means nothing: names of other languages, of the standard library, and close ones.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>
#include <utility>

#include "frontend/elaborate_syntax.h"
#include "frontend/elaborator.h"
#include "frontend/parse.h"
#include "frontend/stdlib.h"
#include "ir/build.h"

namespace pipec::elab {

namespace {

/// Functions of C, Halide, OpenCV, NumPy and MATLAB, and what they are called here. Where `import` is empty, the
/// language itself has it, and takes the same arguments.
struct Known {
    std::string_view name;
    std::string_view import;
};
const std::map<std::string_view, Known> kFunctions = {
    {"fabs", {"abs", ""}},
    {"fabsf", {"abs", ""}},
    {"fmin", {"min", ""}},
    {"fminf", {"min", ""}},
    {"fmax", {"max", ""}},
    {"fmaxf", {"max", ""}},
    {"power", {"pow", ""}},
    {"ln", {"log", ""}},
    {"rint", {"round", ""}},
    {"nearbyint", {"round", ""}},
    {"clip", {"clamp", ""}},
    {"arctan", {"atan", ""}},
    {"arctan2", {"atan2", ""}},
    {"inversesqrt", {"rsqrt", ""}},
    {"M_PI", {"PI", "math"}},
    {"repeat_edge", {"clamp_to_edge", "boundary"}},
    {"mirror_image", {"mirror", "boundary"}},
    {"mirror_interior", {"reflect", "boundary"}},
    {"repeat_image", {"wrap", "boundary"}},
    {"constant_exterior", {"constant", "boundary"}},
    {"copyMakeBorder", {"clamp_to_edge", "boundary"}},
    {"pad", {"clamp_to_edge", "boundary"}},
    {"padarray", {"clamp_to_edge", "boundary"}},
    {"GaussianBlur", {"gaussian", "stencil"}},
    {"gaussian_filter", {"gaussian", "stencil"}},
    {"imgaussfilt", {"gaussian", "stencil"}},
    {"blur", {"box", "stencil"}},
    {"boxFilter", {"box", "stencil"}},
    {"uniform_filter", {"box", "stencil"}},
    {"Sobel", {"sobel_x", "stencil"}},
    {"sobel", {"sobel_x", "stencil"}},
    {"Scharr", {"scharr_x", "stencil"}},
    {"Laplacian", {"laplacian", "stencil"}},
    {"filter2D", {"conv2d", "stencil"}},
    {"imfilter", {"conv2d", "stencil"}},
    {"convolve", {"conv2d", "stencil"}},
    {"conv2", {"conv2d", "stencil"}},
    {"average", {"box", "stencil"}},
    {"texture", {"sample_bilinear", "resample"}},
    {"texture2D", {"sample_bilinear", "resample"}},
    {"tex2D", {"sample_bilinear", "resample"}},
    {"sepFilter2D", {"sep_conv", "stencil"}},
    {"medianBlur", {"median3", "morphology"}},
    {"median_filter", {"median3", "morphology"}},
    {"medfilt2", {"median3", "morphology"}},
    {"imerode", {"erode", "morphology"}},
    {"imdilate", {"dilate", "morphology"}},
    {"cvtColor", {"gray", "color"}},
    {"rgb2gray", {"gray", "color"}},
    {"im2gray", {"gray", "color"}},
    {"rgb2hsv", {"rgb_to_hsv", "color"}},
    {"rgb2lab", {"rgb_to_lab", "color"}},
    {"imresize", {"resize_bilinear", "resize"}},
    {"resize", {"resize_bilinear", "resize"}},
    {"remap", {"warp", "resample"}},
    {"interp2", {"warp", "resample"}},
    {"integral", {"integral_image", "scan"}},
    {"cumsum", {"cumulative_sum_x", "scan"}},
    {"equalizeHist", {"equalize", "statistics"}},
    {"histeq", {"equalize", "statistics"}},
    {"calcHist", {"histogram", "statistics"}},
    {"imhist", {"histogram", "statistics"}},
    {"std", {"standard_deviation", "statistics"}},
    {"var", {"variance", "statistics"}},
    {"normalize", {"standardize", "statistics"}},
    {"popcnt", {"popcount", "math"}},
    {"__popc", {"popcount", "math"}},
    {"__builtin_popcount", {"popcount", "math"}},
    {"bitwise_count", {"popcount", "math"}},
    {"pyrDown", {"pyr_down_clamped", "pyramid"}},
    {"pyrUp", {"pyr_up_clamped", "pyramid"}},
};

/// Notes for names that no function here stands for.
const std::map<std::string_view, std::string_view> kNotes = {
    {"None", "every point of an image has a value; a condition may choose one: `if c then a else 0`"},
    {"null", "every point of an image has a value; a condition may choose one: `if c then a else 0`"},
    {"NULL", "every point of an image has a value; a condition may choose one: `if c then a else 0`"},
    {"nullptr", "every point of an image has a value; a condition may choose one: `if c then a else 0`"},
    {"range", "a range is written `0..n`"},
    {"len", "`length(t)` is the number of a table's elements, `extent(f, 0)` that of an image's rows"},
    {"size", "`extent(f, 0)` is the number of an image's rows, `extent(f, 1)` of its columns"},
    {"shape", "`extent(f, 0)` is the number of an image's rows, `extent(f, 1)` of its columns"},
    {"fmod", "the remainder of a division of floats is `a - b * trunc(a / b)`"},
    {"mod", "the remainder of integers is `a % b`, of floats `a - b * floor(a / b)`"},
    {"rem", "the remainder of integers is `a % b`"},
    {"inf", "infinity is `1.0 / 0`"},
    {"Inf", "infinity is `1.0 / 0`"},
    {"INFINITY", "infinity is `1.0 / 0`"},
    {"infinity", "infinity is `1.0 / 0`"},
    {"isinf", "infinite is `abs(e) == 1.0 / 0`"},
    {"isfinite", "finite is `abs(e) < 1.0 / 0`"},
    {"sort",
     "few values are sorted by `sort3` and `sort5` (import \"sorting\"), and ranks of a neighbourhood are `rank3` "
     "and `rank5` (import \"morphology\")"},
    {"median",
     "medians are `median3` and `median5` (import \"morphology\"), of three values `median_of_3` (import \"math\")"},
    {"relu", "it is `max(e, 0)`"},
    {"u8_sat", "a cast that clamps is `saturate<uint8>(e)`"},
    {"u16_sat", "a cast that clamps is `saturate<uint16>(e)`"},
    {"i16_sat", "a cast that clamps is `saturate<int16>(e)`"},
    {"zeros", "an image of zeros is a stage: `f(y, x) = 0`"},
    {"ones", "an image of ones is a stage: `f(y, x) = 1`"},
    {"end", "the last index is the size minus one: `f(R - 1, x)`"},
    {"_", "dimensions that are handed on are written `..k`, in the definition and in its reads"},
    {"dot", "a dot product is `sum(i in 0..3) a[i] * b[i]`"},
    {"norm", "the norm of two values is `hypot(a, b)`"},
    {"texelFetch", "a point of an image is read by `img(y, x)`"},
    {"print", "nothing is printed; what shall be seen is an output of the pipeline"},
    {"printf", "nothing is printed; what shall be seen is an output of the pipeline"},
    {"rand", "nothing is random; noise is an input of the pipeline"},
    {"random", "nothing is random; noise is an input of the pipeline"},
    {"vec2", "several values are a table: `[a, b]`"},
    {"vec3", "several values are a table: `[a, b, c]`"},
    {"vec4", "several values are a table: `[a, b, c, d]`"},
    {"float2", "several values are a table: `[a, b]`"},
    {"float3", "several values are a table: `[a, b, c]`"},
    {"float4", "several values are a table: `[a, b, c, d]`"},
    {"make_float2", "several values are a table: `[a, b]`"},
    {"make_float3", "several values are a table: `[a, b, c]`"},
    {"make_float4", "several values are a table: `[a, b, c, d]`"},
};

}  // namespace

std::string example_indices(std::size_t rank) {
    std::string example;
    for (std::size_t i = 0; i < rank; ++i) {
        example += std::string(i > 0 ? ", " : "") +
                   (rank <= 3 ? std::string(1, "cyx"[i + (3 - rank)]) : fmt::format("i{}", i));
    }
    return example;
}

/// What a function's stages are defined over, or what they read: `..k, y, x` planes, or `c, ..k` points whose channels
/// come first.
enum class Works { Otherwise, OnPlanes, OnFirst };

/// Of a stage `m(..k)`, which combines points, as its reads tell.
static Works works(const ast::Expr& value, const std::string& splice) {
    const std::vector<const ast::Call*> reads = calls_with_splice(value, splice);
    if (reads.empty()) return Works::Otherwise;
    const std::vector<ast::Expr>& args = reads.front()->args;
    const auto is_splice = [](const ast::Expr& arg) { return std::holds_alternative<ast::SpliceRef>(arg->value); };
    if (args.size() == 3 && is_splice(args[0])) return Works::OnPlanes;
    return args.size() == 2 && is_splice(args[1]) ? Works::OnFirst : Works::Otherwise;
}

static Works works(const ast::Block& body) {
    for (const ast::Statement& statement : body) {
        const auto* definition = std::get_if<ast::Definition>(&statement.value);
        if (definition == nullptr || !definition->dims) continue;
        const std::vector<ast::DimPattern>& dims = *definition->dims;
        if (dims.size() == 3 && dims[0].splice) return Works::OnPlanes;
        if (dims.size() == 2 && dims[1].splice) return Works::OnFirst;
        if (dims.size() == 1 && dims[0].splice) return works(definition->value, dims[0].name.text);
    }
    return Works::Otherwise;
}

void Elaborator::note_interleaved(const ast::Fn& fn, const ast::Block& body, const Scope& scope) {
    constexpr Int128 kMostChannels = 4;
    if (!files_.is_standard_library(fn.name.range.file)) return;
    const Works how = works(body);
    if (how == Works::Otherwise) return;
    // The call that the user wrote, of a function that may have called others.
    const auto call = std::ranges::find_if(instance_->calls,
                                           [&](SourceRange range) { return !files_.is_standard_library(range.file); });
    if (call == instance_->calls.end()) return;
    const std::string& callee = instance_->callees[static_cast<std::size_t>(call - instance_->calls.begin())];
    for (const ast::FnParam& param : fn.params) {
        const auto symbol = scope.names.find(param.name.text);
        const auto* image = symbol == scope.names.end() ? nullptr : symbol->second->value.as<Image>();
        if (image == nullptr || image->rank < 3) continue;
        const Bounds bounds = bounds_of(*image);
        const auto extent = [&](std::size_t dim) -> std::optional<Int128> {
            const auto& [lo, hi] = bounds[dim];
            if (!lo || !ir::as_int(lo) || !ir::as_int(hi)) return std::nullopt;
            return Int128{*ir::as_int(hi)} - *ir::as_int(lo) + 1;
        };
        const auto channels = extent(image->rank - 1);
        if (!channels || *channels < 2 || *channels > kMostChannels || extent(image->rank - 2) || extent(0)) continue;
        const bool input = image->source.kind == ir::Source::Kind::Input;
        const std::string name =
            input ? p_.inputs[static_cast<std::size_t>(image->source.index)].name : stage_of(*image).name;
        Instance* const inside = std::exchange(instance_, nullptr);  // how the library goes on says nothing here
        Report r = report(diag::InterleavedImage, *call, callee,
                          how == Works::OnPlanes ? "rows and columns from the last two dimensions"
                                                 : "channels from the first dimension",
                          name, to_string(*channels));
        instance_ = inside;
        const auto& library = files_.library();
        const bool has_other = std::ranges::any_of(library, [&](const auto& file) {
            return std::ranges::find(file.second, callee + "_yxc") != file.second.end();
        });
        if (has_other) r.note(fmt::format("`{}_yxc` takes them from the two before the last", callee));
        r.note(
            fmt::format("`channels_first({})` is that image with the channels before rows and columns, "
                        "`channels_last` the way back (import \"layout\")",
                        name));
        if (input && image->rank == 3) {
            const ir::Buffer& buffer = p_.inputs[static_cast<std::size_t>(image->source.index)];
            r.note(buffer.range, fmt::format("or let the program count the channels first, with the same memory: "
                                             "`{}: {}[{}, ...] order(1, 2, 0)`",
                                             name, ir::name(buffer.type), to_string(*channels)));
        }
        return;
    }
}

bool Elaborator::foreign_name(Report& r, const std::string& name, SourceRange range) {
    if (name == "True" || name == "TRUE" || name == "False" || name == "FALSE") {
        r.suggest(range, name[0] == 'T' ? "true" : "false");
    } else if (name == "argmin" || name == "argmax") {
        r.note(
            fmt::format("it goes over variables: `m() = {}(y in 0..R, x in 0..C) img(y, x)`, read by `m()[0]` and "
                        "`m()[1]`",
                        name));
    } else if (const auto note = kNotes.find(name); note != kNotes.end()) {
        r.note(std::string(note->second));
    } else if (name.ends_with("cast") || name == "convert") {
        r.note("a cast is written `uint8(e)`, one that clamps `saturate<uint8>(e)`");
    } else if (const auto known = kFunctions.find(name); known != kFunctions.end()) {
        const auto& [here, import] = known->second;
        if (import.empty()) {
            r.suggest(range, std::string(here));
        } else {
            r.note(fmt::format("the standard library has `{}`: add import \"{}\"", here, import));
        }
    } else {
        return false;
    }
    return true;
}

bool Elaborator::variable_elsewhere(const Scope* scope, const std::string& name) const {
    for (; scope != nullptr && scope->instance == nullptr; scope = scope->parent) {
    }
    if (scope == nullptr) return false;
    // Statements are declared in the order of the text: what follows an `if` is not there yet.
    if (name == "x" || name == "y") return true;
    return std::ranges::any_of(scope->instance->definitions, [&](const Symbol* symbol) {
        return symbol->stage != nullptr && symbol->stage->dims &&
               std::ranges::any_of(*symbol->stage->dims,
                                   [&](const ast::DimPattern& dim) { return dim.name.text == name; });
    });
}

void Elaborator::unknown_name(const Scope* scope, const std::string& name, SourceRange range) {
    // In a loop or a function the same place is met many times; what was meant is looked for once.
    const bool known = files_.reported.contains(place_of(diag::UnknownName, range));
    Report r = report(diag::UnknownName, range, name);
    if (known) return;
    std::vector<std::string> candidates;
    for (const Scope* s = scope; s != nullptr; s = s->parent) {
        for (const auto& [candidate, symbol] : s->names) candidates.push_back(candidate);
        if (s->kind != Scope::Kind::File) continue;
        for (const Scope* imported : s->imports) {
            for (const auto& [candidate, symbol] : imported->names) candidates.push_back(candidate);
        }
    }
    for (const std::string& builtin : builtin_names()) candidates.push_back(builtin);
    if (!outside_points_.empty() && variable_elsewhere(scope, name)) {
        r.note(std::string(outside_points_));
        return;
    }
    const auto& library = files_.library();
    const auto in_library = std::ranges::find_if(
        library, [&](const auto& file) { return std::ranges::find(file.second, name) != file.second.end(); });
    if (in_library != library.end()) {
        r.note("the standard library has `" + name + "`: add import \"" + in_library->first + "\"");
    } else if (foreign_name(r, name, range)) {
        return;
    } else if (const auto type = foreign_type(name)) {
        r.suggest(range, std::string(ir::name(*type)));
    } else if (const auto close = closest_name(name, candidates)) {
        r.suggest(range, *close);
        if (const Symbol* meant = find(scope, *close, range)) r.note(meant->range, "`" + *close + "` is defined here");
    } else {
        for (const auto& [file, names] : library) {
            const auto library_name = closest_name(name, names);
            if (!library_name) continue;
            r.note("did you mean the standard library's `" + *library_name + "`? add import \"" + file + "\"");
            return;
        }
        list_names(r, name, range);
    }
}

/// What there is: sizes for what looks like one, images for what is called.
void Elaborator::list_names(Report& r, const std::string& name, SourceRange range) const {
    const auto list = [](const auto& of) {
        std::string text;
        for (const auto& one : of) text += fmt::format("{}`{}`", text.empty() ? "" : ", ", one.name);
        return text;
    };
    const std::string sizes = list(p_.sizes);
    const bool upper = std::ranges::all_of(name, [](unsigned char c) { return std::isupper(c) != 0 || c == '_'; });
    static const std::set<std::string_view> kWords = {"height", "width", "rows", "cols", "columns", "nrows", "ncols"};
    const std::string_view after = std::string_view(files_.sources.text(range.file)).substr(range.end);
    if ((upper || kWords.contains(name)) && !sizes.empty()) {
        r.note("the sizes of this pipeline are " + sizes);
    } else if (after.starts_with("(") && !p_.inputs.empty()) {
        r.note(fmt::format("the input{} of this pipeline {} {}", p_.inputs.size() == 1 ? "" : "s",
                           p_.inputs.size() == 1 ? "is" : "are", list(p_.inputs)));
    }
}

}  // namespace pipec::elab
