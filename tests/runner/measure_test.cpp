// --random, --expect and --measure: what `pipec tune` and `pipec profile` ask of pipec-run.
#include "runner/measure.h"

#include <nlohmann/json.hpp>

#include "command.h"

namespace pipec::testing::measure_test {

namespace {

using runner::Array;

template <class T>
Array array_of(ir::Type type, const std::vector<T>& values) {
    Array result(type, {static_cast<std::int64_t>(values.size())});
    std::memcpy(result.data.data(), values.data(), values.size() * sizeof(T));
    return result;
}

template <class T>
std::vector<T> random_values(ir::Type type, std::uint64_t seed) {
    const Array array = runner::random_array(type, {100, 20}, seed);
    const auto* first = reinterpret_cast<const T*>(array.data.data());
    return {first, first + array.size()};
}

TEST(Measure, RandomValuesHaveTheirTypesRange) {
    const std::vector<float> floats = random_values<float>(ir::Type::Float32, 1);
    EXPECT_EQ(floats, random_values<float>(ir::Type::Float32, 1));
    EXPECT_NE(floats, random_values<float>(ir::Type::Float32, 2));
    const auto range = [](const auto& values) {
        const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
        return std::pair<double, double>(*least, *greatest);
    };
    EXPECT_GE(range(floats).first, 0);
    EXPECT_GT(range(floats).second, 0.9);
    EXPECT_LE(range(floats).second, 1);
    EXPECT_EQ(range(random_values<std::uint8_t>(ir::Type::Bool, 1)), (std::pair<double, double>(0, 1)));
    EXPECT_EQ(range(random_values<std::int8_t>(ir::Type::Int8, 1)), (std::pair<double, double>(0, 127)));
    EXPECT_LE(range(random_values<std::int32_t>(ir::Type::Int32, 1)).second, 65535);
}

TEST(Measure, DifferencesAreCounted) {
    const auto floats = [](const std::vector<float>& v) { return array_of(ir::Type::Float32, v); };
    const float nan = std::nanf(""), inf = HUGE_VALF;
    EXPECT_EQ(runner::count_different(floats({1, nan, 0, inf}), floats({1, nan, -0.0F, inf}), 0), 0U);
    EXPECT_EQ(runner::count_different(floats({1, 0, 1, -inf}), floats({2, nan, inf, inf}), 0), 4U);
    EXPECT_EQ(runner::count_different(floats({100, 0.9F, 0}), floats({100, 0, 1.1F}), 0.01), 1U);
    const auto bytes = [](const std::vector<std::uint8_t>& v) { return array_of(ir::Type::UInt8, v); };
    EXPECT_EQ(runner::count_different(bytes({1, 2, 3}), bytes({1, 3, 5}), 0), 2U);
    EXPECT_EQ(runner::count_different(bytes({1, 2, 3}), bytes({1, 3, 5}), 0.001), 1U);
}

TEST(Measure, BatchesAreLongAndNotTooMany) {
    std::vector<int> calls;
    const auto launch_of = [&](double milliseconds) {
        return [&calls, milliseconds](int times) {
            calls.push_back(times);
            return milliseconds * times;
        };
    };
    EXPECT_EQ(runner::batch_means(launch_of(2)), std::vector<double>(5, 2.0));
    EXPECT_EQ(calls, (std::vector<int>{1, 1, 10, 10, 10, 10, 10, 10}));
    calls.clear();
    runner::batch_means(launch_of(500));
    EXPECT_EQ(calls, std::vector<int>(8, 1));
    calls.clear();
    runner::batch_means(launch_of(0));
    EXPECT_EQ(calls.back(), 1000);
}

class Measured : public InDirectory {
protected:
    static Outcome run(const std::string& pipeline, const std::string& options) {
        return shell(PIPEC_RUN " " PIPEC_COPIES " --pipeline " + pipeline + " --json -q " + options);
    }
};

TEST_F(Measured, AnOutputIsCompared) {
    ASSERT_EQ(run("row", "--random in=12 --out out=out.npy").exit_code, 0);
    const Outcome same = run("row", "--random in=12 --expect out=out.npy --measure");
    ASSERT_EQ(same.exit_code, 0) << same.err;
    const auto report = nlohmann::json::parse(same.out);
    EXPECT_EQ(report["outputs"][0]["different"], 0);
    EXPECT_EQ(report["run_ms"].size(), 5U);
    EXPECT_EQ(report["inputs"][0]["extents"], nlohmann::json({12}));

    const auto refused = [&](const std::string& options, int code, const std::string& message) {
        const Outcome outcome = run("row", options);
        EXPECT_EQ(outcome.exit_code, code);
        EXPECT_EQ(outcome.err.find("pipec-run: error: " + message), 0U) << outcome.err;
    };
    refused("--random in=13 --expect out=out.npy", 3, "--expect out: out.npy is no .npy file of 13 ");
    refused("--random in=12 --expect out=none.npy", 3, "");
    refused("--random in=1,2", 2, "--random in=1,2: expected 1 integers for ");
    refused("--random inn=12", 2, "--random: the pipeline has no input `inn`; did you mean `in`?");
    refused("--random in=0", 1, "`in` has a wrong extent");
}

}  // namespace
}  // namespace pipec::testing::measure_test
