// The rules of kernel IR: for each one a program that breaks it, and the sentence.
#include <gtest/gtest.h>

#include "codegen/kernel/kernel_ir.h"
#include "ir/build.h"

namespace pipec::codegen::kernel::kernel_verify_test {
namespace {

using ir::BinaryOp;
using ir::Type;
using Strings = std::vector<std::string>;

ir::Expr number(std::int64_t value) {
    return ir::int_constant(Type::Int32, value);
}
ir::Expr real(double value) {
    return ir::float_constant(Type::Float32, value);
}
ir::Expr operator+(const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(BinaryOp::Add, a, b);
}
ir::Expr operator*(const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(BinaryOp::Mul, a, b);
}
ir::Expr operator/(const ir::Expr& a, std::int64_t b) {
    return ir::binary(BinaryOp::Div, a, number(b));
}
ir::Expr operator<(const ir::Expr& a, const ir::Expr& b) {
    return ir::binary(BinaryOp::Lt, a, b);
}

/// `pipeline p(img: float32[C], table: int32[C]) -> out: float32[C]` with one kernel, whose threads are 64 x 4.
class KernelIr : public ::testing::Test {
protected:
    KernelIr() {
        ir::Pipeline& p = program_.pipeline;
        p.name = "p";
        p.sizes.push_back({"C", {}});
        const ir::Expr c = ir::size_ref(0);
        p.inputs.push_back({"img", Type::Float32, {c}, {0}, {}});
        p.inputs.push_back({"table", Type::Int32, {c}, {0}, {}});
        p.outputs.push_back({{"out", Type::Float32, {c}, {0}, {}}, 0});
        ir::Stage out;
        out.name = "out";
        out.dims.push_back({ir::new_variable(p, "x"), number(0), c, {}});
        out.definition = ir::Pure{real(0)};
        out.output = 0;
        p.stages.push_back(out);
        program_.steps.push_back({{Kernel{}}});
        kernel().name = "k";
        kernel().block = {64, 4, 1};
        kernel().grid[0] = c;
        thread_x_ = special("thread_x", Special::Id::ThreadX);
        thread_y_ = special("thread_y", Special::Id::ThreadY);
        block_ = special("block", Special::Id::BlockX);
    }

    Kernel& kernel() { return program_.steps[0].variants[0]; }
    ir::VarId variable(const std::string& name, Type type = Type::Int32) {
        return ir::new_variable(program_.pipeline, name, type);
    }
    ir::Expr special(const std::string& name, Special::Id id) {
        const ir::VarId var = variable(name);
        kernel().specials.push_back({var, id});
        return use(var);
    }
    ir::Expr use(ir::VarId var) {
        return ir::variable(var, program_.pipeline.variables[static_cast<std::size_t>(var)].type);
    }
    ir::Expr img(const ir::Expr& x) { return ir::read(kImg, Type::Float32, {x}); }
    ir::Expr cell(const ir::Expr& x) { return ir::read(kLocal, Type::Float32, {x}); }
    ir::Expr table(const ir::Expr& x) { return ir::read({ir::Source::Kind::Input, 1}, Type::Int32, {x}); }
    static Stmt store(const ir::Expr& x, const ir::Expr& value) { return {Store{kOut, {x}, {value}, nullptr}}; }
    static Stmt store_local(const ir::Expr& x, const ir::Expr& value) { return {Store{kLocal, {x}, {value}, nullptr}}; }
    static Stmt barrier(Barrier::Scope scope = Barrier::Scope::Block) { return {Barrier{scope}}; }
    /// Adds statements, and one that writes the output.
    Strings problems(Body body) {
        for (Stmt& stmt : body) kernel().body.push_back(std::move(stmt));
        kernel().body.push_back(store(block_, real(0)));
        return verify(program_);
    }
    static Strings only(const std::string& sentence) { return {"kernel `k`: " + sentence}; }
    void share(std::vector<std::int64_t> extents = {64}) {
        kernel().shared.push_back({"cells", Type::Float32, std::move(extents)});
    }

    static constexpr ir::Source kImg{ir::Source::Kind::Input, 0}, kOut{ir::Source::Kind::Stage, 0},
        kLocal{ir::Source::Kind::Local, 0};
    Program program_{{}, {}, fusion::default_target()};
    ir::Expr thread_x_, thread_y_, block_;
};

// ------------------------------------------------------------------------------------------------------ names and
// types

TEST_F(KernelIr, ACorrectProgramHasNoProblems) {
    kernel().block = {64, 1, 1};  // a thread for each cell
    share();
    const ir::VarId v = variable("v", Type::Float32), r = variable("r", Type::Float32), i = variable("i");
    const ir::VarId a = variable("a", Type::Float32), b = variable("b", Type::Float32);
    const ir::VarId s = variable("s", Type::Float32);
    EXPECT_EQ(problems({{Load{{a, b}, kImg, {thread_x_ * number(2)}}},
                        {Define{v, use(a) + use(b)}},
                        {Variable{r, use(v)}},
                        store_local(thread_x_, use(v)),
                        barrier(),
                        {For{i, number(0), number(4), number(1), true, {{Assign{r, use(r) + cell(use(i))}}}}},
                        {Shuffle{s, use(r), Shuffle::From::Down, number(1)}},
                        {If{thread_y_ < number(2), {barrier(Barrier::Scope::Warp)}, {}, If::Uniform::Warp}},
                        {Remark{"the end"}},
                        store(thread_x_, use(s))}),
              Strings{});
}

TEST_F(KernelIr, AVariableIsDefinedBeforeItIsUsed) {
    const ir::VarId v = variable("v", Type::Float32);
    EXPECT_EQ(problems({store(thread_x_, use(v)), {Define{v, real(1)}}}),
              only("a stored value: variable 4 is used out of scope"));
}

TEST_F(KernelIr, ADefinitionEndsWithItsBranch) {
    const ir::VarId v = variable("v", Type::Float32);
    EXPECT_EQ(problems({{If{thread_x_ < number(3), {{Define{v, real(1)}}}, {}}}, store(thread_x_, use(v))}),
              only("a stored value: variable 4 is used out of scope"));
}

TEST_F(KernelIr, ALoopsVariableEndsWithIt) {
    const ir::VarId i = variable("i");
    EXPECT_EQ(problems({{For{i, number(0), number(4), number(1), false, {}}}, store(use(i), real(1))}),
              only("an index: variable 4 is used out of scope"));
}

TEST_F(KernelIr, AVariableIsDefinedOnce) {
    const ir::VarId v = variable("v", Type::Float32);
    EXPECT_EQ(problems({{Define{v, real(1)}}, {Define{v, real(1)}}}), only("variable `v` is defined twice"));
}

TEST_F(KernelIr, ADefinitionHasTheVariablesType) {
    const ir::VarId v = variable("v", Type::Float32);
    EXPECT_EQ(problems({{Define{v, number(1)}}}), only("a value, `1`, is int32, not float32"));
}

TEST_F(KernelIr, OnlyVariablesAreAssigned) {
    const ir::VarId v = variable("v");
    EXPECT_EQ(problems({{Define{v, number(1)}}, {Assign{v, number(2)}}}),
              only("`v` is assigned, but a value, no variable"));
}

TEST_F(KernelIr, AssignmentsAreInScope) {
    const ir::VarId v = variable("v");
    EXPECT_EQ(problems({{Assign{v, number(2)}}}).front(), "kernel `k`: variable 4 is assigned out of scope");
}

TEST_F(KernelIr, ConditionsAreBool) {
    EXPECT_EQ(problems({{If{thread_x_, {}, {}}}}), only("a condition, `thread_x`, is int32, not bool"));
}

TEST_F(KernelIr, IndicesAreInt32AndOneForEachDimension) {
    EXPECT_EQ(problems({store(real(1), real(1))}), only("an index, `1.0`, is float32, not int32"));
    kernel().body.clear();
    EXPECT_EQ(problems({{Store{kOut, {number(1), number(1)}, {real(1)}, nullptr}}}),
              only("`out` has 1 dimensions, not 2"));
}

TEST_F(KernelIr, AStoredValueHasTheElementsType) {
    EXPECT_EQ(problems({store(thread_x_, number(1))}), only("a stored value, `1`, is int32, not float32"));
}

TEST_F(KernelIr, ArraysExist) {
    EXPECT_EQ(problems({store_local(number(0), real(1))}), only("array 0 does not exist"));
    kernel().body.clear();
    EXPECT_EQ(problems({store(number(0), cell(number(0)))}),
              only("a stored value: a read of local array 0 that does not stand before its reader"));
}

TEST_F(KernelIr, InputsAreNotWritten) {
    EXPECT_EQ(problems({{Store{kImg, {number(0)}, {real(1)}, nullptr}}}), only("input `img` is written"));
}

TEST_F(KernelIr, NoKernelReadsWhatItWrites) {
    EXPECT_EQ(problems({store(number(0), ir::read(kOut, Type::Float32, {number(1)}))}),
              only("`out` is read and written"));
}

TEST_F(KernelIr, StagesAreWrittenByEarlierSteps) {
    program_.pipeline.stages.push_back(program_.pipeline.stages[0]);
    program_.pipeline.stages[1].name = "other";
    program_.pipeline.stages[1].output = -1;
    EXPECT_EQ(problems({store(number(0), ir::read({ir::Source::Kind::Stage, 1}, Type::Float32, {number(1)}))}),
              only("`other` is read before a step writes it"));
}

TEST_F(KernelIr, EveryOutputIsWritten) {
    program_.steps.clear();
    EXPECT_EQ(verify(program_), Strings{"no step writes the output `out`"});
}

TEST_F(KernelIr, AccessesHaveTheSizeOfOneInstruction) {
    const std::vector<ir::Expr> three(3, real(1)), eight(8, real(1));
    EXPECT_EQ(problems({{Store{kOut, {number(0)}, three, nullptr}}}),
              only("an access to `out` has 3 elements of 4 bytes"));
    kernel().body.clear();
    EXPECT_EQ(problems({{Store{kOut, {number(0)}, eight, nullptr}}}),
              only("an access to `out` has 8 elements of 4 bytes"));
}

TEST_F(KernelIr, BytesAreNotUpdatedInOneStep) {
    program_.pipeline.stages.push_back(program_.pipeline.stages[0]);
    program_.pipeline.stages[1].name = "bytes";
    program_.pipeline.stages[1].type = Type::UInt8;
    program_.pipeline.stages[1].output = -1;
    const ir::Source bytes{ir::Source::Kind::Stage, 1};
    const ir::Expr one = ir::int_constant(Type::UInt8, 1);
    EXPECT_EQ(problems({{Atomic{bytes, {number(0)}, ir::ReduceOp::Sum, one, true}}}), Strings{});
    kernel().body.clear();
    EXPECT_EQ(problems({{Atomic{bytes, {number(0)}, ir::ReduceOp::Sum, one}}}),
              only("no update of uint8 is indivisible"));
}

TEST_F(KernelIr, ShufflesGoByAConstant) {
    const ir::VarId s = variable("s");
    EXPECT_EQ(problems({{Shuffle{s, number(1), Shuffle::From::Up, thread_y_}}}),
              only("a shuffle's amount, `thread_y`, is no constant from 1 to 31"));
    kernel().body.clear();
    EXPECT_EQ(problems({{Shuffle{s, number(1), Shuffle::From::Xor, number(32)}}}),
              only("a shuffle's amount, `32`, is no constant from 1 to 31"));
    kernel().body.clear();
    EXPECT_EQ(problems({{Shuffle{s, number(1), Shuffle::From::Index, thread_y_}}}), Strings{});
}

TEST_F(KernelIr, AnIndexIsInt32) {
    EXPECT_EQ(problems({{Define{variable("v", Type::Float32), real(1), true}}}), only("an index is not int32"));
}

// ---------------------------------------------------------------------------------------------------------- the launch

TEST_F(KernelIr, ABlockHasAtMost1024Threads) {
    kernel().block = {64, 32, 1};
    EXPECT_EQ(problems({}), only("a block has 2048 threads, more than 1024"));
    kernel().block = {1, 1, 128};
    kernel().body.clear();
    EXPECT_EQ(problems({}), only("a block has 128 threads in z, more than 64"));
    kernel().block = {0, 1, 1};
    kernel().body.clear();
    EXPECT_EQ(problems({}), only("a block has 0 threads in a direction"));
}

TEST_F(KernelIr, TheGridAndArgumentsAreArithmeticOfSizes) {
    kernel().grid[1] = block_;
    EXPECT_EQ(problems({}), only("the grid: variable 3 is used out of scope"));
    kernel().grid[1] = table(number(0));
    kernel().body.clear();
    EXPECT_EQ(problems({}), only("the grid, `table(0)`, is more than arithmetic of sizes"));
    kernel().grid[1] = nullptr;
    kernel().body.clear();
    kernel().arguments.push_back({variable("a"), ir::binary(BinaryOp::Shl, ir::size_ref(0), number(3))});
    EXPECT_EQ(problems({}), only("an argument, `C << 3`, is more than arithmetic of sizes"));
}

TEST_F(KernelIr, SharedArraysFit) {
    share({64, 0});
    EXPECT_EQ(problems({}), only("shared array `cells` has extent 0"));
    kernel().shared.clear();
    kernel().body.clear();
    share({1024, 13});
    EXPECT_EQ(problems({}), only("the shared arrays have 53248 bytes, more than 49152"));
}

TEST_F(KernelIr, TheLastVariantIsForEverything) {
    kernel().layout = Layout::Wide;
    const Strings expected{"step 0: the variants are not wide, dense, general, the last one for everything"};
    EXPECT_EQ(problems({}), expected);
    const Kernel wide = kernel();
    program_.steps[0].variants.push_back(wide);
    program_.steps[0].variants[0].layout = Layout::Dense;
    EXPECT_EQ(verify(program_), expected);
}

// -------------------------------------------------------------------------------------------------------- collectives

TEST_F(KernelIr, BlockBarriersStandWhereTheWholeBlockComesBy) {
    const Strings expected = only("a barrier of the block stands where not every lane of the block comes by");
    EXPECT_EQ(problems({{If{thread_x_ < number(3), {barrier()}, {}}}}), expected);
    kernel().body.clear();
    EXPECT_EQ(problems({{If{thread_y_ < number(3), {barrier()}, {}, If::Uniform::Warp}}}), expected);
    kernel().body.clear();
    EXPECT_EQ(problems({{If{block_ < number(3), {barrier()}, {}, If::Uniform::Block}}}), Strings{});
}

TEST_F(KernelIr, LoopsWithBarriersHaveTheSameBounds) {
    const ir::VarId i = variable("i");
    EXPECT_EQ(problems({{For{i, thread_y_, number(8), number(1), false, {barrier()}}}}),
              only("a barrier of the block stands where not every lane of the block comes by"));
    kernel().body.clear();
    EXPECT_EQ(problems({{For{i, thread_y_, number(8), number(1), false, {barrier(Barrier::Scope::Warp)}}}}), Strings{});
    kernel().body.clear();
    EXPECT_EQ(problems({{For{i, number(0), table(block_), number(1), false, {barrier()}}}}), Strings{});
    kernel().body.clear();
    EXPECT_EQ(problems({{For{i, number(0), table(thread_x_), number(1), false, {barrier(Barrier::Scope::Warp)}}}}),
              only("a barrier of the warp stands where not every lane of the warp comes by"));
}

TEST_F(KernelIr, ShufflesStandWhereTheWholeWarpComesBy) {
    const Stmt shuffle{Shuffle{variable("s"), number(1), Shuffle::From::Up, number(1)}};
    EXPECT_EQ(problems({{If{thread_y_ < number(3), {shuffle}, {}}}}),
              only("a shuffle stands where not every lane of the warp comes by"));
    kernel().body.clear();
    EXPECT_EQ(problems({{If{thread_y_ < number(3), {shuffle}, {}, If::Uniform::Warp}}}), Strings{});
}

TEST_F(KernelIr, UniformConditionsAreUniform) {
    EXPECT_EQ(problems({{If{thread_y_ < number(3), {}, {}, If::Uniform::Block}}}),
              only("the condition `thread_y < 3` is not the same in the whole block"));
    kernel().body.clear();
    EXPECT_EQ(problems({{If{thread_x_ < number(3), {}, {}, If::Uniform::Warp}}}),
              only("the condition `thread_x < 3` is not the same in the whole warp"));
    kernel().body.clear();
    EXPECT_EQ(problems({{If{thread_x_ / 32 < number(3), {}, {}, If::Uniform::Warp}}}), Strings{});
    kernel().body.clear();
    EXPECT_EQ(problems({{If{thread_x_ / 16 < number(3), {}, {}, If::Uniform::Warp}}}),
              only("the condition `thread_x / 16 < 3` is not the same in the whole warp"));
}

TEST_F(KernelIr, RowsOfABlockAreWarpsOnlyWhereTheyAreLongEnough) {
    kernel().block = {16, 16, 1};
    EXPECT_EQ(problems({{If{thread_y_ < number(3), {}, {}, If::Uniform::Warp}}}),
              only("the condition `thread_y < 3` is not the same in the whole warp"));
}

TEST_F(KernelIr, ALoopMakesAVariableLessUniform) {
    // In its second iteration the condition sees what the first one assigned.
    const ir::VarId r = variable("r"), i = variable("i");
    EXPECT_EQ(problems({{Variable{r, number(0)}},
                        {For{i,
                             number(0),
                             number(4),
                             number(1),
                             false,
                             {{If{use(r) < number(3), {}, {}, If::Uniform::Block}}, {Assign{r, thread_x_}}}}}}),
              only("the condition `r < 3` is not the same in the whole block"));
}

TEST_F(KernelIr, WhatSomeLanesAssignIsNotUniform) {
    const ir::VarId r = variable("r");
    EXPECT_EQ(problems({{Variable{r, number(0)}},
                        {If{thread_x_ < number(3), {{Assign{r, number(1)}}}, {}}},
                        {If{use(r) < number(1), {}, {}, If::Uniform::Warp}}}),
              only("the condition `r < 1` is not the same in the whole warp"));
}

// ------------------------------------------------------------------------------------------------------ shared memory

TEST_F(KernelIr, SharedMemoryIsWrittenBeforeItIsRead) {
    share();
    EXPECT_EQ(problems({store(thread_x_, cell(thread_x_))}),
              only("shared array `cells` is read before anything is written to it"));
}

TEST_F(KernelIr, ABarrierStandsBetweenWritingAndReading) {
    kernel().block = {64, 1, 1};  // a thread for each cell
    share();
    EXPECT_EQ(problems({store_local(thread_x_, real(1)), store(thread_x_, cell(thread_x_))}),
              only("shared array `cells` is read without a barrier after it was written"));
    kernel().body.clear();
    EXPECT_EQ(
        problems({store_local(thread_x_, real(1)), barrier(Barrier::Scope::Warp), store(thread_x_, cell(thread_x_))}),
        Strings{});
}

TEST_F(KernelIr, ACopyGoesFromGlobalToSharedMemory) {
    kernel().block = {64, 1, 1};  // a thread for each cell
    share();
    const Stmt copy{Copy{kLocal, {thread_x_}, kImg, {thread_x_}, 1}};
    EXPECT_EQ(problems({copy, {Commit{}}, {Wait{0}}, store(thread_x_, cell(thread_x_))}), Strings{});
    kernel().body.clear();
    EXPECT_EQ(problems({copy, {Commit{}}, store(thread_x_, cell(thread_x_))}),
              only("shared array `cells` is read before a wait for what is copied to it"));
    kernel().body.clear();
    EXPECT_EQ(problems({{Copy{kImg, {thread_x_}, kLocal, {thread_x_}, 1}}}),
              only("a copy from `cells` to `img` is not from global to shared memory"));
    kernel().body.clear();
    EXPECT_EQ(problems({{Copy{kLocal, {thread_x_}, {ir::Source::Kind::Input, 1}, {thread_x_}, 1}}}),
              only("a copy of int32 is made to float32"));
    kernel().body.clear();
    EXPECT_EQ(problems({{Copy{kLocal, {thread_x_}, kImg, {thread_x_}, 8}}}),
              only("an access to `img` has 8 elements of 4 bytes"));
    kernel().body.clear();
    EXPECT_EQ(problems({{Wait{-1}}}), only("a wait for all but -1 batches"));
    program_.pipeline.inputs[0].type = kernel().shared[0].type = Type::UInt8;
    kernel().body.clear();
    EXPECT_EQ(problems({{Copy{kLocal, {thread_x_}, kImg, {thread_x_}, 2}}}),
              only("a copy from `img` has fewer than 4 bytes"));
}

TEST_F(KernelIr, ALoopComesRoundAgain) {
    share();
    const ir::VarId i = variable("i");
    EXPECT_EQ(problems({store_local(thread_x_, real(1)),
                        barrier(),
                        {For{i,
                             number(0),
                             number(4),
                             number(1),
                             false,
                             {store(thread_x_, cell(use(i))), store_local(thread_x_, real(1))}}}}),
              only("shared array `cells` is read without a barrier after it was written"));
}

TEST_F(KernelIr, UpdatesComeBehindABarrierToo) {
    kernel().block = {64, 1, 1};  // a thread for each cell
    share();
    const Stmt add{Atomic{kLocal, {thread_y_}, ir::ReduceOp::Sum, real(1)}};
    EXPECT_EQ(problems({store_local(thread_x_, real(0)), add}),
              only("shared array `cells` is updated without a barrier after it was stored"));
    kernel().body.clear();
    EXPECT_EQ(
        problems({store_local(thread_x_, real(0)), barrier(), add, add, barrier(), store(thread_x_, cell(thread_x_))}),
        Strings{});
}

// ---------------------------------------------------------------------------------------------------------------- text

// ------------------------------------------------------------------------------------------- waits for the step before

TEST_F(KernelIr, AKernelMayWaitLateForAStepThatIsLaunched) {
    const ir::VarId v = variable("v", Type::Float32);
    const Stmt wait = barrier(Barrier::Scope::Step);
    Step first = program_.steps[0];
    first.variants[0].name = "first";
    first.variants[0].specials.clear();
    first.variants[0].grid[0] = number(1);
    first.variants[0].body = {store(number(0), real(1))};
    program_.steps.insert(program_.steps.begin(), first);
    Kernel& late = program_.steps[1].variants[0];
    const auto with = [&](Body body) {
        late.body = std::move(body);
        late.body.push_back(store(block_, real(0)));
        return verify(program_);
    };
    EXPECT_EQ(with({{Define{v, img(block_)}}, wait}), Strings{});
    EXPECT_EQ(with({wait, wait}), only("a second wait for the step before"));
    EXPECT_EQ(with({store(block_, real(1)), wait}), only("`out` is written before the wait for the step before"));
    EXPECT_EQ(with({{If{block_ < number(1), {wait}, {}, If::Uniform::Block}}}),
              only("a wait for the step before stands in a branch or a loop"));
    program_.steps[0].variants[0].grid[0] = ir::size_ref(0);
    EXPECT_EQ(with({wait}), only("it waits late, and no step before is certainly launched"));
}

TEST_F(KernelIr, WhatALateKernelReadsEarlyIsThereBefore) {
    program_.pipeline.stages.push_back(program_.pipeline.stages[0]);
    program_.pipeline.stages[1].name = "made";
    program_.pipeline.stages[1].output = -1;
    const ir::Source made{ir::Source::Kind::Stage, 1};
    const auto step = [&](const char* name, ir::Source to, const ir::Expr& grid) {
        Step result = program_.steps[0];
        result.variants[0].name = name;
        result.variants[0].specials.clear();
        result.variants[0].grid[0] = grid;
        result.variants[0].body = {{Store{to, {number(0)}, {real(1)}, nullptr}}};
        return result;
    };
    const ir::VarId v = variable("v", Type::Float32);
    kernel().body = {
        {Define{v, ir::read(made, Type::Float32, {block_})}}, barrier(Barrier::Scope::Step), store(block_, use(v))};
    const Step late = program_.steps[0], launched = step("launched", kOut, number(1)),
               perhaps = step("perhaps", kOut, ir::size_ref(0)), makes = step("makes", made, number(1));
    program_.steps = {makes, launched, late};
    EXPECT_EQ(verify(program_), Strings{});
    program_.steps = {makes, launched, perhaps, late};
    EXPECT_EQ(verify(program_), Strings{});
    program_.steps = {makes, perhaps, late};
    EXPECT_EQ(verify(program_), only("`made` is read before the wait for the step that writes it"));
}

TEST_F(KernelIr, Text) {
    share({8, 8});
    kernel().comments = {"p.pipe:3: out(x) = img(x)"};
    kernel().arguments.push_back({variable("tiles"), ir::size_ref(0) / 64, 1});
    const ir::VarId v = variable("x", Type::Float32), r = variable("x", Type::Float32), i = variable("i");
    const ir::VarId a = variable("a", Type::Float32), b = variable("b", Type::Float32);
    const ir::VarId s = variable("s", Type::Float32);
    kernel().body = {
        {Load{{a, b}, kImg, {thread_x_ * number(2)}}},
        {Define{v, use(a) + use(b)}},
        {Variable{r, use(v)}},
        {Store{kLocal, {thread_x_ / 8, thread_y_}, {use(v)}, nullptr}},
        barrier(),
        {For{i,
             number(0),
             number(8),
             number(2),
             true,
             {{Assign{r, use(r) + ir::read(kLocal, Type::Float32, {use(i), thread_y_})}}}}},
        {Shuffle{s, use(r), Shuffle::From::Index, number(0)}},
        {If{thread_y_ < number(2), {barrier(Barrier::Scope::Warp)}, {{Remark{"nothing"}}}, If::Uniform::Warp}},
        {Atomic{kOut, {block_}, ir::ReduceOp::Max, use(s)}},
        {Atomic{kOut, {block_}, ir::ReduceOp::Sum, use(s), true}},
        {Copy{kLocal, {thread_x_, number(0)}, kImg, {thread_x_}, 4}},
        {Commit{}},
        {Wait{2}},
        {Store{kOut, {thread_x_ * number(2)}, {use(r), use(s)}, block_ < number(9)}}};
    EXPECT_EQ(to_string(program_), R"(program p

step 0
    kernel k dense
        // p.pipe:3: out(x) = img(x)
        grid C, 1, 1
        block 64, 4, 1
        argument tiles = C / 64 at least 1
        special thread_x = thread.x
        special thread_y = thread.y
        special block = block.x
        shared cells: float32[8, 8]
        load a, b = img(thread_x * 2)
        define x = a + b
        variable x_2 = x
        store cells(thread_x / 8, thread_y) = x
        barrier block
        for i in 0..8 step 2 unroll {
            assign x_2 = x_2 + cells(i, thread_y)
        }
        shuffle s = x_2 from lane 0
        if warp thread_y < 2 {
            barrier warp
        } else {
            // nothing
        }
        atomic out(block) max= s
        update out(block) += s
        copy cells(thread_x, 0) = 4 of img(thread_x)
        commit
        wait 2
        store out(thread_x * 2) = x_2, s where block < 9
)");
}

TEST_F(KernelIr, TextIsAsLongAsTheGraphNotTheTree) {
    const auto doubled = [](ir::Expr e) {
        for (int i = 0; i < 40; ++i) e = ir::binary(BinaryOp::Max, e, e + real(i));
        return e;
    };
    const ir::VarId k = variable("k");
    const ir::Expr outside = doubled(img(thread_x_));
    const ir::Expr inside = doubled(img(use(k)) + outside);
    const ir::Expr loop = ir::reduce(ir::ReduceOp::Sum, {{k, number(0), number(9)}}, inside);
    EXPECT_EQ(problems({store(thread_x_, loop + outside)}), Strings{});
    const std::string text = to_string(program_);
    EXPECT_LT(text.size(), 6000u);
    EXPECT_NE(text.find("let $1 = max(img(thread_x), img(thread_x) + 0.0) in let $2 = max($1, $1 + 1.0)"),
              std::string::npos)
        << text;
}

}  // namespace
}  // namespace pipec::codegen::kernel::kernel_verify_test
