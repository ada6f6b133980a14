// Code of groups that is made to learn whether they are possible, and kept for the lowering of what was chosen: none is
// made twice.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/kernel/kernel_ir.h"
#include "codegen/strategies/tile_space.h"
#include "fusion/refused.h"
#include "fusion/schedule.h"
#include "poly/dependences.h"
#include "poly/group.h"
#include "support/source.h"

namespace pipec::codegen {

/// Kernels of one group, as far as they are needed to say that it is possible: of a register tile those without which
/// there is none. Of other strategies none is kept: plans say that they are possible, but for Hybrid.
struct GroupCode {
    struct Piece {
        kernel::Kernel kernel;                         ///< as the only step of a program
        BlockOrder in_turns;                           ///< as one of several
        std::int64_t load_bytes = 0, store_bytes = 0;  ///< RegisterShape's
        std::int64_t registers = 0;                    ///< of a lane, as estimated
        bool is_ordered = false;                       ///< so that they are few: nvcc chooses how many it takes
        fusion::Choices decided;
    };
    std::vector<Piece> pieces;

    /// The one with these accesses, for a program that has turns or has none.
    [[nodiscard]] std::optional<Piece> piece(std::int64_t load_bytes, std::int64_t store_bytes, bool has_turns) const;
};

class MadeGroups {
public:
    /// The groups of a pipeline that inlining left. All kernels share the program's variables.
    class Made {
    public:
        Made(kernel::Program of, std::vector<poly::Dependence> all)
            : program(std::move(of)), dependences(std::move(all)) {}

        kernel::Program program;  ///< without steps
        std::vector<poly::Dependence> dependences;
        /// The code of a group; null where none was made. The schedule's stages are not looked at.
        [[nodiscard]] const GroupCode* find(const std::vector<int>& stages,
                                            const fusion::GroupSchedule& schedule) const;

    private:
        friend MadeGroups;
        std::map<std::vector<int>, std::vector<std::pair<fusion::GroupSchedule, GroupCode>>> groups_;
    };

    /// Why a group is impossible, of a pipeline that inlining left, with its dependences; else its code is kept, in the
    /// place of its parts'.
    std::optional<fusion::Refused> refusal(const ir::Pipeline& pipeline, const poly::Model& model,
                                           const std::vector<poly::Dependence>& dependences,
                                           const fusion::Target& target, bool fast_math, const poly::Group& group,
                                           const fusion::GroupSchedule& schedule, const SourceManager& sources);

    /// What was made on a target for a pipeline of that name with these stages left; null where that is nothing.
    [[nodiscard]] const Made* find(const ir::Pipeline& pipeline, const fusion::Target& target, bool fast_math) const;

private:
    Made& of(const ir::Pipeline& pipeline, const poly::Model& model, const std::vector<poly::Dependence>& dependences,
             const fusion::Target& target, bool fast_math);

    std::list<Made> made_;
};

}  // namespace pipec::codegen
