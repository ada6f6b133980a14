// CUDA text: what it looks like (golden/blur.cu, without the fixed part), what kernels can say that lowering does not
// need yet, and that nvcc takes all of it where there is nvcc.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>

#include "codegen/generated.h"
#include "codegen/lower.h"
#include "ir/build.h"
#include "support_lib/data.h"
#include "support_lib/device.h"

namespace pipec::testing::cuda_test {
namespace {

using codegen::kernel::Barrier;
using codegen::kernel::Kernel;
using codegen::kernel::Program;
using ir::BinaryOp;
using ir::Source;
using ir::Type;

constexpr Type kTypes[] = {Type::Bool,   Type::Int8,   Type::Int16,  Type::Int32,   Type::Int64,   Type::UInt8,
                           Type::UInt16, Type::UInt32, Type::UInt64, Type::Float16, Type::Float32, Type::Float64};

std::string nvcc() {
    for (const char* path : {"/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc"}) {
        if (std::filesystem::exists(path)) return path;
    }
    return "";
}

/// A .cu and its header, through nvcc without a warning.
void expect_nvcc_accepts(const std::string& header, const std::string& source) {
    if (nvcc().empty()) return;
    const Directory directory;
    directory.write("p.h", header);
    directory.write("p.cu", source);
    std::string output;
    const int status = directory.run(
        nvcc() + " -std=c++17 -arch=sm_80 -Werror all-warnings -Xcompiler -Wall,-Wextra -c $D/p.cu -o $D/p.o", &output);
    EXPECT_EQ(status, 0) << output;
}

/// Pipelines, of which each gets one hand-made step instead of those that lowering makes.
class Programs {
public:
    using Make = std::function<Kernel(Program&)>;

    explicit Programs(const std::string& text) : compiled_(compile_text(sources_, "p.pipe", text)) {
        if (!compiled_.ok()) throw std::runtime_error(compiled_.diags.all().front().message);
    }
    /// Replaces the steps of the next pipeline by one of this kernel, which needs aligned arrays, and of what lowering
    /// makes for others.
    void add(const Make& make) {
        const std::size_t i = programs_.size();
        Program program = codegen::lower({&compiled_.pipelines.at(i), &compiled_.models.at(i)}, sources_);
        ASSERT_EQ(program.steps.size(), 1u);
        std::vector<Kernel>& variants = program.steps.front().variants;
        Kernel dense = variants.back();
        variants = {make(program), std::move(dense)};
        variants.front().name = "by_hand";
        EXPECT_EQ(codegen::kernel::verify(program), std::vector<std::string>());
        programs_.push_back(std::move(program));
    }
    void expect_reference(const std::vector<std::map<std::string, std::int64_t>>& sizes = {{}}) {
        std::vector<codegen::Unit> units;
        for (const Program& program : programs_) units.push_back({&program.pipeline, &program.model});
        const std::string header = codegen::header("p.pipe", "p", units);
        const std::string source = codegen::cuda_source("p.pipe", "p.h", programs_);
        expect_nvcc_accepts(header, source);
        const DeviceLibrary library(header, "p.h", source);
        std::mt19937_64 rng(3);
        for (const ir::Pipeline& pipeline : compiled_.pipelines) {
            for (const auto& size : sizes) {
                const reference::Arguments arguments = random_arguments(pipeline, size, Fill::Extreme, rng);
                const auto expected = reference::run(pipeline, arguments);
                for (const Layout layout : {Layout::Dense, Layout::Sparse}) {
                    const auto actual = run_device(library.info(pipeline.name), arguments, layout, 5);
                    EXPECT_EQ(difference(expected.at("o"), actual.at("o")), "") << pipeline.name;
                }
            }
        }
    }

private:
    SourceManager sources_;
    Compiled compiled_;
    std::vector<Program> programs_;
};

const Source kInput{Source::Kind::Input, 0};
const Source kOutput{Source::Kind::Stage, 0};
const Source kTile{Source::Kind::Local, 0};

ir::Expr number(std::int64_t value) {
    return ir::int_constant(Type::Int32, value);
}
ir::Expr plus(const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(BinaryOp::Add, a, b);
}
ir::Expr times(const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(BinaryOp::Mul, a, b);
}

/// A kernel of one warp; `lane` becomes its thread's number.
Kernel warp_kernel(Program& program, ir::Expr& lane) {
    Kernel kernel;
    kernel.layout = codegen::kernel::Layout::Wide;
    kernel.block = {32, 1, 1};
    const ir::VarId var = ir::new_variable(program.pipeline, "lane");
    kernel.specials.push_back({var, codegen::kernel::Special::Id::ThreadX});
    lane = ir::variable(var, Type::Int32);
    return kernel;
}

TEST(CudaText, Golden) {
    const std::string text = read_file(PIPEC_SOURCE_DIR "/tests/codegen/programs/blur.pipe");
    const std::string source = generate_cuda("blur", text).source;
    const std::string part = source.substr(source.find("// ---- blur"));
    const std::string path = PIPEC_SOURCE_DIR "/tests/codegen/golden/blur.cu";
    if (std::getenv("PIPEC_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << part;
    EXPECT_EQ(part, read_file(path));
    EXPECT_EQ(source, generate_cuda("blur", text).source);
}

// In a template the front end of nvcc evaluates initializers of const variables again at each use: sixteen steps of
// this recurrence took it minutes.
TEST(CudaText, ValuesOfKernelsAreNotConst) {
    const std::string source = generate_cuda("p", R"(
        pipeline p(img: float32[R, C], limit: float32) -> s: float32[R, C], out: float32[R, C], best: int32[C] {
            s(y, x in 0..C) =
                if x == 0 then img(y, x)
                else let e = img(y, x) - s(y, x - 1) in if abs(e) > limit then img(y, x) else s(y, x - 1) + 0.2 * e
            out(y, x) = let v = img(y, x) * img(y, C - 1 - x) in v * (1 - v) + sum(i in 0..R) img(i, x)
            best(x) = argmin(y in 0..R) img(y, x)
        })")
                                   .source;
    std::size_t kernels = 0;
    bool inside = false;
    std::istringstream lines(source);
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind("__global__", 0) == 0) inside = true, ++kernels;
        if (line.rfind('}', 0) == 0) inside = false;
        const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
        const bool is_value = line.find("* const ") == std::string::npos && line.find("= [](") == std::string::npos;
        EXPECT_FALSE(inside && is_value && line.compare(begin, 6, "const ") == 0) << line;
    }
    EXPECT_GE(kernels, 3u);
}

// Of scalar and wide reads; what a kernel writes it reads through no cache that may be stale.
TEST(CudaText, ReadsThroughTheCacheThatTheScheduleChooses) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "p.pipe", R"(
        pipeline p(img: float32[R, C + 2], u: uint8[R, C], on: bool[R, C]) -> o: float32[R, C], counts: int32[4, 4] {
            rows(y in 0..R, x in 0..C) = if on(y, x) then img(y, x) + img(y, x + 2) else 0
            o(y, x) = rows(y, x) + rows(y, C - 1 - x)
            accumulate counts(i in 0..4, j in 0..4): int32 = 0 {
                for y in 0..4, x in 0..4 { counts(y, x) += sum(z in 0..9) int32(u(min(y, R - 1), min(x + z, C - 1))) }
            }
        })");
    ASSERT_TRUE(compiled.ok()) << compiled.diags.all().front().message;
    const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
    for (const fusion::LoadCache cache : {fusion::LoadCache::Ca, fusion::LoadCache::Cg}) {
        fusion::Schedule schedule;
        for (const char* stage : {"rows", "o", "counts"}) {
            schedule.groups.push_back({.stages = {stage}, .load_cache = cache});
        }
        const codegen::CudaOptions options{.deterministic = true, .schedules = {{"p", schedule}}};
        const std::string source = codegen::cuda_source("p.pipe", "p.h", units, sources, options);
        const std::string load = cache == fusion::LoadCache::Ca ? "__ldca(" : "__ldcg(";
        const std::string kernels = source.substr(source.find("// ---- p"));
        EXPECT_NE(kernels.find(load + "img.at("), std::string::npos);
        EXPECT_NE(kernels.find(load + "rows.at("), std::string::npos);
        EXPECT_NE(kernels.find(load + "u.at("), std::string::npos);
        EXPECT_EQ(kernels.find(load + "counts.at("), std::string::npos);
        EXPECT_EQ(kernels.find("load<"), std::string::npos);
        EXPECT_NE(kernels.find(cache == fusion::LoadCache::Ca ? "load_ca<" : "load_cg<"), std::string::npos);
        EXPECT_NE(to_string(codegen::lower(units.front(), sources, options))
                      .find(cache == fusion::LoadCache::Ca ? "    reads ca\n" : "    reads cg\n"),
                  std::string::npos);
        const std::string header = codegen::header("p.pipe", "p", units);
        expect_nvcc_accepts(header, source);
        const DeviceLibrary library(header, "p.h", source);
        std::mt19937_64 rng(3);
        const reference::Arguments arguments =
            random_arguments(compiled.pipelines.front(), {{"R", 7}, {"C", 130}}, Fill::Smooth, rng);
        const auto expected = reference::run(compiled.pipelines.front(), arguments);
        const auto actual = run_device(library.info("p"), arguments, Layout::Dense, 5);
        for (const auto& [name, array] : expected) EXPECT_EQ(difference(array, actual.at(name)), "") << name;
    }
}

// What all planes read (a mask) is asked for by blocks that follow each other; planes of their own come one after the
// other. Many planes would take turns in more memory than the cache holds.
TEST(CudaText, PlanesThatReadTheSamePointsTakeTurns) {
    const auto kernels = [](const std::string& factor, const std::string& planes) {
        SourceManager sources;
        const Compiled compiled =
            compile_text(sources, "p.pipe",
                         "pipeline p(img: float32[" + planes + ", R, C + 2], mask: float32[R, C]) -> o: float32[" +
                             planes + ", R, C] { rows(c, y in 0..R, x in 0..C + 2) = img(c, y, x) * 2\n" +
                             "o(c, y, x) = (rows(c, y, x) + rows(c, y, x + 2)) * " + factor + " }");
        EXPECT_TRUE(compiled.ok()) << compiled.diags.all().front().message;
        const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
        fusion::Schedule schedule;
        schedule.groups.push_back({.stages = {"rows", "o"},
                                   .strategy = fusion::Strategy::RegisterTile,
                                   .block = {32, 4, 1},
                                   .tile = {4, 2, 1}});
        return codegen::cuda_source("p.pipe", "p.h", units, sources,
                                    {.deterministic = true, .schedules = {{"p", schedule}}});
    };
    EXPECT_NE(kernels("mask(y, x)", "3").find("tile_z = floor_mod_by_positive(block, 3);"), std::string::npos);
    EXPECT_NE(kernels("2", "3").find("tile_z = floor_div_by_positive(block, tiles_y_2);"), std::string::npos);
    EXPECT_NE(kernels("mask(y, x)", "300").find("tile_z = floor_div_by_positive(block, tiles_y_2);"),
              std::string::npos);
}

// The same where all planes are made of the points of one stage, which has no planes.
TEST(CudaText, PlanesOfTheSamePointsTakeTurns) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "p.pipe", R"(
pipeline p(img: float32[R, C], w: float32[3]) -> o: float32[3, R, C] {
    root(y, x) = sqrt(img(y, x))
    o(c, y, x) = root(y, x) * w(c)
})");
    const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
    fusion::Schedule schedule;
    schedule.groups.push_back(
        {.stages = {"root", "o"}, .strategy = fusion::Strategy::RegisterTile, .block = {32, 4, 1}, .tile = {4, 2, 1}});
    const std::string source =
        codegen::cuda_source("p.pipe", "p.h", units, sources, {.deterministic = true, .schedules = {{"p", schedule}}});
    EXPECT_NE(source.find("tile_z = block % 3;"), std::string::npos) << source;
}

// Of what a kernel reads, the cache has what the one before touched last.
TEST(CudaText, EverySecondKernelBeginsWithItsLastTile) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "p.pipe", R"(pipeline p(img: float32[R, C]) -> o: float32[R, C] {
    first(y, x) = img(y, x) * 2
    second(y, x) = first(y, x) + 1
    o(y, x) = second(y, x) * img(y, x)
})");
    const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
    fusion::Schedule schedule;
    for (const char* const stage : {"first", "second", "o"}) {
        schedule.groups.push_back({.stages = {stage}, .strategy = fusion::Strategy::Otptb, .block = {32, 8, 1}});
    }
    const std::string header = codegen::header("p.pipe", "p", units),
                      source = codegen::cuda_source("p.pipe", "p.h", units, sources, {.schedules = {{"p", schedule}}});
    const auto backwards = [&](const std::string& kernel) {
        const std::size_t begin = source.find("pipe_status launch_" + kernel + "(");
        const std::string launch = source.substr(begin, source.find("\n}\n", begin) - begin);
        EXPECT_NE(launch.find("Argument{0, 0}") == std::string::npos,
                  launch.find("Argument{1, 0}") == std::string::npos);
        return launch.find("Argument{1, 0}") != std::string::npos;
    };
    EXPECT_NE(source.find("backwards != 0 ? tiles_y - 1 - row"), std::string::npos);
    EXPECT_FALSE(backwards("first"));
    EXPECT_TRUE(backwards("second"));
    EXPECT_FALSE(backwards("o"));
    const DeviceLibrary library(header, "p.h", source);
    std::mt19937_64 rng(3);
    const ir::Pipeline& pipeline = compiled.pipelines.front();
    const reference::Arguments arguments = random_arguments(pipeline, {{"R", 37}, {"C", 130}}, Fill::Smooth, rng);
    EXPECT_EQ(difference(reference::run(pipeline, arguments).at("o"), run_device(library.info("p"), arguments).at("o")),
              "");
}

// The same filter of two images is one function; another one, of the same shape, is not.
TEST(CudaText, EqualKernelsAreOneFunction) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "p.pipe", R"(
pipeline p(a: float32[R, C], b: float32[R, C], c: uint8[R, C]) -> o: float32[R, C - 2] {
    fa(y, x) = sum(k in 0..3) a(y, x + k) * (k + 1)
    fb(y, x) = sum(k in 0..3) b(y, x + k) * (k + 1)
    fc(y, x) = sum(k in 0..3) c(y, x + k) * (k + 1)
    other(y, x) = sum(k in 0..3) b(y, x + k) * (k + 2)
    o(y, x) = fa(y, x) - fb(y, x) + fc(y, x) - other(y, x)
})");
    ASSERT_TRUE(compiled.ok()) << compiled.diags.all().front().message;
    const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
    const ir::Pipeline& pipeline = compiled.pipelines.front();
    std::mt19937_64 rng(5);
    const reference::Arguments arguments = random_arguments(pipeline, {{"R", 37}, {"C", 131}}, Fill::Smooth, rng);
    const auto expected = reference::run(pipeline, arguments).at("o");
    for (const fusion::Strategy strategy :
         {fusion::Strategy::Stage, fusion::Strategy::Otptb, fusion::Strategy::RegisterTile}) {
        SCOPED_TRACE(fusion::name(strategy));
        fusion::Schedule schedule;
        for (const char* const stage : {"fa", "fb", "fc", "other", "o"}) {
            if (strategy == fusion::Strategy::Stage) break;
            schedule.groups.push_back({.stages = {stage}, .strategy = strategy, .block = {32, 2, 1}});
        }
        const std::string header = codegen::header("p.pipe", "p", units),
                          source =
                              codegen::cuda_source("p.pipe", "p.h", units, sources, {.schedules = {{"p", schedule}}});
        const auto has = [&](const std::string& text) { return source.find(text) != std::string::npos; };
        EXPECT_TRUE(has(" fa_kernel(") && !has(" fb_kernel(") && has(" fc_kernel(") && has(" other_kernel("));
        EXPECT_TRUE(has("// The code is that of fa_kernel."));
        const DeviceLibrary library(header, "p.h", source);
        for (const Layout layout : {Layout::Dense, Layout::Pitched, Layout::Sparse}) {
            EXPECT_EQ(difference(expected, run_device(library.info("p"), arguments, layout).at("o")), "");
        }
    }
}

// Kernels that only store in narrower parts are one template; the arguments decide which instance runs.
TEST(CudaText, NarrowerStoresAreNoKernelOfTheirOwn) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "p.pipe", R"(
pipeline p(a: float32[R, C + 2]) -> o: float32[R, C] {
    twice(y in 0..R, x in 0..C + 2) = a(y, x) * 2
    o(y, x) = twice(y, x) + twice(y, x + 2)
})");
    ASSERT_TRUE(compiled.ok()) << compiled.diags.all().front().message;
    const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
    const ir::Pipeline& pipeline = compiled.pipelines.front();
    fusion::Schedule schedule;
    schedule.groups.push_back(
        {.stages = {"twice", "o"}, .strategy = fusion::Strategy::RegisterTile, .block = {32, 2, 1}, .tile = {4, 2, 1}});
    const std::string header = codegen::header("p.pipe", "p", units),
                      source = codegen::cuda_source("p.pipe", "p.h", units, sources, {.schedules = {{"p", schedule}}});
    const auto has = [&](const std::string& text) { return source.find(text) != std::string::npos; };
    EXPECT_TRUE(has("template <int store_bytes>") && has("store<4, store_bytes>(o.at("));
    EXPECT_TRUE(has("o_wide16<16>") && has("o_wide16<8>") && !has("o_wide16_8"));
    expect_nvcc_accepts(header, source);
    const DeviceLibrary library(header, "p.h", source);
    std::mt19937_64 rng(5);
    // Dense rows of 132 inputs and 130 outputs: loads of 16 bytes, stores of 8.
    for (const std::int64_t columns : {130, 128, 131}) {
        const reference::Arguments arguments =
            random_arguments(pipeline, {{"R", 37}, {"C", columns}}, Fill::Smooth, rng);
        const auto expected = reference::run(pipeline, arguments).at("o");
        for (const Layout layout : {Layout::Dense, Layout::Pitched, Layout::Sparse}) {
            EXPECT_EQ(difference(expected, run_device(library.info("p"), arguments, layout).at("o")), "") << columns;
        }
    }
}

// Of what takes the longest no tile shall be the last one.
TEST(CudaText, TilesAtTheEdgesComeFirst) {
    const auto source = [](const std::string& before, const std::string& image, const std::string& size) {
        SourceManager sources;
        const Compiled compiled = compile_text(
            sources, "p.pipe",
            "import \"boundary\"\npipeline p(img: float32[" + size + "]) -> o: float32[R, C] { " + before +
                "rows(y in 0..R, x in 0..C + 2) = " + image + "(y, x) * 2\no(y, x) = rows(y, x) + rows(y, x + 2) }");
        EXPECT_TRUE(compiled.ok()) << compiled.diags.all().front().message;
        const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
        fusion::Schedule schedule;
        if (!before.empty()) schedule.inlined = {"edge"};
        schedule.groups.push_back(
            {.stages = {"rows", "o"}, .strategy = fusion::Strategy::Otptb, .block = {32, 8, 1}, .tile = {1, 2, 1}});
        return codegen::cuda_source("p.pipe", "p.h", units, sources, {.schedules = {{"p", schedule}}});
    };
    EXPECT_NE(source("edge = clamp_to_edge(img)\n", "edge", "R, C").find("at_ends"), std::string::npos);
    EXPECT_EQ(source("", "img", "R, C + 3").find("at_ends"), std::string::npos) << "no tile has edges";
}

TEST(CudaText, NobodyAsksForWhatIsKnown) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "p.pipe",
                                           "pipeline p(img: float32[R, C + 2]) -> o: float32[R, C] {\n"
                                           "rows(y in 0..R, x in 0..C + 2) = img(y, x) * 2\n"
                                           "o(y, x) = rows(y, x) + rows(y, x + 2) }");
    ASSERT_TRUE(compiled.ok()) << compiled.diags.all().front().message;
    const std::vector<codegen::Unit> units{{&compiled.pipelines.front(), &compiled.models.front()}};
    fusion::Schedule schedule;
    schedule.groups.push_back(
        {.stages = {"rows", "o"}, .strategy = fusion::Strategy::Otpw, .block = {32, 4, 1}, .tile = {2, 1, 1}});
    const std::string source = codegen::cuda_source("p.pipe", "p.h", units, sources, {.schedules = {{"p", schedule}}});
    // Whether there is a tile, and in it whether it lies in the interior.
    EXPECT_NE(source.find("    if (tile_y < R) {\n"), std::string::npos);
    EXPECT_NE(source.find("        if (tile_x < inner_end) {\n"), std::string::npos);
}

TEST(CudaText, OfEveryOperatorIsForNvcc) {
    const std::string text = read_file(PIPEC_SOURCE_DIR "/tests/codegen/programs/operators.pipe");
    const GeneratedText generated = generate_cuda("p", text);
    expect_nvcc_accepts(generated.header, generated.source);
}

// A value of the lane three before.
TEST(CudaKernels, ShufflesOfEveryType) {
    std::string text;
    for (const Type type : kTypes) {
        text += fmt::format("pipeline {0}_(a: {0}[32]) -> o: {0}[32] {{ o(x) = a(if x < 3 then x else x - 3) }}\n",
                            ir::name(type));
    }
    Programs programs(text);
    for (const Type type : kTypes) {
        programs.add([&](Program& program) {
            ir::Expr lane;
            Kernel kernel = warp_kernel(program, lane);
            const ir::VarId own = ir::new_variable(program.pipeline, "own", type);
            const ir::VarId other = ir::new_variable(program.pipeline, "other", type);
            kernel.body.push_back({codegen::kernel::Define{own, ir::read(kInput, type, {lane})}});
            kernel.body.push_back({codegen::kernel::Shuffle{other, ir::variable(own, type),
                                                            codegen::kernel::Shuffle::From::Up, number(3)}});
            kernel.body.push_back({codegen::kernel::Store{kOutput, {lane}, {ir::variable(other, type)}, nullptr}});
            return kernel;
        });
    }
    programs.expect_reference();
}

// Packs of 16 bytes go from global memory into shared memory, and from there back, those of the last lane first.
// Of numbers up to 2^30 by what the host has prepared.
TEST(CudaKernels, DivisionsAreExact) {
    Programs programs(
        "pipeline quotient(a: int32[D]) -> o: int32[32] { o(x) = x * 34636833 / D }\n"
        "pipeline rest(a: int32[D]) -> o: int32[32] { o(x) = x * 34636833 % D }");
    for (const BinaryOp op : {BinaryOp::Div, BinaryOp::Mod}) {
        programs.add([&](Program& program) {
            ir::Expr lane;
            Kernel kernel = warp_kernel(program, lane);
            const ir::VarId divisor = ir::new_variable(program.pipeline, "divisor");
            kernel.arguments.push_back({divisor, ir::size_ref(0), 1, true});
            const ir::Expr value = ir::binary(op, times(lane, number(34636833)), ir::variable(divisor, Type::Int32));
            kernel.body.push_back({codegen::kernel::Store{kOutput, {lane}, {value}, nullptr}});
            return kernel;
        });
    }
    std::vector<std::map<std::string, std::int64_t>> sizes;
    for (const std::int64_t divisor : {1, 2, 3, 5, 7, 31, 641, 1000, 65537, 1000003}) sizes.push_back({{"D", divisor}});
    programs.expect_reference(sizes);
}

TEST(CudaKernels, PacksOfEveryTypeThroughSharedMemory) {
    std::string text;
    for (const Type type : kTypes) {
        const int n = 16 / ir::bytes(type);
        text +=
            fmt::format("pipeline {0}_(a: {0}[{1}]) -> o: {0}[{1}] {{ o(x) = a((31 - x / {2}) * {2} + x % {2}) }}\n",
                        ir::name(type), 32 * n, n);
    }
    Programs programs(text);
    for (const Type type : kTypes) {
        const int n = 16 / ir::bytes(type);
        programs.add([&](Program& program) {
            ir::Expr lane;
            Kernel kernel = warp_kernel(program, lane);
            kernel.shared.push_back({"tile", type, {32, n}});
            const auto load = [&](Source source, std::vector<ir::Expr> at) {
                codegen::kernel::Load pack{{}, source, std::move(at)};
                std::vector<ir::Expr> values;
                for (int i = 0; i < n; ++i) {
                    pack.vars.push_back(ir::new_variable(program.pipeline, "v", type));
                    values.push_back(ir::variable(pack.vars.back(), type));
                }
                kernel.body.push_back({std::move(pack)});
                return values;
            };
            const ir::Expr first = times(lane, number(n));
            const std::vector<ir::Expr> in = load(kInput, {first});
            kernel.body.push_back({codegen::kernel::Store{kTile, {lane, number(0)}, in, nullptr}});
            kernel.body.push_back({Barrier{Barrier::Scope::Warp}});
            const ir::Expr mirrored = ir::binary(BinaryOp::Sub, number(31), lane);
            const std::vector<ir::Expr> out = load(kTile, {mirrored, number(0)});
            kernel.body.push_back({codegen::kernel::Store{kOutput, {first}, out, nullptr}});
            return kernel;
        });
    }
    programs.expect_reference();
}

// One node, whose value changes with the variable that it reads: it must not keep a name over a change, neither to a
// later statement, nor out of a branch, nor around a loop.
TEST(CudaKernels, NamesDoNotOutliveChanges) {
    Programs programs(R"(
        fn step(v) = v * v + v
        fn often(v) = step(step(step(v)))
        pipeline p(a: int32[32]) -> o: int32[32] {
            o(x) = let v = often(step(a(x))), w = if x % 2 == 0 then step(v) else v in step(w) + w
        })");
    programs.add([&](Program& program) {
        ir::Expr lane;
        Kernel kernel = warp_kernel(program, lane);
        const ir::VarId var = ir::new_variable(program.pipeline, "v");
        const ir::VarId k = ir::new_variable(program.pipeline, "k");
        const ir::Expr v = ir::variable(var, Type::Int32);
        const ir::Expr step = plus(times(v, v), v);
        const codegen::kernel::Stmt assign{codegen::kernel::Assign{var, step}};
        const ir::Expr even = ir::binary(BinaryOp::Eq, ir::binary(BinaryOp::Mod, lane, number(2)), number(0));
        kernel.body.push_back({codegen::kernel::Variable{var, ir::read(kInput, Type::Int32, {lane})}});
        kernel.body.push_back(assign);
        kernel.body.push_back({codegen::kernel::For{k, number(0), number(6), number(2), false, {assign}}});
        kernel.body.push_back({codegen::kernel::If{even, {assign}, {}}});
        kernel.body.push_back({codegen::kernel::Store{kOutput, {lane}, {plus(step, v)}, nullptr}});
        return kernel;
    });
    programs.expect_reference();
}

// Updates whose order does not matter, so that they can be compared: in global memory, and in that of a block.
TEST(CudaKernels, AtomicsOfEveryType) {
    std::string text;
    for (const char* type : {"int32", "uint32", "int64", "uint64", "float16", "float32", "float64"}) {
        for (const char* cells : {"N", "16"}) {
            // Sums and products of small powers of two are exact in every order.
            text += fmt::format(R"(
                pipeline {0}_{1}(u: uint8[200], f: {0}[200], size: int32[N]) -> s: {0}[{1}], p: {0}[{1}], lo: {0}[{1}], hi: {0}[{1}]
                    where N >= 16 {{
                    one(x): {0} = {0}(if u(x) > 200 then 2 else 1)
                    accumulate s(i in 0..{1}): {0} = {0}(0) {{ for x in 0..200 {{ s(u(x) % 16) += one(x) }} }}
                    accumulate p(i in 0..{1}): {0} = {0}(1) {{ for x in 0..200 {{ p(u(x) % 16) *= one(x) }} }}
                    accumulate lo(i in 0..{1}): {0} = {0}(50) {{ for x in 0..200 {{ lo(u(x) % 16) min= f(x) }} }}
                    accumulate hi(i in 0..{1}): {0} = {0}(50) {{ for x in 0..200 {{ hi(u(x) % 16) max= f(x) }} }}
                }})",
                                type, cells);
        }
    }
    SourceManager sources;
    const Compiled compiled = compile_text(sources, "p.pipe", text);
    ASSERT_TRUE(compiled.ok()) << compiled.diags.all().front().message;
    std::vector<codegen::Unit> units;
    for (std::size_t i = 0; i < compiled.pipelines.size(); ++i) {
        units.push_back({&compiled.pipelines[i], &compiled.models[i]});
    }
    const std::string header = codegen::header("p.pipe", "p", units);
    const std::string source = codegen::cuda_source("p.pipe", "p.h", units, sources);
    EXPECT_NE(source.find("atomic_update(&"), std::string::npos) << "none in shared memory";
    expect_nvcc_accepts(header, source);
    const DeviceLibrary library(header, "p.h", source);
    std::mt19937_64 rng(3);
    for (const ir::Pipeline& pipeline : compiled.pipelines) {
        const reference::Arguments arguments = random_arguments(pipeline, {{"N", 20}}, Fill::Extreme, rng);
        const auto expected = reference::run(pipeline, arguments);
        const auto actual = run_device(library.info(pipeline.name), arguments, Layout::Dense, 5);
        for (const auto& [name, array] : expected) {
            EXPECT_EQ(difference(array, actual.at(name)), "") << pipeline.name << "." << name;
        }
    }
}

// ------------------------------------------------------------------------------------------------------------- launch

runner::abi::pipe_status code(runner::abi::pipe_status status) {
    return status & 0xff;
}

DeviceLibrary library_of(const std::string& text) {
    const GeneratedText generated = generate_cuda("p", text);
    return {generated.header, "p.h", generated.source};
}

/// The arguments of one launch, as bytes; the buffers are set by number.
struct Arguments {
    explicit Arguments(const runner::abi::pipe_info& table) : info(table), bytes(table.args_size) {
        info.defaults(bytes.data());
    }
    void extents(int buffer, const std::vector<std::int64_t>& values) {
        std::memcpy(bytes.data() + info.buffers[buffer].extent_offset, values.data(), values.size() * 8);
    }
    void data(int buffer, const void* pointer) {
        std::memcpy(bytes.data() + info.buffers[buffer].data_offset, &pointer, sizeof pointer);
    }
    runner::abi::pipe_status launch(void* workspace, std::size_t size, CUstream_st* stream = nullptr) const {
        return code(info.launch(bytes.data(), workspace, size, stream));
    }
    const runner::abi::pipe_info& info;
    std::vector<std::byte> bytes;
};

constexpr const char* kTwoSteps = R"(pipeline p(a: float32[R, C]) -> o: float32[R, C] {
    rows(y): float32 = sum(x in 0..C) a(y, x)
    o(y, x) = a(y, x) - rows(y)
})";

TEST(CudaLaunch, ChecksTheWorkspace) {
    const DeviceLibrary library = library_of(kTwoSteps);
    Arguments arguments(library.info("p"));
    arguments.extents(0, {100, 300});
    const std::size_t bytes = arguments.info.workspace_size(arguments.bytes.data());
    char* const memory = reinterpret_cast<char*>(std::uintptr_t{1} << 30);  // nothing is touched
    arguments.data(0, memory);
    arguments.data(1, memory + (1 << 20));
    EXPECT_GE(bytes, 400u);
    EXPECT_EQ(arguments.launch(nullptr, bytes), 1);
    EXPECT_EQ(arguments.launch(memory - 4096 + 128, bytes), 4);
    EXPECT_EQ(arguments.launch(memory - 4096, bytes - 1), 9);
}

TEST(CudaLaunch, RefusesGridsThatAreTooLarge) {
    const DeviceLibrary library = library_of("pipeline p(n: int32) -> o: uint8[R, C] { o(y, x) = uint8(y + n) }");
    Arguments arguments(library.info("p"));
    arguments.extents(0, {1 << 25, 1 << 29});
    arguments.data(0, reinterpret_cast<void*>(std::uintptr_t{1} << 30));
    EXPECT_EQ(arguments.launch(nullptr, 0), 7);
}

TEST(CudaLaunch, CanBeCaptured) {
    const DeviceLibrary library = library_of(kTwoSteps);
    Arguments arguments(library.info("p"));
    arguments.extents(0, {5, 70});
    const std::size_t bytes = arguments.info.workspace_size(arguments.bytes.data());
    float *a = nullptr, *o = nullptr;
    void* workspace = nullptr;
    std::vector<float> values(5 * 70, 1.0f);
    ASSERT_EQ(cudaMalloc(&a, values.size() * 4), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&o, values.size() * 4), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&workspace, bytes), cudaSuccess);
    arguments.data(0, a);
    arguments.data(1, o);

    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    EXPECT_EQ(arguments.launch(workspace, bytes, stream), 0);
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    // The arguments may go: the graph has its own.
    std::fill(arguments.bytes.begin(), arguments.bytes.end(), std::byte{0});
    for (const float value : {1.0f, 2.0f}) {
        std::fill(values.begin(), values.end(), value);
        ASSERT_EQ(cudaMemcpy(a, values.data(), values.size() * 4, cudaMemcpyHostToDevice), cudaSuccess);
        ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
        ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
        ASSERT_EQ(cudaMemcpy(values.data(), o, values.size() * 4, cudaMemcpyDeviceToHost), cudaSuccess);
        EXPECT_EQ(values, std::vector<float>(values.size(), value - 70 * value));
    }
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    for (void* pointer : {static_cast<void*>(a), static_cast<void*>(o), workspace}) cudaFree(pointer);
}

}  // namespace
}  // namespace pipec::testing::cuda_test
