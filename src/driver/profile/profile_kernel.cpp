#include "driver/profile/profile_kernel.h"

#include <algorithm>
#include <map>
#include <utility>

#include "codegen/expr/rewrite.h"
#include "codegen/kernel/kernel_build.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace pipec::driver {

namespace {

using codegen::constant;
namespace kernel = codegen::kernel;

/// Elements of each array in shared memory, a power of two.
constexpr std::int64_t kElements = 64;
constexpr std::int64_t kMostIterations = std::int64_t{1} << 24;

/// Where an index lies in them: one instruction.
ir::Expr place(const ir::Expr& index) {
    return ir::binary(ir::BinaryOp::BitAnd, index, constant(kElements - 1));
}

class Loop {
public:
    Loop(const ir::Pipeline& original, int stage, const fusion::Target& target, const std::string& name, bool fast_math)
        : stage_(original.stages.at(static_cast<std::size_t>(stage))), program_(empty(original, target, name)) {
        program_.fast_math = fast_math;
    }

    kernel::Program run() {
        ir::Pipeline& pipeline = program_.pipeline;
        codegen::Rewriter rewriter(pipeline, program_.fast_math);
        codegen::KernelBuilder builder(pipeline, rewriter);
        kernel_ = &builder.kernel;
        builder.kernel.name = "loop";
        const int results = add_array("results", stage_.type);

        // All dimensions walk with the loop: nothing of a point is known before it.
        ir::Expr i;
        kernel::Body main;
        const auto iterations = static_cast<int>(pipeline.sizes.size()) - 1;
        kernel::Body& body = builder.loop(main, "i", constant(0), ir::size_ref(iterations), constant(1), i);
        rewriter.index(ir::as<ir::Variable>(i)->id, 1, 0, kMostIterations);
        codegen::Rewriter::Bindings point;
        for (const ir::Dimension& dim : stage_.dims) point.emplace(dim.var, i);
        const ir::Expr value = rewriter.instance(std::get<ir::Pure>(stage_.definition).value, point,
                                                 [&](const ir::Expr& e) { return from_shared(rewriter, e); });
        codegen::add(body, kernel::Store{local(results), {place(i)}, {value}, nullptr});

        for (std::size_t a = 0; a < builder.kernel.shared.size(); ++a) fill(builder, static_cast<int>(a));
        for (kernel::Stmt& stmt : main) builder.kernel.body.push_back(std::move(stmt));
        const ir::Expr last = ir::read(local(results), stage_.type, {place(ir::size_ref(iterations))});
        codegen::add(builder.kernel.body, kernel::Store{{ir::Source::Kind::Stage, 0}, {constant(0)}, {last}, nullptr});
        program_.steps.push_back({{std::move(builder.kernel)}});
        return std::move(program_);
    }

private:
    /// A pipeline of the same sizes and parameters, with one output of one element, and nothing to launch.
    kernel::Program empty(const ir::Pipeline& original, const fusion::Target& target, const std::string& name) {
        kernel::Program result{{}, {}, target};
        ir::Pipeline& pipeline = result.pipeline;
        pipeline.name = name;
        pipeline.sizes = original.sizes;
        pipeline.params = original.params;
        pipeline.variables = original.variables;
        pipeline.sizes.push_back({iterations_name(original), {}});
        ir::Stage out;
        out.name = "result";
        out.type = stage_.type;
        out.dims = {{ir::new_variable(pipeline, "x"), constant(0), constant(1), {}}};
        out.definition = ir::Pure{ir::constant(stage_.type, 0)};
        out.output = 0;
        pipeline.stages = {out};
        pipeline.outputs = {{{"result", stage_.type, {constant(1)}, {0}, {}}, 0}};
        result.model.domains = {{{{constant(0), constant(1)}}, nullptr}};
        for (std::size_t s = 0; s < pipeline.sizes.size(); ++s) {
            poly::SizeSolution given;
            given.size = static_cast<int>(s);
            result.model.sizes.push_back(given);
        }
        return result;
    }

    static ir::Source local(int array) { return {ir::Source::Kind::Local, array}; }

    int add_array(const std::string& name, ir::Type type) {
        kernel_->shared.push_back({name, type, {kElements}});
        return static_cast<int>(kernel_->shared.size()) - 1;
    }

    /// Reads of an input or another stage, from the array that takes its place.
    ir::Expr from_shared(codegen::Rewriter& rewriter, const ir::Expr& e) {
        const auto* read = ir::as<ir::Read>(e);
        if (read == nullptr || read->source.kind == ir::Source::Kind::Local) return e;
        const auto [array, is_new] = arrays_.try_emplace(read->source, 0);
        if (is_new) array->second = add_array("source_" + std::to_string(arrays_.size()), e->type);
        ir::Expr index = constant(0);
        for (const ir::Expr& one : read->indices) index = rewriter.unique(ir::binary(ir::BinaryOp::Add, index, one));
        index = rewriter.unique(place(index));
        return rewriter.unique(ir::read(local(array->second), e->type, {index}));
    }

    void fill(codegen::KernelBuilder& builder, int array) {
        ir::Expr j;
        kernel::Body& body = builder.loop(builder.kernel.body, "j", constant(0), constant(kElements), constant(1), j);
        const ir::Type type = builder.kernel.shared[static_cast<std::size_t>(array)].type;
        const ir::Expr value = type == ir::Type::Bool ? ir::binary(ir::BinaryOp::Lt, j, constant(kElements / 2))
                                                      : ir::cast(type, ir::binary(ir::BinaryOp::Add, j, constant(1)));
        codegen::add(body, kernel::Store{local(array), {j}, {value}, nullptr});
    }

    const ir::Stage& stage_;
    kernel::Program program_;
    kernel::Kernel* kernel_ = nullptr;
    std::map<ir::Source, int> arrays_;
};

}  // namespace

std::string iterations_name(const ir::Pipeline& pipeline) {
    std::string name = "iterations";
    const auto is_taken = [&](const auto& named) { return named.name == name; };
    while (std::any_of(pipeline.sizes.begin(), pipeline.sizes.end(), is_taken) ||
           std::any_of(pipeline.params.begin(), pipeline.params.end(), is_taken)) {
        name += "_";
    }
    return name;
}

kernel::Program profile_program(const ir::Pipeline& pipeline, int stage, const fusion::Target& target,
                                const std::string& name, bool fast_math) {
    return Loop(pipeline, stage, target, name, fast_math).run();
}

}  // namespace pipec::driver
