// A stage as loops over a box of its points, the innermost one as vectors.
#include "codegen/emit/host/host_stage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/emit/c/c_expr.h"
#include "codegen/emit/c/c_types.h"
#include "codegen/emit/c/wide_expr.h"
#include "codegen/emit/host/host_nest.h"
#include "codegen/emit/host/host_strip.h"
#include "codegen/emit/host/host_versions.h"
#include "codegen/expr/both_sides.h"
#include "codegen/expr/chains.h"
#include "codegen/expr/strides.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

/// The C++ compiler would have a stage's code at each of its calls: in the loop of one thread and in that of several,
/// for dense buffers and for others.
constexpr std::string_view kApart = "PIPE_APART ";
/// Work, in nodes of the expression times points, that is worth waking up other threads.
constexpr std::int64_t kParallelWork = 200'000;
/// What a reduction whose size is not known counts for, in iterations.
constexpr std::int64_t kLoopIterations = 16;
/// Elements beside each other in memory that go through a reduction's loops together.
constexpr std::int64_t kStripPoints = 64;
/// The same in rows that are shorter, of what is long as straight lines.
constexpr std::int64_t kShortStrip = 8;
/// Lines of a scan beside each other in memory that a thread goes along together, row after row.
constexpr std::int64_t kStrip = 128;

class StageWriter {
public:
    StageWriter(Writer& out, ir::Pipeline& pipeline, const Unit& unit, const CodeNames& names, std::size_t index,
                const SourceManager& sources, Helpers& helpers, bool versioned);
    void write();

private:
    void comment();
    void open_function(std::string_view attributes, const std::string& name,
                       const std::vector<std::string>& own_parameters);
    void declare_sizes(const std::set<int>& sizes);
    void write_edges(const Nest& nest);
    std::string edges_call(const Nest& nest, const std::string& from, const std::string& to) const;
    void box_nest(const Nest& nest, const ir::Expr& value, const ir::Expr& guard);
    void scan_nest(const Nest& nest, const ir::Expr& value, const ir::Expr& guard);
    void slice(const std::vector<std::size_t>& inner, const std::vector<std::pair<std::string, std::string>>& ends,
               const ir::Expr& value, const ir::Expr& guard);
    void row(ExpressionWriter& writer, const Nest& nest, const std::string& begin, const std::string& end,
             const ir::Expr& value, const ir::Expr& guard, bool simd);
    void inner_row(ExpressionWriter& writer, const Nest& nest, const std::string& begin, const std::string& end,
                   const ir::Expr& value, const ir::Expr& guard);
    void points_row(const Nest& nest, const std::string& begin, const std::string& end);
    void points(const Nest& nest, const std::vector<PointCode>& row, const std::string& begin, const std::string& end);
    void bind_periods();
    void strips(const Nest& nest, const std::string& begin, const std::string& end, std::int64_t points);
    void find_strips(const Nest& nest, const ir::Expr& value, const ir::Expr& guard);
    void store_point(ExpressionWriter& writer, const ir::Expr& value, const ir::Expr& guard);
    void updates(const ir::Accumulate& accumulate);
    void find_inner(const Nest& nest);
    std::string limit_text(const ir::Expr& limit);
    void make_writer(std::optional<ExpressionWriter>& writer, const Uses& uses);
    std::vector<std::pair<std::string, std::string>> box_ends(const Nest& nest);
    void open_loop(ExpressionWriter& writer, std::size_t dim, const std::string& begin, const std::string& end) {
        writer.begin_block(fmt::format("for (int32_t {0} = {1}; {0} < {2}; ++{0})", dims_[dim], begin, end));
    }
    std::string target(const std::string& indices) const {
        return fmt::format("{}({})", names_.stages[index_], indices);
    }
    std::string stored(const Text& value) {
        return stage_.type == ir::Type::Float16 ? fmt::format("{}({})", helpers_.use("float_to_half"), value.text)
                                                : value.text;
    }

    Writer& out_;
    ir::Pipeline& pipeline_;
    const Unit& unit_;
    const CodeNames& names_;
    std::size_t index_;
    const ir::Stage& stage_;
    const poly::Domain& domain_;
    const SourceManager& sources_;
    Helpers& helpers_;
    const bool versioned_;
    Uses uses_, inner_uses_;
    Names locals_;
    std::vector<std::string> dims_;
    std::optional<InnerCode> inner_;
    std::string along_name_, across_name_;  ///< of the row's dimension and one outside, without remainders
    std::optional<Strip> strip_;
    std::int64_t strip_points_ = 0;  ///< along a row
    Uses strip_uses_;
    std::optional<ExpressionWriter> expressions_, inner_expressions_, strip_expressions_;
};

StageWriter::StageWriter(Writer& out, ir::Pipeline& pipeline, const Unit& unit, const CodeNames& names,
                         std::size_t index, const SourceManager& sources, Helpers& helpers, bool versioned)
    : out_(out),
      pipeline_(pipeline),
      unit_(unit),
      names_(names),
      index_(index),
      stage_(pipeline.stages[index]),
      domain_(unit.model->domains.at(index)),
      sources_(sources),
      helpers_(helpers),
      versioned_(versioned),
      uses_(uses_of(unit, index)),
      locals_(names.taken) {}

/// What writes expressions whose uses are counted.
void StageWriter::make_writer(std::optional<ExpressionWriter>& writer, const Uses& uses) {
    Naming naming;
    naming.size = [this](int size) { return names_.sizes[static_cast<std::size_t>(size)]; };
    naming.param = [this](int param) { return names_.params[static_cast<std::size_t>(param)]; };
    naming.read = [this](const ir::Read& read, const std::vector<Text>& indices) {
        const auto i = static_cast<std::size_t>(read.source.index);
        const bool is_input = read.source.kind == ir::Source::Kind::Input;
        return fmt::format("{}({})", is_input ? names_.buffers[i] : names_.stages[i], list_text(indices));
    };
    writer.emplace(pipeline_, uses, std::move(naming), locals_, helpers_, out_, unit_.model);
    if (choices_are_safe(pipeline_, *unit_.model, static_cast<int>(index_))) writer->read_before_choices();
    for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
        const auto lo = ir::as_int(domain_.box[d].lo);
        const auto hi = ir::as_int(domain_.box[d].hi);
        const poly::IntRange range{lo.value_or(-kIndexLimit + 1), hi.value_or(kIndexLimit - 1) - 1};
        writer->bind(stage_.dims[d].var, dims_[d], range);
    }
}

void StageWriter::comment() {
    if (stage_.range.valid()) {
        out_.line("// {}: {}", source_place(sources_, stage_.range), source_line(sources_, stage_.range));
    }
    for (const SourceRange& call : stage_.made_by) {
        if (call.valid()) out_.line("//   called at {}: {}", source_place(sources_, call), source_line(sources_, call));
    }
    for (const SourceRange& included : stage_.includes) {
        if (included.valid())
            out_.line("//   with {}: {}", source_place(sources_, included), source_line(sources_, included));
    }
}

/// The code of the interior, and what it uses.
void StageWriter::find_inner(const Nest& nest) {
    inner_ = inner_code(pipeline_, *unit_.model, index_, nest);
    if (!inner_) return;
    for (const auto& row : inner_->row.rows) {
        for (const PointCode& point : row) inner_uses_.add(point.value);
    }
    if (!inner_->row.is_used()) inner_uses_.add(inner_->value);
    if (inner_->guard) inner_uses_.add(inner_->guard);
}

/// The head of a function: of the stage's own, or of one for a part of it.
void StageWriter::open_function(std::string_view attributes, const std::string& name,
                                const std::vector<std::string>& own_parameters) {
    std::vector<std::string> parameters{"[[maybe_unused]] const Plan& plan"};
    parameters.insert(parameters.end(), own_parameters.begin(), own_parameters.end());
    for (const auto& [view, type] : views_of(unit_, names_, index_)) {
        parameters.push_back(fmt::format("[[maybe_unused]] {} {}", type, view));
    }
    for (const int param : uses_.params()) {
        const auto i = static_cast<std::size_t>(param);
        parameters.push_back(
            fmt::format("[[maybe_unused]] {} {}", value_type(pipeline_.params[i].type), names_.params[i]));
    }
    if (has_dense_form(unit_, index_)) out_.add("template <bool dense>");
    out_.open(fmt::format("{}void {}({})", attributes, name, fmt::join(parameters, ", ")));
}

void StageWriter::declare_sizes(const std::set<int>& sizes) {
    for (const int size : sizes) {
        out_.line("[[maybe_unused]] const int32_t {0} = plan.{0};", names_.sizes[static_cast<std::size_t>(size)]);
    }
}

void StageWriter::write() {
    const bool boxed = takes_box(stage_);
    const auto* accumulate = std::get_if<ir::Accumulate>(&stage_.definition);
    for (const ir::Dimension& dim : stage_.dims) {
        dims_.push_back(locals_.add(pipeline_.variables.at(static_cast<std::size_t>(dim.var)).name));
    }
    const Nest nest = nest_of(pipeline_, *unit_.model, index_);
    if (boxed && accumulate == nullptr && !stage_.scan) find_inner(nest);
    comment();
    const ir::Expr& value = accumulate != nullptr ? accumulate->init : std::get<ir::Pure>(stage_.definition).value;
    if (accumulate == nullptr && !stage_.scan && boxed)
        find_strips(nest, inner_ ? inner_->value : value, inner_ ? inner_->guard : domain_.guard);
    const bool split = inner_ && (!inner_->is_everywhere() || inner_->row.along.period > 1);
    if (split) write_edges(nest);
    std::vector<std::string> own;
    if (boxed) own.push_back(fmt::format("const Box<{}>& box", stage_.dims.size()));
    open_function(versioned_ ? kVersions : kApart, names_.functions[index_], own);
    std::set<int> sizes = uses_.sizes();
    if (inner_) {
        Uses uses = inner_uses_;
        for (const poly::Interval& limits : inner_->limits) {
            for (const ir::Expr& e : {limits.lo, limits.hi}) {
                if (e) uses.add(e);
            }
        }
        sizes = uses.sizes();
    }
    declare_sizes(sizes);
    if (inner_) {
        make_writer(inner_expressions_, inner_uses_);
        bind_periods();
    } else
        make_writer(expressions_, uses_);
    if (stage_.scan)
        scan_nest(nest, value, domain_.guard);
    else
        box_nest(nest, value, accumulate != nullptr ? nullptr : domain_.guard);
    out_.close();
    out_.blank();
    if (accumulate == nullptr) return;
    open_function(kApart, names_.updates[index_], {});
    declare_sizes(uses_.sizes());
    make_writer(expressions_, uses_);
    updates(*accumulate);
    out_.close();
    out_.blank();
}

/// A part of a row that lies outside of the interior: rarely run, and so compiled for size.
void StageWriter::write_edges(const Nest& nest) {
    std::vector<std::string> own;
    for (std::size_t i = 0; i < nest.vector; ++i) own.push_back("int32_t " + dims_[nest.order[i]]);
    const std::string along = dims_[nest.order[nest.vector]];
    const std::string from = locals_.add(along + "_from"), to = locals_.add(along + "_to");
    own.push_back("int32_t " + from);
    own.push_back("int32_t " + to);
    open_function("PIPE_COLD ", names_.edges[index_], own);
    declare_sizes(uses_.sizes());
    make_writer(expressions_, uses_);
    row(*expressions_, nest, from, to, std::get<ir::Pure>(stage_.definition).value, domain_.guard, false);
    out_.close();
    out_.blank();
}

/// The call of it.
std::string StageWriter::edges_call(const Nest& nest, const std::string& from, const std::string& to) const {
    std::vector<std::string> args{"plan"};
    for (std::size_t i = 0; i < nest.vector; ++i) args.push_back(dims_[nest.order[i]]);
    args.push_back(from);
    args.push_back(to);
    for (const auto& [view, type] : views_of(unit_, names_, index_)) args.push_back(view);
    for (const int param : uses_.params()) args.push_back(names_.params[static_cast<std::size_t>(param)]);
    return fmt::format("{}{}({});", names_.edges[index_], has_dense_form(unit_, index_) ? "<dense>" : "",
                       fmt::join(args, ", "));
}

std::int64_t work(const ir::Expr& e) {
    const std::int64_t nodes = ir::node_count(e);
    return ir::has_reduction(e) ? nodes * kLoopIterations : nodes;
}

/// Where each dimension of the box begins and ends, as constants or variables that this defines.
std::vector<std::pair<std::string, std::string>> StageWriter::box_ends(const Nest& nest) {
    std::vector<std::pair<std::string, std::string>> ends(stage_.dims.size());
    for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
        if (nest.is_unrolled(d)) {
            ends[d] = {fmt::format("{}", *ir::as_int(domain_.box[d].lo)),
                       fmt::format("{}", *ir::as_int(domain_.box[d].hi))};
            continue;
        }
        ends[d] = {locals_.add(dims_[d] + "_begin"), locals_.add(dims_[d] + "_end")};
        out_.line("const int32_t {} = box.lo[{}], {} = box.hi[{}];", ends[d].first, d, ends[d].second, d);
    }
    return ends;
}

void StageWriter::store_point(ExpressionWriter& writer, const ir::Expr& value, const ir::Expr& guard) {
    if (guard) writer.begin_block(fmt::format("if ({})", writer.value(guard).text));
    const Text text = writer.value(value);
    out_.line("{} = {};", target(fmt::format("{}", fmt::join(dims_, ", "))), stored(text));
    if (guard) writer.end_block();
}

/// The loop of a nest that is run as vectors, and those inside of it.
void StageWriter::row(ExpressionWriter& writer, const Nest& nest, const std::string& begin, const std::string& end,
                      const ir::Expr& value, const ir::Expr& guard, bool simd) {
    if (simd) out_.line("PIPE_SIMD");
    for (std::size_t i = nest.vector; i < nest.order.size(); ++i) {
        const std::size_t d = nest.order[i];
        const bool first = i == nest.vector;
        open_loop(writer, d, first ? begin : fmt::format("{}", *ir::as_int(domain_.box[d].lo)),
                  first ? end : fmt::format("{}", *ir::as_int(domain_.box[d].hi)));
    }
    store_point(writer, value, guard);
    for (std::size_t i = nest.vector; i < nest.order.size(); ++i) writer.end_block();
}

/// Whether points of a row go through loops together, and how many.
void StageWriter::find_strips(const Nest& nest, const ir::Expr& value, const ir::Expr& guard) {
    if (guard) return;
    std::set<ir::VarId> lanes;
    std::int64_t inside = 1;
    for (std::size_t i = nest.vector; i < nest.order.size(); ++i) {
        lanes.insert(stage_.dims[nest.order[i]].var);
        if (i > nest.vector) inside *= std::max<std::int64_t>(1, *constant_extent(domain_, nest.order[i]));
    }
    strip_points_ = std::max<std::int64_t>(1, kStripPoints / inside);
    if (const auto extent = constant_extent(domain_, nest.order[nest.vector])) {
        strip_points_ = std::min(strip_points_, *extent);
    }
    if (strip_points_ <= 1) return;
    strip_ = find_strip(pipeline_, value, lanes, strip_points_ * inside >= kShortStrip);
    if (!strip_) return;
    if (strip_->one_by_one) strip_points_ = 1;
    strip_uses_ = strip_->uses();
    make_writer(strip_expressions_, strip_uses_);
}

/// A row in strips of as many points; the last one ends with the row, so that some points are computed twice.
void StageWriter::strips(const Nest& nest, const std::string& begin, const std::string& end, std::int64_t points) {
    const std::string& along = dims_[nest.order[nest.vector]];
    const std::string strip = locals_.add(along + "_strip"), from = locals_.add(along + "_from");
    Lanes lanes;
    std::int64_t count = 1;
    for (std::size_t i = nest.vector; i < nest.order.size(); ++i) {
        const std::size_t d = nest.order[i];
        if (i == nest.vector) {
            lanes.number = locals_.add("lane");
            count = points;
            lanes.loops.push_back(fmt::format("for (int32_t {0} = 0; {0} < {1}; ++{0})", lanes.number, count));
            lanes.definitions.push_back(
                fmt::format("[[maybe_unused]] const int32_t {} = {} + {};", along, from, lanes.number));
            continue;
        }
        const std::int64_t lo = *ir::as_int(domain_.box[d].lo), hi = *ir::as_int(domain_.box[d].hi);
        lanes.loops.push_back(fmt::format("for (int32_t {0} = {1}; {0} < {2}; ++{0})", dims_[d], lo, hi));
        lanes.number = lo == 0 ? fmt::format("({}) * {} + {}", lanes.number, hi, dims_[d])
                               : fmt::format("({}) * {} + ({} - {})", lanes.number, hi - lo, dims_[d], lo);
        count *= hi - lo;
    }
    lanes.count = count;
    ExpressionWriter& writer = *strip_expressions_;
    writer.begin_block(fmt::format("for (int32_t {0} = {1}; {0} < {2}; {0} += {3})", strip, begin, end, points));
    out_.line("const int32_t {0} = {1} < {2} - {3} ? {1} : {2} - {3};", from, strip, end, points);
    write_strip(writer, out_, locals_, helpers_, *strip_, lanes, [&] { store_point(writer, strip_->value, nullptr); });
    writer.end_block();
}

/// Names what is a dimension's index without its remainder.
void StageWriter::bind_periods() {
    for (const auto& [period, name] :
         {std::pair(inner_->row.along, &along_name_), {inner_->row.across, &across_name_}}) {
        if (!inner_->row.is_used() || period.period == 1) continue;
        *name = locals_.add(dims_[period.dim] + "_" + std::to_string(period.period));
        const auto lo = ir::as_int(domain_.box[period.dim].lo);
        inner_expressions_->bind(
            period.variable, *name,
            {lo && *lo >= 0 ? *lo / period.period : -kIndexLimit / period.period, kIndexLimit / period.period});
    }
}

/// Points that have code of their own, from one multiple of the period to another.
void StageWriter::points(const Nest& nest, const std::vector<PointCode>& row, const std::string& begin,
                         const std::string& end) {
    ExpressionWriter& writer = *inner_expressions_;
    const std::string& along = dims_[nest.order[nest.vector]];
    const std::int64_t period = inner_->row.along.period;
    const std::string& index = period == 1 ? along : along_name_;
    out_.line("PIPE_SIMD");
    writer.begin_block(fmt::format("for (int32_t {0} = {1}; {0} < {2}; ++{0})", index, begin, end));
    std::vector<ir::Expr> values;
    for (const PointCode& point : row) values.push_back(point.value);
    std::vector<std::string> names;
    for (const Text& text : writer.values(values)) {
        names.push_back(locals_.add("value"));
        out_.line("const {} {} = {};", storage_type(stage_.type), names.back(), stored(text));
    }
    for (std::size_t i = 0; i < row.size(); ++i) {
        std::vector<std::string> indices = dims_;
        if (period > 1) indices[nest.order[nest.vector]] = fmt::format("{} * {} + {}", period, index, row[i].at[0]);
        for (std::size_t k = 1; k < row[i].at.size(); ++k)
            indices[nest.order[nest.vector + k]] = fmt::format("{}", row[i].at[k]);
        out_.line("{} = {};", target(fmt::format("{}", fmt::join(indices, ", "))), names[i]);
    }
    writer.end_block();
}

void StageWriter::points_row(const Nest& nest, const std::string& begin, const std::string& end) {
    const RowCode& code = inner_->row;
    std::string first = begin, last = end, from = begin;
    const std::int64_t period = code.along.period;
    if (period > 1) {
        const int shift = period == 2 ? 1 : 2;
        first = locals_.add(along_name_ + "_begin"), last = locals_.add(along_name_ + "_end");
        out_.line("const int32_t {} = ({} + {}) >> {}, {} = {} >> {};", first, begin, period - 1, shift, last, end,
                  shift);
        out_.line("if ({0} < {1}) {2}", begin, fmt::format("{} * {}", period, first),
                  edges_call(nest, begin, fmt::format("std::min({} * {}, {})", period, first, end)));
    }
    if (code.across.period > 1) {
        const std::string& outer = dims_[code.across.dim];
        out_.line("const int32_t {} = {} >> {};", across_name_, outer, code.across.period == 2 ? 1 : 2);
        out_.open(fmt::format("switch ({} & {})", outer, code.across.period - 1));
        for (std::size_t row = 0; row < code.rows.size(); ++row) {
            out_.open(row + 1 < code.rows.size() ? fmt::format("case {}:", row) : "default:");
            points(nest, code.rows[row], first, last);
            out_.line("break;");
            out_.close();
        }
        out_.close();
    } else {
        points(nest, code.rows.front(), first, last);
    }
    if (period == 1) return;
    const std::string rest = fmt::format("std::max({0} * {1}, {0} * {2})", period, first, last);
    out_.line("if ({} < {}) {}", rest, end, edges_call(nest, rest, end));
}

/// A row without edges.
void StageWriter::inner_row(ExpressionWriter& writer, const Nest& nest, const std::string& begin,
                            const std::string& end, const ir::Expr& value, const ir::Expr& guard) {
    if (!strip_ && inner_ && inner_->row.is_used()) return points_row(nest, begin, end);
    if (!strip_) return row(writer, nest, begin, end, value, guard, !ir::has_reduction(value));
    if (strip_points_ == 1) return strips(nest, begin, end, 1);
    out_.open(fmt::format("if ({} - {} >= {})", end, begin, strip_points_));
    strips(nest, begin, end, strip_points_);
    out_.outdent();
    if (strip_->has_chains) {
        if (strip_points_ > kShortStrip) {
            out_.open(fmt::format("}} else if ({} - {} >= {})", end, begin, kShortStrip));
            strips(nest, begin, end, kShortStrip);
            out_.outdent();
        }
        out_.open("} else");
        strips(nest, begin, end, 1);
    } else {
        out_.open("} else");
        row(writer, nest, begin, end, value, guard, false);
    }
    out_.close();
}

/// A bound over the sizes, as an integer of 64 bits.
std::string StageWriter::limit_text(const ir::Expr& limit) {
    const WideLeaf leaf = [&](const ir::Expr& n) {
        return Text{
            fmt::format("int64_t({})", names_.sizes.at(static_cast<std::size_t>(ir::as<ir::SizeRef>(n)->index)))};
    };
    return wide_text(limit, leaf, helpers_).text;
}

/// The points of a box. In the interior rows are without conditions; what is before and behind it in a row, and rows
/// outside of it, are points with all of their conditions.
void StageWriter::box_nest(const Nest& nest, const ir::Expr& value, const ir::Expr& guard) {
    if (stage_.dims.empty()) return store_point(*expressions_, value, guard);
    const std::vector<std::pair<std::string, std::string>> ends = box_ends(nest);
    const bool split = inner_ && !inner_->is_everywhere();
    std::vector<std::pair<std::string, std::string>> inner = ends;
    for (std::size_t d = 0; split && d < stage_.dims.size(); ++d) {
        const poly::Interval& limits = inner_->limits[d];
        const auto within = [&](const ir::Expr& limit, const std::string& from, const std::string& suffix) {
            const std::string name = locals_.add(dims_[d] + suffix);
            out_.line("const int32_t {} = within({}, {}, {});", name, limit_text(limit), from, ends[d].second);
            return name;
        };
        if (limits.lo) inner[d].first = within(limits.lo, ends[d].first, "_inner");
        if (limits.hi) inner[d].second = within(limits.hi, inner[d].first, "_inner_end");
    }
    ExpressionWriter& plain = inner_ ? *inner_expressions_ : *expressions_;
    std::vector<std::string> conditions;
    for (std::size_t i = 0; i < nest.vector; ++i) {
        const std::size_t d = nest.order[i];
        open_loop(plain, d, ends[d].first, ends[d].second);
        if (!split) continue;
        if (inner_->limits[d].lo) conditions.push_back(fmt::format("{} >= {}", dims_[d], inner[d].first));
        if (inner_->limits[d].hi) conditions.push_back(fmt::format("{} < {}", dims_[d], inner[d].second));
    }
    const std::size_t along = nest.order[nest.vector];
    const ir::Expr& inner_value = inner_ ? inner_->value : value;
    const ir::Expr& inner_guard = inner_ ? inner_->guard : guard;
    if (!split) {
        inner_row(plain, nest, ends[along].first, ends[along].second, inner_value, inner_guard);
    } else {
        std::string first = inner[along].first, last = inner[along].second;
        if (!conditions.empty()) {
            const std::string inside = locals_.add("inside");
            out_.line("const bool {} = {};", inside, fmt::join(conditions, " && "));
            const auto at = [&](const std::string& limit, const char* suffix) {
                const std::string name = locals_.add(dims_[along] + suffix);
                out_.line("const int32_t {} = {} ? {} : {};", name, inside, limit, ends[along].second);
                return name;
            };
            first = at(first, "_first"), last = at(last, "_last");
        }
        const auto edge = [&](const std::string& from, const std::string& to) {
            if (from != to) out_.line("if ({} < {}) {}", from, to, edges_call(nest, from, to));
        };
        edge(ends[along].first, first);
        inner_row(plain, nest, first, last, inner_value, inner_guard);
        edge(last, ends[along].second);
    }
    for (std::size_t i = 0; i < nest.vector; ++i) plain.end_block();
}

/// Lines of a scan, each slice by slice. Where lines run across memory, the box is gone through row after row. The
/// innermost loop has points that do not wait for each other, a row of a slice or a point of each line, and is a
/// vector.
void StageWriter::scan_nest(const Nest& nest, const ir::Expr& value, const ir::Expr& guard) {
    const auto scan = static_cast<std::size_t>(stage_.scan->dim);
    std::vector<std::size_t> outer, inner;
    for (const std::size_t dim : nest.order) {
        if (dim != scan) (stage_.scan->is_across(dim) ? inner : outer).push_back(dim);
    }
    if (inner.empty() && nest.order.back() != scan) {
        inner.push_back(outer.back());
        outer.pop_back();
    }
    const std::vector<std::pair<std::string, std::string>> ends = box_ends(nest);
    for (const std::size_t dim : outer) open_loop(*expressions_, dim, ends[dim].first, ends[dim].second);
    const auto& [begin, end] = ends[scan];
    if (stage_.scan->step > 0) {
        open_loop(*expressions_, scan, begin, end);
    } else {
        expressions_->begin_block(
            fmt::format("for (int32_t {0} = {2} - 1; {0} >= {1}; --{0})", dims_[scan], begin, end));
    }
    slice(inner, ends, value, guard);
    for (std::size_t i = 0; i < outer.size() + 1; ++i) expressions_->end_block();
}

/// The loops over points that do not wait for each other. What is the same for all of them, as the least of the slice
/// before, is computed once before them.
void StageWriter::slice(const std::vector<std::size_t>& inner,
                        const std::vector<std::pair<std::string, std::string>>& ends, const ir::Expr& value,
                        const ir::Expr& guard) {
    std::set<ir::VarId> varying;
    for (const std::size_t dim : inner) varying.insert(stage_.dims[dim].var);
    const auto varies = [&](const ir::Expr& e) {
        return ir::any_node(e, [&](const ir::Expr& node) {
            const auto* variable = ir::as<ir::Variable>(node);
            return variable != nullptr && varying.count(variable->id) > 0;
        });
    };
    const auto* choice = ir::as<ir::Select>(value);
    if (!guard && !inner.empty() && choice != nullptr && choice->otherwise && !varies(choice->cond)) {
        expressions_->begin_block(fmt::format("if ({})", expressions_->value(choice->cond).text));
        slice(inner, ends, choice->then, guard);
        expressions_->else_block();
        slice(inner, ends, choice->otherwise, guard);
        return expressions_->end_block();
    }
    std::vector<const ir::Let*> kept;
    std::vector<std::string> has_points;  // without any, nothing may be read
    for (const std::size_t dim : inner) has_points.push_back(fmt::format("{} < {}", ends[dim].first, ends[dim].second));
    if (!inner.empty()) expressions_->begin_block(fmt::format("if ({})", fmt::join(has_points, " && ")));
    ir::Expr point = value;
    while (const auto* let = guard || inner.empty() ? nullptr : ir::as<ir::Let>(point)) {
        if (varies(let->value)) {
            kept.push_back(let);
            varying.insert(let->var);
        } else if (uses_.variable(let->var)) {
            const ir::Expr once = with_loops(pipeline_, let->value);
            expressions_->define(let->var, once, pipeline_.variables.at(static_cast<std::size_t>(let->var)).name);
        }
        point = let->body;
    }
    for (auto let = kept.rbegin(); let != kept.rend(); ++let) point = ir::let((*let)->var, (*let)->value, point);
    for (const std::size_t dim : inner) {
        if (dim == inner.back() && !ir::has_reduction(point)) out_.line("PIPE_SIMD");
        open_loop(*expressions_, dim, ends[dim].first, ends[dim].second);
    }
    store_point(*expressions_, point, guard);
    for (std::size_t i = 0; i < inner.size(); ++i) expressions_->end_block();
    if (!inner.empty()) expressions_->end_block();
}

/// One nest after the other, each in its own order.
void StageWriter::updates(const ir::Accumulate& accumulate) {
    for (const ir::Update& update : accumulate.updates) {
        expressions_->begin_block("");
        for (const ir::Range& range : update.domain) expressions_->begin_loop(range);
        if (update.guard) expressions_->begin_block(fmt::format("if ({})", expressions_->value(update.guard).text));
        const std::string indices = list_text(expressions_->indices(update.indices));
        const Text value = expressions_->value(update.value);
        const std::string cell = locals_.add("cell");
        out_.line("{}& {} = {};", storage_type(stage_.type), cell, target(indices));
        const bool half = stage_.type == ir::Type::Float16;
        const Text old{half ? fmt::format("{}({})", helpers_.use("half_to_float"), cell) : cell};
        out_.line("{} = {};", cell, stored(expressions_->fold(update.op, stage_.type, old, value)));
        if (update.guard) expressions_->end_block();
        for (std::size_t i = 0; i < update.domain.size(); ++i) expressions_->end_loop();
        expressions_->end_block();
    }
}

}  // namespace

Pieces pieces_of(const ir::Pipeline& pipeline, const poly::Model& model, std::size_t index) {
    const ir::Stage& stage = pipeline.stages[index];
    const Nest nest = nest_of(pipeline, model, index);
    const auto* pure = std::get_if<ir::Pure>(&stage.definition);
    Pieces pieces;
    const ir::Expr& value = pure != nullptr ? pure->value : std::get<ir::Accumulate>(stage.definition).init;
    std::int64_t unrolled = 1;  // points that cannot be taken apart
    for (std::size_t d = 0; d < stage.dims.size(); ++d) {
        if (!nest.is_unrolled(d)) continue;
        unrolled *= std::max<std::int64_t>(1, *constant_extent(model.domains.at(index), d));
    }
    pieces.points = std::max({std::int64_t{1}, kParallelWork / std::max<std::int64_t>(1, work(value)), unrolled});
    pieces.order = nest.order;
    if (!stage.scan) return pieces;
    const auto of_line = [&](std::size_t d) {
        return d == static_cast<std::size_t>(stage.scan->dim) || stage.scan->is_across(d);
    };
    pieces.least_lines = of_line(nest.order.back()) ? unrolled : std::max(kStrip, unrolled);
    const auto rest = std::stable_partition(pieces.order.begin(), pieces.order.end(), of_line);
    pieces.whole = static_cast<int>(rest - pieces.order.begin());
    return pieces;
}

void write_stage(Writer& out, ir::Pipeline& pipeline, const Unit& unit, const CodeNames& names, std::size_t stage,
                 const SourceManager& sources, Helpers& helpers, bool versioned) {
    StageWriter(out, pipeline, unit, names, stage, sources, helpers, versioned).write();
}

}  // namespace pipec::codegen
