// Programs with statistics of whole images, phase by phase and window by window: the bits of the interpreter, on the
// host and in the SIMT emulator.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>

#include "compiler/passes.h"
#include "random/check.h"
#include "support/render.h"
#include "support_lib/device.h"
#include "support_lib/host.h"

namespace pipec::testing::phase_test {
namespace {

constexpr std::int64_t kEnd = (std::int64_t{1} << 30) - 1;

using Arrays = std::map<std::string, reference::Array>;
using Rng = std::mt19937_64;

/// A program with its phases.
struct Program {
    SourceManager sources;
    Diagnostics diags{WarningOptions{}};
    compiler::Checked checked;
    explicit Program(const std::string& text) {
        compiler::Settings settings;
        settings.phases = true;
        checked = compiler::check(sources, sources.add("p.pipe", text), settings, diags);
    }
};

/// One phase on one target.
struct PhaseCode {
    const ir::Pipeline* pipeline;
    const compiler::PhaseOf* phase;
    WindowedPipeline code;
    bool on_device = false;
};

/// lo to hi in a few pieces.
std::vector<std::pair<std::int64_t, std::int64_t>> pieces(std::int64_t lo, std::int64_t hi, Rng& rng) {
    std::vector<std::int64_t> ends{lo, hi};
    for (std::size_t n = rng() % 3; n > 0 && hi > lo; --n) {
        ends.push_back(lo + static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(hi - lo)));
    }
    std::ranges::sort(ends);
    std::vector<std::pair<std::int64_t, std::int64_t>> result;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
        if (ends[i] < ends[i + 1]) result.emplace_back(ends[i], ends[i + 1]);
    }
    return result;
}

/// Each box with each of the pieces as its next dimension.
std::vector<WindowBox> cut_along_next(const std::vector<WindowBox>& boxes, const WindowBox& pieces) {
    std::vector<WindowBox> result;
    for (const WindowBox& box : boxes) {
        for (const auto& piece : pieces) {
            result.push_back(box);
            result.back().push_back(piece);
        }
    }
    return result;
}

/// Boxes that have all points of an array, each in one of them; dimensions of constant extent are whole.
std::vector<WindowBox> boxes(const std::vector<std::int64_t>& extents, const ir::Buffer& buffer, Rng& rng) {
    std::vector<WindowBox> result{{}};
    for (std::size_t d = 0; d < extents.size(); ++d) {
        const bool whole = ir::as<ir::IntConstant>(buffer.extents[d]) != nullptr;
        const auto cuts =
            whole ? std::vector{std::pair<std::int64_t, std::int64_t>{0, extents[d]}} : pieces(0, extents[d], rng);
        result = cut_along_next(result, cuts);
    }
    return result;
}

void paste(reference::Array& whole, const reference::Array& part, const WindowBox& box) {
    for (std::size_t linear = 0; linear < part.size(); ++linear) {
        std::size_t rest = linear, at = 0, stride = 1;
        for (std::size_t d = box.size(); d-- > 0;) {
            const auto extent = static_cast<std::size_t>(box[d].second - box[d].first);
            at += (static_cast<std::size_t>(box[d].first) + rest % extent) * stride;
            rest /= extent;
            stride *= static_cast<std::size_t>(whole.extents[d]);
        }
        whole.set(at, part.get(linear));
    }
}

class InPhases {
public:
    InPhases(std::vector<PhaseCode> phases, reference::Arguments arguments, Rng& rng)
        : phases_(std::move(phases)), arguments_(std::move(arguments)), rng_(rng) {}

    /// All outputs of all phases.
    Arrays run() {
        for (const PhaseCode& phase : phases_) {
            for (const ir::Output& output : phase.pipeline->outputs) arguments_.inputs.try_emplace(output.buffer.name);
            for (std::size_t i = 0; i < phase.pipeline->outputs.size(); ++i) {
                const std::string& name = phase.pipeline->outputs[i].buffer.name;
                arguments_.inputs.at(name) = made_.emplace(name, output(phase, static_cast<int>(i))).first->second;
            }
        }
        return made_;
    }

private:
    std::vector<std::int64_t> extents_of(const PhaseCode& phase, const ir::Buffer& buffer) {
        std::vector<std::int64_t> sizes;
        for (const ir::SizeParameter& size : phase.pipeline->sizes) {
            const auto known = arguments_.sizes.find(size.name);
            const auto param = arguments_.params.find(size.name);
            sizes.push_back(known != arguments_.sizes.end()    ? known->second
                            : param != arguments_.params.end() ? param->second.i
                                                               : 0);
        }
        std::vector<std::int64_t> result;
        for (const ir::Expr& extent : buffer.extents) result.push_back(reference::evaluate_size_expr(extent, sizes));
        return result;
    }

    reference::Array window(const PhaseCode& phase, const std::string& name, const WindowBox& box) {
        const Windows wanted{{name, box}};
        const Windows needed = required_windows(phase.code, arguments_, wanted);
        const Arrays results = phase.on_device
                                   ? run_device_windows(phase.code, arguments_, wanted, needed, Layout::Dense, rng_())
                                   : run_host_windows(phase.code, arguments_, wanted, needed);
        return results.at(name);
    }

    reference::Array output(const PhaseCode& phase, int number) {
        const ir::Buffer& buffer = phase.pipeline->outputs[static_cast<std::size_t>(number)].buffer;
        for (const fusion::PartOutput& part : phase.phase->parts) {
            for (const fusion::PartLoop& loop : part.loops) {
                arguments_.params[loop.from] = arguments_.params[loop.to] = {ir::Type::Int32, 0, 0};
            }
        }
        const std::vector<std::int64_t> extents = extents_of(phase, buffer);
        for (const fusion::PartOutput& part : phase.phase->parts) {
            if (part.output == number) return parts(phase, part, buffer, extents);
        }
        reference::Array whole(buffer.type, extents);
        for (const WindowBox& box : boxes(extents, buffer, rng_)) paste(whole, window(phase, buffer.name, box), box);
        return whole;
    }

    reference::Array parts(const PhaseCode& phase, const fusion::PartOutput& part, const ir::Buffer& buffer,
                           const std::vector<std::int64_t>& extents) {
        std::vector<WindowBox> all{{}};
        for (const fusion::PartLoop& loop : part.loops) {
            const ir::Buffer& input = phase.pipeline->inputs.at(static_cast<std::size_t>(loop.input));
            auto cuts =
                pieces(0, arguments_.inputs.at(input.name).extents.at(static_cast<std::size_t>(loop.dim)), rng_);
            cuts.front().first = -kEnd;
            cuts.back().second = kEnd;
            all = cut_along_next(all, cuts);
        }
        WindowBox whole;
        for (const std::int64_t extent : extents) whole.emplace_back(0, extent);
        std::vector<std::int64_t> with_parts{static_cast<std::int64_t>(all.size())};
        with_parts.insert(with_parts.end(), extents.begin(), extents.end());
        reference::Array result(buffer.type, with_parts);
        std::int64_t number = 0;
        for (const WindowBox& ends : all) {
            for (std::size_t l = 0; l < part.loops.size(); ++l) {
                arguments_.params[part.loops[l].from] = {ir::Type::Int32, ends[l].first, 0};
                arguments_.params[part.loops[l].to] = {ir::Type::Int32, ends[l].second, 0};
            }
            WindowBox place = whole;
            place.insert(place.begin(), {number, number + 1});
            paste(result, window(phase, buffer.name, whole), place);
            ++number;
        }
        return result;
    }

    std::vector<PhaseCode> phases_;
    reference::Arguments arguments_;
    Rng& rng_;
    Arrays made_;
};

/// The number of phases of a program whose runs are as they should be; what is wrong goes to `problem`.
int check(const std::string& name, const std::string& text, const std::vector<int>& largest, std::string& problem) {
    SourceManager own;
    const auto subject = check_program(own, name, text, largest);
    if (!subject->accepted()) {
        problem = subject->failure.empty() ? render_text(subject->compiled.diags, own) : subject->failure;
        return 0;
    }
    const Program program(text);
    const compiler::Checked& checked = program.checked;
    std::vector<codegen::Unit> units;
    for (std::size_t i = checked.pipelines.size() - checked.phases.size(); i < checked.pipelines.size(); ++i) {
        if (checked.phase(i)->pipeline != subject->compiled.pipelines.front().name) continue;
        units.push_back({&checked.pipelines[i], &checked.models[i]});
    }
    if (units.empty()) return 0;
    try {
        const HostLibrary host(units, program.sources, "-O1 -DPIPE_NO_VERSIONS", HostTiling::Small, true);
        const DeviceLibrary device(units, program.sources, {.deterministic = true, .schedules = {}}, true);
        Rng rng(text.size());
        for (const Subject::Run& run : subject->runs) {
            for (const bool on_device : {false, true}) {
                std::vector<PhaseCode> phases;
                for (std::size_t u = 0; u < units.size(); ++u) {
                    const std::string& phase = units[u].pipeline->name;
                    phases.push_back({units[u].pipeline, &checked.phases.at(u),
                                      on_device ? device.windowed(phase) : host.windowed(phase), on_device});
                }
                Arrays made = InPhases(phases, run.arguments, rng).run();
                for (const auto& [output, expected] : run.expected) {
                    const std::string differs = difference(expected, made.at(output));
                    if (differs.empty() || !problem.empty()) continue;
                    problem = fmt::format("{}: `{}`: {}", on_device ? "device" : "host", output, differs);
                    for (const auto& [input, array] : run.arguments.inputs) {
                        problem += fmt::format("; {}[{}]", input, fmt::join(array.extents, ", "));
                    }
                }
            }
        }
    } catch (const std::exception& error) {
        problem = fmt::format("exception: {}", error.what());
    }
    return static_cast<int>(units.size());
}

void expect_phases(const std::string& text, int phases) {
    std::string problem;
    EXPECT_EQ(check("p", text, {9, 70, 130}, problem), phases) << text;
    EXPECT_EQ(problem, "") << text;
}

TEST(Phases, OfReductions) {
    const std::string head = "pipeline p(img: float32[R, C]) -> out: float32[R, C] { ";
    // The mean; from it the variance.
    expect_phases(head + "m() = (sum(y in 0..R, x in 0..C) img(y, x)) / (R * C) out(y, x) = img(y, x) - m() }", 4);
    expect_phases(head +
                      "m() = (sum(y in 0..R, x in 0..C) img(y, x)) / (R * C) "
                      "v() = (sum(y in 0..R, x in 0..C) (img(y, x) - m()) * (img(y, x) - m())) / (R * C) "
                      "out(y, x) = (img(y, x) - m()) / sqrt(v()) }",
                  7);
    expect_phases(head +
                      "least() = min(y in 0..R, x in 0..C) img(y, x) most() = max(y in 0..R, x in 0..C) img(y, x) "
                      "out(y, x) = (img(y, x) - least()) / (most() - least()) }",
                  4);
    // Of something that is a stencil, from a row on that is not the first one.
    expect_phases(head +
                      "f(y, x) = img(y, x) * img(max(y - 1, 0), x) "
                      "m() = sum(y in 1..R, x in 2..C) f(y, x) out(y, x) = img(min(y + 1, R - 1), x) * m() }",
                  4);
    // A sum of each row.
    expect_phases(head + "out(y, x) = img(y, x) / (sum(i in 0..C) img(y, i)) }", 3);
}

TEST(Phases, OfChannelsAndPlaces) {
    expect_phases(
        "pipeline p(img: uint8[3, R, C]) -> out: float32[3, R, C], mean: float32[3] { "
        "mean(c) = (sum(y in 0..R, x in 0..C) float32(img(c, y, x))) / (R * C) "
        "out(c, y, x) = img(c, y, x) - mean(c) }",
        4);
    expect_phases(
        "pipeline p(img: uint8[R, C]) -> out: int32[R, C], place: int32[2] { "
        "at() = argmax(y in 0..R, x in 0..C) img(y, x) "
        "place(i) = if i == 0 then at()[0] else at()[1] "
        "out(y, x) = abs(y - at()[0]) + abs(x - at()[1]) }",
        7);
}

/// What an output gives is read by later phases, as statistics are.
TEST(Phases, OfOutputsThatAreRead) {
    expect_phases(
        "pipeline p(img: float32[R, C]) -> smooth: float32[R, C], out: float32[R, C] { "
        "smooth(y, x) = (img(y, x) + img(y, max(x - 1, 0))) / 2 "
        "most() = max(y in 0..R, x in 0..C) smooth(y, x) "
        "out(y, x) = smooth(max(y - 1, 0), x) / most() }",
        4);
}

TEST(Phases, OfAccumulates) {
    expect_phases(
        "pipeline p(img: uint8[R, C]) -> out: uint8[R, C], hist: int32[256] { "
        "accumulate hist(b in 0..256): int32 = 2 { for y in 0..R, x in 0..C { hist(int32(img(y, x))) += 1 } } "
        "cdf(b in 0..256): int32 = if b == 0 then hist(0) else cdf(b - 1) + hist(b) "
        "out(y, x) = uint8(cdf(int32(img(y, x))) * 255 / (R * C + 512)) }",
        3);
    // A condition, two updates, least values, and a table of the image's other statistics.
    expect_phases(
        "pipeline p(img: uint8[R, C]) -> out: int32[R, C] { "
        "accumulate low(b in 0..8): int32 = 1000 { "
        "for y in 1..R, x in 0..C { if img(y, x) != img(y - 1, x) { low(int32(img(y, x)) % 8) min= y + x } } "
        "for x in 0..C, y in 0..R { low(x % 8) min= 2 * y + int32(img(y, x)) } } "
        "out(y, x) = low(int32(img(y, x)) / 32) }",
        3);
}

/// Those that are computed in one phase stay as they are.
TEST(Phases, OnlyWhereTheyHelp) {
    const std::string head = "pipeline p(img: float32[R, C]) -> out: float32[R, C] { ";
    expect_phases(head + "out(y, x) = (img(y, x) + img(y, max(x - 1, 0))) / 2 }", 0);
    expect_phases(head + "out(y, x) = if y == 0 then img(y, x) else out(y - 1, x) + img(y, x) }", 0);
    expect_phases(
        "pipeline p(a: float32[R, K], b: float32[K, C]) -> out: float32[R, C] { "
        "out(y, x) = sum(k in 0..K) a(y, k) * b(k, x) }",
        0);
    // The order of updates of floats can be told: the whole image in one phase.
    expect_phases(head +
                      "accumulate m(i in 0..4): float32 = 0 { for y in 0..R, x in 0..C { m(x % 4) += img(y, x) } } "
                      "out(y, x) = img(y, x) - m(x % 4) }",
                  2);
}

/// A statistic, or two of which the second needs the first, and an image that depends on them.
class RandomStatistics {
public:
    explicit RandomStatistics(Rng& rng) : rng_(rng) {}

    std::string text() {
        integers_ = rng_() % 2 == 0;
        planes_ = rng_() % 4 == 0;
        const std::string type = integers_ ? any({"uint8", "int16", "int32"}) : any({"float32", "float64", "float16"});
        const std::string dims = planes_ ? "3, R, C" : "R, C";
        std::string stages = statistic("s", "");
        std::string used = use("s");
        if (rng_() % 2 == 0) {
            stages += statistic("t", used);
            used += any({" + ", " * ", " - "}) + use("t");
        }
        std::string head = "pipeline p(img: " + type + "[" + dims + "]) -> out: float64[" + dims + "]";
        if (rng_() % 3 == 0) head += ", also: float64[2]", stages += "also(i) = float64(" + one("s") + ") + i ";
        return head + " where R >= 1, C >= 1 { " + stages + "out(" + place_ + ") = float64(" + pixel() +
               ") * 3 + float64(" + used + ") }";
    }

private:
    std::string any(const std::vector<std::string>& of) { return of[rng_() % of.size()]; }
    std::string image(const std::string& y, const std::string& x) {
        return std::string("img(") + (planes_ ? "c, " : "") + y + ", " + x + ")";
    }
    std::string pixel() {
        const std::string here = image("y", "x");
        switch (rng_() % 4) {
            case 0: return "abs(" + here + " - " + image("min(y + 1, R - 1)", "x") + ")";
            case 1: return "(if x % 3 == 1 then " + image("y", "x - 1") + " else " + here + ")";
            case 2: return "max(" + here + ", " + image("max(y - 2, 0)", "C - 1 - x") + ")";
            default: return here;
        }
    }
    /// A value of a stage at a pixel.
    std::string use(const std::string& stage) { return stage + "(" + indices_.at(stage) + ")"; }
    std::string one(const std::string& stage) {
        const std::string& at = indices_.at(stage);
        std::string zeros;
        for (std::size_t n = at.empty() ? 0 : 1 + static_cast<std::size_t>(std::ranges::count(at, ',')); n > 0; --n) {
            zeros += zeros.empty() ? "0" : ", 0";
        }
        return stage + "(" + (tables_.count(stage) > 0 ? std::string("0") : zeros) + ")";
    }
    std::string statistic(const std::string& name, const std::string& with) {
        place_ = planes_ ? "c, y, x" : "y, x";
        std::string term = pixel();
        if (integers_ && with.empty() && !planes_ && rng_() % 3 == 0) {
            tables_.insert(name);
            indices_[name] = "x % 8";
            const std::string guard = rng_() % 2 == 0 ? "" : "if " + pixel() + " > 3 ";
            const std::string update =
                name + "(int32(" + image("y", "x") + ") & 7) " + any({"+=", "min=", "max="}) + " int64(" + term + ")";
            return "accumulate " + name + "(b in 0..8): int64 = 5 { for y in " + any({"0", "1"}) + "..R, x in 0..C { " +
                   (guard.empty() ? update : guard + "{ " + update + " }") + " } } ";
        }
        if (!with.empty()) term = "(" + term + " - " + with + ")";
        const std::string y = "y in " + any({"0", "0", "1", "R / 3"}) + "..R",
                          x = "x in 0.." + any({"C", "C", "C - 1"});
        const std::string all = y + ", " + x;
        const std::string op = any({"sum", "sum", "min", "max"});
        const std::string c = planes_ ? "c" : "";
        switch (planes_ ? 0 : rng_() % 5) {
            case 0:
            case 1: indices_[name] = c; return name + "(" + c + ") = " + op + "(" + all + ") " + term + " ";
            case 2: indices_[name] = "y"; return name + "(y) = " + op + "(" + x + ") " + term + " ";
            case 3: indices_[name] = "x"; return name + "(x) = " + op + "(" + y + ") " + term + " ";
            default:
                indices_[name] = "";
                return name + "() = (" + any({"argmax", "argmin"}) + "(" + all + ") " + term + ")[" + any({"0", "1"}) +
                       "] ";
        }
    }

    Rng& rng_;
    bool integers_ = false, planes_ = false;
    std::string place_;
    std::map<std::string, std::string> indices_;
    std::set<std::string> tables_;
};

TEST(Phases, OfRandomStatistics) {
    const char* const programs = std::getenv("PIPEC_RANDOM_PROGRAMS");
    const char* const seed = std::getenv("PIPEC_RANDOM_SEED");
    Rng rng(seed == nullptr ? 1 : std::strtoull(seed, nullptr, 10));
    const int wanted = programs == nullptr ? 4 : std::atoi(programs);
    int accepted = 0, in_phases = 0;
    for (int i = 0; i < wanted; ++i) {
        const std::string text = RandomStatistics(rng).text();
        std::string problem;
        const int phases = check("p", text, {9, 130}, problem);
        EXPECT_EQ(problem, "") << text;
        accepted += problem.empty() ? 1 : 0;
        in_phases += phases > 0 ? 1 : 0;
    }
    EXPECT_GE(2 * in_phases, wanted) << accepted << " were accepted";
}

/// Of those that have some. PIPEC_PHASE_PROGRAMS: another directory than that of the regressions.
TEST(Phases, OfProgramsInADirectory) {
    const char* const given = std::getenv("PIPEC_PHASE_PROGRAMS");
    const std::string directory = given == nullptr ? PIPEC_SOURCE_DIR "/tests/random/regressions" : given;
    int in_phases = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        if (entry.path().extension() != ".pipe") continue;
        const std::string text = read_file(entry.path());
        const Program program(text);
        if (program.diags.has_errors() || program.checked.phases.empty()) continue;
        // The extents of such outputs would have to be given.
        const auto has_default = [](const ir::SizeParameter& size) { return size.default_value != nullptr; };
        if (std::ranges::any_of(program.checked.pipelines.front().sizes, has_default)) continue;
        std::string problem;
        in_phases += check(program.checked.phases.front().pipeline, text, {19, 70}, problem) > 0 ? 1 : 0;
        EXPECT_EQ(problem, "") << entry.path();
    }
    EXPECT_GE(in_phases, 1);
}

}  // namespace
}  // namespace pipec::testing::phase_test
