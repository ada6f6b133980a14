// Names of other languages and what they are called here. See foreign_names.h.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>

#include "frontend/foreign_names.h"

namespace pipec {

namespace {

bool one_of(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
}

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
    {"absolute", {"abs", ""}},
    {"True", {"true", ""}},
    {"TRUE", {"true", ""}},
    {"False", {"false", ""}},
    {"FALSE", {"false", ""}},
    {"power", {"pow", ""}},
    {"ln", {"log", ""}},
    {"rint", {"round", ""}},
    {"nearbyint", {"round", ""}},
    {"clip", {"clamp", ""}},
    {"arctan", {"atan", ""}},
    {"arctan2", {"atan2", ""}},
    {"inversesqrt", {"rsqrt", ""}},
    {"M_PI", {"PI", "math"}},
    {"pi", {"PI", "math"}},
    {"FLT_MAX", {"3.4028235e38", ""}},
    {"FLT_MIN", {"1.1754944e-38", ""}},
    {"FLT_EPSILON", {"1.1920929e-7", ""}},
    {"DBL_MAX", {"1.7976931348623157e308", ""}},
    {"DBL_MIN", {"2.2250738585072014e-308", ""}},
    {"DBL_EPSILON", {"2.220446049250313e-16", ""}},
    {"repeat_edge", {"clamp_to_edge", "boundary"}},
    {"mirror_image", {"mirror", "boundary"}},
    {"mirror_interior", {"reflect", "boundary"}},
    {"repeat_image", {"wrap", "boundary"}},
    {"constant_exterior", {"constant", "boundary"}},
    {"copyMakeBorder", {"clamp_to_edge", "boundary"}},
    {"pad", {"clamp_to_edge", "boundary"}},
    {"padarray", {"clamp_to_edge", "boundary"}},
    {"GaussianBlur", {"gaussian", "stencil"}},
    {"gaussian_blur", {"gaussian", "stencil"}},
    {"gaussianBlur", {"gaussian", "stencil"}},
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
    {"avg", {"mean", "statistics"}},
    {"bilinear", {"sample_bilinear", "resample"}},
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
    {"popcnt", {"popcount", "math"}},
    {"__popc", {"popcount", "math"}},
    {"__builtin_popcount", {"popcount", "math"}},
    {"bitwise_count", {"popcount", "math"}},
    {"pyrDown", {"pyr_down_clamped", "pyramid"}},
    {"pyrUp", {"pyr_up_clamped", "pyramid"}},
};

constexpr std::string_view kNan = "not a number is `0.0 / 0`, and `isnan(e)` tells it";
constexpr std::string_view kLimits = "limits are written as numbers: `255`, `3.4028235e38`; infinity is `1.0 / 0`";
constexpr std::string_view kOverImage =
    "over an image it is `m() = max(y in 0..R, x in 0..C) img(y, x)`, read by `m()`";
constexpr std::string_view kNoEffect = "nothing is printed; what shall be seen is an output of the pipeline";

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
    {"nan", kNan},
    {"NaN", kNan},
    {"NAN", kNan},
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
    {"distance", "the distance of two points is `hypot(ax - bx, ay - by)`"},
    {"cross", "a cross product is a table: `[a[1] * b[2] - a[2] * b[1], ...]`"},
    {"normalize",
     "a vector is divided by its length: `let n = hypot(a, b) in [a / n, b / n]`; an image of mean 0 is `standardize` "
     "(import \"statistics\")"},
    {"exp10", "it is `pow(10, e)`"},
    {"amax", kOverImage},
    {"amin", kOverImage},
    {"array", "a table is written `[1, 2, 1]`, of rows `[[1, 2], [3, 4]]`"},
    {"linspace", "values that an index tells are a stage: `g(i in 0..n) = e`"},
    {"arange", "values that an index tells are a stage: `g(i in 0..n) = e`"},
    {"numeric_limits", kLimits},
    {"iinfo", kLimits},
    {"finfo", kLimits},
    {"norm", "the norm of two values is `hypot(a, b)`"},
    {"texelFetch", "a point of an image is read by `img(y, x)`"},
    {"print", kNoEffect},
    {"printf", kNoEffect},
    {"disp", kNoEffect},
    {"imshow", kNoEffect},
    {"show", kNoEffect},
    {"imwrite", kNoEffect},
    {"imread", "images are inputs of the pipeline: `pipeline p(img: uint8[R, C]) -> ...`"},
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

/// `INT_MAX`, `UINT8_MIN`: the number; empty for other names, and for what 64 bits with a sign do not hold.
std::string integer_limit(std::string_view name) {
    struct Width {
        int bits;
        bool is_signed;
    };
    static const std::map<std::string_view, Width> kTypes = {
        {"CHAR", {8, true}},    {"SCHAR", {8, true}},    {"UCHAR", {8, false}},   {"SHRT", {16, true}},
        {"USHRT", {16, false}}, {"INT", {32, true}},     {"UINT", {32, false}},   {"INT8", {8, true}},
        {"INT16", {16, true}},  {"INT32", {32, true}},   {"INT64", {64, true}},   {"LLONG", {64, true}},
        {"UINT8", {8, false}},  {"UINT16", {16, false}}, {"UINT32", {32, false}},
    };
    constexpr std::size_t kEnding = 4;
    const bool most = name.ends_with("_MAX");
    if (!most && !name.ends_with("_MIN")) return "";
    const auto type = kTypes.find(name.substr(0, name.size() - kEnding));
    if (type == kTypes.end()) return "";
    const auto [bits, is_signed] = type->second;
    const std::int64_t greatest = std::numeric_limits<std::int64_t>::max() >> (64 - bits - (is_signed ? 0 : 1));
    if (most) return fmt::format("{}", greatest);
    return !is_signed ? "0" : bits == 64 ? "" : fmt::format("{}", -greatest - 1);
}

}  // namespace

std::optional<ForeignName> foreign_name(std::string_view name) {
    if (const auto note = kNotes.find(name); note != kNotes.end())
        return ForeignName{"", "", std::string(note->second)};
    if (const auto known = kFunctions.find(name); known != kFunctions.end()) {
        return ForeignName{std::string(known->second.name), std::string(known->second.import), ""};
    }
    if (const std::string number = integer_limit(name); !number.empty()) return ForeignName{number, "", ""};
    if (name.ends_with("cast") || name == "convert") {
        return ForeignName{"", "", "a cast is written `uint8(e)`, one that clamps `saturate<uint8>(e)`"};
    }
    if (name == "argmin" || name == "argmax") {
        return ForeignName{"", "",
                           fmt::format("it goes over variables: `m() = {}(y in 0..R, x in 0..C) img(y, x)`, read by "
                                       "`m()[0]` and `m()[1]`",
                                       name)};
    }
    return std::nullopt;
}

std::string about_member(std::string_view name, bool of_image) {
    if (one_of(name, {"shape", "size", "width", "height", "rows", "cols", "channels", "dim", "extent", "len"})) {
        return "nothing has members: `extent(img, 0)` is the number of rows of an image, `extent(img, 1)` of columns";
    }
    if (one_of(name, {"astype", "convertTo", "to", "cast", "type"})) {
        return "nothing has members: a cast is written `uint8(e)`, one that clamps `saturate<uint8>(e)`";
    }
    if (of_image && one_of(name, {"sum", "prod", "max", "min", "any", "all", "argmax", "argmin"})) {
        return fmt::format(
            "nothing has members: over an image it is `m() = {}(y in 0..R, x in 0..C) img(y, x)`, read by `m()`", name);
    }
    if (of_image && one_of(name, {"mean", "std", "var"})) {
        return "nothing has members: the mean of an image is `mean(img)()`, its deviation `standard_deviation(img)()` "
               "(import \"statistics\")";
    }
    if (name == "at" || name == "get" || name == "ptr") {
        return "nothing has members: a point of an image is read by `img(y, x)`";
    }
    if (one_of(name, {"T", "t", "transpose"})) return "nothing has members: a transpose is `g(y, x) = f(x, y)`";
    if (one_of(name, {"parallel", "vectorize", "compute_root", "compute_at", "store_at", "store_root", "tile", "unroll",
                      "gpu_tile", "gpu_blocks", "gpu_threads", "split", "reorder", "fuse", "bound", "realize"})) {
        return "a program says what is computed, and nothing about execution: that is for a schedule (`--schedule`)";
    }
    if (one_of(name, {"x", "y", "z", "w", "r", "g", "b", "a", "xy", "xyz", "rgb", "rgba"})) {
        return "nothing has members: `t[0]` is an element of a table, and channels of an image are a dimension, "
               "`img(0, y, x)`";
    }
    return fmt::format("nothing has members: a function stands before its arguments, `{}(e)`", name);
}

}  // namespace pipec
