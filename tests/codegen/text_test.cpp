// What generated text looks like: the same every time, no larger than the program, readable (golden/blur.cpp, which
// holds what is generated for the program and not the fixed part).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <sstream>

#include "codegen/emit/c/c_names.h"
#include "codegen/emit/c/pieces.h"
#include "codegen/emit/c/text.h"
#include "codegen/generated.h"

namespace pipec::testing::text_test {
namespace {

const std::string kBlurText = read_file(PIPEC_SOURCE_DIR "/tests/codegen/programs/blur.pipe");

TEST(Text, IsTheSameEveryTime) {
    const GeneratedText first = generate("blur", kBlurText);
    const GeneratedText second = generate("blur", kBlurText);
    EXPECT_EQ(first.header, second.header);
    EXPECT_EQ(first.source, second.source);
}

TEST(Text, Golden) {
    const GeneratedText text = generate("blur", kBlurText);
    const std::string part = text.source.substr(text.source.find("// ---- blur"));
    const std::string path = PIPEC_SOURCE_DIR "/tests/codegen/golden/blur.cpp";
    if (std::getenv("PIPEC_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << part;
    EXPECT_EQ(part, read_file(path));
}

TEST(Text, FitsTheScreen) {
    const GeneratedText text = generate("blur", kBlurText);
    for (const std::string& file : {text.header, text.source, generate_cuda("blur", kBlurText).source}) {
        std::istringstream lines(file);
        for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120u) << line;
    }
}

TEST(Text, BreaksNoCommentThatEndsALine) {
    const std::string name(200, 'p');
    const GeneratedText text = generate("p", "pipeline " + name + "(a: int32[N]) -> out: int32[N] { out(x) = a(x) }");
    EXPECT_NE(text.source.find("// namespace " + name), std::string::npos);
}

TEST(Text, IsAsLongAsTheGraphNotTheTree) {
    // Doubling forty times through functions, in both branches of an `if` as well.
    std::string program = "fn step(v) = if v > 0 then v + v * 2 else v - v * 3\n";
    std::string value = "img(x)";
    for (int i = 0; i < 40; ++i) value = "step(" + value + ")";
    program += "pipeline p(img: float32[N]) -> out: float32[N] { out(x) = " + value + " }\n";
    EXPECT_LT(generate("p", program).source.size(), 60000u);
}

// What several branches need and parameters decide is computed before the first of them; what one needs stays in it,
// and so does what would divide by 0 elsewhere.
TEST(Text, BranchesShareWhatParametersDecide) {
    // How often the kernel, in which tiles at edges have code of their own, has some text.
    const auto count = [](const std::string& value, const std::string& wanted) {
        const std::string text = generate_cuda("p", R"(
            pipeline p(img: float32[N], s: float32, k: int32) -> out: float32[N] where k >= 0 {
                let c = exp(s) * sin(s)
                out(i) = )" + value + "\n}")
                                     .source;
        std::string kernel = text.substr(text.find("__global__"));
        kernel.resize(kernel.find("\n}\n"));
        int number = 0;
        for (std::size_t at = 0; (at = kernel.find(wanted, at)) != std::string::npos; ++at) ++number;
        return number;
    };
    const std::string one = "(if img(i) > 1 then sqrt(img(i)) * exp(c) else 0)";
    const std::string two = one + " + (if img(i) < -1 then exp(img(i) * c) else 0)";
    EXPECT_EQ(count(two, "sinf("), 2);
    EXPECT_EQ(count(two, "= expf(s) * sinf(s);"), 2);
    EXPECT_EQ(count(one, "sinf("), 2);
    EXPECT_EQ(count(one, "= expf(s) * sinf(s);"), 0);
    const std::string divided =
        "(if k > img(i) and k > 0 then sqrt(img(i)) * exp(float32(9 / k) / s) else 0) + "
        "(if k > 0 and img(i) < 2 then exp(img(i) * float32(9 / k) / s) else 0)";
    EXPECT_GT(count(divided, "float(floor_div(9, k))"), 0);
    EXPECT_EQ(count(divided, " = float(floor_div(9, k))"), 0);
}

TEST(Text, OnlyTheHelpersThatAreUsed) {
    EXPECT_EQ(generate("blur", kBlurText).source.find("floor_div"), std::string::npos);
    const std::string divided = "pipeline p(img: int32[N]) -> out: int32[N] { out(x) = img(x) / 3 }";
    EXPECT_NE(generate("p", divided).source.find("floor_div"), std::string::npos);
}

// ptxas of CUDA 13.0 computes min(min(-a, b), c) of 32 bits without the sign of a, for devices of capability 9.0: on a
// device all that nvcc makes a negation of goes through `opaque_neg`.
TEST(Text, DevicesNegateIntegersOpaquely) {
    for (const char* negated : {"-a(x)", "0 - a(x)", "a(x) * -1", "-1 * a(x)", "~a(x) + 1"}) {
        for (const char* type : {"int32", "int16", "int8"}) {
            const std::string text = fmt::format(
                "pipeline p(a: {0}[N], b: {0}[N]) -> out: {0}[N] {{ out(x) = {0}(min(min({1}, b(x)), 7)) }}", type,
                negated);
            EXPECT_NE(generate_cuda("p", text).source.find("wrap_neg("), std::string::npos) << text;
        }
    }
    const std::string less = "pipeline p(a: int32[N]) -> out: int32[N] { out(x) = min(3 - a(x), 7) - a(x) }";
    EXPECT_EQ(generate_cuda("p", less).source.find("opaque_neg("), std::string::npos);
    const std::string on_host = "pipeline p(a: uint8[N]) -> out: int32[N] { out(x) = min(-int32(a(x)), 7) }";
    EXPECT_EQ(generate("p", on_host).source.find("opaque_neg("), std::string::npos);
    EXPECT_NE(generate_cuda("p", on_host).source.find("opaque_neg("), std::string::npos);
}

// The same ptxas makes one instruction of max(min(a, b), 0) and takes its second result for whether it equals b: on a
// device no maximum of 0 has a minimum or a maximum in it, whatever the program calls them.
TEST(Text, DevicesClampAtZeroFirst) {
    // Code, without comments, has the maximum of 0 and one of min(...), max(...).
    const auto is_plain = [](const std::string& value, const std::string& type) {
        const std::string source = generate_cuda("p", fmt::format("pipeline p(a: {0}[N], b: {0}[N]) -> out: {0}[N] {{ "
                                                                  "out(x) = {1} }}",
                                                                  type, value))
                                       .source;
        const std::string code = std::regex_replace(source, std::regex("//[^\n]*"), "");
        return std::regex_search(code, std::regex("max\\((min|max)\\([^()]*\\), 0\\)"));
    };
    for (const char* clamped : {"max(min(a(x), b(x)), 0)", "max(0, min(b(x), a(x)))", "max(max(a(x), b(x)), 0)",
                                "min(max(min(a(x), b(x)), 0), 7)", "let m = min(a(x), b(x)) in max(m, 0) + m * m"}) {
        EXPECT_FALSE(is_plain(clamped, "int32")) << clamped;
    }
    EXPECT_FALSE(is_plain("int16(max(min(a(x), 9), 0))", "int16"));
}

// Of what stands in every file as of the helpers: names in comments and literals use nothing, and what is used brings
// what it needs.
TEST(Text, OnlyThePiecesThatAreUsed) {
    const std::vector<codegen::Piece> pieces = {
        {"", "// ---- One\n"}, {"a", "int a;\n"},       {"b twin", "int b = a;\n"}, {"", "// ---- Two\n"},
        {"c", "int c = b;\n"}, {"", "// ---- Three\n"}, {"d", "int d;\n"}};
    EXPECT_EQ(codegen::used_pieces(pieces, "return c;"),
              "// ---- One\n\nint a;\n\nint b = a;\n\n// ---- Two\n\nint c = b;\n\n");
    EXPECT_EQ(codegen::used_pieces(pieces, "twin();"), "// ---- One\n\nint a;\n\nint b = a;\n\n");
    EXPECT_EQ(codegen::used_pieces(pieces, "f(\"a \\\" c\", ad);  // c\n"), "");
    const std::string one = "pipeline p(img: float32[N]) -> out: float32[N] { out(x) = img(x) * 2 }";
    for (const std::string& source : {generate("p", one).source, generate_cuda("p", one).source}) {
        EXPECT_NE(source.find("settle_strides(Report"), std::string::npos);
        EXPECT_EQ(source.find("struct Space"), std::string::npos) << "nothing lies in the workspace";
        EXPECT_EQ(source.find("check_conditions"), std::string::npos) << "there are none";
    }
}

// Points that need no condition have none, and the others stand in a function of their own.
TEST(Text, EdgesAreApart) {
    const std::string source = generate("p", R"(
        pipeline p(img: float32[R, C]) -> out: float32[R, C] {
            out(y, x) = if x > 0 and x < C - 1 and y > 0 then img(y - 1, x - 1) + img(y, x + 1) else 0
        })")
                                   .source;
    const std::size_t edges = source.find("void compute_out_edges("), rows = source.find("void compute_out(");
    ASSERT_NE(edges, std::string::npos);
    ASSERT_LT(edges, rows);
    const std::string row = source.substr(rows, source.find("void run(") - rows);
    EXPECT_NE(row.find("PIPE_SIMD"), std::string::npos);
    EXPECT_NE(row.find("out(y, x) = img(y - 1, x - 1) + img(y, x + 1);"), std::string::npos) << row;
}

// Of indices, too, which are not negative: C compilers do not know.
TEST(Text, PowersOfTwoAreShiftsAndMasks) {
    const std::string halves = "pipeline p(img: int32[N]) -> out: int32[N] { out(x) = img(x / 2) + x % 4 }";
    const std::string source = generate("p", halves).source;
    EXPECT_NE(source.find("x >> 1"), std::string::npos);
    EXPECT_NE(source.find("x & 3"), std::string::npos);
}

// ptxas 13.0 makes wrong code of sums of conditions that are shifted.
TEST(Text, BitsOfConditionsAreChoices) {
    for (const std::string bit : {"int32(img(x) > 1) << 3", "int32(img(x) > 1) * 8"}) {
        const std::string text = "pipeline p(img: int32[N]) -> out: int32[N] { out(x) = (" + bit + ") + img(x) }";
        EXPECT_NE(generate_cuda("p", text).source.find("? 8 : 0"), std::string::npos) << bit;
    }
}

TEST(Names, BecomeIdentifiers) {
    EXPECT_EQ(codegen::identifier("g[3]"), "g_3");
    EXPECT_EQ(codegen::identifier("sxx.f"), "sxx_f");
    EXPECT_EQ(codegen::identifier("int"), "int_");
    EXPECT_EQ(codegen::identifier("register"), "register_");
    EXPECT_EQ(codegen::identifier("_a__b"), "n_a_b");
    codegen::Names names;
    EXPECT_EQ(names.add("x"), "x");
    EXPECT_EQ(names.add("x"), "x_2");
    EXPECT_EQ(names.add("x_2"), "x_2_2");
}

TEST(Comments, CannotBeEnded) {
    EXPECT_EQ(codegen::comment_text("a */ b"), "a * / b");
    EXPECT_EQ(codegen::comment_text("a \\"), "a");
    EXPECT_EQ(codegen::comment_text("a\nb"), "a b");
    EXPECT_EQ(codegen::c_string("a\"\\\n?"), "\"a\\\"\\\\\\012\\?\"");
}

}  // namespace
}  // namespace pipec::testing::text_test
