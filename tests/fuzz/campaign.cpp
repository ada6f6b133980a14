#include "fuzz/campaign.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "fusion/schedule_json.h"
#include "fuzz/isolated.h"
#include "fuzz/legality.h"
#include "random/check.h"
#include "random/random_schedule.h"
#include "support/render.h"

namespace pipec::testing {

namespace {

using nlohmann::json;
using Say = std::function<void(const std::string&)>;

constexpr double kLegalitySeconds = 2, kQuickLegalitySeconds = 0.3;

// ------------------------------------------------------------------------------------------- in the child process

std::string first_error(const Compiled& compiled) {
    for (const Diagnostic& diagnostic : compiled.diags.all()) {
        if (diagnostic.severity == Severity::Error) return std::string(diagnostic.id);
    }
    return "";
}

/// The finding that a legal program is refused; none where the interpreter finds it illegal.
std::optional<Finding> refusal(const Subject& subject, const SourceManager& sources, const FuzzOptions& options,
                               Verdict& verdict) {
    const std::string id = first_error(subject.compiled);
    if (!options.only_id.empty() && id != options.only_id) return std::nullopt;
    SourceManager again;
    compiler::Settings elaboration;
    elaboration.last = compiler::Phase::Elaborate;
    const Compiled compiled = compile_text(again, "p.pipe", subject.text, elaboration);
    const double seconds = options.only_id.empty() ? kLegalitySeconds : kQuickLegalitySeconds;
    verdict.illegal = !compiled.pipelines.empty() && !found_illegal(compiled.pipelines.front(), seconds).empty();
    if (verdict.illegal) return std::nullopt;
    return Finding{"refused", id, render_text(subject.compiled.diags, sources), ""};
}

std::string schedule_text(const Subject& subject) {
    return subject.schedule ? fusion::to_json({{subject.name, *subject.schedule}}, subject.compiled.pipelines) : "";
}

/// The front end, the interpreter, and a schedule.
std::unique_ptr<Subject> prepare(const Case& c, const std::string& name, SourceManager& sources,
                                 const FuzzOptions& options, Verdict& verdict) {
    auto subject = check_program(sources, name, c.text(name), c.generator.largest);
    verdict.seconds = subject->compile_seconds;
    verdict.accepted = subject->accepted();
    if (!subject->failure.empty()) {
        verdict.finding = Finding{"wrong", "", subject->failure, ""};
    } else if (options.slow > 0 && verdict.seconds > options.slow) {
        verdict.finding = Finding{"slow", "", fmt::format("{:.2f} s", verdict.seconds), ""};
    } else if (!verdict.accepted && options.refused) {
        verdict.finding = refusal(*subject, sources, options, verdict);
    }
    if (!verdict.accepted || !options.device || !c.schedule_tape) return subject;
    Tried tried;
    const codegen::Unit unit{&subject->compiled.pipelines.front(), &subject->compiled.models.front()};
    try {
        subject->schedule = random_schedule(*c.schedule_tape, unit, sources, tried);
    } catch (const std::exception& error) {
        verdict.finding = Finding{"wrong", "", fmt::format("exception: {}", error.what()), ""};
        subject->failure = verdict.finding->message;
    }
    return subject;
}

json to_json(const Verdict& v, std::size_t index) {
    json result = {{"case", index}, {"accepted", v.accepted}, {"illegal", v.illegal}, {"seconds", v.seconds}};
    if (v.finding) result["finding"] = {v.finding->kind, v.finding->id, v.finding->message, v.finding->schedule};
    return result;
}

Verdict from_json(const json& j) {
    Verdict v{j.at("accepted"), j.at("illegal"), j.at("seconds"), std::nullopt};
    if (j.contains("finding")) {
        const auto& f = j.at("finding");
        v.finding = Finding{f.at(0), f.at(1), f.at(2), f.at(3)};
    }
    return v;
}

/// Says {"begin": i} before the i-th case goes through the front end, {"begin": -1} before code runs, and each verdict.
void judge_here(const std::vector<Case>& cases, const FuzzOptions& options, const Say& say) {
    const auto say_json = [&](const json& j) { say(j.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"); };
    SourceManager sources;
    std::vector<Verdict> verdicts(cases.size());
    std::vector<std::unique_ptr<Subject>> subjects;
    std::vector<Subject*> legal;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        say_json({{"begin", i}});
        subjects.push_back(prepare(cases[i], fmt::format("p{}", i), sources, options, verdicts[i]));
        if (subjects.back()->accepted()) legal.push_back(subjects.back().get());
    }
    say_json({{"begin", -1}});
    if (options.host) check_on_host(legal, sources, options.flags);
    std::erase_if(legal, [](const Subject* s) { return !s->failure.empty(); });
    if (options.device) check_on_device(legal, sources);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const Subject& subject = *subjects[i];
        if (!verdicts[i].finding && !subject.failure.empty()) {
            verdicts[i].finding = Finding{"wrong", "", subject.failure, schedule_text(subject)};
        }
        say_json(to_json(verdicts[i], i));
    }
}

std::vector<Verdict> halves(const std::vector<Case>& cases, std::size_t middle, const FuzzOptions& options) {
    const auto at = cases.begin() + static_cast<std::ptrdiff_t>(middle);
    std::vector<Verdict> result = judge({cases.begin(), at}, options);
    const std::vector<Verdict> rest = judge({at, cases.end()}, options);
    result.insert(result.end(), rest.begin(), rest.end());
    return result;
}

/// Lines that nobody needs are left out, the last ones first: definitions come before their readers.
Case without_lines(Case found, const std::function<bool(const Case&)>& still) {
    std::vector<std::string> lines;
    std::istringstream text(found.text());
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    for (std::size_t i = lines.size(); i-- > 0;) {
        std::vector<std::string> fewer = lines;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        Case c = found;
        c.written = fmt::format("{}\n", fmt::join(fewer, "\n"));
        if (!still(c)) continue;
        found = std::move(c);
        lines = std::move(fewer);
    }
    return found;
}

}  // namespace

std::vector<Case> cases_of(std::size_t program, const FuzzOptions& options) {
    const std::vector<ProgramGenerator> generators = program_generators(options.generator);
    std::seed_seq seed{options.seed & 0xffffffff, options.seed >> 32, std::uint64_t{program}};
    std::mt19937_64 rng(seed);
    Case c;
    c.program = program;
    c.generator = generators.at(program % generators.size());
    c.tape = random_tape(rng, c.generator.least, c.generator.most);
    if (options.schedules == 0) return {c};
    std::vector<Case> cases;
    for (; c.schedule < options.schedules; ++c.schedule) {
        c.schedule_tape = random_tape(rng, 60, 300);
        cases.push_back(c);
    }
    return cases;
}

std::vector<Verdict> judge(const std::vector<Case>& cases, const FuzzOptions& options) {
    if (cases.empty()) return {};
    // Of a machine that is busy with other things; the emulator's code takes long to compile.
    const std::size_t seconds = 60 + (options.device ? 60 : 8) * cases.size();
    const Limits limits{static_cast<unsigned>(seconds), std::size_t{6} << 30};
    const Outcome outcome = isolated(limits, [&](const Say& say) { judge_here(cases, options, say); });
    std::vector<Verdict> verdicts(cases.size());
    std::ptrdiff_t current = -1;
    std::size_t judged = 0;
    std::istringstream lines(outcome.text);
    std::string words;
    for (std::string line; std::getline(lines, line);) {
        const json j = json::parse(line, nullptr, false);
        if (!j.is_object()) {  // of a sanitizer, or what the dying said last
            words += line + "\n";
            continue;
        }
        if (j.contains("begin")) current = j.at("begin");
        if (j.contains("case")) verdicts.at(j.at("case")) = from_json(j), ++judged;
    }
    if (outcome.death.empty() && judged == cases.size()) return verdicts;
    if (cases.size() == 1) {
        verdicts.front().finding = Finding{"died", current < 0 ? "code" : "compiler", outcome.death + "\n" + words, ""};
        return verdicts;
    }
    // Until the culprit is alone.
    if (current > 0) return halves(cases, static_cast<std::size_t>(current), options);
    return halves(cases, current == 0 ? 1 : cases.size() / 2, options);
}

Case reduced(const Case& found, const Finding& finding, const FuzzOptions& options) {
    FuzzOptions quick = options;
    quick.only_id = finding.id;
    if (finding.kind == "refused" || finding.kind == "slow") quick.host = quick.device = false;
    Case smallest = found;
    const auto still = [&](const Case& c) {
        const Verdict verdict = judge({c}, quick).front();
        return verdict.finding && verdict.finding->kind == finding.kind && verdict.finding->id == finding.id;
    };
    if (found.schedule_tape) {
        smallest.schedule_tape = shrink(*smallest.schedule_tape, options.reductions, [&](const Tape& tape) {
            Case c = smallest;
            c.schedule_tape = tape;
            return still(c);
        });
    }
    smallest.tape = shrink(smallest.tape, options.reductions, [&](const Tape& tape) {
        Case c = smallest;
        c.tape = tape;
        return still(c);
    });
    return without_lines(std::move(smallest), still);
}

}  // namespace pipec::testing
