// Plan: everything about one launch that the arguments decide.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/emit/c/c_expr.h"
#include "codegen/emit/c/c_types.h"
#include "codegen/expr/exact_expr.h"
#include "codegen/wrapper/size_value.h"
#include "codegen/wrapper/wrapper.h"
#include "ir/parameter_sizes.h"
#include "ir/print.h"

namespace pipec::codegen {

namespace {

using From = poly::SizeSolution::From;

class PlanWriter {
public:
    PlanWriter(Writer& out, const Unit& unit, const CodeNames& names, const Regions& regions, Helpers& helpers)
        : out_(out), unit_(unit), pipeline_(*unit.pipeline), names_(names), regions_(regions), helpers_(helpers) {}

    void plan_struct();
    void resolve_shapes();
    void check_conditions();
    void place_stages();
    void make_plan();
    void check_pointers();

private:
    [[nodiscard]] bool has_places() const;
    [[nodiscard]] bool is_checked(std::size_t stage) const;
    [[nodiscard]] bool is_in_tiles(std::size_t stage) const {
        return !regions_.in_tiles.empty() && regions_.in_tiles[stage];
    }
    void settle_size(const poly::SizeSolution& solution);
    void check_parameters();

    /// Writes `if (const pipe_status status = call) return status;`.
    void check(const std::string& call) { out_.line("if (const pipe_status status = {}) return status;", call); }

    std::string integer(const ir::Expr& e, const std::string& failure) {
        return size_value(out_, pipeline_, names_, locals_, helpers_, e, failure);
    }
    /// `report.fail(...)` for an extent that cannot be computed.
    std::string extent_failure(std::size_t buffer, std::size_t dim);
    void declare_sizes(const std::set<int>& sizes, std::string_view type);
    std::string size_fact(int size);
    std::string size_facts(const std::set<int>& sizes);
    static std::set<int> sizes_in(const ir::Expr& e) {
        Uses uses;
        if (e) uses.add(e);
        return uses.sizes();
    }

    Writer& out_;
    const Unit& unit_;
    const ir::Pipeline& pipeline_;
    const CodeNames& names_;
    const Regions& regions_;
    Helpers& helpers_;
    Names locals_;  ///< of the function that is being written
};

std::string PlanWriter::extent_failure(std::size_t buffer, std::size_t dim) {
    const ir::Expr& extent = buffer_at(pipeline_, buffer).extents[dim];
    const std::string sentence = fmt::format("`{}`: a number in extent {}, {}, does not fit 64 bits",
                                             buffer_at(pipeline_, buffer).name, dim, ir::to_string(pipeline_, extent));
    return fmt::format("report.fail(PIPE_ERROR_EXTENT, {}, {}, {})", buffer, dim, c_string(sentence));
}

std::string PlanWriter::size_fact(int size) {
    const auto index = static_cast<std::size_t>(size);
    std::string origin;
    for (const poly::SizeSolution& solution : unit_.model->sizes) {
        if (solution.size == size) origin = size_origin(unit_, solution);
    }
    return fmt::format("{{{}, double({}), {}, 10}}", c_string(pipeline_.sizes[index].name), names_.sizes[index],
                       c_string(origin));
}

std::string PlanWriter::size_facts(const std::set<int>& sizes) {
    std::vector<std::string> facts;
    for (const int size : sizes) facts.push_back(size_fact(size));
    return fmt::format("{{{}}}", fmt::join(facts, ", "));
}

void PlanWriter::declare_sizes(const std::set<int>& sizes, std::string_view type) {
    for (const int size : sizes) {
        out_.line("const {0} {1} = plan.{1};", type, names_.sizes[static_cast<std::size_t>(size)]);
    }
}

void PlanWriter::plan_struct() {
    out_.add("// Everything about one launch that its arguments decide.");
    out_.open("struct Plan");
    if (!names_.sizes.empty()) out_.line("int32_t {};", fmt::join(names_.sizes, ", "));
    if (!names_.buffers.empty()) out_.line("Array {};", fmt::join(names_.buffers, ", "));
    std::vector<std::string> spaces;
    for (std::size_t i = 0; i < pipeline_.stages.size(); ++i) {
        if (regions_.of_stage[i] >= 0 || is_in_tiles(i)) spaces.push_back(names_.stages[i]);
    }
    if (!spaces.empty()) out_.line("Space {};", fmt::join(spaces, ", "));
    if (regions_.count > 0) out_.line("size_t regions[{}];  // offsets in the workspace", regions_.count);
    if (regions_.scratch > 0) out_.line("size_t scratch;  // offset of the threads' own memory in the workspace");
    out_.line("size_t workspace;  // bytes");
    out_.close(";");
    out_.blank();
}

void PlanWriter::settle_size(const poly::SizeSolution& solution) {
    const auto size = static_cast<std::size_t>(solution.size);
    const std::string& name = names_.sizes[size];
    const std::string text = c_string(pipeline_.sizes[size].name);
    if (solution.from == From::Explicit) {
        const auto param = ir::parameter_of(pipeline_, size);
        const std::string& field = param ? names_.fields.params[*param] : names_.fields.sizes[size];
        check(fmt::format("take_size(report, args.{}, {}, {}, plan.{})", field, text, size, name));
    } else {
        const std::size_t number = buffer_number(pipeline_, solution);
        const std::string rest =
            solution.rest ? integer(solution.rest, extent_failure(number, static_cast<std::size_t>(solution.dim)))
                          : "0";
        const ir::Expr& preset = pipeline_.sizes[size].default_value;
        if (preset) {
            out_.open(fmt::format("if (plan.{}.extent[{}] == 0)", names_.buffers[number], solution.dim));
            check(fmt::format("take_size(report, {}, {}, {}, plan.{})",
                              integer(preset, extent_failure(number, static_cast<std::size_t>(solution.dim))), text,
                              size, name));
            out_.outdent();
            out_.open("} else");
        }
        check(fmt::format("solve_size(report, buffers, {}, {}, plan.{}, {}, {}, {}, {}, {}, plan.{})", number,
                          solution.dim, names_.buffers[number], solution.divisor, rest, text, size,
                          size_facts(sizes_in(solution.rest)), name));
        if (preset) out_.close();
    }
    out_.line("[[maybe_unused]] const int64_t {0} = plan.{0};", name);
}

void PlanWriter::resolve_shapes() {
    locals_ = names_.taken;
    out_.add("// Sizes, extents and strides.");
    out_.open(fmt::format(
        "[[maybe_unused]] pipe_status resolve_shapes(const {}_args& args, Report& report, Plan& plan)", names_.prefix));
    for (std::size_t i = 0; i < names_.buffers.size(); ++i) {
        if (buffer_at(pipeline_, i).rank() == 0) continue;
        check(fmt::format("take_extents(report, buffers, {}, args.{}, plan.{})", i, names_.fields.buffers[i].extent,
                          names_.buffers[i]));
    }
    for (const poly::SizeSolution& solution : unit_.model->sizes) settle_size(solution);
    for (std::size_t i = 0; i < names_.buffers.size(); ++i) {
        const ir::Buffer& buffer = buffer_at(pipeline_, i);
        for (std::size_t d = 0; d < buffer.rank(); ++d) {
            const std::string extent = integer(buffer.extents[d], extent_failure(i, d));
            check(fmt::format("settle_extent(report, buffers, {}, {}, {}, {}, plan.{})", i, d, extent,
                              size_facts(sizes_in(buffer.extents[d])), names_.buffers[i]));
        }
    }
    for (std::size_t i = 0; i < names_.buffers.size(); ++i) {
        if (buffer_at(pipeline_, i).rank() == 0) {
            out_.line("plan.{}.points = 1;", names_.buffers[i]);
            continue;
        }
        check(fmt::format("settle_strides(report, buffers, {}, args.{}, plan.{})", i, names_.fields.buffers[i].stride,
                          names_.buffers[i]));
    }
    out_.line("return PIPE_OK;");
    out_.close();
    out_.blank();
}

void PlanWriter::check_parameters() {
    for (std::size_t i = 0; i < pipeline_.params.size(); ++i) {
        if (pipeline_.params[i].type != ir::Type::Bool) continue;
        out_.open(fmt::format("if (args.{} > 1)", names_.fields.params[i]));
        out_.line("return report.fail(PIPE_ERROR_PARAMETER, {}, -1, {}, int(args.{}), \", but must be 0 or 1\");", i,
                  c_string(fmt::format("the parameter {} is ", pipeline_.params[i].name)), names_.fields.params[i]);
        out_.close();
    }
}

/// Stages that only tiles hold have no place, but the limit of all indices.
bool PlanWriter::is_checked(std::size_t stage) const {
    return regions_.of_stage[stage] >= 0 || is_in_tiles(stage) || unit_.model->domains.at(stage).may_be_too_large;
}

bool PlanWriter::has_places() const {
    for (std::size_t i = 0; i < pipeline_.stages.size(); ++i) {
        if (is_checked(i)) return true;
    }
    return false;
}

void PlanWriter::check_conditions() {
    if (!has_conditions(unit_)) return;
    out_.add("// Parameters, and what the pipeline demands of them and of the sizes.");
    out_.open(
        fmt::format("[[maybe_unused]] pipe_status check_conditions([[maybe_unused]] const {}_args& args, "
                    "[[maybe_unused]] Report& report, [[maybe_unused]] const Plan& plan)",
                    names_.prefix));
    check_parameters();
    for (std::size_t i = 0; i < unit_.model->checks.size(); ++i) {
        const ir::Expr& condition = unit_.model->checks[i];
        const ExactExpr form = exact_expr(pipeline_, condition);
        Uses uses;
        uses.add(form.e);
        Names locals = names_.taken;
        Naming naming;
        naming.size = [&](int size) { return names_.sizes[static_cast<std::size_t>(size)]; };
        naming.param = [&](int param) {
            const auto index = static_cast<std::size_t>(param);
            const std::string field = "args." + names_.fields.params[index];
            if (pipeline_.params[index].type == ir::Type::Bool) return fmt::format("({} != 0)", field);
            if (pipeline_.params[index].type == ir::Type::Float16) {
                return fmt::format("{}({})", helpers_.use("half_to_float"), field);
            }
            return field;
        };
        out_.open("");
        declare_sizes(uses.sizes(), "int32_t");
        ExpressionWriter writer(pipeline_, uses, naming, locals, helpers_, out_);
        std::string exact;
        if (form.may_overflow) {
            exact = locals.add("exact");
            out_.line("bool {} = true;", exact);
            writer.detect_overflow(exact);
        }
        Text text = writer.value(form.e);
        std::vector<std::string> facts;
        for (const int size : uses.sizes()) facts.push_back(size_fact(size));
        for (const int param : uses.params()) {
            const ir::ScalarParameter& info = pipeline_.params[static_cast<std::size_t>(param)];
            facts.push_back(fmt::format("{{{}, double({}), nullptr, {}}}", c_string(info.name), naming.param(param),
                                        info.type == ir::Type::Float64 ? 17
                                        : ir::is_float(info.type)      ? 7
                                                                       : 15));
        }
        const std::string list =
            facts.empty() ? "" : fmt::format(", std::initializer_list<Fact>{{{}}}", fmt::join(facts, ", "));
        const auto refuse = [&](const std::string& when, std::string_view why) {
            out_.open(fmt::format("if ({})", when));
            const std::string sentence =
                fmt::format("the pipeline needs {}, {}", ir::to_string(pipeline_, condition), why);
            out_.line("return report.fail(PIPE_ERROR_WHERE, {}, -1, {}{});", i, c_string(sentence), list);
            out_.close();
        };
        if (form.may_overflow) {
            const std::string holds = locals.add("holds");
            out_.line("const bool {} = {};", holds, text.text);
            refuse("!" + exact, "in which a number does not fit 64 bits");
            text = {holds};
        }
        refuse(prefix("!", text).text, "which does not hold");
        out_.close();
    }
    out_.line("return PIPE_OK;");
    out_.close();
    out_.blank();
}

void PlanWriter::place_stages() {
    if (!has_places()) return;
    out_.add(
        "// Where each stage is computed, and its part of the workspace. Stages that are never alive together share "
        "one.");
    out_.open("[[maybe_unused]] pipe_status place_stages([[maybe_unused]] Report& report, Plan& plan)");
    std::set<int> sizes;
    for (std::size_t i = 0; i < pipeline_.stages.size(); ++i) {
        if (!is_checked(i)) continue;
        for (const poly::Interval& interval : unit_.model->domains.at(i).box) {
            sizes.merge(sizes_in(interval.lo));
            sizes.merge(sizes_in(interval.hi));
        }
    }
    declare_sizes(sizes, "int64_t");
    for (std::size_t i = 0; i < pipeline_.stages.size(); ++i) {
        const ir::Stage& stage = pipeline_.stages[i];
        if (!is_checked(i)) continue;
        out_.open("");
        locals_ = names_.taken;
        const std::string failure = fmt::format(
            "report.fail(PIPE_ERROR_SIZE, -1, -1, {})",
            c_string(fmt::format("the sizes are too large: the range of `{}` does not fit 64 bits", stage.name)));
        std::vector<std::string> box;
        for (const poly::Interval& interval : unit_.model->domains[i].box) {
            const std::string lo = integer(interval.lo, failure), hi = integer(interval.hi, failure);
            box.push_back(fmt::format("{{{}, {}}}", lo, hi));
        }
        const char* const name = box.empty() ? "nullptr" : "box";
        if (!box.empty()) out_.line("const int64_t box[][2] = {{{}}};", fmt::join(box, ", "));
        if (is_in_tiles(i)) {
            check(fmt::format("bound(report, {}, {}, {}, plan.{})", c_string(stage.name), box.size(), name,
                              names_.stages[i]));
        } else if (regions_.of_stage[i] < 0) {
            check(fmt::format("check_box(report, {}, {}, {})", c_string(stage.name), box.size(), name));
        } else {
            check(fmt::format("place(report, {}, {}, sizeof({}), {}, plan.{}, plan.regions[{}])", c_string(stage.name),
                              box.size(), storage_type(stage.type), name, names_.stages[i], regions_.of_stage[i]));
        }
        out_.close();
    }
    if (regions_.scratch > 0) {
        if (regions_.count > 0)
            check(fmt::format("stack_regions(report, plan.regions, {}, plan.scratch)", regions_.count));
        out_.line("plan.workspace = plan.scratch + size_t(max_threads()) * {};", regions_.scratch);
        out_.line("return PIPE_OK;");
    } else if (regions_.count == 0) {
        out_.line("plan.workspace = 0;");
        out_.line("return PIPE_OK;");
    } else {
        out_.line("return stack_regions(report, plan.regions, {}, plan.workspace);", regions_.count);
    }
    out_.close();
    out_.blank();
}

void PlanWriter::make_plan() {
    out_.open(fmt::format("[[maybe_unused]] pipe_status make_plan(const {}_args& args, Report& report, Plan& plan)",
                          names_.prefix));
    std::vector<std::string> parts{"resolve_shapes(args, report, plan)"};
    if (has_conditions(unit_)) parts.emplace_back("check_conditions(args, report, plan)");
    if (has_places()) parts.emplace_back("place_stages(report, plan)");
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) check(parts[i]);
    out_.line("return {};", parts.back());
    out_.close();
    out_.blank();
}

void PlanWriter::check_pointers() {
    out_.add("// No pointer is null or misaligned; outputs share memory with no other buffer.");
    out_.open(fmt::format(
        "[[maybe_unused]] pipe_status check_pointers(const {}_args& args, Report& report, const Plan& plan)",
        names_.prefix));
    const std::size_t count = names_.buffers.size();
    for (std::size_t i = 0; i < count; ++i) {
        check(fmt::format("check_pointer(report, buffers, {}, args.{})", i, names_.fields.buffers[i].data));
    }
    out_.line("const Hull hulls[] = {{");
    out_.indent();
    for (std::size_t i = 0; i < count; ++i) {
        out_.line("hull_of(buffers[{}], args.{}, plan.{}),", i, names_.fields.buffers[i].data, names_.buffers[i]);
    }
    out_.outdent();
    out_.line("}};");
    out_.open(fmt::format("for (int output = {}; output < {}; ++output)", pipeline_.inputs.size(), count));
    out_.open("for (int other = 0; other < output; ++other)");
    check("check_overlap(report, buffers, output, hulls[output], other, hulls[other])");
    out_.close();
    out_.close();
    out_.line("return PIPE_OK;");
    out_.close();
    out_.blank();
}

}  // namespace

bool has_conditions(const Unit& unit) {
    return !unit.model->checks.empty() ||
           std::any_of(unit.pipeline->params.begin(), unit.pipeline->params.end(),
                       [](const ir::ScalarParameter& param) { return param.type == ir::Type::Bool; });
}

void write_plan(Writer& out, const Unit& unit, const CodeNames& names, const Regions& regions, Helpers& helpers) {
    PlanWriter writer(out, unit, names, regions, helpers);
    writer.plan_struct();
    writer.resolve_shapes();
    writer.check_conditions();
    writer.place_stages();
    writer.make_plan();
    writer.check_pointers();
}

std::size_t max_rank(const std::vector<Unit>& units) {
    std::size_t rank = 1;
    for (const Unit& unit : units) {
        for (std::size_t i = 0; i < buffer_count(*unit.pipeline); ++i) {
            rank = std::max(rank, buffer_at(*unit.pipeline, i).rank());
        }
        for (const ir::Stage& stage : unit.pipeline->stages) rank = std::max(rank, stage.dims.size());
    }
    return rank;
}

}  // namespace pipec::codegen
