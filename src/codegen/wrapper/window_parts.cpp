// From the last stage to the first: what its readers need of a stage is known when it is its turn.
#include "codegen/wrapper/window_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "codegen/emit/c/window_runtime.h"
#include "codegen/expr/uses.h"
#include "codegen/wrapper/ends_text.h"
#include "codegen/wrapper/size_value.h"
#include "codegen/wrapper/wrapper.h"
#include "ir/build.h"
#include "poly/reads.h"

namespace pipec::codegen {

namespace {

class PartsWriter {
public:
    PartsWriter(Writer& out, const WindowUnit& windows, const CodeNames& names, Helpers& helpers)
        : out_(out),
          windows_(windows),
          pipeline_(*windows.unit.pipeline),
          model_(*windows.unit.model),
          names_(names),
          helpers_(helpers),
          locals_(names.taken) {}

    void write();

private:
    void domains();
    void stage(std::size_t index);
    void whole_dimensions(std::size_t index);
    void scope(std::size_t index);
    void reads(const std::vector<poly::ScopedRead>& reads, bool certain);
    /// A name for a variable, until the end of its scope.
    std::string local(const std::string& wanted) {
        const std::string base = identifier(wanted);
        std::string name = base;
        const auto taken = [&] {
            return names_.taken.has(name) || std::find(used_.begin(), used_.end(), name) != used_.end();
        };
        for (int n = 2; taken(); ++n) name = fmt::format("{}_{}", base, n);
        return used_.emplace_back(name);
    }
    void check(const std::string& call) { out_.line("if (const pipe_status status = {}) return status;", call); }
    std::string part(const ir::Source& source) const {
        const auto i = static_cast<std::size_t>(source.index);
        return "parts." + (source.kind == ir::Source::Kind::Input ? names_.buffers[i] : windows_.stages[i]);
    }
    std::string part(std::size_t stage) const { return "parts." + windows_.stages[stage]; }
    /// Opens a block where a range is not empty.
    void open_if_some(const std::vector<std::string>& ranges) {
        std::vector<std::string> conditions;
        for (const std::string& range : ranges) conditions.push_back(fmt::format("has_values({})", range));
        out_.open(fmt::format("if ({})", fmt::join(conditions, " && ")));
    }

    Writer& out_;
    const WindowUnit& windows_;
    ir::Pipeline pipeline_;  ///< canonical forms add variables
    const poly::Model& model_;
    const CodeNames& names_;
    Helpers& helpers_;
    Names locals_;                                ///< of what domains are computed from
    std::vector<std::string> used_;               ///< names of variables around the scope that is being written
    std::size_t stage_ = 0;                       ///< the one that is being written
    std::optional<EndsText> ends_;                ///< its expressions
    std::vector<poly::ReadScope> scopes_;         ///< what it reads
    std::vector<std::set<std::string>> written_;  ///< reads, by the scopes around the one that is being written
};

bool is_constant(const poly::Interval& interval) {
    return ir::as_int(interval.lo) && ir::as_int(interval.hi);
}

/// All domains, which bound what is read of them.
void PartsWriter::domains() {
    for (std::size_t i = 0; i < pipeline_.inputs.size(); ++i) {
        if (pipeline_.inputs[i].rank() == 0) continue;
        out_.line("all_of(parts.{0}, {1}, plan.{0});", names_.buffers[i], pipeline_.inputs[i].rank());
    }
    for (std::size_t i = 0; i < pipeline_.stages.size(); ++i) {
        const ir::Stage& stage = pipeline_.stages[i];
        if (stage.output >= 0 || stage.dims.empty()) continue;
        const std::string failure = fmt::format(
            "report.fail(PIPE_ERROR_SIZE, -1, -1, {})",
            c_string(fmt::format("the sizes are too large: the range of `{}` does not fit 64 bits", stage.name)));
        out_.open("");
        std::vector<std::string> box;
        for (const poly::Interval& interval : model_.domains.at(i).box) {
            const std::string lo = size_value(out_, pipeline_, names_, locals_, helpers_, interval.lo, failure);
            const std::string hi = size_value(out_, pipeline_, names_, locals_, helpers_, interval.hi, failure);
            box.push_back(fmt::format("{{{}, {}}}", lo, hi));
        }
        out_.line("const int64_t box[][2] = {{{}}};", fmt::join(box, ", "));
        check(fmt::format("all_of(report, {}, {}, box, {})", c_string(stage.name), box.size(), part(i)));
        out_.close();
    }
}

/// Dimensions that are computed as a whole wherever a part of them is needed: those of constant extent, which code runs
/// over without bounds; all of an accumulate, whose updates may go anywhere; what comes before a scan's points, and all
/// of its slices.
void PartsWriter::whole_dimensions(std::size_t index) {
    const ir::Stage& stage = pipeline_.stages[index];
    const bool accumulates = std::holds_alternative<ir::Accumulate>(stage.definition);
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
        const std::string at = fmt::format("{}.at[{}]", part(index), d),
                          all = fmt::format("{}.all[{}]", part(index), d);
        const bool across = stage.scan && stage.scan->is_across(d);
        if (accumulates || across || is_constant(model_.domains.at(index).box[d])) {
            out_.line("{} = {};", at, all);
        } else if (stage.scan && static_cast<std::size_t>(stage.scan->dim) == d) {
            out_.line("{0}.{2} = {1}.{2};", at, all, stage.scan->step > 0 ? "lo" : "hi");
        }
    }
}

/// Of reads that are certain to exist, those that differ in constants alone are one.
void PartsWriter::reads(const std::vector<poly::ScopedRead>& reads, bool certain) {
    struct Index {
        std::optional<IndexSum> sum;
        std::string text;  ///< of what is no sum
    };
    struct Group {
        ir::Source source;
        std::vector<Index> indices;
    };
    const auto same = [&](const Index& a, const Index& b) {
        if (!a.sum || !b.sum) return !a.sum && !b.sum && a.text == b.text;
        return a.sum->terms == b.sum->terms && (certain || a.sum->least == b.sum->least);
    };
    std::vector<Group> groups;
    for (const poly::ScopedRead& read : reads) {
        if (read.source == ir::Source{ir::Source::Kind::Stage, static_cast<int>(stage_)}) continue;  // a scan
        Group next{read.source, {}};
        for (const ir::Expr& index : read.indices) {
            Index& made = next.indices.emplace_back(Index{ends_->sum(index), ""});
            if (!made.sum) made.text = ends_->ends(index).text;
        }
        const auto known = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
            return group.source == next.source &&
                   std::equal(group.indices.begin(), group.indices.end(), next.indices.begin(), same);
        });
        if (known == groups.end()) {
            groups.push_back(std::move(next));
            continue;
        }
        for (std::size_t d = 0; d < next.indices.size(); ++d) {
            if (!next.indices[d].sum) continue;
            IndexSum& sum = *known->indices[d].sum;
            sum.least = std::min(sum.least, next.indices[d].sum->least);
            sum.greatest = std::max(sum.greatest, next.indices[d].sum->greatest);
        }
    }
    const bool accumulates = std::holds_alternative<ir::Accumulate>(pipeline_.stages[stage_].definition);
    for (const Group& group : groups) {
        std::vector<std::string> indices;
        for (std::size_t d = 0; d < group.indices.size(); ++d) {
            const Index& index = group.indices[d];
            // Kernels of updates may load images in larger pieces than loops ask for, as far as they exist.
            if (accumulates)
                indices.push_back(fmt::format("{}.all[{}]", part(group.source), d));
            else
                indices.push_back(index.sum ? ends_->ends(*index.sum).text : index.text);
        }
        const std::string line = fmt::format("need({}, {{{}}});", part(group.source), fmt::join(indices, ", "));
        const bool again = std::any_of(written_.begin(), written_.end(),
                                       [&](const std::set<std::string>& lines) { return lines.count(line) > 0; });
        if (again) continue;
        written_.back().insert(line);
        out_.add(line);
    }
}

/// What is read in a scope, and the scopes inside of it.
void PartsWriter::scope(std::size_t index) {
    const poly::ReadScope& scope = scopes_[index];
    const std::size_t outer_locals = used_.size();
    std::map<ir::VarId, std::string> outer_names;
    int blocks = 0;
    if (scope.loop) {
        const auto& [var, lo, hi] = *scope.loop;
        const std::string name = local(pipeline_.variables.at(static_cast<std::size_t>(var)).name);
        out_.open("");
        out_.line("const Ends {} = loop_over({}, {});", name, ends_->ends(lo).text, ends_->ends(hi).text);
        ends_->bind(var, {lo, hi}, name);
        open_if_some({name});
        blocks = 2;
    } else if (scope.condition) {
        if (const auto test = ends_->condition(scope.condition)) {
            out_.open(
                fmt::format("if ({}.{})", at_least(*test, Precedence::Primary), scope.truth ? "hi > 0" : "lo < 1"));
            ++blocks;
        }
        std::vector<std::string> narrowed;
        for (const EndsText::HalfSpace& half : ends_->half_spaces(scope.condition, scope.truth)) {
            if (blocks == 0) out_.open(""), ++blocks;
            const std::string& old = ends_->name(half.var);
            const std::string name = local(old);
            out_.line("const Ends {} = where_not_negative({}, {}, {});", name, old, half.factor,
                      ends_->ends(half.rest).text);
            outer_names.try_emplace(half.var, old);
            ends_->rename(half.var, name);
            narrowed.push_back(name);
        }
        if (!narrowed.empty()) open_if_some(narrowed), ++blocks;
    }
    bool certain = true;
    for (int i = static_cast<int>(index); i >= 0; i = scopes_[static_cast<std::size_t>(i)].outer) {
        certain = certain && !scopes_[static_cast<std::size_t>(i)].condition;
    }
    written_.emplace_back();
    reads(scope.reads, certain);
    for (std::size_t i = index + 1; i < scopes_.size(); ++i) {
        if (scopes_[i].outer == static_cast<int>(index)) this->scope(i);
    }
    written_.pop_back();
    for (; blocks > 0; --blocks) out_.close();
    for (const auto& [var, name] : outer_names) ends_->rename(var, name);
    used_.resize(outer_locals);
}

void PartsWriter::stage(std::size_t index) {
    const ir::Stage& stage = pipeline_.stages[index];
    stage_ = index;
    scopes_ = poly::find_reads(stage);
    const bool reads_something = scopes_.size() > 1 || !scopes_.front().reads.empty();
    Writer code;
    std::swap(code, out_);  // what a stage needs is written where it needs something
    ends_.emplace(pipeline_, names_);
    used_.clear();
    whole_dimensions(index);
    for (std::size_t d = 0; reads_something && d < stage.dims.size(); ++d) {
        const ir::VarId var = stage.dims[d].var;
        const std::string name = local(pipeline_.variables.at(static_cast<std::size_t>(var)).name);
        ends_->bind(var, model_.domains.at(index).box[d], name);
        out_.line("[[maybe_unused]] const Ends {} = {}.at[{}];", name, part(index), d);
    }
    if (reads_something) scope(0);
    std::swap(code, out_);
    if (code.empty()) return;
    out_.open(fmt::format("if ({}.needed)", part(index)));
    out_.append(code);
    out_.close();
}

void PartsWriter::write() {
    std::vector<std::string> fields = names_.buffers;
    for (std::size_t i = 0; i < pipeline_.stages.size(); ++i) {
        if (pipeline_.stages[i].output < 0) fields.push_back(windows_.stages[i]);
    }
    out_.add("// What windows of the outputs need.");
    out_.open("struct Parts");
    out_.line("Part {};", fmt::join(fields, ", "));
    out_.close(";");
    out_.blank();

    out_.add("// From the last stage to the first, what each reads, where a part of it is needed.");
    out_.open(
        fmt::format("[[maybe_unused]] pipe_status find_parts([[maybe_unused]] const {}_args& args, [[maybe_unused]] "
                    "Report& report, [[maybe_unused]] const Plan& plan, [[maybe_unused]] Parts& parts)",
                    names_.prefix));
    for (const std::string& size : names_.sizes) out_.line("[[maybe_unused]] const int64_t {0} = plan.{0};", size);
    domains();
    for (std::size_t i = pipeline_.stages.size(); i-- > 0;) stage(i);
    out_.line("return PIPE_OK;");
    out_.close();
    out_.blank();

    out_.open(
        fmt::format("[[maybe_unused]] pipe_status make_parts(const {0}_args& args, [[maybe_unused]] const {0}_window& "
                    "window, Report& report, Plan& plan, Parts& parts)",
                    names_.prefix));
    out_.line("{}_args whole = args;  // strides are those of windows", names_.prefix);
    for (std::size_t i = 0; i < names_.buffers.size(); ++i) {
        const std::size_t rank = buffer_at(pipeline_, i).rank();
        if (rank > 0) out_.line("std::fill_n(whole.{}, {}, 0);", names_.fields.buffers[i].stride, rank);
    }
    check("resolve_shapes(whole, report, plan)");
    if (has_conditions(windows_.unit)) check("check_conditions(whole, report, plan)");
    for (std::size_t o = 0; o < pipeline_.outputs.size(); ++o) {
        const std::size_t i = pipeline_.inputs.size() + o;
        const std::size_t rank = pipeline_.outputs[o].buffer.rank();
        const WindowFields window = window_fields(names_.fields.buffers[i]);
        if (rank == 0) {
            out_.line("parts.{}.needed = window.{} != 0;", names_.buffers[i], window.wanted);
            continue;
        }
        out_.line("all_of(parts.{0}, {1}, plan.{0});", names_.buffers[i], rank);
        check(fmt::format("take_window(report, buffers, {0}, window.{1}, window.{2}, parts.{3})", i, window.lo,
                          window.hi, names_.buffers[i]));
    }
    out_.line("return find_parts(args, report, plan, parts);");
    out_.close();
    out_.blank();
}

}  // namespace

WindowFields window_fields(const ArgumentNames::Buffer& buffer) {
    return {buffer.data + "_lo", buffer.data + "_hi", buffer.data + "_wanted"};
}

WindowUnit window_unit(const Unit& analysed, const ir::Pipeline& left, CodeNames& names) {
    std::map<std::string, std::string> known;
    for (std::size_t i = 0; i < left.stages.size(); ++i) known.emplace(left.stages[i].name, names.stages[i]);
    WindowUnit result{analysed, {}};
    for (const ir::Stage& stage : analysed.pipeline->stages) {
        const auto found = known.find(stage.name);
        result.stages.push_back(found == known.end() ? names.taken.add(stage.name) : found->second);
    }
    return result;
}

void write_parts(Writer& out, const WindowUnit& windows, const CodeNames& names, Helpers& helpers) {
    PartsWriter(out, windows, names, helpers).write();
}

}  // namespace pipec::codegen
