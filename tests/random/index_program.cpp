#include "random/index_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pipec::testing {

namespace {

/// Something with bounds: each dimension is 0..extent.
struct IndexSource {
    std::string name;
    std::vector<std::string> extents;
};

class IndexGenerator {
public:
    IndexGenerator(const Tape& tape, std::string name) : choices_(tape), name_(std::move(name)) {}
    std::string program();

private:
    using Texts = std::vector<std::string>;
    std::size_t choose(std::size_t count) { return choices_.choose(count); }
    bool rarely(std::size_t odds) { return choices_.rarely(odds); }
    const std::string& pick(const Texts& list) { return choices_.pick(list); }
    std::string fresh(const char* prefix) { return fmt::format("{}{}", prefix, ++names_); }

    // int32 expressions, each fit to be an operand.
    std::string constant();
    std::string leaf();
    std::string number(int depth);
    std::string arithmetic(int depth);
    std::string cast(int depth);
    std::string choice(int depth);
    std::string count(int depth);
    std::string reduction(int depth);
    std::string condition(int depth);

    std::string read(const IndexSource& source, int depth);
    /// A read of `source` with one index that may be outside of 0..extent before it is protected.
    std::string protected_index(const std::string& index, const std::string& extent);
    const IndexSource& source() { return sources_[sources_.size() - 1 - choose(sources_.size())]; }

    void table();
    void stage();
    void pyramid();
    void whole_image();
    void histogram();
    std::string output();
    std::string where();

    Choices choices_;
    std::string name_, body_;
    std::vector<IndexSource> sources_;
    Texts indices_, lets_;
    int names_ = 0, reductions_ = 0;
    bool imports_ = false;
};

// ------------------------------------------------------------------------------------------------- expressions

std::string IndexGenerator::constant() {
    return pick({"1",           "2",          "3",          "0",          "5",
                 "7",           "8",          "-1",         "-2",         "15",
                 "16",          "255",        "256",        "-128",       "65535",
                 "65536",       "1073741823", "1073741824", "2147483647", "(-2147483647 - 1)",
                 "-1073741824", "715827883"});
}

std::string IndexGenerator::leaf() {
    Texts candidates = indices_;
    candidates.insert(candidates.end(), lets_.begin(), lets_.end());
    candidates.insert(candidates.end(), {"m", "R", "C"});
    const std::size_t i = choose(candidates.size() + 2);
    return i < candidates.size() ? candidates[i] : constant();
}

std::string IndexGenerator::number(int depth) {
    if (depth <= 0) return leaf();
    switch (choose(12)) {
        case 0:
        case 1: return leaf();
        case 2: return cast(depth - 1);
        case 3: return choice(depth - 1);
        case 4: return count(depth - 1);
        case 5: return reduction(depth - 1);
        case 6: return fmt::format("int32({})", read(source(), depth - 1));
        case 7: {
            const std::string name = fresh("t"), value = number(depth - 1);
            lets_.push_back(name);
            const std::string body = number(depth - 1);
            lets_.pop_back();
            return fmt::format("(let {} = {} in {})", name, value, body);
        }
        default: return arithmetic(depth - 1);
    }
}

std::string IndexGenerator::arithmetic(int depth) {
    const std::string a = number(depth);
    switch (choose(12)) {
        case 0: return fmt::format("({} + {})", a, leaf());
        case 1: return fmt::format("({} - {})", a, number(depth - 1));
        case 2: return fmt::format("({} / {})", a, pick({"2", "3", "-2", "7", "R", "65536", "m"}));
        case 3: return fmt::format("({} % {})", a, pick({"2", "3", "-3", "4", "C", "256", "(R * R)", "m"}));
        case 4: return fmt::format("({} * {})", a, pick({"2", "3", "-1", "65536", "R", "5"}));
        case 5: return fmt::format("({} & {})", a, pick({"7", "3", "255", "-2", "(R - 1)", "6"}));
        case 6: return fmt::format("({} >> {})", a, pick({"1", "2", "4", "31", "m"}));
        case 7: return fmt::format("({} << {})", a, pick({"1", "2", "16", "30"}));
        case 8: return fmt::format("min({}, {})", a, number(depth - 1));
        case 9: return fmt::format("max({}, {})", a, number(depth - 1));
        case 10: return fmt::format("{}({})", pick({"abs", "-", "~"}), a);
        default: return fmt::format("({} {} {})", a, pick({"|", "^", "&"}), number(depth - 1));
    }
}

std::string IndexGenerator::cast(int depth) {
    const std::string a = number(depth);
    switch (choose(7)) {
        case 0: return fmt::format("int32({}({}))", pick({"uint8", "int8", "uint16", "int16", "uint32"}), a);
        case 1: return fmt::format("int32(saturate<{}>({}))", pick({"uint8", "int8", "uint16", "int16"}), a);
        case 2: return fmt::format("int32(int64({}) * int64({}))", a, leaf());
        case 3: return fmt::format("int32(int64({}) / {})", a, pick({"2", "3", "65536"}));
        case 4: return fmt::format("int32(float32({}) * {})", a, pick({"0.5", "0.25", "2.0", "0.1"}));
        case 5: return fmt::format("int32(floor(float32({}) / {}))", a, pick({"2.0", "3.0", "16.0"}));
        default: return fmt::format("int32(float64({}))", a);
    }
}

std::string IndexGenerator::condition(int depth) {
    const std::string a = number(depth);
    switch (choose(6)) {
        case 0: return fmt::format("{} < {}", a, leaf());
        case 1: return fmt::format("{} >= {}", a, leaf());
        case 2: return fmt::format("0 <= {} < {}", a, pick({"R", "C", "4"}));
        case 3: return fmt::format("{} % 2 == {}", a, choose(2));
        case 4: return fmt::format("{} != {} and {} <= {}", a, constant(), leaf(), number(depth - 1));
        default: return fmt::format("({} > {} or not {} == {})", a, constant(), leaf(), leaf());
    }
}

std::string IndexGenerator::choice(int depth) {
    const std::string c = condition(depth - 1), a = number(depth), b = number(depth - 1);
    switch (choose(3)) {
        case 0: return fmt::format("(if {} then {} else {})", c, a, b);
        case 1: return fmt::format("select({}, {}, {})", c, a, b);
        default:
            return fmt::format("(if {} then {} else if {} then {} else {})", c, a, condition(depth - 1), b, leaf());
    }
}

/// How many of some pixels are small, their rank, the least of them.
std::string IndexGenerator::count(int depth) {
    const IndexSource& s = source();
    const std::string i = fresh("i");
    if (reductions_ > 1) return leaf();
    ++reductions_;
    indices_.push_back(i);
    const std::string pixel = fmt::format("int32({})", read(s, depth - 1));
    indices_.pop_back();
    --reductions_;
    const std::size_t most = 2 + choose(8);
    switch (choose(4)) {
        case 0: return fmt::format("(sum({} in 0..{}) int32({} < {}))", i, most, pixel, constant());
        case 2: return fmt::format("({}({} in 0..{}) {})", choose(2) == 0 ? "argmin" : "argmax", i, most, pixel);
        case 1: return fmt::format("({}({} in 0..{}) {})", choose(2) == 0 ? "min" : "max", i, most, pixel);
        default: return fmt::format("int32(any({} in 0..{}) ({} == {}))", i, most, pixel, leaf());
    }
}

std::string IndexGenerator::reduction(int depth) {
    if (reductions_ > 1) return leaf();
    const std::string i = fresh("i");
    const std::string y = indices_.empty() ? "3" : indices_[choose(indices_.size())];
    const std::string range = pick({"0..4", "-2..=2", fmt::format("0..{} % 4 + 1", y), fmt::format("{0}..{0} + 3", y),
                                    fmt::format("{} / 2..{}", y, y), fmt::format("-({} % 3)..2", y), "0..min(R, 5)",
                                    fmt::format("max({} - 2, 0)..min({} + 2, 8)", y, y)});
    ++reductions_;
    indices_.push_back(i);
    const std::string body = choose(2) == 0 ? fmt::format("int32({})", read(source(), depth - 1)) : number(depth - 1);
    indices_.pop_back();
    --reductions_;
    return fmt::format("({}({} in {}) {})", pick({"sum", "max", "min", "argmin", "argmax"}), i, range, body);
}

// ------------------------------------------------------------------------------------------------------- reads

std::string IndexGenerator::protected_index(const std::string& index, const std::string& extent) {
    switch (choose(10)) {
        case 0:
        case 1: return fmt::format("clamp({}, 0, {} - 1)", index, extent);
        case 2: return fmt::format("min(max({}, 0), {} - 1)", index, extent);
        case 3: return fmt::format("({} % {})", index, extent);
        case 4: return fmt::format("max(min({}, {} - 1), 0)", index, extent);
        case 5: return fmt::format("clamp({} / 2, 0, ({} - 1) / 2)", index, extent);
        case 6: return fmt::format("min(abs({} % 64), {} - 1)", index, extent);
        case 7: return fmt::format("min(({}) & 2147483647, {} - 1)", index, extent);
        case 8: return fmt::format("min(int32(saturate<uint16>({})), {} - 1)", index, extent);
        // Right for some indices, or never.
        default: return rarely(3) ? index : fmt::format("clamp({}, 0, {}) - 1 + 1 % {}", index, extent, extent);
    }
}

std::string IndexGenerator::read(const IndexSource& source, int depth) {
    Texts reads, conditions;
    for (const std::string& extent : source.extents) {
        const std::string index = choose(3) == 0 && !indices_.empty() ? indices_.back() : number(depth);
        if (choose(6) == 5) {
            conditions.push_back(fmt::format("0 <= {} < {}", index, extent));
            reads.push_back(index);
        } else {
            reads.push_back(protected_index(index, extent));
        }
    }
    const std::string call = fmt::format("{}({})", source.name, fmt::join(reads, ", "));
    if (conditions.empty()) return call;
    return fmt::format("(if {} then {} else 0)", fmt::join(conditions, " and "), call);
}

// ------------------------------------------------------------------------------------------------- definitions

/// Constants, which are looked up.
void IndexGenerator::table() {
    const std::string name = fresh("lut"), cells = pick({"16", "1", "3", "256", "8"});
    body_ += fmt::format("    {}(i in 0..{}): {} = {}\n", name, cells, pick({"int32", "uint8", "int16"}),
                         pick({"uint8(i)", "uint8(i * 7 % 5)", "uint8(255 - i)"}));
    sources_.push_back({name, {cells}});
}

void IndexGenerator::stage() {
    const std::string name = fresh("f");
    const Texts extents = {pick({"R", "(R + 1) / 2", "R + 1", "1", "max(R - 2, 1)", "min(R, C)"}),
                           pick({"C", "3", "C / 2 + 1", "1"})};
    indices_ = {"y", "x"};
    body_ += fmt::format("    {}(y in 0..{}, x in 0..{}): int32 = {}\n", name, extents[0], extents[1], number(4));
    indices_.clear();
    sources_.push_back({name, {"(" + extents[0] + ")", "(" + extents[1] + ")"}});
}

/// Halves, also of odd sizes, and what they are read as at twice the size.
void IndexGenerator::pyramid() {
    const IndexSource base = sources_.front();
    const std::string half = fresh("p"), quarter = fresh("p"), up = fresh("u");
    const std::string n = base.extents[0], h = fmt::format("(({} + 1) / 2)", n), q = fmt::format("(({} + 1) / 2)", h);
    const std::string other = base.extents.size() > 1 ? ", clamp(x, 0, C - 1)" : "";
    body_ +=
        fmt::format("    {}(y in 0..{}, x in 0..C): int32 = int32({}(2 * y{})) + int32({}(min(2 * y + 1, {} - 1){}))\n",
                    half, h, base.name, other, base.name, n, other);
    body_ += fmt::format("    {}(y in 0..{}, x in 0..C): int32 = {}(2 * y, x) - {}(min(2 * y + 1, {} - 1), x)\n",
                         quarter, q, half, half, h);
    body_ +=
        fmt::format("    {}(y in 0..{}, x in 0..C): int32 = {}(y / 4, x) * 3 + {}({}, x)\n", up, n, quarter, half,
                    pick({"y / 2", fmt::format("min((y + 1) / 2, {} - 1)", h), "max(y / 2 - 1, 0)", "(y + 1) / 2"}));
    sources_.push_back({half, {h, "C"}});
    sources_.push_back({up, {n, "C"}});
}

/// A function of an image, on an expression.
void IndexGenerator::whole_image() {
    const IndexSource* image = nullptr;
    for (const IndexSource& s : sources_) {
        if (s.extents.size() == 2) image = &s;
    }
    if (image == nullptr) return stage();
    imports_ = true;
    const std::string name = fresh("w"), edge = fresh("m");
    body_ += fmt::format("    {} = {}({})\n", edge, pick({"clamp_to_edge", "mirror", "reflect", "wrap"}), image->name);
    const std::string of = pick({edge, fmt::format("{0} * {0}", edge), fmt::format("{0} + {0} * 2", edge),
                                 fmt::format("max({0}, 3) - {0}", edge)});
    body_ += choose(2) == 0 ? fmt::format("    {}e = steps({})\n", name, of)
                            : fmt::format("    {}e(y, x) = cross({}, y, x)\n", name, edge);
    body_ += fmt::format("    {0}(y in 0..{1}, x in 0..{2}) = int32({0}e(y, x))\n", name, image->extents[0],
                         image->extents[1]);
    sources_.push_back({name, image->extents});
}

void IndexGenerator::histogram() {
    const std::string name = fresh("h"), cells = pick({"8", "1", "16"});
    indices_ = {"y", "x"};
    const std::string at = protected_index(number(3), cells), value = number(1);
    indices_.clear();
    body_ += fmt::format(
        "    accumulate {}(b in 0..{}): int32 = 0 {{\n        for y in 0..R, x in 0..{} {{\n            {}({}) {} {}\n"
        "        }}\n    }}\n",
        name, cells, pick({"C", "y % 5", "min(y, C)"}), name, at, pick({"+=", "max=", "min="}), value);
    sources_.push_back({name, {cells}});
}

std::string IndexGenerator::output() {
    const std::string name = fresh("out");
    const Texts extents = {pick({"R", "(R + 1) / 2", "1", "R + 1"}), pick({"C", "1", "C + 2"})};
    indices_ = {"y", "x"};
    const std::string value = number(4);
    indices_.clear();
    const std::string type = pick({"int32", "uint8", "int64"});
    body_ += fmt::format("    {}(y, x) = {}({} ^ int32({}))\n", name, type, value, sources_.front().name + "(0, 0)");
    return fmt::format("{}: {}[{}]", name, type, fmt::join(extents, ", "));
}

std::string IndexGenerator::where() {
    Texts conditions;
    for (std::size_t n = choose(3); n > 0; --n) {
        conditions.push_back(pick({"0 <= m < 4", "R >= 4", "m >= -3, m < R", "R % 2 == 0", "R < C + 9", "4 * R < 100",
                                   "R + C < 40", "m % 2 == 0", "m != 0, m < 9", "R * C < 500", "1 <= m <= C",
                                   "R / 3 >= 1", "R <= 65536", "C == 1 or C > 2"}));
    }
    return conditions.empty() ? "" : fmt::format(" where {}", fmt::join(conditions, ", "));
}

std::string IndexGenerator::program() {
    const std::vector<std::string> types = {"uint8", "int32", "int8", "uint16", "int16"};
    Texts inputs = {fmt::format("in0: {}[R, C]", pick(types))};
    sources_.push_back({"in0", {"R", "C"}});
    if (choose(2) == 1) {
        const std::string extent = pick({"R", "C + 3", "5", "1", "2 * R - 1"});
        inputs.push_back(fmt::format("in1: {}[{}]", pick(types), extent));
        sources_.push_back({"in1", {"(" + extent + ")"}});
    }
    inputs.push_back("m: int32");
    const std::string conditions = where();
    for (std::size_t n = choose(4); n > 0; --n) {
        switch (choose(6)) {
            case 0: table(); break;
            case 1: pyramid(); break;
            case 2: whole_image(); break;
            case 3: histogram(); break;
            default: stage(); break;
        }
    }
    Texts outputs = {output()};
    if (choose(3) == 2) outputs.push_back(output());
    const std::string head = imports_ ? "import \"boundary\"\n\n"
                                        "fn cross(f, y, x) = f(y - 1, x) + f(y, x + 1) - f(y, x) / 2\n"
                                        "fn steps(f) {\n    near(y, x) = f(y, x) - f(y, x - 2)\n"
                                        "    far(y, x) = near(y + 1, x) + near(y, x)\n    return far\n}\n\n"
                                      : "";
    return fmt::format("{}pipeline {}({})\n    -> {}{}\n{{\n{}}}\n", head, name_, fmt::join(inputs, ", "),
                       fmt::join(outputs, ", "), conditions, body_);
}

}  // namespace

std::string index_program(const Tape& tape, const std::string& name) {
    return IndexGenerator(tape, name).program();
}

}  // namespace pipec::testing
