#include "evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "frontend/elaborate.h"
#include "ir/verify.h"
#include "poly/model.h"
#include "reference/interpreter.h"
#include "support/render.h"

namespace pipec::test {

Grid::Grid(std::vector<std::int64_t> extents_, double value) : extents(std::move(extents_)) {
    std::size_t count = 1;
    for (const std::int64_t e : extents) count *= static_cast<std::size_t>(e);
    data.assign(count, value);
}

std::size_t Grid::offset(std::initializer_list<std::int64_t> index) const {
    std::int64_t result = 0;
    std::size_t d = 0;
    for (const std::int64_t i : index) {
        if (i < 0 || i >= extents.at(d)) throw std::out_of_range("index of a grid");
        result = result * extents[d++] + i;
    }
    return static_cast<std::size_t>(result);
}

Grid make2(std::int64_t rows, std::int64_t cols, const std::function<double(std::int64_t, std::int64_t)>& f) {
    Grid g({rows, cols});
    for (std::int64_t y = 0; y < rows; y++)
        for (std::int64_t x = 0; x < cols; x++) g({y, x}) = f(y, x);
    return g;
}

Grid make3(std::int64_t planes, std::int64_t rows, std::int64_t cols,
           const std::function<double(std::int64_t, std::int64_t, std::int64_t)>& f) {
    Grid g({planes, rows, cols});
    for (std::int64_t c = 0; c < planes; c++)
        for (std::int64_t y = 0; y < rows; y++)
            for (std::int64_t x = 0; x < cols; x++) g({c, y, x}) = f(c, y, x);
    return g;
}

namespace {
Grid random_grid(std::vector<std::int64_t> extents, double scale, bool whole) {
    Grid g(std::move(extents));
    std::mt19937 engine(20240607);
    for (double& v : g.data) {
        v = std::ldexp(static_cast<double>(engine() >> 8), -24) * scale;
        if (whole) v = std::floor(v);
    }
    return g;
}
}  // namespace

Grid random2(std::int64_t rows, std::int64_t cols) {
    return random_grid({rows, cols}, 1, false);
}
Grid random3(std::int64_t planes, std::int64_t rows, std::int64_t cols) {
    return random_grid({planes, rows, cols}, 1, false);
}
Grid bytes3(std::int64_t planes, std::int64_t rows, std::int64_t cols) {
    return random_grid({planes, rows, cols}, 256, true);
}

namespace {

reference::Array to_array(const Grid& grid, ir::Type type) {
    reference::Array array(type, grid.extents);
    for (std::size_t i = 0; i < grid.data.size(); i++) {
        array.set(i, {type, ir::is_float(type) ? 0 : static_cast<std::int64_t>(grid.data[i]), grid.data[i]});
    }
    return array;
}

Grid to_grid(const reference::Array& array) {
    Grid grid(array.extents);
    for (std::size_t i = 0; i < grid.data.size(); i++) {
        const reference::Value v = array.get(i);
        grid.data[i] = ir::is_float(v.type) ? v.f : static_cast<double>(v.i);
    }
    return grid;
}

/// Sizes by name, as the launch of generated code would find them.
std::map<std::string, std::int64_t> solve_sizes(const ir::Pipeline& pipeline, const poly::Model& model,
                                                const std::map<std::string, Grid>& inputs,
                                                const std::map<std::string, std::int64_t>& given) {
    std::vector<std::int64_t> values(pipeline.sizes.size(), 0);
    std::map<std::string, std::int64_t> result;
    for (const poly::SizeSolution& s : model.sizes) {
        const auto index = static_cast<std::size_t>(s.size);
        const std::string& name = pipeline.sizes[index].name;
        if (const auto explicit_value = given.find(name); explicit_value != given.end()) {
            values[index] = explicit_value->second;
        } else if (s.from == poly::SizeSolution::From::Input) {
            const Grid& input = inputs.at(pipeline.inputs[static_cast<std::size_t>(s.buffer)].name);
            const std::int64_t rest = s.rest ? reference::evaluate_size_expr(s.rest, values) : 0;
            values[index] = (input.extents.at(static_cast<std::size_t>(s.dim)) - rest) / s.divisor;
        } else if (const ir::Expr& preset = pipeline.sizes[index].default_value) {
            values[index] = reference::evaluate_size_expr(preset, values);
        } else {
            throw std::invalid_argument("the size " + name + " must be given");
        }
        result[name] = values[index];
    }
    return result;
}

}  // namespace

Grid evaluate(const std::string& text, const std::map<std::string, Grid>& inputs,
              const std::map<std::string, std::int64_t>& sizes) {
    SourceManager sources;
    Diagnostics diags;
    const FileId file = sources.add("test.pipe", text);
    const Program program = load_program(sources, file, {}, diags);
    const std::vector<ir::Pipeline> pipelines = elaborate(program, sources, diags);
    std::optional<poly::Model> model;
    if (!diags.has_errors() && pipelines.size() == 1) {
        for (const std::string& problem : ir::verify(pipelines[0])) ADD_FAILURE() << problem;
        model = poly::analyze(pipelines[0], diags);
    }
    if (!model || diags.error_count() + diags.warning_count() > 0) {
        throw std::runtime_error("does not compile:\n" + text + "\n" + render_text(diags, sources));
    }

    const ir::Pipeline& pipeline = pipelines[0];
    reference::Arguments arguments;
    arguments.sizes = solve_sizes(pipeline, *model, inputs, sizes);
    for (const ir::Buffer& input : pipeline.inputs) {
        arguments.inputs.emplace(input.name, to_array(inputs.at(input.name), input.type));
    }
    return to_grid(reference::run(pipeline, arguments).at("out"));
}

void expect_near(const Grid& actual, const Grid& expected, double tolerance) {
    ASSERT_EQ(actual.extents, expected.extents);
    for (std::size_t i = 0; i < expected.data.size(); i++) {
        const bool both_nan = std::isnan(actual.data[i]) && std::isnan(expected.data[i]);
        ASSERT_TRUE(both_nan || std::abs(actual.data[i] - expected.data[i]) <= tolerance)
            << "element " << i << ": " << actual.data[i] << " instead of " << expected.data[i];
    }
}

}  // namespace pipec::test
