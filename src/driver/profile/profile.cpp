#include "driver/profile/profile.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "codegen/emit/cuda/cuda.h"
#include "codegen/emit/host/host.h"
#include "driver/command_line.h"
#include "driver/files.h"
#include "driver/measure/measured_run.h"
#include "driver/measure/measuring_command.h"
#include "driver/native/nvcc.h"
#include "driver/native/temporary_directory.h"
#include "driver/options.h"
#include "driver/profile/profile_kernel.h"
#include "driver/run/run_process.h"
#include "fusion/gpu.h"
#include "fusion/profile.h"
#include "support/unicode.h"

namespace fs = std::filesystem;

namespace pipec::driver {

namespace {

/// Of the loop, in two runs: what a launch costs besides is in both. The paper has a million in one.
constexpr std::int64_t kFewIterations = std::int64_t{1} << 16, kManyIterations = std::int64_t{1} << 18;

constexpr const char* kProfileFooter = R"(
Measures the registers of each stage with nvcc, and the time of a point on the GPU by one thread, as
the paper's cost function wants them; `--profile FILE` of pipec then takes them in place of
estimates. Without -o the file is NAME.profile.json in the current directory. Where there is no GPU,
or --arch says for which registers are counted, there are registers alone. See docs/tuning.md.

Examples:
  pipec profile blur.pipe --size R=1080 --size C=1920
  pipec --cost-model paper --profile blur.profile.json blur.pipe)";

struct ProfileOptions {
    MeasuringOptions common;
    std::string architecture;  ///< -arch
};

/// A stage, in the form in which a model may meet it: with others inside of it, or with none.
struct Subject {
    fusion::StageProfile profile;
    codegen::kernel::Program program;
};

std::vector<Subject> subjects_of(const MeasuredProgram& program, bool fast_math) {
    const fusion::Target& target = program.target;
    std::vector<Subject> result;
    std::set<std::string> known;
    const auto& [prepared, model] = program.prepared;
    for (const bool inlines : {true, false}) {
        const fusion::Schedule schedule = inlines ? fusion::stage_schedule(prepared, model) : fusion::Schedule{};
        const fusion::Inlined inlined =
            fusion::inline_stages(prepared, model, fusion::inlined_stages(prepared, schedule));
        const ir::Pipeline& pipeline = inlined.pipeline;
        for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
            const ir::Stage& stage = pipeline.stages[s];
            if (!std::holds_alternative<ir::Pure>(stage.definition)) continue;
            const std::string code = fusion::definition_digest(pipeline, stage);
            if (!known.insert(stage.name + " " + code).second) continue;
            const std::string name = fmt::format("stage_{}", result.size());
            result.push_back(
                {{stage.name, code, 0, {}}, profile_program(pipeline, static_cast<int>(s), target, name, fast_math)});
        }
    }
    return result;
}

NativeSource source_of(const MeasuredProgram& program, const std::vector<Subject>& subjects) {
    std::vector<codegen::kernel::Program> programs;
    programs.reserve(subjects.size());
    for (const Subject& subject : subjects) programs.push_back(subject.program);
    std::vector<codegen::Unit> units;
    units.reserve(programs.size());
    for (const codegen::kernel::Program& p : programs) units.push_back({&p.pipeline, &p.model});
    return {"pipeline.cu", codegen::cuda_source(program.name, "pipeline.h", programs), "pipeline.h",
            codegen::header(program.name, "pipeline", units)};
}

/// The registers of each pipeline's kernel, from what `ptxas -v` prints: the least of those for dense arrays and for
/// others, which are the same here.
std::map<std::string, int> registers_of(const std::string& output) {
    static const std::regex entry("Compiling entry function '[^']*?[0-9](stage_[0-9]+)_code"),
        used("Used ([0-9]+) registers");
    std::map<std::string, int> result;
    std::istringstream lines(output);
    std::string name;
    std::smatch match;
    for (std::string line; std::getline(lines, line);) {
        if (std::regex_search(line, match, entry)) name = match[1];
        if (name.empty() || !std::regex_search(line, match, used)) continue;
        const int registers = std::stoi(match[1]);
        const auto [place, is_new] = result.try_emplace(name, registers);
        if (!is_new) place->second = std::min(place->second, registers);
        name.clear();
    }
    return result;
}

class Profiler {
public:
    Profiler(const ProfileOptions& options, const MeasuredProgram& program)
        : options_(options),
          program_(program),
          output_(options.common.output.value_or(fs::path(program.name).stem().string() + ".profile.json")),
          sizes_(chosen_sizes(program.pipeline(), options.common.run.sizes)) {
        check_output(output_);
        find_gpu();
    }

    void run() {
        std::vector<Subject> subjects = subjects_of(program_, options_.common.program.fast_math);
        if (subjects.empty()) throw RunError(kExitProgramError, "no stage can be measured: all of them accumulate");
        NativeCompiler compiler =
            gpu_compiler(gpu_, {options_.common.native, options_.common.nvcc, options_.common.program.fast_math});
        compiler.flags.emplace_back("-Xptxas=-v");
        const TemporaryDirectory directory;
        Progress progress("compiling " + program_.name, options_.common.quiet);
        const NativeObject object = compile_object(compiler, source_of(program_, subjects), directory.path(),
                                                   "object.so", [&] { progress.show(); });
        progress.end();
        const std::map<std::string, int> registers = registers_of(object.output);
        fusion::Profile profile;
        profile.architecture = gpu_.architecture;
        if (has_gpu_) profile.device = gpu_.name;
        for (Subject& subject : subjects) {
            const auto found = registers.find(subject.program.pipeline.name);
            if (found == registers.end()) {
                throw ToolError(fmt::format("{} `{}` did not say how many registers `{}` has", compiler.tool.name,
                                            compiler.tool.command.front(), subject.profile.stage));
            }
            subject.profile.registers = found->second;
            if (has_gpu_) subject.profile.seconds = time_of(subject, open_file(object.path));
            say(fmt::format("{}: {} registers{}", subject.profile.stage, subject.profile.registers,
                            subject.profile.seconds ? fmt::format(", {:.1f} ns", *subject.profile.seconds * 1e9) : ""));
            profile.pipelines[program_.pipeline().name].push_back(subject.profile);
        }
        write_files({{output_, fusion::to_json(profile)}});
        say(fmt::format("written to {}", output_));
    }

private:
    void say(const std::string& line) const {
        if (!options_.common.quiet) std::cerr << printable(line) << "\n" << std::flush;
    }

    /// The GPU that is here, or else the architecture for which registers are counted.
    void find_gpu() {
        gpu_.architecture = options_.architecture;
        if (!gpu_.architecture.empty()) {
            check_architectures(find_nvcc(options_.common.nvcc), {gpu_.architecture});
            return;
        }
        find_nvcc(options_.common.nvcc);  // without it nothing can be measured at all
        const std::string& wish = options_.common.run.device;
        try {
            runner_ = find_runner();
            gpu_ = gpu_to_measure_on(wish, runner_, options_.common.nvcc);
            has_gpu_ = true;
        } catch (const ToolError& error) {
            if (wish != "auto") throw;
            const fusion::Gpu usual = fusion::default_gpu();
            gpu_.architecture = fmt::format("sm_{}{}", usual.capability_major, usual.capability_minor);
            std::string reason = error.what();
            reason = reason.substr(reason.find(": ") + 2);
            say(fmt::format("registers alone, for {}: {}", gpu_.architecture, reason.substr(0, reason.find('\n'))));
        }
    }

    /// Seconds of an iteration; none where the GPU's clock saw none.
    [[nodiscard]] std::optional<double> time_of(const Subject& subject, const OpenFile& object) const {
        const auto milliseconds = [&](std::int64_t iterations) {
            runner::Options run = options_.common.run;
            run.device = std::to_string(gpu_.number);
            run.sizes.clear();
            const std::vector<ir::SizeParameter>& names = subject.program.pipeline.sizes;
            for (std::size_t s = 0; s < sizes_.size(); ++s) {
                give_size(subject.program.pipeline, s, sizes_[s], run);
            }
            run.sizes.push_back({names.back().name, std::to_string(iterations)});
            try {
                return measured_run(runner_, object, subject.program.pipeline.name, run).milliseconds;
            } catch (const RunFailed& error) {
                throw RunError(kExitProgramError, fmt::format("`{}`: {}", subject.profile.stage, error.what()));
            }
        };
        const double more = milliseconds(kManyIterations) - milliseconds(kFewIterations);
        if (more <= 0) return std::nullopt;
        return more * 1e-3 / static_cast<double>(kManyIterations - kFewIterations);
    }

    const ProfileOptions& options_;
    const MeasuredProgram& program_;
    std::string output_, runner_;
    std::vector<std::int64_t> sizes_;
    PresentGpu gpu_;
    bool has_gpu_ = false;
};

void check(const ProfileOptions& options) {
    const MeasuringOptions& common = options.common;
    if (common.output == "-" || common.output == "") throw CLI::ParseError("`-o` needs the name of a file", kExitUsage);
    if (common.program.input == "-" && !common.output) {
        throw CLI::ParseError("the program comes from standard input: `-o` must say where the result goes", kExitUsage);
    }
    if (!common.run.inputs.empty()) {
        throw CLI::ParseError("stages are measured without inputs: `--in` has no meaning here", kExitUsage);
    }
}

constexpr const char* kProfileTitle = "Measures registers and time of each stage by itself.";

void declare(CLI::App& app, ProfileOptions& options) {
    app.footer(kProfileFooter);
    add_measuring_options(app, options.common);
    app.add_option("--arch", options.architecture, "Count registers for this GPU, like sm_90, and measure no times")
        ->check([](const std::string& text) {
            const bool known = text.starts_with("sm_") && text.size() > 4;
            return known ? std::string() : "`" + text + "` is no architecture like sm_90";
        })
        ->option_text("SM");
    runner::add_input_options(app, options.common.run);
}

}  // namespace

void describe_profile(const AppVisitor& visit) {
    describe<ProfileOptions>(kProfileTitle, "pipec profile", declare, visit);
}

int profile_command(int argc, char** argv) {
    ProfileOptions options;
    CLI::App app(kProfileTitle, "pipec profile");
    declare(app, options);
    if (const auto finished = parse_command(app, "pipec profile", argc, argv, [&] { check(options); }))
        return *finished;
    return guarded([&] {
        const SignalWatch watch;
        MeasuredProgram program;
        if (!load(options.common, program)) return kExitProgramError;
        Profiler(options, program).run();
        return kExitSuccess;
    });
}

}  // namespace pipec::driver
