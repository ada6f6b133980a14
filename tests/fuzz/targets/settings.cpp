// What decides about execution: schedules, profiles, descriptions of GPUs.
#include "codegen/emit/cuda/cuda.h"
#include "driver/compile.h"
#include "driver/schedule.h"
#include "fusion/gpu.h"
#include "fusion/profile.h"
#include "fuzz/targets/memory_file.h"
#include "fuzz/targets/targets.h"

namespace pipec::fuzz {

namespace {

constexpr const char* kProgram =
    "pipeline blur(img: float32[R, C]) -> out: float32[R - 2, C - 2] where R > 2, C > 2 {\n"
    "    rows(y in 0..R, x in 0..C - 2) = img(y, x) + img(y, x + 1) * 2 + img(y, x + 2)\n"
    "    both(y in 0..R - 2, x in 0..C - 2) = rows(y, x) + rows(y + 1, x) * 2 + rows(y + 2, x)\n"
    "    out(y, x) = both(y, x) / 16 - img(y + 1, x + 1)\n"
    "}\n";

struct Program {
    SourceManager sources;
    driver::Compilation compilation;
    std::vector<codegen::Unit> units;

    Program() {
        Diagnostics diags;
        compilation = driver::compile(sources, sources.add("blur.pipe", kProgram), {}, diags);
        units.push_back({&compilation.pipelines.at(0), &compilation.models.at(0)});
    }
};

}  // namespace

void schedule(std::string_view input) {
    static const Program program;
    const MemoryFile file(input);
    driver::ScheduleOptions options;
    options.file = file.path();
    try {
        codegen::CudaOptions cuda;
        cuda.schedules = driver::make_schedules(options, program.compilation, program.sources);
        codegen::cuda_source("blur.pipe", "blur.h", program.units, program.sources, cuda);
    } catch (const fusion::ScheduleError&) {
    }
}

void profile(std::string_view input) {
    try {
        fusion::to_json(fusion::profile_from_json(input, "input.json"));
    } catch (const fusion::ScheduleError&) {
    }
}

void gpu(std::string_view input) {
    try {
        fusion::parse_gpu(input, "input.toml");
    } catch (const fusion::GpuError&) {
    }
}

}  // namespace pipec::fuzz
