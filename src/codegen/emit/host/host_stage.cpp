// A stage as loops over its domain: outer dimensions in parallel, the innermost one as vectors.
#include "codegen/emit/host/host_stage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "codegen/emit/c/c_expr.h"
#include "codegen/emit/c/c_types.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::codegen {

namespace {

/// Work, in nodes of the expression times points, that is worth waking up other threads.
constexpr std::int64_t kParallelWork = 200'000;
/// What a reduction whose size is not known counts for, in iterations.
constexpr std::int64_t kLoopIterations = 16;
/// Innermost loops of no more iterations than this are unrolled, and the loop around them is vectorised.
constexpr std::int64_t kUnrolled = 4;
/// Points of a row that a thread takes of each row before it takes the next ones.
constexpr std::int64_t kStrip = 128;

std::string place(const SourceManager& sources, SourceRange range) {
    return fmt::format("{}:{}", base_name(sources.name(range.file)), sources.position(range.file, range.begin).line);
}

std::string source_line(const SourceManager& sources, SourceRange range) {
    std::string_view line = sources.line(range.file, sources.position(range.file, range.begin).line);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return comment_text(line);
}

class StageWriter {
public:
    StageWriter(Writer& out, const Unit& unit, const CodeNames& names, std::size_t index, const SourceManager& sources,
                Helpers& helpers);
    void write();

private:
    /// How the nest is run: which loops in parallel, which one as vectors.
    struct Nest {
        std::vector<std::size_t> order;  ///< dimensions, outermost first
        std::size_t vector = 0;          ///< position in `order`
        bool simd = true;
    };

    void comment();
    void pure_nest(const ir::Expr& value, const ir::Expr& guard);
    void scan_nest(const ir::Expr& value, const ir::Expr& guard);
    void store_point(const ir::Expr& value, const ir::Expr& guard);
    void updates(const ir::Accumulate& accumulate);
    [[nodiscard]] Nest nest_for(const ir::Expr& value) const;
    void bind_dimensions();
    std::vector<int> memory_order() const;
    std::vector<std::pair<std::string, std::string>> loop_ends();
    std::string parallel_clauses(const ir::Expr& value) const;
    void open_loops(const Nest& nest, const ir::Expr& value);
    void open_loop(std::size_t dim, const std::string& begin, const std::string& end) {
        expressions_->begin_block(fmt::format("for (int32_t {0} = {1}; {0} < {2}; ++{0})", dims_[dim], begin, end));
    }
    std::string target(const std::string& indices) const {
        return fmt::format("{}({})", names_.stages[index_], indices);
    }
    std::string stored(const Text& value) {
        return stage_.type == ir::Type::Float16 ? fmt::format("{}({})", helpers_.use("float_to_half"), value.text)
                                                : value.text;
    }
    [[nodiscard]] std::optional<std::int64_t> constant_extent(std::size_t dim) const;

    Writer& out_;
    const Unit& unit_;
    const ir::Pipeline& pipeline_;
    const CodeNames& names_;
    std::size_t index_;
    const ir::Stage& stage_;
    const poly::Domain& domain_;
    const SourceManager& sources_;
    Helpers& helpers_;
    Uses uses_;
    Names locals_;
    std::vector<std::string> dims_;
    std::optional<ExpressionWriter> expressions_;
};

Uses uses_of(const Unit& unit, std::size_t index) {
    Uses uses;
    const ir::Stage& stage = unit.pipeline->stages[index];
    if (unit.model->domains.at(index).guard) uses.add(unit.model->domains[index].guard);
    if (const auto* pure = std::get_if<ir::Pure>(&stage.definition)) {
        uses.add(pure->value);
        return uses;
    }
    const auto& accumulate = std::get<ir::Accumulate>(stage.definition);
    uses.add(accumulate.init);
    for (const ir::Update& update : accumulate.updates) {
        for (const ir::Range& range : update.domain) uses.add(range.lo), uses.add(range.hi);
        if (update.guard) uses.add(update.guard);
        for (const ir::Expr& i : update.indices) uses.add(i);
        uses.add(update.value);
    }
    return uses;
}

/// The views that a stage's code works on, itself last: name and type.
std::vector<std::pair<std::string, std::string>> views_of(const Unit& unit, const CodeNames& names, std::size_t index) {
    std::vector<std::pair<std::string, std::string>> views;
    const Uses uses = uses_of(unit, index);
    for (const ir::Source& source : uses.sources()) {
        const auto i = static_cast<std::size_t>(source.index);
        if (source.kind == ir::Source::Kind::Stage && i == index) continue;  // a scan reads itself
        if (source.kind == ir::Source::Kind::Input)
            views.emplace_back(names.buffers[i], names.views[i] + "<dense>");
        else
            views.emplace_back(names.stages[i], stage_view_type(*unit.pipeline, names, i));
    }
    views.emplace_back(names.stages[index], stage_view_type(*unit.pipeline, names, index));
    return views;
}

StageWriter::StageWriter(Writer& out, const Unit& unit, const CodeNames& names, std::size_t index,
                         const SourceManager& sources, Helpers& helpers)
    : out_(out),
      unit_(unit),
      pipeline_(*unit.pipeline),
      names_(names),
      index_(index),
      stage_(unit.pipeline->stages[index]),
      domain_(unit.model->domains.at(index)),
      sources_(sources),
      helpers_(helpers),
      uses_(uses_of(unit, index)),
      locals_(names.taken) {
    Naming naming;
    naming.size = [this](int size) { return names_.sizes[static_cast<std::size_t>(size)]; };
    naming.param = [this](int param) { return names_.params[static_cast<std::size_t>(param)]; };
    naming.read = [this](const ir::Read& read, const std::vector<Text>& indices) {
        const auto i = static_cast<std::size_t>(read.source.index);
        const bool is_input = read.source.kind == ir::Source::Kind::Input;
        return fmt::format("{}({})", is_input ? names_.buffers[i] : names_.stages[i], list_text(indices));
    };
    expressions_.emplace(pipeline_, uses_, std::move(naming), locals_, helpers_, out_);
}

void StageWriter::comment() {
    if (stage_.range.valid()) {
        out_.line("// {}: {}", place(sources_, stage_.range), source_line(sources_, stage_.range));
    }
    for (const SourceRange& call : stage_.made_by) {
        if (call.valid()) out_.line("//   called at {}: {}", place(sources_, call), source_line(sources_, call));
    }
}

void StageWriter::write() {
    std::vector<std::string> parameters{"[[maybe_unused]] const Plan& plan"};
    for (const auto& [name, type] : views_of(unit_, names_, index_)) parameters.push_back(type + " " + name);
    for (const int param : uses_.params()) {
        const auto i = static_cast<std::size_t>(param);
        parameters.push_back(fmt::format("{} {}", value_type(pipeline_.params[i].type), names_.params[i]));
    }
    comment();
    out_.add("template <bool dense>");
    out_.open(fmt::format("void {}({})", names_.functions[index_], fmt::join(parameters, ", ")));
    for (const int size : uses_.sizes()) {
        out_.line("const int32_t {0} = plan.{0};", names_.sizes[static_cast<std::size_t>(size)]);
    }
    for (const ir::Dimension& dim : stage_.dims) {
        dims_.push_back(locals_.add(pipeline_.variables.at(static_cast<std::size_t>(dim.var)).name));
    }
    bind_dimensions();
    if (const auto* pure = std::get_if<ir::Pure>(&stage_.definition)) {
        if (stage_.scan)
            scan_nest(pure->value, domain_.guard);
        else
            pure_nest(pure->value, domain_.guard);
    } else {
        const auto& accumulate = std::get<ir::Accumulate>(stage_.definition);
        pure_nest(accumulate.init, nullptr);
        updates(accumulate);
    }
    out_.close();
    out_.blank();
}

std::optional<std::int64_t> StageWriter::constant_extent(std::size_t dim) const {
    const auto lo = ir::as_int(domain_.box[dim].lo);
    const auto hi = ir::as_int(domain_.box[dim].hi);
    if (!lo || !hi) return std::nullopt;
    return std::max<std::int64_t>(0, *hi - *lo);
}

/// Names the dimensions, and puts the ends of their loops that are no constants into variables.
void StageWriter::bind_dimensions() {
    for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
        const auto lo = ir::as_int(domain_.box[d].lo);
        const auto hi = ir::as_int(domain_.box[d].hi);
        const poly::IntRange range{lo.value_or(-kIndexLimit + 1), hi.value_or(kIndexLimit - 1) - 1};
        expressions_->bind(stage_.dims[d].var, dims_[d], range);
    }
}

bool has_loop(const ir::Expr& e) {
    bool found = false;
    ir::for_each_node(e, [&](const ir::Expr& n) { found = found || ir::as<ir::Reduce>(n) != nullptr; });
    return found;
}

std::int64_t work(const ir::Expr& e) {
    std::int64_t nodes = 0;
    ir::for_each_node(e, [&](const ir::Expr&) { ++nodes; });
    return has_loop(e) ? nodes * kLoopIterations : nodes;
}

/// Dimensions from outermost to innermost.
std::vector<int> StageWriter::memory_order() const {
    if (stage_.output >= 0) return pipeline_.outputs[static_cast<std::size_t>(stage_.output)].buffer.order;
    std::vector<int> order(stage_.dims.size());
    std::iota(order.begin(), order.end(), 0);
    return order;
}

StageWriter::Nest StageWriter::nest_for(const ir::Expr& value) const {
    Nest nest;
    for (const int dim : memory_order()) nest.order.push_back(static_cast<std::size_t>(dim));
    nest.vector = nest.order.empty() ? 0 : nest.order.size() - 1;
    while (nest.vector > 0 && constant_extent(nest.order[nest.vector]).value_or(kUnrolled + 1) <= kUnrolled) {
        --nest.vector;
    }
    nest.simd = !has_loop(value);
    return nest;
}

/// Where each dimension begins and ends, as constants or variables that this defines.
std::vector<std::pair<std::string, std::string>> StageWriter::loop_ends() {
    std::vector<std::pair<std::string, std::string>> ends(stage_.dims.size());
    for (std::size_t d = 0; d < stage_.dims.size(); ++d) {
        const auto end_of = [&](const ir::Expr& e, const char* which, const char* suffix) {
            if (const auto constant = ir::as_int(e)) return fmt::format("{}", *constant);
            const std::string name = locals_.add(dims_[d] + suffix);
            const std::string field = stage_.output >= 0
                                          ? fmt::format("int32_t(plan.{}.extent[{}])", names_.stages[index_], d)
                                          : fmt::format("plan.{}.{}[{}]", names_.stages[index_], which, d);
            out_.line("const int32_t {} = {};", name, field);
            return name;
        };
        ends[d].first = end_of(domain_.box[d].lo, "lo", "_begin");
        ends[d].second = end_of(domain_.box[d].hi, "hi", "_end");
    }
    return ends;
}

std::string StageWriter::parallel_clauses(const ir::Expr& value) const {
    std::vector<std::string> views;
    for (const auto& [name, type] : views_of(unit_, names_, index_)) views.push_back(name);
    return fmt::format("schedule(static) firstprivate({}) if (plan.{}.points >= {})", fmt::join(views, ", "),
                       names_.stages[index_],
                       std::max<std::int64_t>(1, kParallelWork / std::max<std::int64_t>(1, work(value))));
}

void StageWriter::open_loops(const Nest& nest, const ir::Expr& value) {
    const std::vector<std::pair<std::string, std::string>> ends = loop_ends();
    const std::string clauses = parallel_clauses(value);
    for (std::size_t i = 0; i < nest.order.size(); ++i) {
        const bool parallel = i == 0;
        const bool simd = nest.simd && i == nest.vector;
        if (parallel) {
            // All loops around the one that is vectorised, as one.
            const std::string collapse = nest.vector > 1 ? fmt::format(" collapse({})", nest.vector) : "";
            out_.line("PIPE_PRAGMA(omp parallel for{}{} {})", simd ? " simd" : "", collapse, clauses);
        } else if (simd) {
            out_.line("PIPE_PRAGMA(omp simd)");
        }
        const std::size_t d = nest.order[i];
        open_loop(d, ends[d].first, ends[d].second);
    }
}

void StageWriter::store_point(const ir::Expr& value, const ir::Expr& guard) {
    if (guard) expressions_->begin_block(fmt::format("if ({})", expressions_->value(guard).text));
    const Text text = expressions_->value(value);
    out_.line("{} = {};", target(fmt::format("{}", fmt::join(dims_, ", "))), stored(text));
    if (guard) expressions_->end_block();
}

void StageWriter::pure_nest(const ir::Expr& value, const ir::Expr& guard) {
    const Nest nest = nest_for(value);
    if (!stage_.dims.empty()) open_loops(nest, value);
    store_point(value, guard);
    for (std::size_t i = 0; i < stage_.dims.size(); ++i) expressions_->end_block();
}

/// Lines in parallel, each point by point. Where lines run across memory, a thread goes along a strip of them, row
/// after row, and each row is a vector.
void StageWriter::scan_nest(const ir::Expr& value, const ir::Expr& guard) {
    const auto scan = static_cast<std::size_t>(stage_.scan->dim);
    std::vector<std::size_t> lines;
    bool across = false;
    for (const int dim : memory_order()) {
        across = static_cast<std::size_t>(dim) != scan;
        if (across) lines.push_back(static_cast<std::size_t>(dim));
    }
    const std::vector<std::pair<std::string, std::string>> ends = loop_ends();
    if (!lines.empty()) {
        const std::string collapse = lines.size() > 1 ? fmt::format(" collapse({})", lines.size()) : "";
        out_.line("PIPE_PRAGMA(omp parallel for{} {})", collapse, parallel_clauses(value));
    }
    const std::size_t loops = lines.size() - (across ? 1 : 0);
    for (std::size_t i = 0; i < loops; ++i) open_loop(lines[i], ends[lines[i]].first, ends[lines[i]].second);
    std::string strip, strip_end;
    if (across) {
        const auto& [begin, end] = ends[lines.back()];
        strip = locals_.add(dims_[lines.back()] + "_strip");
        strip_end = locals_.add(strip + "_end");
        expressions_->begin_block(
            fmt::format("for (int32_t {0} = {1}; {0} < {2}; {0} += {3})", strip, begin, end, kStrip));
        out_.line("const int32_t {} = {} - {} > {} ? {} + {} : {};", strip_end, end, strip, kStrip, strip, kStrip, end);
    }
    const auto& [begin, end] = ends[scan];
    if (stage_.scan->step > 0) {
        open_loop(scan, begin, end);
    } else {
        expressions_->begin_block(
            fmt::format("for (int32_t {0} = {2} - 1; {0} >= {1}; --{0})", dims_[scan], begin, end));
    }
    if (across) {
        if (!has_loop(value)) out_.line("PIPE_PRAGMA(omp simd)");
        open_loop(lines.back(), strip, strip_end);
    }
    store_point(value, guard);
    for (std::size_t i = 0; i < loops + 1 + (across ? 2 : 0); ++i) expressions_->end_block();
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

std::string stage_view_type(const ir::Pipeline& pipeline, const CodeNames& names, std::size_t stage) {
    return names.stage_views[stage] + (pipeline.stages[stage].output >= 0 ? "<dense>" : "");
}

void write_stage(Writer& out, const Unit& unit, const CodeNames& names, std::size_t stage, const SourceManager& sources,
                 Helpers& helpers) {
    StageWriter(out, unit, names, stage, sources, helpers).write();
}

std::string stage_call(const Unit& unit, const CodeNames& names, std::size_t stage) {
    std::vector<std::string> args{"plan"};
    for (const auto& [name, type] : views_of(unit, names, stage)) args.push_back(name);
    const Uses uses = uses_of(unit, stage);  // named: a range-for does not keep it alive
    for (const int param : uses.params()) args.push_back(names.params[static_cast<std::size_t>(param)]);
    return fmt::format("{}<dense>({});", names.functions[stage], fmt::join(args, ", "));
}

}  // namespace pipec::codegen
