// One kernel as text: its head, then a line or a block for each statement.
#include "codegen/emit/cuda/cuda_kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "codegen/emit/c/c_expr.h"
#include "codegen/emit/c/c_types.h"
#include "codegen/emit/cuda/division_work.h"
#include "codegen/emit/cuda/kernel_uses.h"
#include "codegen/emit/cuda/known_conditions.h"
#include "codegen/kernel/kernel_flow.h"
#include "codegen/kernel/shared_memory.h"
#include "fusion/group_fields.h"
#include "ir/build.h"

namespace pipec::codegen {

namespace {

using ir::ReduceOp;
using ir::Source;
using ir::Type;

constexpr std::string_view kAllLanes = "0xffffffffu";
/// Columns that fit into a line at any usual depth.
constexpr std::size_t kShortLine = 100;

/// What a piece of code changes: nodes that depend on it have another value behind it.
struct Changes {
    std::set<ir::VarId> variables;
    std::set<Source> arrays;
    bool barrier = false;  ///< what others wrote into shared memory is seen: other threads, copies

    void add(const kernel::Stmt& stmt) {
        if (const auto* n = std::get_if<kernel::Assign>(&stmt.value)) variables.insert(n->var);
        for (const Access& access : accesses_of(stmt)) {
            if (access.writes) arrays.insert(access.array);
        }
        barrier = barrier || std::holds_alternative<kernel::Barrier>(stmt.value) ||
                  std::holds_alternative<kernel::Wait>(stmt.value);
    }
    [[nodiscard]] bool touch(const ir::Expr& e) const {
        if (const auto* n = ir::as<ir::Variable>(e)) return variables.count(n->id) > 0;
        const auto* n = ir::as<ir::Read>(e);
        return n != nullptr && (arrays.count(n->source) > 0 || (barrier && n->source.kind == Source::Kind::Local));
    }
};

std::set<ir::VarId> changing_variables(const kernel::Kernel& kernel) {
    std::set<ir::VarId> result;
    kernel::for_each_stmt(kernel.body, [&](const kernel::Stmt& stmt) {
        if (const auto* n = std::get_if<kernel::Variable>(&stmt.value)) result.insert(n->var);
    });
    return result;
}

bool waits_later(const kernel::Kernel& kernel) {
    return std::any_of(kernel.body.begin(), kernel.body.end(), [](const kernel::Stmt& stmt) {
        const auto* n = std::get_if<kernel::Barrier>(&stmt.value);
        return n != nullptr && n->scope == kernel::Barrier::Scope::Step;
    });
}

class KernelWriter {
public:
    KernelWriter(Writer& out, const kernel::Program& program, const kernel::Kernel& kernel, const CodeNames& names,
                 const std::optional<StoreParts>& parts, Helpers& helpers);
    void write(const std::string& function, Density density);

private:
    void declare_specials();
    void declare_shared();
    void body(const kernel::Body& body);
    void forget(const Changes& changes);

    void stmt(const kernel::Define& n);
    void stmt(const kernel::Variable& n);
    void stmt(const kernel::Assign& n);
    void stmt(const kernel::Load& n);
    void stmt(const kernel::Store& n);
    void stmt(const kernel::Atomic& n);
    void stmt(const kernel::Shuffle& n);
    void stmt(const kernel::Barrier& n);
    void stmt(const kernel::Copy& n);
    void stmt(const kernel::Commit&) { out_.line("__pipeline_commit();"); }
    void stmt(const kernel::Wait& n) { out_.line("wait_for_copies<{}>();", n.pending); }
    void stmt(const kernel::For& n);
    void stmt(const kernel::If& n);
    void choice(const kernel::If& n, const ir::Expr& condition);
    void otherwise(const kernel::If& n);
    [[nodiscard]] bool can_repeat(const kernel::If& n) const;
    void stmt(const kernel::Remark& n) { out_.line("// {}", comment_text(n.text)); }

    /// A name for a variable of the kernel, the program's where that is free.
    std::string local(ir::VarId var) { return locals_.add(wanted_name(var)); }
    /// Of a value that only another variable uses, which is the same then: that one's name.
    [[nodiscard]] const std::string& wanted_name(ir::VarId var) const {
        const auto copy = copies_.find(var);
        return info(copy == copies_.end() ? var : copy->second).name;
    }
    [[nodiscard]] const ir::VariableInfo& info(ir::VarId var) const {
        return program_.pipeline.variables.at(static_cast<std::size_t>(var));
    }
    Type type_of(Source source) const { return element_type(program_, kernel_, source); }
    /// An element, as something that can be assigned to, and its address.
    std::string element(Source source, const std::vector<Text>& indices);
    std::string address(Source source, const std::vector<Text>& indices);
    /// The element's value: through the schedule's cache where the kernel does not write the array.
    std::string read_element(Source source, const std::vector<Text>& indices);
    [[nodiscard]] bool has_cache(Source source) const;
    std::string shared_element(std::size_t array, const std::vector<Text>& indices);
    void store_pack(const std::string& address, const std::vector<std::string>& values, bool in_parts);
    /// Between values and what memory holds of them.
    std::string stored(Type type, const Text& value);
    Text loaded(Type type, const std::string& element);

    Writer& out_;
    const kernel::Program& program_;
    const kernel::Kernel& kernel_;
    const CodeNames& names_;
    const std::optional<StoreParts>& parts_;
    Helpers& helpers_;
    Uses uses_;
    KernelParameters parameters_;
    Names locals_;
    std::map<ir::VarId, ir::VarId> copies_;  ///< by what they are copies of
    KnownConditions known_;
    std::vector<std::string> shared_;
    ExpressionWriter expressions_;
};

Naming naming_of(const CodeNames& names, std::function<std::string(const ir::Read&, const std::vector<Text>&)> read) {
    return {[&names](int size) { return names.sizes[static_cast<std::size_t>(size)]; },
            [&names](int param) { return names.params[static_cast<std::size_t>(param)]; }, std::move(read)};
}

KernelWriter::KernelWriter(Writer& out, const kernel::Program& program, const kernel::Kernel& kernel,
                           const CodeNames& names, const std::optional<StoreParts>& parts, Helpers& helpers)
    : out_(out),
      program_(program),
      kernel_(kernel),
      names_(names),
      parts_(parts),
      helpers_(helpers),
      uses_(uses_of(kernel.body)),
      parameters_(parameters_of(program, kernel)),
      locals_(names.taken),
      known_(changing_variables(kernel)),
      expressions_(
          program.pipeline, uses_,
          naming_of(names, [this](const ir::Read& read,
                                  const std::vector<Text>& indices) { return read_element(read.source, indices); }),
          locals_, helpers, out, &program.model) {
    kernel::for_each_stmt(kernel.body, [&](const kernel::Stmt& stmt) {
        const auto* n = std::get_if<kernel::Define>(&stmt.value);
        const auto* original = n == nullptr ? nullptr : ir::as<ir::Variable>(n->value);
        if (original != nullptr && uses_.of(n->value) == 1) copies_.emplace(original->id, n->var);
    });
}

// --------------------------------------------------------------------------------------------------------------- head

void KernelWriter::write(const std::string& function, Density density) {
    if (kernel_.least_blocks > 0) expressions_.choose_backwards();
    for (const std::string& comment : kernel_.comments) out_.line("// {}", comment_text(comment));
    std::vector<std::string> parameters;
    for (const Source source : parameters_.reads) {
        const std::string type = view_type(names_, source, density);
        const bool is_input = source.kind == Source::Kind::Input;
        parameters.push_back(
            fmt::format("{} {}", is_input ? type : "ReadOnly<" + type + ">", source_name(names_, source)));
    }
    for (const Source source : parameters_.writes) {
        parameters.push_back(fmt::format("{} {}", view_type(names_, source, density), source_name(names_, source)));
    }
    for (const int size : parameters_.sizes) {
        parameters.push_back(fmt::format("int32_t {}", names_.sizes[static_cast<std::size_t>(size)]));
    }
    for (const int param : parameters_.params) {
        const auto i = static_cast<std::size_t>(param);
        parameters.push_back(fmt::format("{} {}", value_type(program_.pipeline.params[i].type), names_.params[i]));
    }
    for (const kernel::Argument& argument : parameters_.arguments) {
        const std::string name = local(argument.var);
        parameters.push_back((argument.divides ? "Divisor " : "int32_t ") + name);
        expressions_.bind(argument.var, name,
                          {std::max(argument.least, -kernel::kVariableLimit + 1), kernel::kVariableLimit - 1});
    }
    if (density == Density::Template) out_.add("template <bool dense>");
    const int threads = kernel_.block[0] * kernel_.block[1] * kernel_.block[2];
    if (parts_) out_.add("template <int store_bytes>");
    std::string least = fmt::format("{}", kernel_.least_blocks);
    if (parts_ && parts_->least_blocks != kernel_.least_blocks)
        least = fmt::format("store_bytes == {} ? {} : {}", parts_->bytes, least, parts_->least_blocks);
    const std::string bounds = least == "0" ? fmt::format("{}", threads) : fmt::format("{}, {}", threads, least);
    out_.open(
        fmt::format("__global__ void __launch_bounds__({}) {}({})", bounds, function, fmt::join(parameters, ", ")));
    if (!waits_later(kernel_)) out_.line("wait_for_previous_kernel();");
    declare_shared();
    declare_specials();
    body(kernel_.body);
    out_.close();
    out_.blank();
}

void KernelWriter::declare_specials() {
    using Id = kernel::Special::Id;
    static constexpr std::array<std::string_view, 9> kNames = {"threadIdx.x", "threadIdx.y", "threadIdx.z",
                                                               "blockIdx.x",  "blockIdx.y",  "blockIdx.z",
                                                               "gridDim.x",   "gridDim.y",   "gridDim.z"};
    for (const kernel::Special& special : kernel_.specials) {
        if (!uses_.variable(special.var)) continue;
        const auto id = static_cast<std::size_t>(special.id);
        const std::string name = local(special.var);
        out_.line("{} {} = int32_t({});", expressions_.local_type(Type::Int32), name, kNames[id]);
        // Which nvcc does not conclude from where it comes: then a division by 8 is a shift.
        out_.line("__builtin_assume({} >= 0);", name);
        const std::int64_t blocks = id % 3 == 0 ? kernel::kVariableLimit - 1 : 65535;
        const bool is_thread = special.id <= Id::ThreadZ;
        expressions_.bind(special.var, name,
                          {special.id >= Id::GridX ? 1 : 0, is_thread ? kernel_.block[id] - 1 : blocks});
        if (kernel_.shares_reductions && special.id == Id::ThreadX) expressions_.share_over_lanes(name);
    }
}

/// Arrays that share memory are pointers into the scratch of the block.
void KernelWriter::declare_shared() {
    std::string scratch;
    if (dynamic_bytes(kernel_) > 0) {
        scratch = "dynamic_shared";
    } else if (const std::int64_t bytes = scratch_bytes(kernel_)) {
        scratch = locals_.add("scratch");
        out_.line("__shared__ __align__(16) unsigned char {}[{}];", scratch, bytes);
    }
    for (std::size_t i = 0; i < kernel_.shared.size(); ++i) {
        const kernel::SharedArray& array = kernel_.shared[i];
        shared_.push_back(locals_.add(array.name));
        const std::string_view type = storage_type(array.type);
        if (array.offset >= 0) {
            const std::string place = array.offset > 0 ? fmt::format("{} + {}", scratch, array.offset) : scratch;
            out_.line("{0}* const {1} = reinterpret_cast<{0}*>({2});", type, shared_.back(), place);
            continue;
        }
        const auto widest = parameters_.widest.find({Source::Kind::Local, static_cast<int>(i)});
        const std::string align =
            widest == parameters_.widest.end() ? "" : fmt::format("__align__({}) ", widest->second);
        out_.line("__shared__ {}{} {}[{}];", align, type, shared_.back(), bytes_of(array) / ir::bytes(array.type));
    }
}

// ------------------------------------------------------------------------------------------------------------- memory

/// Row-major; constant parts of the indices are added up here.
std::string KernelWriter::shared_element(std::size_t array, const std::vector<Text>& indices) {
    const std::vector<std::int64_t>& extents = kernel_.shared.at(array).extents;
    const std::vector<std::int64_t> strides = strides_of(kernel_.shared.at(array));
    std::vector<Text> terms;
    for (std::size_t d = 0; d < extents.size(); ++d) {
        if (extents[d] == 1 && extents.size() > 1) continue;
        terms.push_back(strides[d] == 1 ? indices[d]
                                        : infix("*", Precedence::Product, indices[d], {fmt::format("{}", strides[d])}));
    }
    if (terms.empty()) return fmt::format("{}[0]", shared_.at(array));
    Text sum = terms.front();
    for (std::size_t i = 1; i < terms.size(); ++i) sum = infix("+", Precedence::Sum, sum, terms[i]);
    return fmt::format("{}[{}]", shared_.at(array), sum.text);
}

std::string KernelWriter::element(Source source, const std::vector<Text>& indices) {
    if (source.kind == Source::Kind::Local) return shared_element(static_cast<std::size_t>(source.index), indices);
    return call_text(source_name(names_, source), indices).text;
}

std::string KernelWriter::address(Source source, const std::vector<Text>& indices) {
    if (source.kind == Source::Kind::Local) return "&" + element(source, indices);
    return call_text(source_name(names_, source) + ".at", indices).text;
}

bool KernelWriter::has_cache(Source source) const {
    const auto& reads = parameters_.reads;
    return kernel_.load_cache != fusion::LoadCache::Default &&
           std::find(reads.begin(), reads.end(), source) != reads.end();
}

std::string KernelWriter::read_element(Source source, const std::vector<Text>& indices) {
    if (!has_cache(source)) return element(source, indices);
    return fmt::format("__ld{}({})", fusion::name(kernel_.load_cache), address(source, indices));
}

std::string KernelWriter::stored(Type type, const Text& value) {
    return type == Type::Float16 ? call_text(helpers_.use("float_to_half"), {value}).text : value.text;
}

Text KernelWriter::loaded(Type type, const std::string& element) {
    if (type == Type::Bool) return infix("!=", Precedence::Equality, {element}, {"0"});
    if (type == Type::Float16) return call_text(helpers_.use("half_to_float"), {{element}});
    return {element};
}

// --------------------------------------------------------------------------------------------------------- statements

void KernelWriter::body(const kernel::Body& body) {
    std::size_t end = 0;  // of definitions that stand together: one loop finds what they reduce over the same ranges
    for (std::size_t i = 0; i < body.size(); ++i) {
        const auto value = [&](std::size_t at) {
            const auto* n = std::get_if<kernel::Define>(&body[at].value);
            return n == nullptr || n->index ? nullptr : n;
        };
        const bool defines = value(i) != nullptr;
        if (defines && i >= end) {
            std::vector<ir::Expr> together;
            for (end = i; end < body.size() && value(end) != nullptr; ++end) {
                if (uses_.variable(value(end)->var)) together.push_back(value(end)->value);
            }
            expressions_.begin_together(std::move(together));
        }
        std::visit([&](const auto& n) { stmt(n); }, body[i].value);
        if (defines && i + 1 == end) expressions_.end_together();
        Changes changes;
        changes.add(body[i]);
        forget(changes);
    }
}

void KernelWriter::forget(const Changes& changes) {
    const auto is_read = [&](Source source) { return uses_.sources().count(source) > 0; };
    const bool matters = changes.barrier || !changes.variables.empty() ||
                         std::any_of(changes.arrays.begin(), changes.arrays.end(), is_read);
    if (matters) expressions_.forget([&](const ir::Expr& e) { return changes.touch(e); });
}

void KernelWriter::stmt(const kernel::Define& n) {
    if (!uses_.variable(n.var)) return;
    expressions_.define(n.var, n.value, wanted_name(n.var),
                        n.index ? std::optional(kernel::kVariableLimit) : std::nullopt);
}

void KernelWriter::stmt(const kernel::Variable& n) {
    const Text value = expressions_.value(n.value);
    const std::string name = local(n.var);
    out_.line("{} {} = {};", value_type(info(n.var).type), name, value.text);
    expressions_.bind_changing(n.var, name);
}

void KernelWriter::stmt(const kernel::Assign& n) {
    const Text value = expressions_.value(n.value);
    out_.line("{} = {};", expressions_.value(ir::variable(n.var, info(n.var).type)).text, value.text);
}

void KernelWriter::stmt(const kernel::Load& n) {
    const std::vector<Text> indices = expressions_.indices(n.indices);
    const Type type = type_of(n.array);
    const bool as_it_is = type != Type::Bool && type != Type::Float16;
    const auto declare = [&](ir::VarId var, const std::string& element) {
        const std::string name = local(var);
        out_.line("{} {} = {};", expressions_.local_type(type), name, loaded(type, element).text);
        expressions_.bind(var, name);
    };
    const bool ahead = n.ahead && n.array.kind != Source::Kind::Local && !has_cache(n.array);
    if (n.vars.size() == 1)
        return declare(n.vars.front(), ahead ? "*" + address(n.array, indices) : read_element(n.array, indices));
    const std::string pack = local(n.vars.front());
    const std::string kind = ahead                ? "_ahead"
                             : has_cache(n.array) ? fmt::format("_{}", fusion::name(kernel_.load_cache))
                                                  : "";
    out_.line("auto {} = load{}<{}>({});", pack, kind, n.vars.size(), address(n.array, indices));
    for (std::size_t i = 0; i < n.vars.size(); ++i) {
        const std::string element = fmt::format("{}[{}]", pack, i);
        if (as_it_is)
            expressions_.bind(n.vars[i], element);
        else if (uses_.variable(n.vars[i]))
            declare(n.vars[i], element);
    }
}

void KernelWriter::stmt(const kernel::Store& n) {
    const ir::Expr guard = n.guard ? known_.unknown(n.guard) : nullptr;
    if (guard) expressions_.begin_block(fmt::format("if ({})", expressions_.value(guard).text));
    const std::vector<Text> indices = expressions_.indices(n.indices);
    const Type type = type_of(n.array);
    std::vector<std::string> values;
    for (const Text& value : expressions_.values(n.values)) values.push_back(stored(type, value));
    if (values.size() == 1)
        out_.line("{} = {};", element(n.array, indices), values.front());
    else
        store_pack(address(n.array, indices), values, parts_ && n.array.kind != Source::Kind::Local);
    if (guard) expressions_.end_block();
}

/// In one line where that is short, else a line for each value.
void KernelWriter::store_pack(const std::string& address, const std::vector<std::string>& values, bool in_parts) {
    const std::string head = fmt::format("store<{}{}>({}, {{", values.size(), in_parts ? ", store_bytes" : "", address);
    const std::string list = fmt::format("{}", fmt::join(values, ", "));
    if (head.size() + list.size() < kShortLine) {
        out_.line("{}{}}});", head, list);
        return;
    }
    out_.add(head);
    out_.indent();
    for (const std::string& value : values) out_.line("{},", value);
    out_.outdent();
    out_.add("});");
}

void KernelWriter::stmt(const kernel::Atomic& n) {
    const std::vector<Text> indices = expressions_.indices(n.indices);
    const Type type = type_of(n.array);
    const Text value = expressions_.value(n.value);
    if (n.exclusive) {
        const std::string cell = locals_.add("cell");
        out_.line("{}& {} = {};", storage_type(type), cell, element(n.array, indices));
        out_.line("{} = {};", cell, stored(type, expressions_.fold(n.op, type, loaded(type, cell), value)));
        return;
    }
    const std::string cell = address(n.array, indices);
    const bool is_sum = n.op == ReduceOp::Sum;
    if (ir::bits(type) >= 32 && (ir::is_int(type) ? n.op != ReduceOp::Prod : is_sum)) {
        const bool in_parts = ir::bits(type) == 64 && ir::is_int(type) && n.array.kind == Source::Kind::Local;
        const std::string_view function = is_sum                  ? in_parts ? "atomic_add_in_parts" : "atomic_add"
                                          : n.op == ReduceOp::Min ? "atomic_min"
                                                                  : "atomic_max";
        if (n.often_same) {
            const std::string_view by_warp = is_sum                  ? "warp_atomic_add"
                                             : n.op == ReduceOp::Min ? "warp_atomic_min"
                                                                     : "warp_atomic_max";
            out_.line("{}<{}>({}, {});", helpers_.use(by_warp), storage_type(type), cell, value.text);
            return;
        }
        // The template's argument follows from the cell; the value's type may be another one of the same width.
        out_.line("{}<{}>({}, {});", helpers_.use(function), storage_type(type), cell, value.text);
        return;
    }
    const std::string operand = locals_.add("operand"), old = locals_.add("old");
    out_.line("{} {} = {};", expressions_.local_type(type), operand, value.text);
    const Text updated = expressions_.fold(n.op, type, loaded(type, old), {operand});
    out_.line("{}({}, [&]({} {}) {{ return {}; }});", helpers_.use("atomic_update"), cell, storage_type(type), old,
              stored(type, updated));
}

void KernelWriter::stmt(const kernel::Shuffle& n) {
    using From = kernel::Shuffle::From;
    const Type type = n.value->type;
    const Text value = expressions_.value(n.value);
    const Text amount = expressions_.value(n.amount);
    const std::string_view which = n.from == From::Up     ? "_up"
                                   : n.from == From::Down ? "_down"
                                   : n.from == From::Xor  ? "_xor"
                                                          : "";
    Text result = call_text(fmt::format("__shfl{}_sync", which), {{std::string(kAllLanes)}, value, amount});
    // Narrower types travel as int.
    if (type == Type::Bool) result = infix("!=", Precedence::Equality, result, {"0"});
    if (ir::is_int(type) && ir::bits(type) < 32) result = call_text(value_type(type), {result});
    const std::string name = local(n.var);
    out_.line("{} {} = {};", expressions_.local_type(type), name, result.text);
    expressions_.bind(n.var, name);
}

void KernelWriter::stmt(const kernel::Barrier& n) {
    switch (n.scope) {
        case kernel::Barrier::Scope::Warp: out_.add("__syncwarp();"); return;
        case kernel::Barrier::Scope::Block: out_.add("__syncthreads();"); return;
        case kernel::Barrier::Scope::Step: out_.add("wait_for_previous_kernel();"); return;
    }
}

void KernelWriter::stmt(const kernel::Copy& n) {
    const bool through_l1 = kernel_.load_cache != fusion::LoadCache::Cg;
    out_.line("copy_async<{}{}>({}, {});", static_cast<int>(n.count) * ir::bytes(type_of(n.from)),
              through_l1 ? "" : ", false", address(n.to, expressions_.indices(n.to_indices)),
              address(n.from, expressions_.indices(n.from_indices)));
}

void KernelWriter::stmt(const kernel::For& n) {
    // The body runs again after what it changes.
    Changes changes;
    kernel::for_each_stmt(n.body, [&](const kernel::Stmt& inner) { changes.add(inner); });
    forget(changes);
    expressions_.begin_loop({n.var, n.lo, n.hi},
                            {n.step, n.unroll ? "#pragma unroll" : "#pragma unroll 1", kernel::kVariableLimit});
    body(n.body);
    expressions_.end_loop();
}

void KernelWriter::stmt(const kernel::If& n) {
    const ir::Expr condition = ir::as_int(n.condition).value_or(0) != 0 ? nullptr : known_.unknown(n.condition);
    if (can_repeat(n)) return choice(n, condition);
    if (!condition) return body(n.then);
    expressions_.begin_block(fmt::format("if ({})", expressions_.value(condition).text));
    const std::size_t before = known_.enter(condition);
    body(n.then);
    known_.leave(before);
    if (!n.otherwise.empty()) {
        expressions_.else_block();
        otherwise(n);
    }
    expressions_.end_block();
}

/// Of two ways to the same points the second one is that of few, and is to change nothing of how the first is compiled:
/// with batches there nvcc 13.0 gave kernels 64 registers instead of 32, or 32 instead of 64.
void KernelWriter::otherwise(const kernel::If& n) {
    const bool batches = expressions_.use_batches(false);
    body(n.otherwise);
    expressions_.use_batches(batches);
}

/// `otherwise` may follow `then`: it stores the same values again. Not where all would be computed again for the few
/// divisions of much work.
bool KernelWriter::can_repeat(const kernel::If& n) const {
    bool atomic = false;
    kernel::for_each_stmt(n.then, [&](const kernel::Stmt& stmt) {
        const auto* update = std::get_if<kernel::Atomic>(&stmt.value);
        atomic = atomic || (update != nullptr && update->array.kind != Source::Kind::Local);
    });
    return n.same_points && !n.otherwise.empty() && !atomic && !program_.fast_math &&
           work_per_division(n.then) < kWorkOfSlowDivision;
}

/// Two ways to the same points. The first one may note that it met operands for which it rounds otherwise: then the
/// second one follows. Without a condition the second way is for that alone.
void KernelWriter::choice(const kernel::If& n, const ir::Expr& condition) {
    const std::string test = condition ? fmt::format("if ({})", expressions_.value(condition).text) : "";
    const std::size_t before = out_.place();
    expressions_.begin_block(test);
    const std::size_t inside = out_.place();
    const std::string again = locals_.add("again"), rare = locals_.add("rare");
    expressions_.note_rare(rare);
    const std::size_t known = condition ? known_.enter(condition) : 0;
    body(n.then);
    if (condition) known_.leave(known);
    if (!expressions_.note_rare("")) {
        if (!condition) {
            expressions_.end_block();
            out_.unwrap(before);
            return;
        }
        expressions_.else_block();
        otherwise(n);
        expressions_.end_block();
        return;
    }
    out_.insert(inside, fmt::format("Rare {};", rare));
    std::string met = call_text(helpers_.use("is_rare"), {{rare}}).text;
    if (n.uniform == kernel::If::Uniform::Block) met = fmt::format("__syncthreads_or({})", met);
    if (n.uniform == kernel::If::Uniform::Warp) met = fmt::format("__any_sync({}, {})", kAllLanes, met);
    out_.line("{} = {};", again, met);
    // Other lanes may store the same points, and a vote says nothing about the order of memory.
    if (n.uniform == kernel::If::Uniform::Warp) out_.add("__syncwarp();");
    expressions_.end_block();
    out_.insert(before, fmt::format("bool {} = true;", again));
    expressions_.begin_block(fmt::format("if ({})", again));
    otherwise(n);
    expressions_.end_block();
}

}  // namespace

void write_kernel(Writer& out, const kernel::Program& program, const kernel::Kernel& kernel, const CodeNames& names,
                  const std::string& function, Density density, const std::optional<StoreParts>& parts,
                  Helpers& helpers) {
    KernelWriter(out, program, kernel, names, parts, helpers).write(function, density);
}

}  // namespace pipec::codegen
