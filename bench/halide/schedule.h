// What the schedules of the benchmarks share. Each generator has three: by hand for GPUs, estimates for an
// autoscheduler, and for CPUs every stage on its own, which is there to compare results where there is no GPU.
//
// Halide counts dimensions from the innermost one: x is the column, y the row, c the channel. In examples/*.pipe x is
// the row and stands before y.
#pragma once

#include <Halide.h>

#include <string>
#include <vector>

namespace bench {

using Halide::cast;
using Halide::clamp;
using Halide::Expr;
using Halide::Func;
using Halide::GeneratorParam;
using Halide::max;
using Halide::min;
using Halide::RDom;
using Halide::select;
using Halide::TailStrategy;
using Halide::Var;

/// Loops of a kernel: blocks, their threads, and the points that a thread computes one after the other.
inline const Var bx{"bx"}, by{"by"}, tx{"tx"}, ty{"ty"}, px{"px"}, py{"py"};

struct Block {
    int threads_x, threads_y;  ///< of a block
    int columns, rows;         ///< adjacent points of a thread
};

/// A kernel that computes f. Loops over other dimensions stay outside of the blocks; make blocks of them too, or
/// reorder them inside first.
inline void kernel(Func f, const Var& x, const Var& y, const Block& b, TailStrategy tail = TailStrategy::Auto) {
    f.compute_root()
        .tile(x, y, bx, by, tx, ty, b.threads_x * b.columns, b.threads_y * b.rows, tail)
        .tile(tx, ty, tx, ty, px, py, b.columns, b.rows)
        .gpu_blocks(bx, by)
        .gpu_threads(tx, ty)
        .unroll(px)
        .unroll(py);
}

/// Extents are even, so that a thread that computes 2 x 2 points knows which are the odd ones. Blocks at the end move
/// inwards: extents of tiles are constants.
template <class Output>
void even(Output& out, const Var& x, const Var& y) {
    out.bound(x, 0, out.dim(0).extent() / 2 * 2).bound(y, 0, out.dim(1).extent() / 2 * 2);
}

/// f is computed by the threads of each block of the kernel of `reader`, in shared memory.
inline void in_block(Func f, Func reader, const Var& x, const Var& y, int columns, int rows) {
    f.compute_at(reader, bx).tile(x, y, tx, ty, px, py, columns, rows).gpu_threads(tx, ty).unroll(px).unroll(py);
}

/// Each thread computes what it needs of f, in registers.
inline void in_thread(Func f, Func reader, const std::vector<Var>& dimensions) {
    f.compute_at(reader, tx);
    for (const Var& v : dimensions) f.unroll(v);
}

/// f with its edge repeated beyond these last coordinates. A reader that goes through it needs a rectangle of constant
/// size wherever its own tile lies, which shared memory asks for.
inline Func repeated(Func f, const Expr& last_x, const Expr& last_y) {
    Func g(f.name() + "_repeated");
    std::vector<Var> variables;
    for (int i = 0; i < f.dimensions(); ++i) variables.emplace_back("d" + std::to_string(i));
    std::vector<Expr> at(variables.begin(), variables.end());
    at[0] = clamp(variables[0], 0, last_x);
    at[1] = clamp(variables[1], 0, last_y);
    g(variables) = f(at);
    return g;
}

/// Every stage on its own, by rows.
inline void on_cpu(const std::vector<Func>& stages, const Var& y) {
    for (Func f : stages) f.compute_root().parallel(y);
}

}  // namespace bench
