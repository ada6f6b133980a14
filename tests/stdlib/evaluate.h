// Runs a program text with the reference interpreter, on arrays of doubles: what the tests of the standard library
// need.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace pipec::test {

/// A dense row-major array; values of any type as doubles.
struct Grid {
    std::vector<std::int64_t> extents;
    std::vector<double> data;

    Grid() = default;
    explicit Grid(std::vector<std::int64_t> extents_, double value = 0);
    double& operator()(std::initializer_list<std::int64_t> index) { return data[offset(index)]; }
    double operator()(std::initializer_list<std::int64_t> index) const { return data[offset(index)]; }

private:
    [[nodiscard]] std::size_t offset(std::initializer_list<std::int64_t> index) const;
};

/// A grid of the values of f.
Grid make2(std::int64_t rows, std::int64_t cols, const std::function<double(std::int64_t, std::int64_t)>& f);
Grid make3(std::int64_t planes, std::int64_t rows, std::int64_t cols,
           const std::function<double(std::int64_t, std::int64_t, std::int64_t)>& f);
/// Reproducible values, uniform in [0, 1), and whole numbers from 0 to 255.
Grid random2(std::int64_t rows, std::int64_t cols);
Grid random3(std::int64_t planes, std::int64_t rows, std::int64_t cols);
Grid bytes3(std::int64_t planes, std::int64_t rows, std::int64_t cols);

/// Compiles the one pipeline of `text` (any diagnostic, also a warning, fails the test, and so does an access that is
/// not proved in bounds), takes the sizes from the inputs, and returns the output `out`. `sizes` are those that no
/// input tells; scalar parameters have their defaults.
Grid evaluate(const std::string& text, const std::map<std::string, Grid>& inputs,
              const std::map<std::string, std::int64_t>& sizes = {});

/// Fails the test unless the grids have equal extents and values that differ by at most `tolerance`.
void expect_near(const Grid& actual, const Grid& expected, double tolerance);

}  // namespace pipec::test
