// The rules of kernel IR, as a check. A violation is a defect of the compiler: the code would not compile, or would be
// wrong only on some machines and at some times.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "codegen/kernel/kernel_flow.h"
#include "codegen/kernel/kernel_ir.h"
#include "codegen/kernel/shared_memory.h"
#include "ir/build.h"
#include "ir/verify.h"
#include "ir/visit.h"

namespace pipec::codegen::kernel {

using ir::Type;

namespace {

/// What the hardware has: threads of a block, in z.
constexpr std::int64_t kMostThreads = 1024;
constexpr int kMostThreadsZ = 64;

class Verifier {
public:
    Verifier(const Program& program, const Kernel& kernel, const std::set<int>& written_before)
        : pipeline_(program.pipeline), gpu_(program.target.gpu()), kernel_(kernel), written_before_(written_before) {}

    std::vector<std::string> run() {
        launch();
        shared();
        for (const Special& special : kernel_.specials) define(special.var, Type::Int32);
        for (const Argument& argument : kernel_.arguments) {
            size_expression(argument.value, "an argument");
            define(argument.var, Type::Int32);
        }
        body(kernel_.body);
        for (const int stage : read_) {
            const std::string& name = pipeline_.stages[static_cast<std::size_t>(stage)].name;
            check(!written_.contains(stage) || reads_other_lines(stage), "`{}` is read and written", name);
            check(written_.contains(stage) || written_before_.contains(stage), "`{}` is read before a step writes it",
                  name);
        }
        if (problems_.empty()) problems_ = verify_flow(pipeline_, kernel_);
        for (std::string& problem : problems_) problem = fmt::format("kernel `{}`: {}", kernel_.name, problem);
        return std::move(problems_);
    }

    [[nodiscard]] const std::set<int>& written() const { return written_; }
    /// The stages that are read before the kernel waits for the step before; none where it waits at once.
    [[nodiscard]] const std::optional<std::set<int>>& read_early() const { return read_early_; }

private:
    using Scope = std::set<ir::VarId>;

    /// Its points read what other threads wrote before a barrier or in a launch before.
    [[nodiscard]] bool reads_other_lines(int stage) const {
        const auto& scan = pipeline_.stages[static_cast<std::size_t>(stage)].scan;
        return scan && !scan->across.empty();
    }

    template <class... Args>
    bool check(bool ok, fmt::format_string<const Args&...> format, const Args&... args) {
        if (!ok) problems_.push_back(fmt::format(format, args...));
        return ok;
    }

    // ------------------------------------------------------------------------------------------------------ the launch

    void launch() {
        std::int64_t threads = 1;
        for (const int n : kernel_.block) {
            check(n >= 1, "a block has {} threads in a direction", n);
            threads *= std::clamp<std::int64_t>(n, 1, kMostThreads + 1);
        }
        check(threads <= kMostThreads, "a block has {} threads, more than {}", threads, kMostThreads);
        check(kernel_.block[2] <= kMostThreadsZ, "a block has {} threads in z, more than {}", kernel_.block[2],
              kMostThreadsZ);
        for (const ir::Expr& e : kernel_.grid) {
            if (e) size_expression(e, "the grid");
        }
        if (kernel_.repetitions) size_expression(kernel_.repetitions, "the number of launches");
        for (const Argument& argument : kernel_.arguments)
            check(!argument.repetition || kernel_.repetitions, "a kernel that is launched once asks how often it was");
    }

    /// What the host evaluates in 64 bits (codegen/emit/c/wide_expr.h).
    void size_expression(const ir::Expr& e, std::string_view what) {
        if (!expression(e, Type::Int32, what)) return;
        ir::for_each_node(e, [&](const ir::Expr& n) {
            const auto* binary = ir::as<ir::Binary>(n);
            const auto* unary = ir::as<ir::Unary>(n);
            const bool bits =
                (binary != nullptr && binary->op >= ir::BinaryOp::BitAnd && binary->op <= ir::BinaryOp::Shr) ||
                (unary != nullptr && unary->op == ir::UnaryOp::BitNot);
            const bool known = (binary != nullptr || unary != nullptr) && !bits;
            const bool leaf = ir::as_int(n) || ir::as<ir::SizeRef>(n) != nullptr;
            const bool choice = ir::as<ir::Select>(n) != nullptr;
            if (!known && !leaf && !choice) check(false, "{}, `{}`, is more than arithmetic of sizes", what, text(e));
        });
    }

    void shared() {
        const std::int64_t most = gpu_.shared_per_block;
        for (const SharedArray& array : kernel_.shared) {
            std::int64_t count = 1;
            for (const std::int64_t extent : array.extents) {
                check(extent >= 1, "shared array `{}` has extent {}", array.name, extent);
                count *= std::clamp<std::int64_t>(extent, 1, most + 1);
                count = std::min(count, most + 1);  // more is too much, however much
            }
            locals_.push_back({array.type, array.extents.size()});
            local_names_.push_back(array.name);
            if (!check(count * ir::bytes(array.type) <= most, "shared array `{}` is larger than {} bytes", array.name,
                       most))
                return;
            check(array.offset < 0 || array.offset % kSharedAlignment == 0,
                  "shared array `{}` begins at byte {}, no multiple of {}", array.name, array.offset, kSharedAlignment);
            check(array.pitch % kSharedAlignment == 0 && (array.pitch == 0 || array.offset >= 0),
                  "shared array `{}` has a pitch of {} bytes", array.name, array.pitch);
        }
        const std::int64_t own = own_bytes(kernel_), all = own + scratch_bytes(kernel_);
        check(own <= kStaticSharedBytes, "the shared arrays have {} bytes, more than {}", own, kStaticSharedBytes);
        check(all <= most, "the shared arrays and the scratch have {} bytes, more than {}", all, most);
    }

    // ----------------------------------------------------------------------------------------------------- expressions

    /// For messages only: it takes its time.
    std::string text(const ir::Expr& e) const { return expression_text(pipeline_, e, local_names_); }

    [[nodiscard]] bool known(ir::VarId var) const {
        return var >= 0 && var < static_cast<ir::VarId>(pipeline_.variables.size());
    }
    [[nodiscard]] const ir::VariableInfo& info(ir::VarId var) const {
        return pipeline_.variables[static_cast<std::size_t>(var)];
    }

    bool expression(const ir::Expr& e, Type type, std::string_view what) {
        if (!check(e != nullptr, "{} is missing", what)) return false;
        const std::vector<std::string> wrong = ir::verify(pipeline_, e, scope_, locals_);
        for (const std::string& problem : wrong) check(false, "{}: {}", what, problem);
        if (!wrong.empty()) return false;
        ir::for_each_node(e, [&](const ir::Expr& n) {
            const auto* read = ir::as<ir::Read>(n);
            if (read != nullptr) note_read(read->source);
        });
        return e->type == type || check(false, "{}, `{}`, is {}, not {}", what, text(e), name(e->type), name(type));
    }

    void note_read(ir::Source source) {
        if (source.kind == ir::Source::Kind::Stage) read_.insert(source.index);
    }

    void define(ir::VarId var, Type type) {
        if (!check(known(var), "variable {} is not in the table", var)) return;
        check(info(var).type == type, "variable `{}` is {}, but what it stands for is {}", info(var).name,
              name(info(var).type), name(type));
        check(defined_.insert(var).second, "variable `{}` is defined twice", info(var).name);
        scope_.insert(var);
    }

    // ------------------------------------------------------------------------------------------------------ statements

    /// What a body defines is gone behind it.
    void body(const Body& body) {
        const Scope outside = scope_;
        ++depth_;
        for (const Stmt& stmt : body) std::visit([&](const auto& s) { statement(s); }, stmt.value);
        --depth_;
        scope_ = outside;
    }

    void value_of(ir::VarId var, const ir::Expr& value) {
        expression(value, known(var) && value ? info(var).type : Type::Int32, "a value");
    }

    void statement(const Define& s) {
        value_of(s.var, s.value);
        define(s.var, known(s.var) ? info(s.var).type : Type::Int32);
        check(!s.index || (s.value && s.value->type == Type::Int32), "an index is not int32");
    }
    void statement(const Variable& s) {
        value_of(s.var, s.value);
        define(s.var, known(s.var) ? info(s.var).type : Type::Int32);
        registers_.insert(s.var);
    }
    void statement(const Assign& s) {
        value_of(s.var, s.value);
        if (!check(known(s.var) && scope_.contains(s.var), "variable {} is assigned out of scope", s.var)) return;
        check(registers_.contains(s.var), "`{}` is assigned, but a value, no variable", info(s.var).name);
    }

    /// The array's element type; none where the access is not one.
    std::optional<ir::LocalArray> access(ir::Source source, const std::vector<ir::Expr>& indices) {
        const auto i = static_cast<std::size_t>(source.index);
        const std::size_t count = source.kind == ir::Source::Kind::Input   ? pipeline_.inputs.size()
                                  : source.kind == ir::Source::Kind::Stage ? pipeline_.stages.size()
                                                                           : locals_.size();
        if (!check(source.index >= 0 && i < count, "array {} does not exist", source.index)) return std::nullopt;
        ir::LocalArray array;
        switch (source.kind) {
            case ir::Source::Kind::Input: array = {pipeline_.inputs[i].type, pipeline_.inputs[i].rank()}; break;
            case ir::Source::Kind::Stage: array = {pipeline_.stages[i].type, pipeline_.stages[i].dims.size()}; break;
            case ir::Source::Kind::Local: array = locals_[i]; break;
        }
        check(indices.size() == array.rank, "`{}` has {} dimensions, not {}", array_name(source), array.rank,
              indices.size());
        for (const ir::Expr& index : indices) expression(index, Type::Int32, "an index");
        return array;
    }

    [[nodiscard]] const std::string& array_name(ir::Source source) const {
        const auto i = static_cast<std::size_t>(source.index);
        if (source.kind == ir::Source::Kind::Input) return pipeline_.inputs[i].name;
        return is_local(source) ? kernel_.shared[i].name : pipeline_.stages[i].name;
    }

    void note_write(ir::Source source) {
        check(source.kind != ir::Source::Kind::Input, "input `{}` is written", array_name(source));
        if (source.kind == ir::Source::Kind::Stage) written_.insert(source.index);
    }

    void width(ir::Source source, std::size_t count, Type type) {
        const bool power = count == 1 || count == 2 || count == 4 || count == 8 || count == 16;
        check(power && static_cast<std::int64_t>(count) * ir::bytes(type) <= fusion::kAccessBytes,
              "an access to `{}` has {} elements of {} bytes", array_name(source), count, ir::bytes(type));
    }

    void statement(const Load& s) {
        const auto array = access(s.array, s.indices);
        if (!array) return;
        width(s.array, s.vars.size(), array->type);
        note_read(s.array);
        for (const ir::VarId var : s.vars) define(var, array->type);
    }
    void statement(const Store& s) {
        if (s.guard) expression(s.guard, Type::Bool, "a guard");
        const auto array = access(s.array, s.indices);
        if (!array) return;
        width(s.array, s.values.size(), array->type);
        note_write(s.array);
        for (const ir::Expr& value : s.values) expression(value, array->type, "a stored value");
    }
    void statement(const Atomic& s) {
        check(s.op < ir::ReduceOp::Any, "an update with `{}`", name(s.op));
        const auto array = access(s.array, s.indices);
        if (!array) return;
        check(s.exclusive || ir::bytes(array->type) > 2 || array->type == Type::Float16,
              "no update of {} is indivisible", name(array->type));
        note_write(s.array);
        expression(s.value, array->type, "the value of an update");
    }

    void statement(const Copy& s) {
        const auto to = access(s.to, s.to_indices), from = access(s.from, s.from_indices);
        if (!to || !from) return;
        check(is_local(s.to) && !is_local(s.from), "a copy from `{}` to `{}` is not from global to shared memory",
              array_name(s.from), array_name(s.to));
        check(to->type == from->type, "a copy of {} is made to {}", name(from->type), name(to->type));
        width(s.from, s.count, from->type);
        check(static_cast<std::int64_t>(s.count) * ir::bytes(from->type) >= kCopyBytes,
              "a copy from `{}` has fewer than {} bytes", array_name(s.from), kCopyBytes);
        note_read(s.from);
    }
    void statement(const Commit&) {}
    void statement(const Wait& s) { check(s.pending >= 0, "a wait for all but {} batches", s.pending); }
    void statement(const Shuffle& s) {
        value_of(s.var, s.value);
        if (expression(s.amount, Type::Int32, "a shuffle's amount") && s.from != Shuffle::From::Index) {
            const std::int64_t amount = ir::as_int(s.amount).value_or(0);
            if (amount < 1 || amount > 31)
                check(false, "a shuffle's amount, `{}`, is no constant from 1 to 31", text(s.amount));
        }
        define(s.var, known(s.var) ? info(s.var).type : Type::Int32);
    }
    void statement(const For& s) {
        expression(s.lo, Type::Int32, "a bound");
        expression(s.hi, Type::Int32, "a bound");
        expression(s.step, Type::Int32, "a step");
        check(ir::as_int(s.step).value_or(1) >= 1, "a step is not positive");
        const Scope outside = scope_;
        define(s.var, Type::Int32);
        body(s.body);
        scope_ = outside;
    }
    void statement(const If& s) {
        expression(s.condition, Type::Bool, "a condition");
        body(s.then);
        body(s.otherwise);
    }
    void statement(const Barrier& s) {
        if (s.scope != Barrier::Scope::Step) return;
        check(depth_ == 1, "a wait for the step before stands in a branch or a loop");
        check(!read_early_, "a second wait for the step before");
        for (const int stage : written_) {
            check(false, "`{}` is written before the wait for the step before",
                  pipeline_.stages[static_cast<std::size_t>(stage)].name);
        }
        read_early_ = read_;
    }
    void statement(const Remark&) {}

    const ir::Pipeline& pipeline_;
    const fusion::Gpu& gpu_;
    const Kernel& kernel_;
    const std::set<int>& written_before_;
    std::vector<ir::LocalArray> locals_;
    std::vector<std::string> local_names_;
    Scope scope_, defined_, registers_;
    std::set<int> read_, written_;  ///< stages
    std::optional<std::set<int>> read_early_;
    int depth_ = 0;  ///< bodies that the statement is in
    std::vector<std::string> problems_;
};

/// The first variant whose needs hold is launched: the ones that need more stand first, and the last one needs nothing.
bool well_ordered(const Step& step) {
    for (std::size_t i = 1; i < step.variants.size(); ++i) {
        const Kernel& before = step.variants[i - 1];
        const bool same = before.layout == step.variants[i].layout;
        if (before.least_grid > 0 && !before.extent && same && before.layout == Layout::Dense &&
            before.least_grid <= step.variants[i].least_grid)
            return false;
        const bool may_be_same = before.layout == Layout::Wide || before.least_grid > 0;
        if (before.layout > step.variants[i].layout || (same && !may_be_same)) return false;
    }
    return !step.variants.empty() && step.variants.back().layout != Layout::Wide &&
           step.variants.back().least_grid == 0;
}

/// Whatever the sizes are.
bool is_launched(const Step& step) {
    return std::all_of(step.variants.begin(), step.variants.end(), [](const Kernel& kernel) {
        return std::all_of(kernel.grid.begin(), kernel.grid.end(),
                           [](const ir::Expr& e) { return !e || ir::as_int(e).value_or(0) >= 1; });
    });
}

/// A kernel that waits late begins when the one before in the stream has waited for all before that. It may be any of
/// the steps back to the last one that is certainly launched. `written`: by each of the steps before.
std::vector<std::string> verify_early_reads(const Program& program, const Kernel& kernel, const std::set<int>& read,
                                            const std::vector<std::set<int>>& written) {
    for (std::size_t before = written.size(); before-- > 0;) {
        for (const int stage : read) {
            if (!written[before].contains(stage)) continue;
            return {fmt::format("kernel `{}`: `{}` is read before the wait for the step that writes it", kernel.name,
                                program.pipeline.stages[static_cast<std::size_t>(stage)].name)};
        }
        if (is_launched(program.steps[before])) return {};
    }
    return {fmt::format("kernel `{}`: it waits late, and no step before is certainly launched", kernel.name)};
}

}  // namespace

std::vector<std::string> verify(const Program& program) {
    std::vector<std::string> problems;
    std::set<int> written;
    std::vector<std::set<int>> written_by;
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
        const Step& step = program.steps[i];
        if (!well_ordered(step))
            problems.push_back(
                fmt::format("step {}: the variants are not wide, dense, general, the last one for "
                            "everything",
                            i));
        std::set<int> now;
        for (const Kernel& kernel : step.variants) {
            Verifier verifier(program, kernel, written);
            const std::vector<std::string> wrong = verifier.run();
            problems.insert(problems.end(), wrong.begin(), wrong.end());
            if (verifier.read_early()) {
                const auto early = verify_early_reads(program, kernel, *verifier.read_early(), written_by);
                problems.insert(problems.end(), early.begin(), early.end());
            }
            now.insert(verifier.written().begin(), verifier.written().end());
        }
        written.insert(now.begin(), now.end());
        written_by.push_back(std::move(now));
    }
    for (const ir::Output& output : program.pipeline.outputs) {
        if (!written.contains(output.stage))
            problems.push_back(fmt::format("no step writes the output `{}`", output.buffer.name));
    }
    return problems;
}

}  // namespace pipec::codegen::kernel
