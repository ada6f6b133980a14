// What decides about execution: schedules, profiles, descriptions of GPUs.
#include "compiler/passes.h"
#include "fusion/gpu.h"
#include "fusion/profile.h"
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
    compiler::Checked checked;
    compiler::Prepared prepared;

    Program() {
        Diagnostics diags;
        checked = compiler::check(sources, sources.add("blur.pipe", kProgram), {}, diags);
        prepared = compiler::prepare(checked);
    }
};

}  // namespace

void schedule(std::string_view input) {
    static const Program program;
    compiler::ScheduleRequest request;
    request.file = compiler::TextFile{"input.json", std::string(input)};
    try {
        const compiler::Scheduled scheduled =
            compiler::schedule(program.prepared, request, fusion::default_target(), {}, program.sources);
        const compiler::Lowered lowered = compiler::lower(program.checked, scheduled, {}, program.sources);
        compiler::code_text("blur.pipe", "blur.h", program.checked, lowered, program.sources);
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
