// The proof that what is read from shared memory was written: kernels made for it, and all fused kernels of the
// examples.
#include "codegen/kernel/kernel_written.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "codegen/kernel/kernel_flow.h"
#include "codegen/lower.h"
#include "ir/build.h"
#include "support_lib/groups.h"

namespace pipec::codegen::kernel::kernel_written_test {
namespace {

using fusion::GroupSchedule;
using fusion::Strategy;

constexpr std::int64_t kBudget = 400'000'000;

// ------------------------------------------------------------------------------------------------- kernels made for it

/// One block of 64 threads, with an array of 64 cells.
class WrittenTest : public ::testing::Test {
protected:
    WrittenTest() {
        pipeline_.sizes.push_back({"C", {}});
        pipeline_.inputs.push_back({"table", ir::Type::Int32, {ir::size_ref(0)}, {0}, {}});
        kernel_.block = {64, 1, 1};
        share("cells", 64);
        thread_ = special("thread", Special::Id::ThreadX);
        block_ = special("block", Special::Id::BlockX);
    }
    void share(const std::string& name, std::int64_t extent, std::int64_t offset = -1) {
        SharedArray& array = kernel_.shared.emplace_back();
        array.name = name;
        array.extents = {extent};
        array.offset = offset;
    }
    ir::Expr variable(const std::string& name, ir::VarId* var = nullptr) {
        const ir::VarId id = ir::new_variable(pipeline_, name, ir::Type::Int32);
        if (var != nullptr) *var = id;
        return ir::variable(id, ir::Type::Int32);
    }
    ir::Expr special(const std::string& name, Special::Id id) {
        ir::VarId var = 0;
        const ir::Expr e = variable(name, &var);
        kernel_.specials.push_back({var, id});
        return e;
    }
    static ir::Expr number(std::int64_t n) { return ir::int_constant(ir::Type::Int32, n); }
    static ir::Expr op(ir::BinaryOp op, const ir::Expr& a, const ir::Expr& b) { return ir::binary(op, a, b); }
    static ir::Expr add(const ir::Expr& a, const ir::Expr& b) { return op(ir::BinaryOp::Add, a, b); }
    static ir::Expr subtract(const ir::Expr& a, const ir::Expr& b) { return op(ir::BinaryOp::Sub, a, b); }
    static ir::Expr multiply(const ir::Expr& a, std::int64_t n) { return op(ir::BinaryOp::Mul, a, number(n)); }
    static ir::Expr less(const ir::Expr& a, const ir::Expr& b) { return op(ir::BinaryOp::Lt, a, b); }
    static Stmt store(const ir::Expr& at, int array = 0, const ir::Expr& guard = nullptr) {
        return {Store{{ir::Source::Kind::Local, array}, {at}, {ir::float_constant(ir::Type::Float32, 1)}, guard}};
    }
    static Stmt barrier(Barrier::Scope scope = Barrier::Scope::Block) { return {Barrier{scope}}; }
    Stmt read(const ir::Expr& at, int array = 0) {
        const ir::VarId var = ir::new_variable(pipeline_, "value", ir::Type::Float32);
        return {Define{var, ir::read({ir::Source::Kind::Local, array}, ir::Type::Float32, {at})}};
    }
    ir::Expr table(const ir::Expr& at) { return ir::read({ir::Source::Kind::Input, 0}, ir::Type::Int32, {at}); }
    Written follow(Body body, std::int64_t budget = kBudget) {
        kernel_.body = std::move(body);
        return follow_shared_memory(kernel_, budget);
    }
    static void expect(const Written& written, std::int64_t proved, std::int64_t unproved,
                       const std::vector<std::string>& problems = {}, const std::string& way = "") {
        EXPECT_EQ(written.problems, problems);
        const auto found = written.reads.find(way);
        const Written::Reads reads = found == written.reads.end() ? Written::Reads{} : found->second;
        EXPECT_EQ(reads.proved, proved);
        EXPECT_EQ(reads.unproved, unproved);
    }

    ir::Pipeline pipeline_;
    Kernel kernel_;
    ir::Expr thread_, block_;
};

TEST_F(WrittenTest, ABarrierShowsWhatOthersWrote) {
    expect(follow({store(thread_), read(thread_), barrier(), read(subtract(number(63), thread_))}), 128, 0);
    expect(follow({store(thread_), read(subtract(number(63), thread_))}), 0, 64,
           {"shared array `cells(63)` is read by thread 0 without a barrier after thread 63 wrote it"});
}

TEST_F(WrittenTest, AThreadSeesWhatItCopiedWhenItHasWaited) {
    const auto copy = [&](const ir::Expr& at) -> Stmt {
        return {Copy{{ir::Source::Kind::Local, 0}, {at}, {ir::Source::Kind::Input, 0}, {at}, 1}};
    };
    const Stmt commit{Commit{}}, wait{Wait{0}}, all_but_one{Wait{1}};
    const std::vector<std::string> too_early{
        "shared array `cells(0)` is read by thread 0 while a copy into it is under way"};
    expect(follow({copy(thread_), commit, wait, read(thread_)}), 64, 0);
    expect(follow({copy(thread_), commit, read(thread_)}), 0, 64, too_early);
    expect(follow({copy(thread_), wait, read(thread_)}), 0, 64, too_early);
    expect(follow({copy(thread_), commit, all_but_one, read(thread_)}), 0, 64, too_early);
    expect(follow({copy(thread_), commit, commit, all_but_one, read(thread_)}), 64, 0);
    // Others need a barrier behind the wait; none waits by itself.
    const ir::Expr mirrored = subtract(number(63), thread_);
    expect(follow({copy(thread_), commit, wait, barrier(), read(mirrored)}), 64, 0);
    expect(follow({copy(thread_), commit, barrier(), read(thread_)}), 0, 64, too_early);
    expect(follow({copy(thread_), commit, wait, read(mirrored)}), 0, 64,
           {"shared array `cells(63)` is read by thread 0 without a barrier after thread 63 wrote it"});
    // Its own slot is free again once it was read.
    expect(follow({copy(thread_), commit, wait, read(thread_), copy(thread_), commit, wait, read(thread_)}), 128, 0);
    expect(follow({copy(thread_), commit, store(thread_)}), 0, 0,
           {"shared array `cells(0)` is written by thread 0 while a copy into it is under way"});
    // Who may not have come by has not certainly waited.
    const Stmt maybe{If{less(table(thread_), number(3)), {wait}, {}}};
    expect(follow({copy(thread_), commit, maybe, wait, read(thread_)}), 64, 0);
    const Stmt way{If{less(number(9), ir::size_ref(0)), {wait}, {}, If::Uniform::Block}};
    expect(follow({copy(thread_), commit, way, read(thread_)}), 0, 64);
    expect(follow({copy(thread_), commit, way, wait, read(thread_)}), 64, 0);
}

TEST_F(WrittenTest, AThreadUpdatesItsOwn) {
    const auto update = [&](const ir::Expr& at) -> Stmt {
        const ir::Expr one = ir::float_constant(ir::Type::Float32, 1);
        return {Atomic{{ir::Source::Kind::Local, 0}, {at}, ir::ReduceOp::Sum, one, true}};
    };
    expect(follow({store(thread_), barrier(), update(thread_), update(thread_), barrier(), read(thread_)}), 192, 0);
    const Stmt open{If{less(table(thread_), number(3)), {update(thread_)}, {}}};
    expect(follow({store(thread_), open, open, barrier(Barrier::Scope::Warp), read(thread_)}), 192, 0);
    expect(follow({update(thread_)}), 0, 64, {"shared array `cells(0)` is updated, but nothing is in it"});
    expect(follow({store(thread_), update(subtract(number(63), thread_))}), 0, 64,
           {"shared array `cells(63)` is written by thread 0 without a barrier after others wrote it"});
}

TEST_F(WrittenTest, ABarrierOfTheWarpShowsTheWarps) {
    const ir::Expr in_warp = add(subtract(number(31), op(ir::BinaryOp::Mod, thread_, number(32))),
                                 multiply(op(ir::BinaryOp::Div, thread_, number(32)), 32));
    expect(follow({store(thread_), barrier(Barrier::Scope::Warp), read(in_warp)}), 64, 0);
    expect(follow({store(thread_), barrier(Barrier::Scope::Warp), read(subtract(number(63), thread_))}), 0, 64,
           {"shared array `cells(63)` is read by thread 0 without a barrier after thread 63 wrote it"});
}

TEST_F(WrittenTest, WhatNobodyWroteIsNotRead) {
    expect(follow({store(thread_, 0, less(thread_, number(40))), barrier(), read(thread_)}), 40, 24,
           {"shared array `cells(40)` is read, but nothing is in it"});
    expect(follow({store(thread_), barrier(), read(add(thread_, number(1)))}), 64, 0,
           {"shared array `cells` has no element 64 in dimension 0, which thread 63 asks for"});
}

TEST_F(WrittenTest, OthersHaveReadBeforeItIsReplaced) {
    const Stmt mirrored = read(subtract(number(63), thread_));
    expect(follow({store(thread_), barrier(), mirrored, barrier(), store(thread_)}), 64, 0);
    expect(follow({store(thread_), barrier(), mirrored, store(thread_)}), 64, 0,
           {"shared array `cells(0)` is written by thread 0 without a barrier after others read it"});
    expect(follow({store(op(ir::BinaryOp::Div, thread_, number(2)))}), 0, 0,
           {"shared array `cells(0)` is written by thread 1 without a barrier after others wrote it"});
}

TEST_F(WrittenTest, ALoopIsFollowedRoundByRound) {
    ir::VarId i = 0;
    const ir::Expr at = variable("i", &i);
    // Each round reads what the round before has written.
    const Body round = {store(add(thread_, multiply(at, 8)), 0, less(thread_, number(8))), barrier(),
                        read(multiply(at, 8))};
    expect(follow({{For{i, number(0), number(8), number(1), false, round}}}), 512, 0);
    // How many rounds there are is not known: that the last cell is written neither.
    expect(follow({{For{i, number(0), ir::size_ref(0), number(1), false, {store(thread_), barrier()}}}, read(thread_)}),
           0, 64);
}

TEST_F(WrittenTest, OnlyWhatBothWaysWriteIsCertain) {
    const ir::Expr large = less(number(9), ir::size_ref(0));
    const auto branch = [&](Body otherwise) {
        return Stmt{If{large, {store(thread_), read(thread_)}, std::move(otherwise), If::Uniform::Block}};
    };
    const Written one = follow({branch({}), barrier(), read(thread_)});
    expect(one, 0, 64);
    expect(one, 64, 0, {}, "then");
    expect(follow({branch({store(thread_)}), barrier(), read(thread_)}), 64, 0);
}

TEST_F(WrittenTest, DataAsAnIndexMayMeanAnyElement) {
    expect(follow({store(thread_), barrier(), read(table(thread_))}), 64, 0);
    expect(follow({store(thread_, 0, less(thread_, number(63))), barrier(), read(table(thread_))}), 0, 64);
}

TEST_F(WrittenTest, WhereTheTileLiesDoesNotMatter) {
    ir::VarId x = 0;
    const ir::Expr point = variable("x", &x);
    const Stmt define{Define{x, add(multiply(block_, 64), thread_), true}};
    expect(follow({define, store(subtract(point, multiply(block_, 64))), barrier(),
                   read(subtract(op(ir::BinaryOp::Div, point, number(2)), multiply(block_, 32)))}),
           64, 0);
    // What is left of a third is not known: any element, all of which are written.
    expect(follow({define, store(thread_), barrier(),
                   read(subtract(op(ir::BinaryOp::Div, point, number(3)), multiply(block_, 21))),
                   store(op(ir::BinaryOp::Div, point, number(3))), barrier(), read(thread_)}),
           128, 0);
}

TEST_F(WrittenTest, ArraysInOnePlaceDestroyEachOther) {
    kernel_.shared.clear();
    share("a", 64, 0);
    share("b", 64, 128);
    expect(follow({store(thread_), barrier(), store(thread_, 1, less(thread_, number(4))), barrier(), read(thread_)}),
           60, 4, {"shared array `a(32)` is read, but nothing is in it"});
    expect(follow({store(thread_), read(thread_), barrier(), store(thread_, 1), barrier(), read(thread_, 1)}), 128, 0);
}

TEST_F(WrittenTest, UpdatesComeBetweenBarriers) {
    const auto update = [&](const ir::Expr& at) {
        return Stmt{
            Atomic{{ir::Source::Kind::Local, 0}, {at}, ir::ReduceOp::Sum, ir::float_constant(ir::Type::Float32, 1)}};
    };
    const Stmt mirrored = read(subtract(number(63), thread_));
    expect(follow({store(thread_), barrier(), update(table(thread_)), update(number(3)), barrier(), mirrored}), 66, 0);
    expect(follow({store(thread_), update(number(3))}), 0, 1);
    expect(follow({store(thread_), barrier(), update(number(3)), read(thread_)}), 64, 1);
    expect(follow({update(number(3))}), 0, 1, {"shared array `cells(3)` is updated, but nothing is in it"});
    // Each warp has its half: what it updates, its lanes see behind their own barrier.
    const ir::Expr half = multiply(op(ir::BinaryOp::Div, thread_, number(32)), 32);
    const Stmt own = read(add(half, op(ir::BinaryOp::Mod, add(thread_, number(1)), number(32))));
    const Stmt warp = barrier(Barrier::Scope::Warp);
    expect(follow({store(thread_), warp, update(half), update(add(half, number(1))), warp, own}), 192, 0);
    expect(follow({store(thread_), warp, update(number(0)), warp, own}), 63, 2);
}

TEST_F(WrittenTest, ShufflesAskForLanesOfTheWarp) {
    ir::VarId v = 0;
    variable("v", &v);
    const auto shuffle = [&](const ir::Expr& lane) { return Stmt{Shuffle{v, thread_, Shuffle::From::Index, lane}}; };
    expect(follow({shuffle(op(ir::BinaryOp::Mod, add(thread_, number(1)), number(32)))}), 0, 0);
    expect(follow({shuffle(add(thread_, number(1)))}), 0, 0, {"a shuffle asks for lane 32"});
}

TEST_F(WrittenTest, TheBudgetBoundsTheWork) {
    EXPECT_FALSE(follow({store(thread_), barrier(), read(thread_)}, 100).complete);
}

// ---------------------------------------------------------------------------------------------------------- all
// examples

std::vector<std::string> example_files() {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(PIPEC_SOURCE_DIR "/examples")) {
        if (entry.path().extension() == ".pipe") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
}

const GroupSchedule kSchedules[] = {
    {{}, Strategy::Otptb, {32, 4, 1}, {1, 2, 1}, 1, 0, 1, {}},
    {{}, Strategy::Otptb, {16, 8, 1}, {4, 1, 1}, 4, 0, 1, {}},
    {{}, Strategy::Otpw, {32, 2, 1}, {1, 3, 1}, 1, 0, 1, {}},
    {{}, Strategy::Otpw, {16, 4, 1}, {2, 2, 1}, 2, 0, 1, {}},
    {{}, Strategy::Hybrid, {32, 2, 1}, {1, 4, 1}, 1, 1, 0.5, {}},
    {{}, Strategy::RegisterTile, {32, 2, 1}, {2, 3, 1}, 1, 0, 1, {}},
    {{}, Strategy::RegisterTile, {32, 2, 1}, {2, 3, 1}, 1, 0, 1, {}, 2},
    {{}, Strategy::Stream, {32, 2, 1}, {1, 3, 1}, 1, 0, 1, {}},
    {{}, Strategy::Stream, {64, 1, 1}, {2, 4, 2}, 1, 0, 1, {}},
};

/// Code of interiors stands before code of edges that does the same.
bool is_interior(const Written& written, const std::string& way) {
    constexpr std::string_view kThen = "then";
    if (!way.ends_with(kThen)) return false;
    return written.reads.contains(way.substr(0, way.size() - kThen.size()) + "else");
}

class Examples : public ::testing::TestWithParam<std::string> {};

/// In the interior everything is proved, with windows most of it; nowhere is anything certain to be wrong.
TEST_P(Examples, InteriorsAreProved) {
    SourceManager sources;
    const testing::Compiled compiled = testing::compile_text(sources, GetParam(), testing::read_file(GetParam()));
    std::int64_t kernels = 0, refused = 0, interior = 0, edge = 0, open = 0;
    for (std::size_t i = 0; i < compiled.pipelines.size(); ++i) {
        const testing::Inlined program = testing::inline_cheap(compiled.pipelines[i], compiled.models[i]);
        for (const poly::Group& group : testing::some_of(testing::legal_groups(program))) {
            for (const GroupSchedule& schedule : kSchedules) {
                Program made{program.pipeline, program.model, fusion::default_target()};
                const auto step = group_step(made, group, schedule, sources);
                if (!std::holds_alternative<Step>(step)) {
                    ++refused;
                    continue;
                }
                for (const Kernel& kernel : std::get<Step>(step).variants) {
                    SCOPED_TRACE(fmt::format("{} {}\n{}", name(schedule.strategy), kernel.name,
                                             to_string(program.pipeline, group)));
                    ++kernels;
                    const Written written = follow_shared_memory(kernel, kBudget);
                    EXPECT_TRUE(written.complete);
                    EXPECT_EQ(written.problems, std::vector<std::string>{});
                    for (const auto& [way, reads] : written.reads) {
                        if (is_interior(written, way)) {
                            interior += reads.proved;
                            // Where a clamp is left in an index, it may be any row of a window: also one that is not
                            // filled yet.
                            const std::int64_t most = schedule.strategy == Strategy::Stream ? reads.proved / 4 : 0;
                            EXPECT_LE(reads.unproved, most) << way << ": " << reads.proved << " proved";
                        } else {
                            edge += reads.proved;
                            open += reads.unproved;
                        }
                    }
                    if (HasFailure()) return;
                }
            }
        }
    }
    fmt::print("{} kernels, {} refused; proved: {} reads in interiors, {} of {} at edges\n", kernels, refused, interior,
               edge, edge + open);
}

INSTANTIATE_TEST_SUITE_P(All, Examples, ::testing::ValuesIn(example_files()), [](const auto& param_info) {
    return std::filesystem::path(param_info.param).stem().string();
});

}  // namespace
}  // namespace pipec::codegen::kernel::kernel_written_test
