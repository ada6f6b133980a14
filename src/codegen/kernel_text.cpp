// Kernel IR as text: the grammar of kernel_ir.h, a statement a line. Within a kernel every variable has a name of its
// own, whatever the pipeline's table says.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "codegen/kernel_flow.h"
#include "codegen/kernel_ir.h"
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
        for (const Argument& a : kernel_.arguments) {
            const bool any = a.least <= -kVariableLimit + 1;
            line("argument {} = {}{}", variable(a.var), text(a.value), any ? "" : fmt::format(" at least {}", a.least));
        }
        for (const Special& s : kernel_.specials) line("special {} = {}", variable(s.var), name(s.id));
        for (const SharedArray& a : kernel_.shared)
            line("shared {}: {}[{}]", a.name, ir::name(a.type), fmt::join(a.extents, ", "));
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

    std::string text(const ir::Expr& e) { return ir::to_string(pipeline_, e, locals_); }

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
        line("load {} = {}({})", fmt::join(vars, ", "), array(s.array), list(s.indices));
    }
    void statement(const Store& s) {
        line("store {}({}) = {}{}", array(s.array), list(s.indices), list(s.values),
             s.guard ? " where " + text(s.guard) : "");
    }
    void statement(const Atomic& s) {
        line("{} {}({}) {} {}", s.exclusive ? "update" : "atomic", array(s.array), list(s.indices), assignment(s.op),
             text(s.value));
    }
    void statement(const Shuffle& s) {
        const std::string_view from = s.from == Shuffle::From::Up     ? "from up"
                                      : s.from == Shuffle::From::Down ? "from down"
                                      : s.from == Shuffle::From::Xor  ? "from xor"
                                                                      : "from lane";
        line("shuffle {} = {} {} {}", variable(s.var), text(s.value), from, text(s.amount));
    }
    void statement(const Barrier& s) { line("barrier {}", s.scope == Barrier::Scope::Warp ? "warp" : "block"); }
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

std::string to_string(const Program& program) {
    std::string text = fmt::format("program {}\n", program.pipeline.name);
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
        text += fmt::format("\nstep {}\n", i);
        for (const Kernel& kernel : program.steps[i].variants) text += Printer(program.pipeline, kernel).print();
    }
    return text;
}

}  // namespace pipec::codegen::kernel
