// Sources (inputs, stages, accumulates) are of two kinds. Free ones have a value wherever they are asked: each of their
// own reads is clamped, guarded, or of another free one. Bounded ones have a shape, and are read with care.
#include "random/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "ir/type.h"

namespace pipec::testing {

using ir::Type;

namespace {

const std::vector<Type> kStageTypes = {Type::Int32,   Type::Float32, Type::UInt8,  Type::Int16,
                                       Type::Float64, Type::UInt16,  Type::UInt32, Type::Int64,
                                       Type::Float16, Type::Int8,    Type::UInt64, Type::Bool};

/// Functions of the file: of the kind that gives a value, and of the kind that makes stages.
constexpr const char* kFunctions =
    "fn cross(f, i) = let a = f(i - 1), b = f(i + 2) in if i > 2 then a - b else a + b\n\n"
    "fn spread(f) {\n"
    "    near(..k, i) = f(..k, i) + f(..k, i - 1)\n"
    "    far(..k, i) = near(..k, i + 1) * near(..k, i - 3)\n"
    "    return far\n"
    "}\n\n";

struct ProgramSource {
    std::string name;
    Type type;
    std::size_t rank;
    std::vector<std::string> extents;  ///< of bounded ones: each dimension is 0..extent; empty for free ones
    int scale = 1;                     ///< how many times finer than the output it reads what is below it, at most
};

struct LocalVariable {
    std::string name;
    Type type;
};

class ProgramWriter {
public:
    ProgramWriter(const Tape& tape, std::string name) : choices_(tape), name_(std::move(name)) {}
    std::string program();

private:
    std::size_t choose(std::size_t count) { return choices_.choose(count); }
    bool rarely(std::size_t odds) { return choices_.rarely(odds); }
    template <class T>
    const T& pick(const std::vector<T>& list) {
        return choices_.pick(list);
    }
    std::string fresh(const std::string& prefix) { return prefix + std::to_string(++names_); }

    // Expressions: each returns text that may stand as an operand.
    std::string expr(Type type, int depth);
    std::string leaf(Type type);
    std::string literal(Type type);
    std::string arithmetic(Type type, int depth);
    std::string logical(int depth);
    std::string conditional(Type type, int depth);
    std::string let(Type type, int depth);
    std::string reduction(Type type, int depth);
    std::string conversion(Type type, int depth);
    std::string function(Type type, int depth);
    std::string condition(int depth);
    std::string affine_condition();

    // Reads.
    std::string read(const ProgramSource& source, int depth);
    std::string read_as(Type type, int depth);
    /// `grows`: the array has what is asked for, and so has more than the points that read it.
    std::string affine_index(int scale, bool grows = true);
    std::string inside(const std::string& index, const std::string& extent);

    // Definitions.
    std::string dims(std::size_t rank);
    void stage();
    void explicit_stage();
    void scan();
    void accumulate();
    void whole_image();
    void levels();
    void boundary();
    std::string output();
    std::string input();

    Choices choices_;
    std::string name_;
    int names_ = 0;
    std::string body_;
    std::vector<ProgramSource> sources_;
    std::vector<LocalVariable> params_;
    std::vector<std::string> indices_;  ///< index variables in scope
    std::vector<LocalVariable> lets_;
    int reductions_ = 0;  ///< nested around here
    int wide_loops_ = 0;  ///< in the whole program
    int scale_ = 1;       ///< of the stage that is being defined
    bool imports_ = false;
    bool functions_ = false;
};

// ------------------------------------------------------------------------------------------------- expressions

bool computes(Type t) {
    return ir::is_float(t) || (ir::is_int(t) && ir::bits(t) >= 32);
}

std::string ProgramWriter::literal(Type type) {
    if (type == Type::Bool) return choose(2) == 0 ? "true" : "false";
    if (ir::is_float(type)) {
        const std::string text = pick<std::string>({"1.0", "0.5", "2.0", "0.25", "3.0", "0.1", "100.0", "1e-3"});
        return type == Type::Float32 ? text : fmt::format("{}({})", ir::name(type), text);
    }
    const std::string text = pick<std::string>({"1", "2", "3", "0", "7", "16", "100", "127"});
    return type == Type::Int32 ? text : fmt::format("{}({})", ir::name(type), text);
}

std::string ProgramWriter::leaf(Type type) {
    std::vector<std::string> candidates;
    for (const LocalVariable& v : lets_) {
        if (v.type == type) candidates.push_back(v.name);
    }
    for (const LocalVariable& v : params_) {
        if (v.type == type) candidates.push_back(v.name);
    }
    if (type == Type::Int32) candidates.insert(candidates.end(), indices_.begin(), indices_.end());
    if (candidates.empty() || choose(3) == 0) return literal(type);
    return pick(candidates);
}

std::string ProgramWriter::expr(Type type, int depth) {
    if (depth <= 0) return choose(2) == 0 ? leaf(type) : read_as(type, 0);
    if (type == Type::Bool) return logical(depth);
    switch (choose(9)) {
        case 0: return leaf(type);
        case 1:
        case 2: return read_as(type, depth - 1);
        case 3: return conditional(type, depth - 1);
        case 4: return let(type, depth - 1);
        case 5: return conversion(type, depth - 1);
        case 6: return reduction(type, depth - 1);
        case 7: return function(type, depth - 1);
        default: return arithmetic(type, depth - 1);
    }
}

std::string ProgramWriter::arithmetic(Type type, int depth) {
    if (!computes(type)) return conversion(type, depth);
    const std::vector<std::string> float_ops = {"+", "-", "*", "/"};
    const std::vector<std::string> int_ops = {"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"};
    if (rarely(8)) {
        const bool negates = ir::is_float(type) || choose(2) == 0;
        return fmt::format("({}{})", negates ? "-" : "~", expr(type, depth));
    }
    const std::string op = pick(ir::is_float(type) ? float_ops : int_ops);
    const std::string a = expr(type, depth);
    return fmt::format("({} {} {})", a, op, expr(type, depth));
}

std::string ProgramWriter::function(Type type, int depth) {
    if (!computes(type)) return conversion(type, depth);
    const std::string a = expr(type, depth);
    if (ir::is_float(type)) {
        const std::vector<std::string> unary = {"abs",   "floor", "sqrt", "round", "ceil", "trunc", "rsqrt",
                                                "fract", "exp",   "sin",  "tanh",  "log",  "exp2",  "atan"};
        const std::vector<std::string> binary = {"min", "max", "hypot", "atan2", "pow"};
        if (choose(2) == 0) return fmt::format("{}({})", pick(unary), a);
        if (rarely(3)) {
            const std::string b = expr(type, depth - 1);
            return fmt::format("lerp({}, {}, {})", a, b, expr(type, depth - 1));
        }
        return fmt::format("{}({}, {})", pick(binary), a, expr(type, depth - 1));
    }
    switch (choose(4)) {
        case 0: return fmt::format("min({}, {})", a, expr(type, depth - 1));
        case 1: return fmt::format("max({}, {})", a, expr(type, depth - 1));
        case 2: return fmt::format("clamp({}, {}, {})", a, literal(type), expr(type, depth - 1));
        default: return ir::is_signed_int(type) ? fmt::format("abs({})", a) : a;
    }
}

std::string ProgramWriter::conversion(Type type, int depth) {
    const Type from = pick<Type>({Type::Int32, Type::Float32, Type::Int64, Type::Float64, Type::UInt32, Type::Float16});
    if (type == Type::Bool) return condition(depth);
    const bool saturate = ir::is_int(type) && choose(3) == 2;
    const std::string name(ir::name(type));
    return fmt::format("{}({})", saturate ? "saturate<" + name + ">" : name, expr(from, depth));
}

std::string ProgramWriter::affine_condition() {
    if (indices_.empty()) return "true";
    const std::string& v = pick(indices_);
    switch (choose(6)) {
        case 0: return fmt::format("{} > {}", v, choose(5));
        case 1: return fmt::format("{} % 2 == 0", v);
        case 2: return fmt::format("0 <= {} < {}", v, choose(8));
        case 3: return fmt::format("{} + {} <= {}", v, choose(4), pick(indices_));
        case 4: return fmt::format("{} / 2 != {}", v, choose(4));
        default: return fmt::format("{} % {} > {}", v, 2 + choose(3), choose(2));
    }
}

std::string ProgramWriter::condition(int depth) {
    if (choose(2) == 0) return fmt::format("({})", affine_condition());
    const Type type = pick<Type>({Type::Int32, Type::Float32, Type::UInt8, Type::Float64, Type::Int64});
    const std::string op = pick<std::string>({"<", "<=", ">", ">=", "==", "!="});
    const std::string a = expr(type, depth);
    if (rarely(6)) return fmt::format("({} <= {} < {})", literal(type), a, expr(type, depth - 1));
    return fmt::format("({} {} {})", a, op, expr(type, depth - 1));
}

std::string ProgramWriter::logical(int depth) {
    switch (choose(6)) {
        case 0: return condition(depth - 1);
        case 1: {
            const std::string a = logical(depth - 2);
            return fmt::format("({} and {})", a, condition(depth - 2));
        }
        case 2: {
            const std::string a = condition(depth - 2);
            return fmt::format("({} or {})", a, condition(depth - 2));
        }
        case 3: return fmt::format("(not {})", condition(depth - 1));
        case 4: return fmt::format("isnan({})", expr(Type::Float32, depth - 1));
        default: return leaf(Type::Bool);
    }
}

std::string ProgramWriter::conditional(Type type, int depth) {
    const std::string c = condition(depth - 1);
    const std::string a = expr(type, depth);
    const std::string b = expr(type, depth);
    return rarely(4) ? fmt::format("select({}, {}, {})", c, a, b) : fmt::format("(if {} then {} else {})", c, a, b);
}

std::string ProgramWriter::let(Type type, int depth) {
    const Type bound = pick<Type>({Type::Int32, Type::Float32, Type::Float64, Type::UInt8});
    const std::string value = fmt::format("{}({})", ir::name(bound), expr(bound, depth));
    lets_.push_back({fresh("t"), bound});
    const std::string name = lets_.back().name;
    const std::string body = expr(type, depth);
    lets_.pop_back();
    return fmt::format("(let {} = {} in {})", name, value, body);
}

std::string ProgramWriter::reduction(Type type, int depth) {
    if (reductions_ >= 2 || !computes(type)) return conversion(type, depth);
    ++reductions_;
    const std::string variable = fresh("i");
    std::string range = fmt::format("{}..{}", choose(2) == 0 ? "0" : "-1", 1 + choose(4));
    if (!indices_.empty() && rarely(4)) range = fmt::format("0..{} % 4 + 1", pick(indices_));
    if (rarely(5) && wide_loops_ == 0) {  // a loop, not unrolled; two nested ones would take the interpreter too long
        range = "-40..=40";
        ++wide_loops_;
    }
    indices_.push_back(variable);
    std::string result;
    if (rarely(5)) {
        result = fmt::format("{}({}({} in {}) {})", ir::name(type), choose(2) == 0 ? "any" : "all", variable, range,
                             condition(depth - 1));
        // Nothing converts from bool but integers.
        if (ir::is_float(type))
            result = fmt::format("{}(int32({}))", ir::name(type), result.substr(ir::name(type).size()));
    } else {
        const std::string op = pick<std::string>({"sum", "max", "min", "prod"});
        const std::string body = expr(type, depth - 1);
        if (rarely(6)) {
            const char* place = choose(2) == 0 ? "argmin" : "argmax";
            indices_.pop_back();
            --reductions_;
            return fmt::format("{}({}({} in {}) {})", ir::name(type), place, variable, range, body);
        }
        // A product of constants may be no int32, which is an error.
        const bool is_number = body.find_first_not_of("0123456789") == std::string::npos;
        result = fmt::format("({}({} in {}) {})", is_number ? "max" : op, variable, range, body);
    }
    indices_.pop_back();
    --reductions_;
    return result;
}

// ------------------------------------------------------------------------------------------------------- reads

std::string ProgramWriter::affine_index(int scale, bool grows) {
    if (indices_.empty()) return std::to_string(choose(3));
    const std::string v = pick(indices_);
    const auto shift = static_cast<int>(choose(5)) - 2;
    const std::string offset = shift == 0 ? "" : shift > 0 ? fmt::format(" + {}", shift) : fmt::format(" - {}", -shift);
    switch (choose(10)) {
        case 0:
        case 1:
        case 2:
        case 3: return v + offset;
        case 4:
            if (grows && (scale > 2 || reductions_ > 0)) return v + offset;
            if (grows) scale_ = std::max(scale_, 2 * scale);
            return fmt::format("2 * {}{}", v, offset);
        case 5: return fmt::format("{} / 2{}", v, offset);
        case 6: return fmt::format("({} + 1) / 2{}", v, offset);
        case 7: return fmt::format("{} % {}", v, 2 + choose(3));
        case 8: return fmt::format("{} - {}", v, pick(indices_));
        default: return fmt::format("min({}, {}){}", v, choose(8), offset);
    }
}

std::string ProgramWriter::inside(const std::string& index, const std::string& extent) {
    return fmt::format("clamp({}, 0, {} - 1)", index, extent);
}

std::string ProgramWriter::read(const ProgramSource& source, int depth) {
    std::vector<std::string> indices;
    scale_ = std::max(scale_, source.scale);
    for (std::size_t d = 0; d < source.rank; ++d) {
        std::string index = affine_index(source.scale, source.extents.empty());
        if (source.extents.empty()) {
            indices.push_back(index);
            continue;
        }
        if (rarely(4) && depth > 0) index = expr(Type::Int32, depth - 1);  // depends on data
        indices.push_back(rarely(60) ? index : inside(index, source.extents[d]));
    }
    const std::string call = fmt::format("{}({})", source.name, fmt::join(indices, ", "));
    if (source.extents.empty() || source.rank == 0 || indices_.empty() || !rarely(4)) return call;
    // The same in the other style: a condition instead of a clamp.
    std::vector<std::string> conditions, plain;
    for (std::size_t d = 0; d < source.rank; ++d) {
        plain.push_back(affine_index(4));
        conditions.push_back(fmt::format("0 <= {} < {}", plain.back(), source.extents[d]));
    }
    return fmt::format("(if {} then {}({}) else {})", fmt::join(conditions, " and "), source.name,
                       fmt::join(plain, ", "), literal(source.type));
}

std::string ProgramWriter::read_as(Type type, int depth) {
    std::vector<const ProgramSource*> same;
    for (const ProgramSource& s : sources_) {
        if (s.type == type) same.push_back(&s);
    }
    if (!same.empty() && choose(3) != 2) return read(*same[choose(same.size())], depth);
    std::vector<const ProgramSource*> numbers;
    for (const ProgramSource& s : sources_) {
        if (s.type != Type::Bool) numbers.push_back(&s);
    }
    if (type == Type::Bool || numbers.empty()) return leaf(type);
    // The latest first: most stages should have readers.
    const ProgramSource& source = *numbers[numbers.size() - 1 - choose(numbers.size())];
    return fmt::format("{}({})", ir::name(type), read(source, depth));
}

// ------------------------------------------------------------------------------------------------- definitions

std::string ProgramWriter::dims(std::size_t rank) {
    const std::vector<std::string> names = rank == 3   ? std::vector<std::string>{"c", "y", "x"}
                                           : rank == 2 ? std::vector<std::string>{"y", "x"}
                                           : rank == 1 ? std::vector<std::string>{"y"}
                                                       : std::vector<std::string>{};
    indices_ = names;
    return fmt::format("{}", fmt::join(names, ", "));
}

void ProgramWriter::stage() {
    scale_ = 1;
    const Type type = pick(kStageTypes);
    const std::size_t rank = pick<std::size_t>({2, 2, 1, 3});
    const std::string name = fresh("f");
    const std::string left = dims(rank);
    const std::string value = expr(type, 4);
    body_ += fmt::format("    {}({}): {} = {}\n", name, left, ir::name(type), value);
    sources_.push_back({name, type, rank, {}, scale_});
    indices_.clear();
}

void ProgramWriter::explicit_stage() {
    scale_ = 1;
    const Type type = pick(kStageTypes);
    const std::string name = fresh("e");
    const std::vector<std::string> extents = {pick<std::string>({"R", "R / 2 + 1", "3", "R + 2"}),
                                              pick<std::string>({"C", "5", "(C + 1) / 2", "2 * C"})};
    dims(2);
    const std::string value = expr(type, 3);
    body_ +=
        fmt::format("    {}(y in 0..{}, x in 0..{}): {} = {}\n", name, extents[0], extents[1], ir::name(type), value);
    sources_.push_back({name, type, 2, {"(" + extents[0] + ")", "(" + extents[1] + ")"}, scale_});
    indices_.clear();
}

void ProgramWriter::accumulate() {
    const Type type = pick<Type>({Type::Int32, Type::Int64, Type::UInt32, Type::Float32});
    const std::string name = fresh("h");
    const std::string cells = pick<std::string>({"4", "9", "16"});
    std::string text = fmt::format("    accumulate {}(b in 0..{}): {} = {} {{\n        for y in 0..R, x in 0..C {{\n",
                                   name, cells, ir::name(type), literal(type));
    indices_ = {"y", "x"};
    const std::string v = fresh("v");
    text += fmt::format("            let {} = {}\n", v, expr(Type::Int32, 2));
    lets_.push_back({v, Type::Int32});
    const std::string op = pick<std::string>({"+=", "max=", "min=", "*="});
    const std::string update =
        fmt::format("{}({}) {} {}", name, inside(expr(Type::Int32, 2), cells), op, expr(type, 2));
    if (choose(2) == 0) {
        text += fmt::format("            {}\n", update);
    } else {
        text += fmt::format("            if {} {{ {} }}\n", condition(1), update);
    }
    if (rarely(3))
        text += fmt::format("            {}({}) += {}\n", name, inside(expr(Type::Int32, 1), cells), expr(type, 1));
    lets_.pop_back();
    indices_.clear();
    body_ += text + "        }\n    }\n";
    sources_.push_back({name, type, 1, {cells}, 1});
}

void ProgramWriter::whole_image() {
    std::vector<const ProgramSource*> free;
    for (const ProgramSource& s : sources_) {
        if (s.extents.empty() && s.rank > 0 && computes(s.type)) free.push_back(&s);
    }
    if (free.empty()) return stage();
    const ProgramSource a = *free[choose(free.size())];
    std::vector<std::string> operands = {a.name};
    int scale = a.scale;
    for (const ProgramSource* s : free) {
        if (s->rank == a.rank && s->type == a.type && s->name != a.name)
            operands.push_back(s->name), scale = std::max(scale, s->scale);
    }
    const std::string b = pick(operands);
    const std::string op = pick<std::string>({"*", "+", "-"});
    const std::string name = fresh("w");
    if (rarely(3)) {  // by a function
        functions_ = true;
        body_ += a.rank == 1 ? fmt::format("    {}(y) = cross({}, y) {} {}\n", name, a.name, op, literal(a.type))
                             : fmt::format("    {} = spread({})\n", name, a.name);
        sources_.push_back({name, a.type, a.rank, {}, a.scale});
        return;
    }
    const std::string value = choose(2) == 0 ? fmt::format("{} {} {}", a.name, op, b)
                                             : fmt::format("max({} {} {}, {})", a.name, op, literal(a.type), b);
    body_ += fmt::format("    {} = {}\n", name, value);
    sources_.push_back({name, a.type, a.rank, {}, scale});
}

void ProgramWriter::levels() {
    std::vector<const ProgramSource*> free;
    for (const ProgramSource& s : sources_) {
        if (s.extents.empty() && s.rank == 2 && computes(s.type)) free.push_back(&s);
    }
    if (free.empty()) return stage();
    const ProgramSource base = *free[choose(free.size())];
    const std::string name = fresh("p");
    const std::size_t count = 2 + choose(2);
    const std::string l = fresh("l");
    const bool halves = base.scale == 1 && count == 2;
    body_ += fmt::format("    {}[0] = {}\n    for {} in 1..{} {{\n", name, base.name, l, count);
    body_ += halves
                 ? fmt::format("        {0}[{1}](y, x) = {0}[{1} - 1](2 * y, x) + {0}[{1} - 1](2 * y + 1, x)\n    }}\n",
                               name, l)
                 : fmt::format("        {0}[{1}](y, x) = {0}[{1} - 1](y - {1}, x) - {0}[{1} - 1](y + 1, x)\n    }}\n",
                               name, l);
    for (std::size_t i = 1; i < count; ++i) {
        sources_.push_back({fmt::format("{}[{}]", name, i), base.type, 2, {}, halves ? 2 * base.scale : base.scale});
    }
}

void ProgramWriter::boundary() {
    std::vector<const ProgramSource*> bounded;
    for (const ProgramSource& s : sources_) {
        // Not of a boundary: all its bounds are not known.
        if (s.extents.size() >= 2 && s.name.front() != 'm') bounded.push_back(&s);
    }
    if (bounded.empty()) return explicit_stage();
    const ProgramSource of = *bounded[choose(bounded.size())];
    imports_ = true;
    const std::string name = fresh("m");
    const std::string rule = pick<std::string>({"clamp_to_edge", "mirror", "reflect", "wrap", "constant"});
    body_ += fmt::format("    {} = {}({})\n", name, rule, of.name);
    if (of.rank == 2) {
        sources_.push_back({name, of.type, of.rank, {}, 1});
    } else {  // its first dimension keeps its bounds, and the other two have none: wide enough ones serve
        sources_.push_back({name, of.type, of.rank, {of.extents[0], "(R + 3)", "(C + 3)"}, 1});
    }
}

std::string ProgramWriter::input() {
    const Type type = pick(kStageTypes);
    const std::string name = "in" + std::to_string(sources_.size());
    const std::vector<std::vector<std::string>> shapes = {
        {"R", "C"},     {"R + 2", "C + 2"},   {"3", "R", "C"}, {"R", "C", "3"},
        {"2 * R", "C"}, {"(R + 1) / 2", "C"}, {"C"},           {"16"}};
    // The first input tells both sizes.
    const std::vector<std::string>& extents = sources_.empty() ? shapes[choose(4)] : pick(shapes);
    std::vector<std::string> parenthesized;
    for (const std::string& e : extents) parenthesized.push_back("(" + e + ")");
    sources_.push_back({name, type, extents.size(), parenthesized, 1});
    std::string order;
    if (extents.size() == 3 && rarely(3)) order = " order(1, 2, 0)";
    return fmt::format("{}: {}[{}]{}", name, ir::name(type), fmt::join(extents, ", "), order);
}

std::string ProgramWriter::output() {
    scale_ = 1;
    const Type type = pick(kStageTypes);
    const std::string name = fresh("out");
    const std::vector<std::vector<std::string>> shapes = {
        {"R", "C"}, {"3", "R", "C"}, {"(R + 1) / 2", "C"}, {"2 * R", "C + 1"}, {"C"}, {"R", "C", "2"}, {}};
    const std::vector<std::string>& extents = pick(shapes);
    const std::string left = dims(extents.size());
    const std::string value = expr(type, 4);
    body_ += fmt::format("    {}({}) = {}\n", name, left, value);
    indices_.clear();
    // Not added to sources_: an output may be read, but of one that is read everything may be asked.
    return fmt::format("{}: {}[{}]", name, ir::name(type), fmt::join(extents, ", "));
}

/// A stage that reads itself one or two points before, in either dimension and direction; then, perhaps, one that reads
/// it at its own points.
void ProgramWriter::scan() {
    scale_ = 1;
    const Type type = pick(kStageTypes);
    const std::string name = fresh("s"), type_name(ir::name(type));
    const std::vector<std::string> extents = {pick<std::string>({"R", "3", "R + 2"}),
                                              pick<std::string>({"C", "5", "2 * C"})};
    dims(2);
    const std::size_t dim = choose(2), distance = 1 + choose(2);
    const bool forward = choose(2) == 0;
    const std::string along = indices_[dim];
    const auto before = [&](std::size_t by) {
        const std::string index = fmt::format("{} {} {}", along, forward ? "-" : "+", by);
        return dim == 0 ? fmt::format("{}({}, x)", name, index) : fmt::format("{}(y, {})", name, index);
    };
    const std::string first =
        forward ? fmt::format("{} < {}", along, distance) : fmt::format("{} >= {} - {}", along, extents[dim], distance);
    const std::string far = before(distance), near = before(1);
    std::string next;
    if (type == Type::Bool) {
        next = pick<std::string>(
            {fmt::format("({} or {} != {})", far, near, condition(2)), fmt::format("({} and {})", condition(2), near)});
    } else {
        const std::string term = expr(type, 2);
        switch (choose(4)) {
            case 0: next = fmt::format("{}({} + {})", type_name, far, term); break;
            case 1: next = fmt::format("max({}, {})", near, term); break;
            case 2: next = fmt::format("(if {} then {} else {})", condition(2), far, term); break;
            default: next = fmt::format("{}({} - {} + {})", type_name, far, near, term); break;
        }
    }
    body_ += fmt::format("    {}(y in 0..{}, x in 0..{}): {} = if {} then {} else {}\n", name, extents[0], extents[1],
                         type_name, first, expr(type, 2), next);
    const std::vector<std::string> named{"(" + extents[0] + ")", "(" + extents[1] + ")"};
    if (choose(2) == 1) {  // what is made of its values, point by point
        const std::string made = fresh("p");
        const std::string value = type == Type::Bool ? fmt::format("({}(y, x) != {})", name, condition(2))
                                                     : fmt::format("{}({}(y, x) - {})", type_name, name, expr(type, 2));
        body_ +=
            fmt::format("    {}(y in 0..{}, x in 0..{}): {} = {}\n", made, extents[0], extents[1], type_name, value);
        sources_.push_back({made, type, 2, named, scale_});
    }
    sources_.push_back({name, type, 2, named, scale_});
    indices_.clear();
}

std::string ProgramWriter::program() {
    std::vector<std::string> inputs;
    const std::size_t input_count = 1 + choose(3);
    for (std::size_t i = 0; i < input_count; ++i) inputs.push_back(input());
    if (choose(2) == 1) {
        params_.push_back({"k", Type::Float32});
        inputs.push_back("k: float32 = 0.5");
    }
    if (rarely(3)) {
        params_.push_back({"m", Type::Int32});
        inputs.push_back("m: int32");
    }
    const std::size_t stages = choose(7);
    for (std::size_t i = 0; i < stages; ++i) {
        switch (choose(10)) {
            case 4: explicit_stage(); break;
            case 5: accumulate(); break;
            case 6: whole_image(); break;
            case 7: levels(); break;
            case 8: boundary(); break;
            case 9: scan(); break;
            default: stage(); break;
        }
    }
    std::vector<std::string> outputs;
    const std::size_t output_count = 1 + choose(3);
    for (std::size_t i = 0; i < output_count; ++i) outputs.push_back(output());
    std::string where;
    if (rarely(4)) where = pick<std::string>({" where R >= 2", " where R >= 2, C > 1", " where R % 2 == 0"});
    // Of an image of R + 2 points R may be 0, and ranges must not be empty.
    if (inputs.front().find("R + 2") != std::string::npos)
        where += where.empty() ? " where R >= 1, C >= 1" : ", R >= 1, C >= 1";
    const std::string head = std::string(imports_ ? "import \"boundary\"\n\n" : "") + (functions_ ? kFunctions : "");
    return fmt::format("{}pipeline {}({})\n    -> {}{}\n{{\n{}}}\n", head, name_, fmt::join(inputs, ", "),
                       fmt::join(outputs, ", "), where, body_);
}

}  // namespace

std::string program_text(const Tape& tape, const std::string& name) {
    return ProgramWriter(tape, name).program();
}

}  // namespace pipec::testing
