#include "driver/tune/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <set>
#include <thread>

#include "codegen/lower.h"
#include "compiler/automatic_schedule.h"
#include "driver/automatic_options.h"
#include "driver/command_line.h"
#include "driver/files.h"
#include "driver/gpu_option.h"
#include "driver/measure/measured_run.h"
#include "driver/measure/measuring_command.h"
#include "driver/native/cache_digest.h"
#include "driver/native/temporary_directory.h"
#include "driver/options.h"
#include "driver/run/run_process.h"
#include "driver/tune/parallel_compiler.h"
#include "driver/tune/tune_journal.h"
#include "driver/tune/tune_text.h"
#include "fusion/alternatives.h"
#include "fusion/choice_moves.h"
#include "fusion/size_versions.h"
#include "support/unicode.h"

namespace fs = std::filesystem;

namespace pipec::driver {

namespace {

/// Of a candidate's results, where the order of additions is open or floats are real numbers: how far one may be from
/// what is expected (of the greatest magnitude), and how many (a part) may be farther.
constexpr double kTolerance = 1e-3;
constexpr double kFarPart = 1e-3;

/// Candidates that are this close to the best one are measured again, in turn: clocks and temperatures change.
constexpr double kClose = 1.1;
constexpr std::size_t kMostFinalists = 4;
constexpr std::size_t kRounds = 2;

constexpr const char* kTuneFooter = R"(
The best schedules of the cost model are compiled for the GPU, run on random values (or on the files
of --in), compared with what the pipeline computes stage by stage, and timed. The fastest becomes a
file for --schedule; without -o it is NAME.schedule.json in the current directory. Beside it is a
journal while this runs: the same command goes on where it was stopped. See docs/tuning.md.
Then other choices for the kernels of the fastest are tried: block order, registers, packed integers,
the shape of single stages.

Exit codes: as those of `pipec run`.

Examples:
  pipec tune blur.pipe --size R=1080 --size C=1920
  pipec tune harris.pipe --in img=photo.png --gray img --candidates 40 -o harris.h200.json)";

struct TuneOptions {
    MeasuringOptions common;
    std::string gpu;  ///< --gpu (driver/gpu_option.h)
    compiler::ModelRequest automatic;
    std::size_t candidates = 20;
    std::size_t choices = 12;
};

/// A schedule, its code, and what became of it.
struct Candidate {
    fusion::Alternative alternative;
    std::string what;   ///< for people
    std::string model;  ///< what the cost model says of it; empty: nothing
    NativeSource source;
    std::string key;
    std::optional<Measurement> measured;
    [[nodiscard]] bool has_time() const { return measured && measured->failure.empty(); }
};

class Tuner {
public:
    Tuner(const TuneOptions& options, MeasuredProgram& program)
        : options_(options),
          program_(program),
          runner_(find_runner()),
          gpu_(gpu_to_measure_on(options.common.run.device, runner_, options.common.nvcc)),
          compiler_(gpu_compiler(gpu_, {options.common.native, options.common.nvcc, options.common.program.fast_math})),
          output_(options.common.output.value_or(fs::path(program.name).stem().string() + ".schedule.json")) {
        check_output(output_);
        program_.target = gpu_target(options.gpu, gpu_, runner_);
        const bool in_order =
            !options.common.program.fast_math && codegen::order_dependent_updates(program.pipeline()).empty();
        tolerance_ = in_order ? 0 : kTolerance;
    }

    void run() {
        run_stage_by_stage();
        std::vector<Candidate> candidates = find_candidates();
        TuneJournal journal(output_ + ".journal", journal_key());
        if (journal.was_stale()) say("the journal was of another program, other options or another GPU: all anew");
        if (journal.size() > 0) say(fmt::format("{} measured before", journal.size()));
        try {
            measure(candidates, journal);
            if (auto together = put_together(candidates)) {
                std::vector<Candidate> one;
                one.push_back(std::move(*together));
                measure(one, journal);
                candidates.push_back(std::move(one.front()));
            }
            try_choices(candidates, journal);
            repeat_best(candidates);
        } catch (const Interrupted&) {
            say(fmt::format("stopped: {} measured, in {}; the same command goes on", journal.size(), journal.path()));
            throw;
        }
        write(candidates);
        journal.remove();
    }

private:
    void say(const std::string& line) const {
        if (!options_.common.quiet) std::cerr << printable(line) << "\n" << std::flush;
    }

    /// What all candidates are compared with: results and time of the pipeline without fusion.
    void run_stage_by_stage() {
        const ir::Pipeline& pipeline = program_.pipeline();
        plain_.alternative.schedule = fusion::stage_schedule(program_.prepared.pipeline, program_.prepared.model);
        plain_.source = cuda_of(program_, plain_.alternative.schedule);
        plain_.key = object_key(compiler_, plain_.source);
        sizes_ = chosen_sizes(pipeline, options_.common.run.sizes);
        given_ = options_.common.run;
        given_.device = std::to_string(gpu_.number);
        if (given_.inputs.empty()) use_random_inputs(pipeline, program_.model(), sizes_, given_);

        Progress progress("compiling " + program_.name, options_.common.quiet);
        const CompiledObject object =
            get_object(compiler_, plain_.source, !options_.common.no_cache, [&] { progress.show(); });
        progress.end();
        runner::Options run = given_;
        for (const ir::Output& output : pipeline.outputs) {
            const std::string file = results_.path() / (output.buffer.name + ".npy");
            run.outputs.push_back({output.buffer.name, file});
            given_.expected.push_back({output.buffer.name, file});
        }
        given_.tolerance = tolerance_;
        try {
            const MeasuredRun result = measured_run(runner_, object.file, pipeline.name, run);
            if (given_.random.empty()) {
                sizes_ = solved_sizes(pipeline, program_.model(), result.extents, std::move(sizes_));
            }
            plain_.measured = Measurement{result.milliseconds};
        } catch (const RunFailed& error) {
            throw RunError(kExitProgramError, error.what());
        }
        say(fmt::format("{} with {}: {:.4f} ms stage by stage", gpu_.name, sizes_text(pipeline, sizes_),
                        plain_.measured->milliseconds));
    }

    std::vector<Candidate> find_candidates() {
        compiler::AutomaticModel model = compiler::automatic_model(
            options_.automatic, {program_.target, program_.sources, program_.settings.fast_math, nullptr});
        model.options.sizes = sizes_;
        const fusion::IsLegal legal = [&model](const auto&... group) {
            SignalWatch::check();  // the search takes seconds
            return model.legal(group...);
        };
        const auto& [pipeline, analysis] = program_.prepared;
        std::vector<Candidate> result;
        std::set<std::string> known{plain_.key};
        for (const fusion::Alternative& alternative :
             fusion::alternatives(pipeline, analysis, model.cost, legal, model.options, options_.candidates)) {
            if (auto candidate = make_candidate(alternative); candidate && known.insert(candidate->key).second) {
                result.push_back(std::move(*candidate));
            }
        }
        return result;
    }

    /// None where no code can be generated for the groups together.
    [[nodiscard]] std::optional<Candidate> make_candidate(const fusion::Alternative& alternative) const {
        try {
            const bool seconds = options_.automatic.cost_model != compiler::CostModelName::Paper;
            Candidate result{alternative,
                             describe(alternative),
                             model_text(alternative, seconds),
                             cuda_of(program_, alternative.schedule),
                             {},
                             {}};
            result.key = object_key(compiler_, result.source);
            return result;
        } catch (const fusion::ScheduleError&) {
            return std::nullopt;
        }
    }

    /// The program, the compiler and its flags are in the key of the code without fusion.
    [[nodiscard]] std::string journal_key() const {
        std::string text = plain_.key + "\n" + gpu_.name + "\n";
        runner::Options run = given_;
        run.expected.clear();
        for (const std::string& argument : runner::to_arguments(run)) text += argument + "\n";
        for (const runner::NamedValue& input : run.inputs) {
            std::error_code error;
            const auto time = fs::last_write_time(input.value, error).time_since_epoch().count();
            text += fmt::format("{} {}\n", fs::file_size(input.value, error), time);
        }
        return sha256(text);
    }

    void measure(std::vector<Candidate>& candidates, TuneJournal& journal) {
        std::vector<NativeSource> sources;  // of those that are not measured yet
        for (Candidate& candidate : candidates) {
            candidate.measured = journal.find(candidate.key);
            if (!candidate.measured) sources.push_back(candidate.source);
        }
        const unsigned jobs = options_.common.jobs > 0 ? options_.common.jobs : std::thread::hardware_concurrency();
        ParallelCompiler objects(compiler_, std::move(sources), jobs, !options_.common.no_cache);
        std::size_t next = 0, number = 0;
        for (Candidate& candidate : candidates) {
            ++number;
            SignalWatch::check();
            if (!candidate.measured) {
                candidate.measured = measured(objects, next++);
                journal.add(candidate.key, *candidate.measured);
            }
            if (candidate.has_time()) best_ = std::min(best_, candidate.measured->milliseconds);
            say(progress_line({number, candidates.size()}, *candidate.measured, candidate.model, best_,
                              candidate.what));
        }
    }

    Measurement measured(ParallelCompiler& objects, std::size_t index) const {
        try {
            const CompiledObject object = objects.take(index);
            return judged(measured_run(runner_, object.file, program_.pipeline().name, given_));
        } catch (const ToolError& error) {
            return {0, error.what()};
        } catch (const RunFailed& error) {
            return {0, error.what()};
        }
    }

    [[nodiscard]] Measurement judged(const MeasuredRun& run) const {
        for (const auto& [output, different] : run.different) {
            double elements = 1;
            for (const std::int64_t extent : run.extents.at(output)) elements *= static_cast<double>(extent);
            const double allowed = tolerance_ > 0 ? kFarPart * elements : 0;
            if (static_cast<double>(different) <= allowed) continue;
            return {0, fmt::format("wrong result: {} of {:.0f} elements of `{}` differ from those without fusion",
                                   different, elements, output)};
        }
        return {run.milliseconds};
    }

    /// Kernels run one after the other, so what changes of single groups gain adds up.
    [[nodiscard]] std::optional<Candidate> put_together(const std::vector<Candidate>& candidates) const {
        std::optional<Candidate> result;
        double expected = best_;
        for (const Candidate& base : candidates) {
            if (base.alternative.changed >= 0 || !base.has_time()) continue;
            std::vector<const Candidate*> gains;
            for (const Candidate& other : candidates) {
                const bool gains_time = other.has_time() && other.measured->milliseconds < base.measured->milliseconds;
                if (gains_time && other.alternative.grouping == base.alternative.grouping) gains.push_back(&other);
            }
            std::sort(gains.begin(), gains.end(), [](const Candidate* a, const Candidate* b) {
                return a->measured->milliseconds < b->measured->milliseconds;
            });
            std::set<int> groups;
            std::vector<const fusion::Alternative*> changes;
            double sum = base.measured->milliseconds;
            for (const Candidate* other : gains) {
                if (!groups.insert(other->alternative.changed).second) continue;
                changes.push_back(&other->alternative);
                sum -= base.measured->milliseconds - other->measured->milliseconds;
            }
            if (changes.size() < 2 || sum >= expected) continue;
            fusion::Alternative together = base.alternative;
            together.schedule = fusion::combined(base.alternative, changes);
            for (const fusion::Alternative* change : changes) together.cost += change->cost - base.alternative.cost;
            if (auto made = make_candidate(together)) {
                expected = sum;
                result = std::move(made);
            }
        }
        return result;
    }

    /// The fastest one so far; what runs stage by stage where nothing is faster.
    [[nodiscard]] const Candidate& fastest(const std::vector<Candidate>& candidates) const {
        const Candidate* best = &plain_;
        for (const Candidate& candidate : candidates) {
            if (candidate.has_time() && candidate.measured->milliseconds < best->measured->milliseconds)
                best = &candidate;
        }
        return *best;
    }

    /// The base of other choices, with some of them. None where it is impossible, or no other code than was measured.
    [[nodiscard]] std::optional<Candidate> with_choices(const fusion::Alternative& base,
                                                        const std::vector<fusion::ChoiceMove>& moves,
                                                        std::set<std::string>& known) const {
        fusion::Alternative alternative = base;
        alternative.schedule = fusion::with_moves(base.schedule, moves);
        auto result = make_candidate(alternative);
        if (!result || !known.insert(result->key).second) return std::nullopt;
        std::vector<std::string> words;
        for (const fusion::ChoiceMove& move : moves) words.push_back(describe(move));
        result->what = fmt::format("{}", fmt::join(words, "; "));
        result->model.clear();
        return result;
    }

    /// Other choices for the kernels of the fastest one: each alone, then together those that gain time.
    void try_choices(std::vector<Candidate>& candidates, TuneJournal& journal) {
        fusion::Alternative base = fastest(candidates).alternative;
        const double before = fastest(candidates).measured->milliseconds;
        base.schedule = pinned(program_, base.schedule);
        std::set<std::string> known{plain_.key};
        for (const Candidate& candidate : candidates) known.insert(candidate.key);
        std::vector<Candidate> tried;
        std::vector<fusion::ChoiceMove> moves;
        constexpr std::size_t kWithoutEffect = 4;  // of so many one makes other code
        const auto possible =
            fusion::choice_moves(base.schedule, program_.target.gpu(), kWithoutEffect * options_.choices);
        for (const fusion::ChoiceMove& move : possible) {
            if (tried.size() == options_.choices) break;
            SignalWatch::check();
            if (auto candidate = with_choices(base, {move}, known)) {
                tried.push_back(std::move(*candidate));
                moves.push_back(move);
            }
        }
        measure(tried, journal);
        std::vector<std::size_t> gains;
        for (std::size_t i = 0; i < tried.size(); ++i) {
            if (tried[i].has_time() && tried[i].measured->milliseconds < before) gains.push_back(i);
        }
        std::stable_sort(gains.begin(), gains.end(), [&](std::size_t a, std::size_t b) {
            return tried[a].measured->milliseconds < tried[b].measured->milliseconds;
        });
        std::vector<fusion::ChoiceMove> together;
        for (const std::size_t i : gains) together.push_back(moves[i]);
        std::vector<Candidate> one;
        if (auto all = together.size() < 2 ? std::nullopt : with_choices(base, together, known)) {
            one.push_back(std::move(*all));
            measure(one, journal);
        }
        for (std::vector<Candidate>* more : {&tried, &one})
            candidates.insert(candidates.end(), std::make_move_iterator(more->begin()),
                              std::make_move_iterator(more->end()));
    }

    /// Measures the fastest ones again, in turn, where they are close to each other.
    void repeat_best(std::vector<Candidate>& candidates) {
        std::vector<Candidate*> best;
        for (Candidate& candidate : candidates) {
            if (candidate.has_time() && candidate.measured->milliseconds <= best_ * kClose) best.push_back(&candidate);
        }
        if (best.size() < 2) return;
        std::stable_sort(best.begin(), best.end(), [](const Candidate* a, const Candidate* b) {
            return a->measured->milliseconds < b->measured->milliseconds;
        });
        if (best.size() > kMostFinalists) best.resize(kMostFinalists);
        std::vector<CompiledObject> objects;
        objects.reserve(best.size());
        for (const Candidate* c : best) {
            objects.push_back(get_object(compiler_, c->source, !options_.common.no_cache));
        }
        std::vector<double> sums(best.size(), 0);
        try {
            for (std::size_t i = 0; i < kRounds * best.size(); ++i) {
                const std::size_t which = i % best.size();
                sums[which] +=
                    measured_run(runner_, objects[which].file, program_.pipeline().name, given_).milliseconds;
            }
        } catch (const RunFailed& error) {
            throw RunError(kExitProgramError, fmt::format("a candidate that ran before failed: {}", error.what()));
        }
        std::string line = "again, in turn:";
        for (std::size_t i = 0; i < best.size(); ++i) {
            best[i]->measured->milliseconds = sums[i] / static_cast<double>(kRounds);
            line += fmt::format(" {:.4f}", best[i]->measured->milliseconds);
        }
        finalists_ = {best.begin(), best.end()};
        say(line + " ms");
    }

    void write(const std::vector<Candidate>& candidates) const {
        const Candidate* best = &plain_;
        std::size_t failed = 0;
        for (const Candidate& candidate : candidates) {
            failed += candidate.has_time() ? 0 : 1;
            // Of those that were measured again only these times count.
            if (!finalists_.empty() && finalists_.count(&candidate) == 0) continue;
            if (candidate.has_time() && candidate.measured->milliseconds < best->measured->milliseconds) {
                best = &candidate;
            }
        }
        const ir::Pipeline& pipeline = program_.prepared.pipeline;
        fusion::Schedule schedule = pinned(program_, best->alternative.schedule);
        schedule.origin = fmt::format("pipec tune: {:.4f} ms on {} with {}", best->measured->milliseconds, gpu_.name,
                                      sizes_text(pipeline, sizes_));
        write_files({{output_, fusion::to_json({{pipeline.name, schedule}}, {pipeline})}});
        say(fmt::format("{:.4f} ms, {:.2f} times as fast as stage by stage; {} measured{}; written to {}",
                        best->measured->milliseconds, plain_.measured->milliseconds / best->measured->milliseconds,
                        candidates.size() - failed, failed > 0 ? fmt::format(", {} failed", failed) : "", output_));
    }

    const TuneOptions& options_;
    MeasuredProgram& program_;
    std::string runner_;
    PresentGpu gpu_;
    NativeCompiler compiler_;
    std::string output_;
    TemporaryDirectory results_;  ///< of the pipeline without fusion
    double tolerance_ = 0;
    runner::Options given_;  ///< to every candidate
    std::vector<std::int64_t> sizes_;
    Candidate plain_;
    double best_ = std::numeric_limits<double>::infinity();
    std::set<const Candidate*> finalists_;
};

void check(TuneOptions& options) {
    if (!options.automatic.sizes.empty()) {
        throw CLI::ParseError("`--tune-for` is for pipec; here `--size NAME=N` says the sizes", kExitUsage);
    }
    if (options.common.output == "-" || options.common.output == "") {
        throw CLI::ParseError("`-o` needs the name of a file", kExitUsage);
    }
    if (options.common.program.input == "-" && !options.common.output) {
        throw CLI::ParseError("the program comes from standard input: `-o` must say where the result goes", kExitUsage);
    }
    if (!options.automatic.cost_model) options.automatic.cost_model = compiler::CostModelName{};
}

constexpr const char* kTuneTitle = "Measures the best schedules of a cost model on the GPU and keeps the fastest.";

void declare(CLI::App& app, TuneOptions& options) {
    app.footer(kTuneFooter);
    add_measuring_options(app, options.common);
    app.add_option("--candidates", options.candidates, "How many schedules are measured; default 20")
        ->check(CLI::Range(1, 1000))
        ->option_text("N");
    app.add_option("--choices", options.choices,
                   "How many other choices are tried for the kernels of the fastest one; default 12")
        ->check(CLI::Range(0, 1000))
        ->option_text("N");
    add_gpu_option(app, options.gpu, kPresentGpu, "Candidates");
    add_automatic_options(app, options.automatic, "Candidates");
    runner::add_input_options(app, options.common.run);
}

}  // namespace

void describe_tune(const AppVisitor& visit) {
    describe<TuneOptions>(kTuneTitle, "pipec tune", declare, visit);
}

int tune_command(int argc, char** argv) {
    TuneOptions options;
    CLI::App app(kTuneTitle, "pipec tune");
    declare(app, options);
    if (const auto finished = parse_command(app, "pipec tune", argc, argv, [&] { check(options); })) return *finished;
    return guarded([&] {
        const SignalWatch watch;
        MeasuredProgram program;
        if (!load(options.common, program)) return kExitProgramError;
        read_files(options.automatic);
        if (!options.common.quiet && !fusion::usual_versions(program.checked.definitions.front()).empty()) {
            std::cerr << "note: a schedule is for all launches; without one, some have code of their own, which may be "
                         "faster (docs/generated-code.md#versions)\n";
        }
        Tuner(options, program).run();
        return kExitSuccess;
    });
}

}  // namespace pipec::driver
