// Linear scan over the stages.
#include "codegen/regions.h"

#include <algorithm>
#include <optional>

#include "codegen/uses.h"
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

Regions assign_regions(const ir::Pipeline& pipeline) {
    const std::size_t count = pipeline.stages.size();
    std::vector<std::size_t> last_use(count);
    for (std::size_t i = 0; i < count; ++i) {
        last_use[i] = i;
        for (const int read : stages_read(pipeline.stages[i])) last_use[static_cast<std::size_t>(read)] = i;
    }

    struct Region {
        std::size_t free_after;
        std::size_t rank;
        ir::Type type;
    };
    std::vector<Region> regions;
    Regions result;
    result.of_stage.assign(count, -1);
    for (std::size_t i = 0; i < count; ++i) {
        const ir::Stage& stage = pipeline.stages[i];
        if (stage.output >= 0) continue;
        const Region wanted{last_use[i], stage.dims.size(), stage.type};
        const auto is_free = [&](const Region& r) { return r.free_after < i; };
        auto found = std::find_if(regions.begin(), regions.end(), [&](const Region& r) {
            return is_free(r) && r.rank == wanted.rank && r.type == wanted.type;
        });
        if (found == regions.end()) found = std::find_if(regions.begin(), regions.end(), is_free);
        result.of_stage[i] = static_cast<int>(found - regions.begin());
        if (found == regions.end())
            regions.push_back(wanted);
        else
            *found = wanted;
    }
    result.count = static_cast<int>(regions.size());
    return result;
}

}  // namespace pipec::codegen
