// Kernel IR: what one launch of a pipeline does on a GPU, between the schedule and the text. Strategies build it,
// verify_kernel checks it, one printer makes CUDA of it.
//
//   program ::= step*                       in launch order; a step waits for all steps before it
//   step    ::= kernel+                     variants of one computation; the first whose needs hold is launched
//   kernel  ::= grid block argument* special* shared* body
//   body    ::= stmt*
//   stmt    ::= define v = e                a value, never changed
//             | variable v = e              a register that assign changes
//             | assign v = e
//             | load [ahead] v* = array(e*) adjacent elements in one access of count * size bytes, aligned to that
//             | store array(e*) = e* [where e]
//             | atomic array(e*) op= e      no result
//             | update array(e*) op= e      the same where no other thread touches the element
//             | shuffle v = e from lane     by all lanes of the warp
//             | barrier block | warp | step
//             | copy array(e*) = n of array(e*)   adjacent elements into shared memory, while the thread goes on
//             | commit                      a batch of copies ends
//             | wait n                      until all batches of the thread but the last n have come
//             | for v in e..e step n { body }
//             | if e { body } else { body }
//             | remark text
//
// Expressions are those of ir/expr.h. Variables are entries of Program::pipeline.variables; a Read's source is an input
// or a stage of that pipeline, which lies in global memory, or an array of the kernel (Source::Kind::Local). Sizes and
// scalar parameters mean what they mean in the program; the printer makes kernel parameters of those that are used.
//
// Nodes are evaluated where a statement uses them. A node that several statements share may be evaluated once, unless
// an assign, store, atomic or barrier in between changes what it reads.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "fusion/gpu.h"
#include "fusion/schedule.h"
#include "fusion/target.h"
#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::codegen::kernel {

using fusion::kWarp;

/// Whether it is an array of the kernel's own, in shared memory.
inline bool is_local(ir::Source source) {
    return source.kind == ir::Source::Kind::Local;
}

/// What loop variables, arguments, specials and indices stay below in magnitude: domains end below 2^30, tiles reach a
/// little beyond. With a constant added or subtracted they do not wrap.
inline constexpr std::int64_t kVariableLimit = (std::int64_t{1} << 30) + (std::int64_t{1} << 24);

// By hand: a statement a line, so that the grammar is seen at once.
// clang-format off
struct Stmt;
using Body = std::vector<Stmt>;

/// `index`: an Int32 below kVariableLimit in magnitude, on the way to which nothing wraps, whatever the intervals of its
/// operands say.
struct Define { ir::VarId var; ir::Expr value; bool index = false; };
struct Variable { ir::VarId var; ir::Expr value; };
struct Assign { ir::VarId var; ir::Expr value; };

/// `vars.size()` (1, 2, 4, 8 or 16) elements that lie behind each other in memory, the first one at `indices`.
/// `ahead`: it is for later, and no compiler shall move it there, past barriers.
struct Load {
    std::vector<ir::VarId> vars; ir::Source array; std::vector<ir::Expr> indices; bool ahead = false;
};
/// Several values go to adjacent elements in one access, like those of a Load. `guard` may be null.
struct Store { ir::Source array; std::vector<ir::Expr> indices; std::vector<ir::Expr> values; ir::Expr guard; };
/// array(indices) = array(indices) op value, indivisible. Without Bool, Any, All; integers of 32 and 64 bits, floats.
/// `exclusive`: no other thread of the launch updates that element, so that reading and writing it (any type) will do.
/// `often_same`: data choose the element, and lanes of a warp may often choose the same one.
struct Atomic {
    ir::Source array; std::vector<ir::Expr> indices; ir::ReduceOp op; ir::Expr value; bool exclusive = false;
    bool often_same = false;
};

/// `value` of another lane: of lane - amount (Up), lane + amount (Down), lane xor amount, or lane number `amount`. A
/// lane outside of the warp gives the own value (Up, Down) and is no lane otherwise. `amount` is an Int32; for all but
/// Index a constant from 1 to 31.
struct Shuffle {
    enum class From : std::uint8_t { Up, Down, Xor, Index };
    ir::VarId var; ir::Expr value; From from; ir::Expr amount;
};
/// Step: until the step before is over, which otherwise a kernel waits for before anything else. It stands outside of
/// all control flow, once. What comes before it writes nothing in global memory, and reads nothing that the step before
/// writes; that step is certainly launched (or steps before it, of which the same is true), and has waited for all
/// before it.
struct Barrier { enum class Scope : std::uint8_t { Warp, Block, Step } scope; };
inline constexpr Barrier kBlockBarrier{Barrier::Scope::Block};

/// Begins to copy `count` adjacent elements (4, 8 or 16 bytes) from global into shared memory, in one access. Neither
/// side may change, and what is copied may not be read, until a Wait says that it is there; then the thread itself sees
/// it, and others do after a barrier. Copies come in batches: each Commit ends one, of what its thread has begun since
/// the one before, and a Wait is for all but the last `pending` of them.
struct Copy {
    ir::Source to; std::vector<ir::Expr> to_indices; ir::Source from; std::vector<ir::Expr> from_indices;
    std::size_t count;
};
/// The least that the hardware copies by itself.
inline constexpr std::int64_t kCopyBytes = 4;
struct Commit {};
struct Wait { int pending = 0; };

/// lo <= var < hi in steps of `step` (Int32, positive). `unroll`: written for the compiler to unroll; otherwise it is
/// told not to.
struct For { ir::VarId var; ir::Expr lo, hi, step; bool unroll = false; Body body; };
/// `uniform`: every lane of that scope takes the same branch, so that collectives may stand inside. `same_points`: both
/// branches store the same values in the same places, so that `otherwise` may follow `then`.
struct If {
    enum class Uniform : std::uint8_t { Lane, Warp, Block };
    ir::Expr condition; Body then, otherwise; Uniform uniform = Uniform::Lane; bool same_points = false;
};
struct Remark { std::string text; };

struct Stmt {
    std::variant<Define, Variable, Assign, Load, Store, Atomic, Shuffle, Barrier, Copy, Commit, Wait, For, If, Remark>
        value;
};

// clang-format on

/// An array of the block in shared memory, dense, last dimension innermost.
struct SharedArray {
    std::string name;
    ir::Type type = ir::Type::Float32;
    std::vector<std::int64_t> extents;
    /// Where it begins in the block's scratch memory, in bytes: arrays that are never alive together may overlap, and
    /// one is dead as soon as another one is written to that overlaps it. -1: it has memory of its own.
    std::int64_t offset = -1;
    /// Bytes from one index of the first dimension to the next where that is more than dense: each warp of a block has
    /// its own part of the scratch. 0: dense.
    std::int64_t pitch = 0;
    /// Its first index counts rows, of which those that are read are none that is written before the next barrier.
    /// kernel_flow.h takes that as it is; where kernels are executed for tests, each element is watched.
    bool ring = false;
};

/// An Int32 that the host computes for a launch: an expression over the sizes, evaluated in 64 bits. It must be at
/// least `least` and below kVariableLimit, or the launch is refused (unless the grid is empty).
struct Argument {
    ir::VarId var;
    ir::Expr value;
    std::int64_t least = -kVariableLimit + 1;
    bool divides = false;  ///< used only to divide what is not negative, which the host prepares
    bool turn = false;     ///< 0 in the first, third, ... step of a program and 1 in the others; lowering sets `value`
    bool repetition =
        false;  ///< how often the kernel has been launched before (Kernel::repetitions); `value` is unused
};

/// A variable (Int32) that the hardware gives.
struct Special {
    enum class Id : std::uint8_t { ThreadX, ThreadY, ThreadZ, BlockX, BlockY, BlockZ, GridX, GridY, GridZ };
    ir::VarId var;
    Id id;
};

/// How the kernel addresses the caller's buffers (stages in the workspace always lie with stride 1 innermost).
enum class Layout : std::uint8_t {
    Wide,    ///< as Dense, and every array with a Load or Store of several elements aligned for them
    Dense,   ///< the strides that Buffer::order makes constant are those constants; all offsets fit 32 bits
    General  ///< any strides, 64-bit offsets
};

struct Kernel {
    std::string name;                   ///< wanted; the printer makes it unique
    std::vector<std::string> comments;  ///< lines before it: the program's text that it computes
    Layout layout = Layout::Dense;
    std::array<int, 3> block{1, 1, 1};  ///< threads in x, y, z
    std::int64_t least_blocks = 0;      ///< that a multiprocessor is to have registers for; 0: as the compiler likes
    /// With a smaller grid the next variant is launched, which has fewer points for each thread.
    std::int64_t least_grid = 0;
    /// The same where this value (of sizes, like the grid; null: there is none) is smaller: a short dimension has no
    /// whole block of so many points.
    ir::Expr extent;
    std::int64_t least_extent = 0;
    /// The 32 threads along x are the lanes of a warp and go the same way with the same values: they may share out the
    /// terms of reductions that are in no other reduction.
    bool shares_reductions = false;
    /// How arrays in global memory are read that the kernel does not write.
    fusion::LoadCache load_cache = fusion::LoadCache::Default;
    /// Blocks in x, y, z: expressions over the sizes, evaluated in 64 bits; null is 1. Where one is below 1 there is
    /// nothing to do and nothing is launched.
    std::array<ir::Expr, 3> grid;
    /// How often it is launched, one after the other: an expression as those of the grid; null is once.
    ir::Expr repetitions{};
    std::vector<Argument> arguments;
    std::vector<Special> specials;
    std::vector<SharedArray> shared;  ///< Source::Kind::Local indexes it
    Body body;
};

/// One step of a launch. Several variants may be Layout::Wide, those that need more first; those of Layout::Dense with
/// a least grid stand before the one without, the greater one first. With Layout::Dense, `variants` may leave out
/// Layout::General: the printer then makes both from it (one template).
struct Step {
    std::vector<Kernel> variants;
    fusion::Choices decided{};  ///< what its kernels are like, as far as a schedule can say so
    int group = -1;             ///< of the schedule; -1: what it computes is in none
};

/// A scan of which memory has the slices with the same number modulo `slices` in one place: others read the `last`
/// ones alone.
struct KeptSlices {
    int stage;
    std::int64_t last, slices;
};

struct Program {
    ir::Pipeline pipeline;  ///< as code generation sees it: after inlining, with the kernels' variables
    poly::Model model;      ///< of that pipeline
    fusion::Target target;  ///< a GPU, whose limits the kernels keep
    std::vector<Step> steps{};
    bool fast_math = false;  ///< floats may be added and multiplied as if they were real numbers
    /// Register tiles have code for the widest accesses and for single elements, and not for all between: where there
    /// are many.
    bool few_widths = false;
    std::vector<KeptSlices> kept{};
    /// Kernels follow each other, and go through their tiles in turns: forwards, backwards.
    bool has_turns = false;
};

/// What is wrong with a program, one sentence for each violation; none for a correct one.
std::vector<std::string> verify(const Program& program);

/// The text for `--emit kernel`.
std::string to_string(const Program& program);

}  // namespace pipec::codegen::kernel
