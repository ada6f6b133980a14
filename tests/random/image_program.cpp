// Every source may be read anywhere: inputs are read through a boundary or clamped, stages have no ranges of their own
// (or are clamped as well), so that the analysis gives each what its readers need.
#include "random/image_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/type.h"

namespace pipec::testing {

using ir::Type;

namespace {

const std::vector<Type> kTypes = {Type::Float32, Type::Int32,  Type::UInt8,   Type::Float32, Type::Int16,
                                  Type::UInt16,  Type::UInt32, Type::Float16, Type::Int64};

struct ImageSource {
    std::string name;
    Type type = Type::Float32;
    int channels = 0;        ///< 3: has a dimension of channels
    bool inner = false;      ///< which is the last one, not the first one
    bool row = false;        ///< has no y
    std::string rows, cols;  ///< of those that are bounded, and read clamped; empty for others
    int finer = 0;           ///< how many times twice as fine as the output it may be, by which its reads are limited
};

class ImageGenerator {
public:
    ImageGenerator(const Tape& tape, std::string name) : choices_(tape), name_(std::move(name)) {}
    std::string program();

private:
    std::size_t choose(std::size_t count) { return choices_.choose(count); }
    const ImageSource& source();
    std::string number();
    std::string read(const ImageSource& s, const std::string& y, const std::string& x, const std::string& c = "0");
    /// A read as an operand of a computation.
    std::string operand(const ImageSource& s, const std::string& y, const std::string& x, const std::string& c = "0");
    static std::string shifted(const std::string& index, int offset);

    std::string taps(const ImageSource& s, const std::string& c);
    std::string pointwise(const ImageSource& s, const std::string& c);
    std::string half(const ImageSource& s, const std::string& c);
    std::string twice(const ImageSource& s, const std::string& c);
    std::string cases(const ImageSource& s, const std::string& c);
    std::string value(const ImageSource& s, const std::string& c);

    void input();
    void stage(bool is_output);
    void row();
    void boundary();
    void bounded();
    void torus();
    std::string around(const std::string& name, int y, int x);
    void histograms();
    void table();

    Choices choices_;
    std::string name_;
    std::vector<ImageSource> sources_;
    std::vector<std::string> inputs_, outputs_;
    std::string body_;
    bool floats_ = true;  ///< what is computed: float32 or int32
    int finer_ = 0;       ///< of the stage that is being defined
    int names_ = 0;
};

/// The latest first: most stages should have readers.
const ImageSource& ImageGenerator::source() {
    const std::size_t back =
        choose(3) == 2 ? choose(sources_.size()) : choose(std::min<std::size_t>(2, sources_.size()));
    return sources_[sources_.size() - 1 - back];
}

std::string ImageGenerator::number() {
    return choices_.pick(floats_ ? std::vector<std::string>{"2.0", "0.5", "3.0", "0.25", "1.5"}
                                 : std::vector<std::string>{"2", "3", "5", "1", "7"});
}

std::string ImageGenerator::shifted(const std::string& index, int offset) {
    return offset == 0 ? index : fmt::format("{} {} {}", index, offset > 0 ? '+' : '-', std::abs(offset));
}

std::string ImageGenerator::read(const ImageSource& s, const std::string& y, const std::string& x,
                                 const std::string& c) {
    finer_ = std::max(finer_, s.finer);
    std::vector<std::string> indices;
    const auto clamped = [](const std::string& index, const std::string& extent) {
        return extent.empty() ? index : fmt::format("clamp({}, 0, {} - 1)", index, extent);
    };
    if (!s.row) indices.push_back(clamped(y, s.rows));
    indices.push_back(clamped(x, s.cols));
    if (s.channels > 0) indices.insert(s.inner ? indices.end() : indices.begin(), c);
    return fmt::format("{}({})", s.name, fmt::join(indices, ", "));
}

std::string ImageGenerator::operand(const ImageSource& s, const std::string& y, const std::string& x,
                                    const std::string& c) {
    const Type type = floats_ ? Type::Float32 : Type::Int32;
    const std::string text = read(s, y, x, c);
    return s.type == type ? text : fmt::format("{}({})", ir::name(type), text);
}

// ----------------------------------------------------------------------------------------------------------
// definitions

std::string ImageGenerator::pointwise(const ImageSource& s, const std::string& c) {
    const std::string a = operand(s, "y", "x", c);
    const ImageSource& other = source();
    const std::string b = operand(other, "y", "x", c);
    switch (choose(4)) {
        case 0: return fmt::format("{} * {} - {}", a, number(), b);
        case 1: return fmt::format("max({}, {})", a, b);
        case 2: return fmt::format("abs({} - {})", a, b);
        default: return fmt::format("(if {} > {} then {} else {})", a, number(), a, b);
    }
}

/// A stencil: along y, along x, or a box; written out or as a sum over a range.
std::string ImageGenerator::taps(const ImageSource& s, const std::string& c) {
    const std::size_t shape = choose(4);
    const int lo = -static_cast<int>(choose(3)), hi = static_cast<int>(choose(3));
    if (shape == 3)
        return fmt::format("(sum(i in {}..={}) {} * {})", lo, hi, operand(s, "y + i", "x - i", c), number());
    std::vector<std::string> terms;
    for (int i = shape == 1 ? 0 : lo; i <= (shape == 1 ? 0 : hi); ++i) {
        for (int j = shape == 0 ? 0 : lo; j <= (shape == 0 ? 0 : hi); ++j)
            terms.push_back(operand(s, shifted("y", i), shifted("x", j), c));
    }
    return fmt::format("({}) * {}", fmt::join(terms, choose(4) == 3 ? " - " : " + "), number());
}

/// An image of half the size in one dimension or both.
std::string ImageGenerator::half(const ImageSource& s, const std::string& c) {
    if (s.finer >= 2) return taps(s, c);
    const std::size_t dims = choose(3);
    const std::string y = dims == 1 ? "y" : "2 * y", x = dims == 0 ? "x" : "2 * x";
    std::string text = operand(s, y, x, c);
    const int last = static_cast<int>(choose(3)) - 1;
    if (dims != 1) text += " + " + operand(s, shifted(y, last), x, c);
    if (dims != 0) text += " + " + operand(s, y, shifted(x, 1), c);
    finer_ = std::max(finer_, s.finer + 1);
    return fmt::format("({}) * {}", text, number());
}

std::string ImageGenerator::twice(const ImageSource& s, const std::string& c) {
    const std::size_t dims = choose(3);
    const std::string y = dims == 1 ? "y" : choose(2) == 0 ? "y / 2" : "(y + 1) / 2", x = dims == 0 ? "x" : "x / 2";
    const std::string a = operand(s, y, x, c);
    switch (choose(3)) {
        case 0: return fmt::format("{} * {}", a, number());
        case 1:
            return fmt::format("(if {} % 2 == 0 then {} else {} + {})", dims == 0 ? "y" : "x", a, a,
                               operand(s, dims == 0 ? "y / 2 + 1" : y, dims == 0 ? x : "x / 2 + 1", c));
        default: return fmt::format("{} - {}", a, operand(s, shifted(y, -1), x, c));
    }
}

std::string ImageGenerator::cases(const ImageSource& s, const std::string& c) {
    const std::vector<std::string> conditions = {"y > 2",  "x % 2 == 0", "y < x",         "(y + x) % 2 == 0",
                                                 "x <= 5", "y % 3 == 1", "1 <= x < C - 1"};
    const int shift = 1 + static_cast<int>(choose(2));
    return fmt::format("(if {} then {} else {} * {})", choices_.pick(conditions),
                       operand(s, shifted("y", -shift), "x", c), operand(s, "y", shifted("x", shift), c), number());
}

std::string ImageGenerator::value(const ImageSource& s, const std::string& c) {
    switch (choose(8)) {
        case 0: return pointwise(s, c);
        case 3: return half(s, c);
        case 4: return twice(s, c);
        case 5: return cases(s, c);
        default: return taps(s, c);
    }
}

void ImageGenerator::stage(bool is_output) {
    finer_ = 0;
    ImageSource made;
    made.type = choices_.pick(kTypes);
    floats_ = ir::is_float(made.type);
    made.name = fmt::format("{}{}", is_output ? "out" : "f", ++names_);
    const ImageSource of = source();
    std::string text;
    // To channels, from channels, or as the source is.
    const std::size_t channels = choose(5);
    if (channels == 4 || (of.channels > 0 && channels < 2)) {
        made.channels = 3;
        made.inner = of.channels > 0 ? of.inner : choose(2) == 1;
    }
    if (of.channels > 0 && made.channels == 0) {
        text = choose(2) == 0 ? fmt::format("{} + {} * {}", value(of, "0"), operand(of, "y", "x", "1"), number())
                              : fmt::format("(sum(k in 0..3) {})", taps(of, "k"));
    } else if (of.channels == 0 && made.channels > 0) {
        text = fmt::format("{} + {}", value(of, "0"), floats_ ? "float32(c)" : "c");
    } else {
        text = value(of, made.channels == 0 ? "0" : choose(6) == 5 ? "(c + 1) % 3" : "c");
    }
    const Type computed = floats_ ? Type::Float32 : Type::Int32;
    if (made.type != computed) {
        const bool saturates = ir::is_int(made.type) && choose(2) == 1;
        text = saturates ? fmt::format("saturate<{}>({})", ir::name(made.type), text)
                         : fmt::format("{}({})", ir::name(made.type), text);
    }
    const std::string dims = made.channels == 0 ? "y, x" : made.inner ? "y, x, c" : "c, y, x";
    body_ += fmt::format("    {}({}): {} = {}\n", made.name, dims, ir::name(made.type), text);
    made.finer = finer_;
    if (!is_output) {
        sources_.push_back(made);
        return;
    }
    const std::string extents = choices_.pick(std::vector<std::string>{"R, C", "R, C", "(R + 1) / 2, C", "R, C + 3"});
    outputs_.push_back(fmt::format("{}: {}[{}]", made.name, ir::name(made.type),
                                   made.channels == 0 ? extents
                                   : made.inner       ? extents + ", 3"
                                                      : "3, " + extents));
}

/// One row, which all rows of others read.
void ImageGenerator::row() {
    const ImageSource of = source();
    finer_ = 0;
    floats_ = true;
    const std::string name = fmt::format("r{}", ++names_);
    body_ += fmt::format("    {}(x): float32 = {} * {}\n", name, operand(of, of.row ? "y" : "3", "x", "1"), number());
    sources_.push_back({name, Type::Float32, 0, false, true, "", "", finer_});
}

void ImageGenerator::boundary() {
    for (const ImageSource& s : sources_) {
        if (s.rows.empty() || s.channels > 0) continue;
        const std::string rule =
            choices_.pick(std::vector<std::string>{"clamp_to_edge", "mirror", "constant", "reflect"});
        ImageSource made{fmt::format("m{}", ++names_), s.type, 0, false, false, "", "", s.finer};
        body_ += fmt::format("    {} = {}({})\n", made.name, rule, s.name);
        sources_.push_back(made);
        return;
    }
    stage(false);
}

/// A stage with a range of its own, which is read clamped.
void ImageGenerator::bounded() {
    const ImageSource of = source();
    finer_ = 0;
    floats_ = true;
    const std::string name = fmt::format("e{}", ++names_);
    const std::string text = taps(of, "1");
    body_ += fmt::format("    {}(y in 0..R, x in 0..C): float32 = {}\n", name, text);
    sources_.push_back({name, Type::Float32, 0, false, false, "R", "C", finer_});
}

/// A read beyond the ends of a stage that finds the other end, as programs write it.
std::string ImageGenerator::around(const std::string& name, int y, int x) {
    switch (choose(4)) {
        case 0: return fmt::format("{}(({} + R) % R, ({} + C) % C)", name, shifted("y", y), shifted("x", x));
        case 1: return fmt::format("{}(({}) % R, x)", name, shifted("y", y));
        case 2: return fmt::format("{}(if y == 0 then R - 1 else y - 1, if x == C - 1 then 0 else x + 1)", name);
        default: return fmt::format("{}(y, wrap_index({}, 0, C - 1))", name, shifted("x", x));
    }
}

/// Some steps of a simulation with periodic boundaries.
void ImageGenerator::torus() {
    bounded();
    const std::size_t steps = 1 + choose(4);
    const bool has_border = choose(2) == 0;
    for (std::size_t step = 0; step < steps; ++step) {
        const ImageSource state = sources_.back();
        finer_ = state.finer;
        floats_ = true;
        const int a = static_cast<int>(choose(5)) - 2, b = static_cast<int>(choose(5)) - 2;
        std::string neighbours = fmt::format("{} + {}", around(state.name, a, b), around(state.name, b, a));
        if (has_border) {
            const std::string border = fmt::format("w{}", ++names_);
            body_ += fmt::format("    {} = wrap({})\n", border, state.name);
            neighbours = fmt::format("{}({}, {}) + {}(y, x + 1)", border, shifted("y", a), shifted("x", b), border);
        }
        if (choose(3) == 0) neighbours += fmt::format(" + (sum(j in -1..3) {}((y + j) % R, x))", state.name);
        if (choose(3) == 0) neighbours += " + (if x < 3 then float32(y) else 0.5)";
        if (choose(3) == 0) neighbours += fmt::format(" * {}", operand(source(), "y", "x", "1"));
        const std::string name = fmt::format("t{}", ++names_);
        body_ += fmt::format("    {}(y in 0..R, x in 0..C): float32 = {}(y, x) * 0.5 - ({}) * {}\n", name, state.name,
                             neighbours, number());
        sources_.push_back({name, Type::Float32, 0, false, false, "R", "C", finer_});
    }
}

/// A histogram of each square of some pixels, and what it is good for.
void ImageGenerator::histograms() {
    const ImageSource of = source();
    finer_ = 0;
    floats_ = false;
    const std::string name = fmt::format("h{}", ++names_), side = choose(2) == 0 ? "4" : "8";
    const std::string shift = choices_.pick(std::vector<std::string>{"", " + 1", " + 2"});
    const std::string value = operand(of, "y", "x", "1");
    body_ += fmt::format(
        "    accumulate {0}(u in 0..(R + 1) / {1} + 1, v in 0..(C + 1) / {1} + 1, b in 0..3): int32 = {2} {{\n"
        "        for y in 0..R, x in 0..C {{\n"
        "            {0}((y{3}) / {1}, x / {1}, clamp({4}, 0, 2)) {5} {6}\n"
        "        }}\n"
        "    }}\n",
        name, side, number(), shift, value, choose(3) == 2 ? "max=" : "+=", choose(2) == 0 ? "1" : value);
    const std::string at = fmt::format("clamp(y, 0, R - 1) / {0}, clamp(x, 0, C - 1) / {0}", side);
    body_ += fmt::format("    s{}(y, x): int32 = {}({}, 0) - {}({}, 2)\n", ++names_, name, at, name, at);
    sources_.push_back({fmt::format("s{}", names_), Type::Int32, 0, false, false, "", "", finer_});
}

/// A table of counts, sums or extremes of data, of the image or of each of its rows or bands, and what stands in it for
/// a pixel.
void ImageGenerator::table() {
    const ImageSource of = source();
    finer_ = 0;
    floats_ = false;
    const std::string name = fmt::format("t{}", ++names_);
    const Type type = choices_.pick(std::vector<Type>{Type::Int32, Type::Int64, Type::UInt32, Type::Float32,
                                                      Type::UInt64, Type::Float64, Type::UInt8});
    const std::string in_type(ir::name(type)), value = operand(of, "y", "x", "1");
    const std::string cells = choices_.pick(std::vector<std::string>{"5", "64", "1"});
    // Of floats only what needs no order.
    const std::vector<std::string> all{"+=", "max=", "min=", "*="}, extremes{"max=", "min="};
    const std::string op = choices_.pick(ir::is_float(type) ? extremes : all);
    // None; a row of the table for each row of pixels, in either direction; one for seven rows.
    const std::size_t bands = choose(4);
    const auto band = [&](const std::string& y) {
        switch (bands) {
            case 1: return fmt::format("{}, ", y);
            case 2: return fmt::format("R - 1 - {}, ", y);
            case 3: return fmt::format("({}) / 7, ", y);
            default: return std::string();
        }
    };
    const auto update = [&](const std::string& bin, const std::string& with) {
        return fmt::format("{}({}clamp({}, 0, {} - 1)) {} {}({})", name, band("y"), bin, cells, op, in_type, with);
    };
    std::string body = update(value, choose(2) == 0 ? "1" : operand(of, "y", "C - 1 - x", "0"));
    if (choose(3) == 2) body = fmt::format("if {} > {} {{ {} }}", operand(of, "y", "x", "0"), number(), body);
    if (choose(3) == 2) body += fmt::format("\n            {}", update("x / 2", number()));
    body_ += fmt::format(
        "    accumulate {0}({1}b in 0..{2}): {3} = {3}({4}) {{\n        for y in 0..R, x in {5}..C {{\n"
        "            {6}\n        }}\n    }}\n",
        name,
        bands == 0   ? ""
        : bands == 3 ? "u in 0..(R + 6) / 7, "
                     : "u in 0..R, ",
        cells, in_type, number(), choose(3) / 2, body);
    body_ += fmt::format("    s{}(y, x): int32 = int32({}({}clamp({}, 0, {} - 1)))\n", ++names_, name,
                         band("clamp(y, 0, R - 1)"), value, cells);
    sources_.push_back({fmt::format("s{}", names_), Type::Int32, 0, false, false, "", "", finer_});
}

void ImageGenerator::input() {
    ImageSource made{fmt::format("in{}", sources_.size()), choices_.pick(kTypes), 0, false, false, "R", "C", 0};
    std::string extents = "R, C";
    switch (choose(5)) {
        case 1:
            made.channels = 3;
            extents = "3, R, C";
            break;
        case 2:
            made.channels = 3;
            made.inner = true;
            extents = "R, C, 3";
            break;
        case 3:
            if (sources_.empty()) break;
            made.rows = "(R + 4)";
            extents = "R + 4, C";
            break;
        default: break;
    }
    inputs_.push_back(fmt::format("{}: {}[{}]", made.name, ir::name(made.type), extents));
    sources_.push_back(made);
}

std::string ImageGenerator::program() {
    const std::size_t input_count = 1 + choose(2);
    for (std::size_t i = 0; i < input_count; ++i) input();
    if (choose(4) != 3) boundary();
    const std::size_t stages = 2 + choose(7);
    for (std::size_t i = 0; i < stages; ++i) {
        switch (choose(13)) {
            case 8: choose(2) == 0 ? histograms() : table(); break;
            case 9: row(); break;
            case 10: boundary(); break;
            case 11: bounded(); break;
            case 12: torus(); break;
            default: stage(false); break;
        }
    }
    const std::size_t output_count = 1 + choose(3) / 2 + choose(4) / 3;
    for (std::size_t i = 0; i < output_count; ++i) stage(true);
    // Small enough that what is read at 2 * y of something a little larger still fits.
    return fmt::format("import \"boundary\"\n\npipeline {}({})\n    -> {} where R < 1000000, C < 1000000\n{{\n{}}}\n",
                       name_, fmt::join(inputs_, ", "), fmt::join(outputs_, ", "), body_);
}

}  // namespace

std::string image_program(const Tape& tape, const std::string& name) {
    return ImageGenerator(tape, name).program();
}

}  // namespace pipec::testing
