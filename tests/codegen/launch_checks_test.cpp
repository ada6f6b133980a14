// What a launch computes of sizes and parameters, against the reference: random conditions and extents, with numbers
// that leave 32 and 64 bits. PIPEC_AUDIT=20 makes twenty times as many, PIPEC_AUDIT_SEED=7 others.
#include <gtest/gtest.h>

#include <cstring>
#include <iostream>

#include "../poly/random_expr.h"
#include "codegen/expr/uses.h"
#include "ir/print.h"
#include "reference/exact.h"
#include "support_lib/host.h"

namespace pipec::testing::launch_checks_test {
namespace {

using ir::BinaryOp;
using ir::Type;
using reference::Value;
using test::RandomExpr;

enum Status { kOk = 0, kNull = 1, kExtent = 2, kWhere = 6 };  // of the header, as far as they occur

/// One pipeline without inputs: its sizes are passed, its only output has an extent and its only condition is given.
struct Subject {
    ir::Pipeline pipeline;
    poly::Model model;
};

ir::Expr random_extent(RandomExpr& make, int depth) {
    if (depth == 0 || make.chance(10)) {
        if (make.chance(60)) return ir::size_ref(make.pick(0, 1));
        const std::int64_t limit = make.chance(30) ? INT32_MAX : make.chance(50) ? 70000 : 9;
        return ir::int_constant(Type::Int32,
                                make.pick(static_cast<int>(make.chance(70) ? 1 : -limit), static_cast<int>(limit)));
    }
    constexpr std::array kOperators{BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Mul,
                                    BinaryOp::Div, BinaryOp::Mod, BinaryOp::Min, BinaryOp::Max};
    const ir::Expr a = random_extent(make, depth - 1), b = random_extent(make, depth - 1);
    if (make.chance(10)) {
        return ir::select(ir::binary(BinaryOp::Lt, a, b), random_extent(make, depth - 1),
                          random_extent(make, depth - 1));
    }
    return ir::binary(make.one_of(kOperators), a, b);
}

bool has_unused_let(const ir::Expr& e) {
    bool result = false;
    ir::for_each_node(e, [&](const ir::Expr& node) {
        const auto* let = ir::as<ir::Let>(node);
        if (let == nullptr) return;
        codegen::Uses uses;
        uses.add(let->body);
        result = result || !uses.variable(let->var);
    });
    return result;
}

Subject random_subject(unsigned seed) {
    RandomExpr make(seed, {.floats = seed % 3 == 0, .constants = 40, .variables = 0, .sizes = 2});
    Subject result;
    ir::Expr condition;
    do condition = make.boolean(make.pick(1, 4));
    while (ir::as_int(condition) || has_unused_let(condition));
    const ir::Expr extent = make.chance(40) ? ir::int_constant(Type::Int32, 1) : random_extent(make, make.pick(1, 4));
    result.pipeline = make.pipeline;
    ir::Pipeline& p = result.pipeline;
    p.name = "p" + std::to_string(seed);
    p.where.push_back(condition);
    p.outputs.push_back({{"out", Type::UInt8, {extent}, {0}, {}}, 0});
    ir::Stage stage;
    stage.name = "out";
    stage.type = Type::UInt8;
    stage.dims.push_back({ir::new_variable(p, "x"), ir::int_constant(Type::Int32, 0), extent, {}});
    stage.definition = ir::Pure{ir::int_constant(Type::UInt8, 0)};
    stage.output = 0;
    p.stages.push_back(stage);
    for (int s = 0; s < 2; ++s) {
        result.model.sizes.push_back({poly::SizeSolution::From::Explicit, s, -1, -1, 1, nullptr});
    }
    result.model.checks = p.where;
    result.model.domains.push_back({{{ir::int_constant(Type::Int32, 0), extent}}, nullptr});
    return result;
}

/// What check must say for these sizes and parameters: the pointers are null.
int expected_status(const ir::Pipeline& p, const std::vector<Value>& sizes, const std::vector<Value>& params) {
    const auto leaf = [&](const ir::Expr& e) {
        if (const auto* size = ir::as<ir::SizeRef>(e)) return sizes.at(static_cast<std::size_t>(size->index));
        return params.at(static_cast<std::size_t>(std::get<ir::ParamRef>(e->value).index));
    };
    try {
        const std::int64_t extent = reference::evaluate_exactly(p.outputs[0].buffer.extents[0], leaf).i;
        if (extent < 1 || extent >= 1 << 30) return kExtent;
    } catch (const reference::Error&) {
        return kExtent;
    }
    try {
        return reference::evaluate_exactly(p.where[0], leaf).i != 0 ? kNull : kWhere;
    } catch (const reference::Error&) {
        return kWhere;
    }
}

/// Writes a parameter as its field in the arguments.
void store(std::byte* at, const Value& v) {
    reference::Array array(v.type, {1});
    array.set(0, v);
    std::memcpy(at, array.data.data(), array.data.size());
}

TEST(LaunchChecks, ComputeExactIntegers) {
    const int count = 30, rounds = test::audit_factor();
    int refused = 0, accepted = 0;
    for (int round = 0; round < rounds; ++round) {
        std::vector<Subject> subjects;
        std::vector<codegen::Unit> units;
        for (int i = 0; i < count; ++i) {
            subjects.push_back(
                random_subject(test::audit_seed() * 100'003u + static_cast<unsigned>(round * count + i)));
        }
        for (const Subject& s : subjects) units.push_back({&s.pipeline, &s.model});
        const SourceManager sources;
        const HostLibrary library(units, sources, kNothingUndefined);
        for (const Subject& s : subjects) {
            const runner::abi::pipe_info& info = library.info(s.pipeline.name);
            RandomExpr values(7, {});
            for (int trial = 0; trial < 40; ++trial) {
                std::vector<Value> sizes, params;
                for (int i = 0; i < info.size_count; ++i) {
                    const bool large = values.chance(50);
                    const int least = values.chance(70) ? 1 : -(1 << 30) + 1;
                    sizes.push_back(test::number(Type::Int64, values.pick(least, large ? (1 << 30) - 1 : 200)));
                }
                for (const auto& param : s.pipeline.params) params.push_back(values.any(param.type));
                std::vector<std::byte> args(info.args_size);
                info.defaults(args.data());
                for (std::size_t i = 0; i < sizes.size(); ++i) store(args.data() + info.sizes[i].offset, sizes[i]);
                for (std::size_t i = 0; i < params.size(); ++i) {
                    store(args.data() + info.parameters[i].offset, params[i]);
                }
                char message[500];
                const int status = info.check(args.data(), message, sizeof message) & 0xff;
                const int expected = expected_status(s.pipeline, sizes, params);
                ASSERT_EQ(status, expected) << s.pipeline.name << ": extent "
                                            << ir::to_string(s.pipeline, s.pipeline.outputs[0].buffer.extents[0])
                                            << " where " << ir::to_string(s.pipeline, s.pipeline.where[0])
                                            << "\nS0 = " << sizes[0].i << ", S1 = " << sizes[1].i << ": " << message;
                (expected == kNull ? accepted : refused) += 1;
            }
        }
    }
    EXPECT_GT(accepted, 100);
    EXPECT_GT(refused, 100);
    std::cout << accepted << " launches accepted, " << refused << " refused\n";
}

}  // namespace
}  // namespace pipec::testing::launch_checks_test
