// Linear scan over the stages.
#include "codegen/wrapper/regions.h"

#include <algorithm>
#include <map>

#include "codegen/emit/cuda/cuda_kernel.h"
#include "codegen/expr/uses.h"
#include "ir/visit.h"

namespace pipec::codegen {

std::vector<int> stages_read(const ir::Stage& stage) {
    Uses uses;
    for (const ir::Expr& e : ir::expressions(stage)) uses.add(e);
    std::vector<int> result;
    for (const ir::Source& source : uses.sources()) {
        if (source.kind == ir::Source::Kind::Stage) result.push_back(source.index);
    }
    return result;
}

namespace {

/// The turns in which a stage is alive, both inclusive.
struct Lifetime {
    std::size_t stage, first, last;
};

Regions assign(const ir::Pipeline& pipeline, std::vector<Lifetime> lifetimes) {
    struct Region {
        std::size_t free_after;
        std::size_t rank;
        ir::Type type;
    };
    std::stable_sort(lifetimes.begin(), lifetimes.end(),
                     [](const Lifetime& a, const Lifetime& b) { return a.first < b.first; });
    std::vector<Region> regions;
    Regions result;
    result.of_stage.assign(pipeline.stages.size(), -1);
    for (const Lifetime& lifetime : lifetimes) {
        const ir::Stage& stage = pipeline.stages[lifetime.stage];
        const Region wanted{lifetime.last, stage.dims.size(), stage.type};
        const auto is_free = [&](const Region& r) { return r.free_after < lifetime.first; };
        auto found = std::find_if(regions.begin(), regions.end(), [&](const Region& r) {
            return is_free(r) && r.rank == wanted.rank && r.type == wanted.type;
        });
        if (found == regions.end()) found = std::find_if(regions.begin(), regions.end(), is_free);
        result.of_stage[lifetime.stage] = static_cast<int>(found - regions.begin());
        if (found == regions.end())
            regions.push_back(wanted);
        else
            *found = wanted;
    }
    result.count = static_cast<int>(regions.size());
    return result;
}

}  // namespace

Regions assign_regions(const ir::Pipeline& pipeline) {
    std::vector<Lifetime> lifetimes;
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) lifetimes.push_back({i, i, i});
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
        for (const int read : stages_read(pipeline.stages[i])) lifetimes[static_cast<std::size_t>(read)].last = i;
    }
    std::erase_if(lifetimes, [&](const Lifetime& l) { return pipeline.stages[l.stage].output >= 0; });
    return assign(pipeline, std::move(lifetimes));
}

Regions assign_regions(const ir::Pipeline& pipeline, const std::vector<std::vector<int>>& turns,
                       std::vector<bool> in_tiles, std::int64_t scratch) {
    std::vector<Lifetime> lifetimes;
    for (std::size_t i = 0; i < pipeline.stages.size(); ++i) lifetimes.push_back({i, 0, 0});
    for (std::size_t turn = 0; turn < turns.size(); ++turn) {
        for (const int stage : turns[turn]) {
            Lifetime& own = lifetimes[static_cast<std::size_t>(stage)];
            own.first = own.last = turn;
        }
        for (const int stage : turns[turn]) {
            for (const int read : stages_read(pipeline.stages[static_cast<std::size_t>(stage)])) {
                lifetimes[static_cast<std::size_t>(read)].last = turn;
            }
        }
    }
    std::erase_if(lifetimes,
                  [&](const Lifetime& l) { return pipeline.stages[l.stage].output >= 0 || in_tiles[l.stage]; });
    Regions regions = assign(pipeline, std::move(lifetimes));
    regions.in_tiles = std::move(in_tiles);
    regions.scratch = scratch;
    return regions;
}

Regions assign_regions(const kernel::Program& program) {
    std::map<std::size_t, Lifetime> lifetimes;
    for (std::size_t step = 0; step < program.steps.size(); ++step) {
        const auto use = [&](ir::Source source) {
            if (source.kind != ir::Source::Kind::Stage) return;
            const auto stage = static_cast<std::size_t>(source.index);
            if (program.pipeline.stages[stage].output >= 0) return;
            lifetimes.try_emplace(stage, Lifetime{stage, step, step}).first->second.last = step;
        };
        for (const kernel::Kernel& kernel : program.steps[step].variants) {
            const KernelParameters parameters = parameters_of(program, kernel);
            for (const ir::Source source : parameters.reads) use(source);
            for (const ir::Source source : parameters.writes) use(source);
        }
    }
    std::vector<Lifetime> list;
    for (const auto& [stage, lifetime] : lifetimes) list.push_back(lifetime);
    return assign(program.pipeline, std::move(list));
}

}  // namespace pipec::codegen
