// Kernel IR as text: the grammar of kernel_ir.h, a statement a line. Within a kernel every variable has a name of its
// own, whatever the pipeline's table says.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include "codegen/kernel/kernel_flow.h"
#include "codegen/kernel/kernel_ir.h"
#include "fusion/group_fields.h"
#include "ir/build.h"
#include "ir/print.h"
#include "ir/visit.h"

namespace pipec::codegen::kernel {

namespace {

std::string_view name(Layout layout) {
    return layout == Layout::Wide ? "wide" : layout == Layout::Dense ? "dense" : "general";
}

std::string_view name(Special::Id id) {
    switch (id) {
        case Special::Id::ThreadX: return "thread.x";
        case Special::Id::ThreadY: return "thread.y";
        case Special::Id::ThreadZ: return "thread.z";
        case Special::Id::BlockX: return "block.x";
        case Special::Id::BlockY: return "block.y";
        case Special::Id::BlockZ: return "block.z";
        case Special::Id::GridX: return "grid.x";
        case Special::Id::GridY: return "grid.y";
        case Special::Id::GridZ: return "grid.z";
    }
    return "";
}

std::string_view assignment(ir::ReduceOp op) {
    switch (op) {
        case ir::ReduceOp::Sum: return "+=";
        case ir::ReduceOp::Prod: return "*=";
        case ir::ReduceOp::Min: return "min=";
        default: return "max=";
    }
}

/// Expressions of more nodes, written out as trees, get names for what occurs in them more than once: otherwise their
/// text could be longer than anyone's memory.
constexpr std::int64_t kLargeTree = 200;
/// What has fewer nodes is written again.
constexpr std::int64_t kSmallTree = 5;

/// Makes shared nodes of an expression into lets; those that use the variable of a loop stand in its body.
class Sharing {
public:
    using Name = std::function<ir::VarId(ir::Type)>;
    explicit Sharing(Name name) : name_(std::move(name)) {}

    ir::Expr with_lets(const ir::Expr& e) { return tree_size(e) > kLargeTree ? level(e) : e; }

private:
    /// What a loop's body, or the whole expression, knows.
    struct Level {
        std::unordered_map<const ir::Node*, ir::Expr> done;
        std::unordered_map<const ir::Node*, int> uses;
        std::unordered_map<const ir::Node*, bool> fixed;  ///< uses no variable that is bound further inside
        std::set<ir::VarId> inner;
        std::vector<std::pair<ir::VarId, ir::Expr>> lets;
    };

    std::int64_t tree_size(const ir::Expr& e) {
        if (const auto found = sizes_.find(e.get()); found != sizes_.end()) return found->second;
        std::int64_t size = 1;
        for (const ir::Expr& child : ir::children(e)) size = std::min(size + tree_size(child), kLargeTree + 1);
        sizes_.emplace(e.get(), size);
        return size;
    }

    static bool is_fixed(Level& level, const ir::Expr& e) {
        if (const auto found = level.fixed.find(e.get()); found != level.fixed.end()) return found->second;
        const auto* var = ir::as<ir::Variable>(e);
        bool fixed = var == nullptr || !level.inner.contains(var->id);
        for (const ir::Expr& child : ir::children(e)) fixed = is_fixed(level, child) && fixed;
        level.fixed.emplace(e.get(), fixed);
        return fixed;
    }

    ir::Expr level(const ir::Expr& e) {
        Level level;
        ir::for_each_node(e, [&](const ir::Expr& n) {
            for (const ir::Expr& child : ir::children(n)) ++level.uses[child.get()];
            if (const auto* let = ir::as<ir::Let>(n)) level.inner.insert(let->var);
            if (const auto* reduce = ir::as<ir::Reduce>(n)) {
                for (const ir::Range& range : reduce->ranges) level.inner.insert(range.var);
            }
        });
        ir::Expr result = rewrite(level, e);
        for (auto let = level.lets.rbegin(); let != level.lets.rend(); ++let)
            result = ir::let(let->first, let->second, result);
        return result;
    }

    ir::Expr rewrite(Level& level, const ir::Expr& e) {
        if (const auto found = level.done.find(e.get()); found != level.done.end()) return found->second;
        const bool binds = ir::as<ir::Reduce>(e) != nullptr || ir::as<ir::Let>(e) != nullptr;
        const ir::Expr body = binds ? ir::children(e).back() : nullptr;
        ir::Expr result = ir::map_children(
            e, [&](const ir::Expr& child) { return child == body ? this->level(child) : rewrite(level, child); });
        if (level.uses[e.get()] > 1 && tree_size(e) >= kSmallTree && is_fixed(level, e)) {
            const ir::VarId var = name_(e->type);
            level.lets.emplace_back(var, result);
            result = ir::variable(var, e->type);
        }
        level.done.emplace(e.get(), result);
        return result;
    }

    Name name_;
    std::unordered_map<const ir::Node*, std::int64_t> sizes_;
};

/// Adds the lets' variables to the pipeline.
std::string text_with_lets(ir::Pipeline& pipeline, const ir::Expr& e, const std::vector<std::string>& locals) {
    int number = 0;
    Sharing sharing([&](ir::Type type) { return ir::new_variable(pipeline, fmt::format("${}", ++number), type); });
    return ir::to_string(pipeline, sharing.with_lets(e), locals);
}

class Printer {
public:
    Printer(const ir::Pipeline& pipeline, const Kernel& kernel) : pipeline_(pipeline), kernel_(kernel) {
        for (const SharedArray& array : kernel.shared) locals_.push_back(array.name);
        name_variables();
    }

    std::string print() {
        line("kernel {} {}", kernel_.name, name(kernel_.layout));
        ++depth_;
        for (const std::string& comment : kernel_.comments) line("// {}", comment);
        std::vector<std::string> grid;
        for (const ir::Expr& e : kernel_.grid) grid.push_back(e ? text(e) : "1");
        line("grid {}", fmt::join(grid, ", "));
        line("block {}", fmt::join(kernel_.block, ", "));
        if (kernel_.least_grid > 0) line("in at least {} blocks", kernel_.least_grid);
        if (kernel_.extent) line("where {} is at least {}", text(kernel_.extent), kernel_.least_extent);
        if (kernel_.shares_reductions) line("lanes share reductions");
        if (kernel_.least_blocks > 0) line("registers for {} blocks", kernel_.least_blocks);
        if (kernel_.load_cache != fusion::LoadCache::Default) line("reads {}", fusion::name(kernel_.load_cache));
        for (const Argument& a : kernel_.arguments) {
            const bool any = a.least <= -kVariableLimit + 1;
            line("argument {} = {}{}", variable(a.var), text(a.value), any ? "" : fmt::format(" at least {}", a.least));
        }
        for (const Special& s : kernel_.specials) line("special {} = {}", variable(s.var), name(s.id));
        for (const SharedArray& a : kernel_.shared) {
            line("shared {}: {}[{}]{}{}", a.name, ir::name(a.type), fmt::join(a.extents, ", "),
                 a.offset >= 0 ? fmt::format(" at {}", a.offset) : "",
                 a.pitch > 0 ? fmt::format(" pitch {}", a.pitch) : "");
        }
        body(kernel_.body);
        return std::move(text_);
    }

private:
    template <class... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        text_ += std::string(4 * depth_, ' ') + fmt::format(format, std::forward<Args>(args)...) + "\n";
    }

    // ----------------------------------------------------------------------------------------------------------- names

    /// The first variable of a name keeps it; the others get numbers.
    void name_variables() {
        std::set<ir::VarId> seen;
        const auto add = [&](ir::VarId var) {
            if (!seen.insert(var).second) return;
            std::string& wanted = pipeline_.variables.at(static_cast<std::size_t>(var)).name;
            const std::string first = wanted;
            for (int i = 2; !taken_.insert(wanted).second; ++i) wanted = fmt::format("{}_{}", first, i);
        };
        for (const Argument& a : kernel_.arguments) add(a.var);
        for (const Special& s : kernel_.specials) add(s.var);
        for_each_stmt(kernel_.body, [&](const Stmt& stmt) {
            std::visit(ir::overloaded{
                           [&](const Define& s) { add(s.var); },
                           [&](const Variable& s) { add(s.var); },
                           [&](const Load& s) {
                               for (const ir::VarId var : s.vars) add(var);
                           },
                           [&](const Shuffle& s) { add(s.var); },
                           [&](const For& s) { add(s.var); },
                           [](const auto&) {},
                       },
                       stmt.value);
        });
    }

    [[nodiscard]] const std::string& variable(ir::VarId var) const {
        return pipeline_.variables.at(static_cast<std::size_t>(var)).name;
    }

    [[nodiscard]] const std::string& array(ir::Source source) const {
        const auto i = static_cast<std::size_t>(source.index);
        if (source.kind == ir::Source::Kind::Input) return pipeline_.inputs.at(i).name;
        return source.kind == ir::Source::Kind::Local ? locals_.at(i) : pipeline_.stages.at(i).name;
    }

    std::string text(const ir::Expr& e) { return text_with_lets(pipeline_, e, locals_); }

    std::string list(const std::vector<ir::Expr>& exprs) {
        std::vector<std::string> texts;
        for (const ir::Expr& e : exprs) texts.push_back(text(e));
        return fmt::format("{}", fmt::join(texts, ", "));
    }

    // ------------------------------------------------------------------------------------------------------ statements

    void body(const Body& body) {
        for (const Stmt& stmt : body) std::visit([&](const auto& s) { statement(s); }, stmt.value);
    }
    void block(const Body& inner) {
        ++depth_;
        body(inner);
        --depth_;
    }

    void statement(const Define& s) { line("define {} = {}", variable(s.var), text(s.value)); }
    void statement(const Variable& s) { line("variable {} = {}", variable(s.var), text(s.value)); }
    void statement(const Assign& s) { line("assign {} = {}", variable(s.var), text(s.value)); }
    void statement(const Load& s) {
        std::vector<std::string> vars;
        for (const ir::VarId var : s.vars) vars.push_back(variable(var));
        line("load {}{} = {}({})", s.ahead ? "ahead " : "", fmt::join(vars, ", "), array(s.array), list(s.indices));
    }
    void statement(const Store& s) {
        line("store {}({}) = {}{}", array(s.array), list(s.indices), list(s.values),
             s.guard ? " where " + text(s.guard) : "");
    }
    void statement(const Atomic& s) {
        line("{} {}({}) {} {}",
             s.exclusive    ? "update"
             : s.often_same ? "atomic of a warp"
                            : "atomic",
             array(s.array), list(s.indices), assignment(s.op), text(s.value));
    }
    void statement(const Shuffle& s) {
        const std::string_view from = s.from == Shuffle::From::Up     ? "from up"
                                      : s.from == Shuffle::From::Down ? "from down"
                                      : s.from == Shuffle::From::Xor  ? "from xor"
                                                                      : "from lane";
        line("shuffle {} = {} {} {}", variable(s.var), text(s.value), from, text(s.amount));
    }
    void statement(const Barrier& s) {
        line("barrier {}", s.scope == Barrier::Scope::Warp    ? "warp"
                           : s.scope == Barrier::Scope::Block ? "block"
                                                              : "step");
    }
    void statement(const Copy& s) {
        line("copy {}({}) = {} of {}({})", array(s.to), list(s.to_indices), s.count, array(s.from),
             list(s.from_indices));
    }
    void statement(const Commit&) { line("commit"); }
    void statement(const Wait& s) { line("wait {}", s.pending); }
    void statement(const For& s) {
        const std::string step = ir::as_int(s.step) == 1 ? "" : " step " + text(s.step);
        line("for {} in {}..{}{}{} {{", variable(s.var), text(s.lo), text(s.hi), step, s.unroll ? " unroll" : "");
        block(s.body);
        line("}}");
    }
    void statement(const If& s) {
        const std::string_view uniform = s.uniform == If::Uniform::Block  ? "block "
                                         : s.uniform == If::Uniform::Warp ? "warp "
                                                                          : "";
        line("if {}{} {{", uniform, text(s.condition));
        block(s.then);
        if (!s.otherwise.empty()) {
            line("}} else {{");
            block(s.otherwise);
        }
        line("}}");
    }
    void statement(const Remark& s) { line("// {}", s.text); }

    ir::Pipeline pipeline_;  ///< with the variables' names made unique
    const Kernel& kernel_;
    std::vector<std::string> locals_;
    std::set<std::string> taken_;
    std::size_t depth_ = 1;
    std::string text_;
};

}  // namespace

std::string expression_text(ir::Pipeline pipeline, const ir::Expr& e, const std::vector<std::string>& locals) {
    return text_with_lets(pipeline, e, locals);
}

std::string to_string(const Program& program) {
    std::string text = fmt::format("program {}\n", program.pipeline.name);
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
        text += fmt::format("\nstep {}\n", i);
        for (const Kernel& kernel : program.steps[i].variants) text += Printer(program.pipeline, kernel).print();
    }
    return text;
}

}  // namespace pipec::codegen::kernel
