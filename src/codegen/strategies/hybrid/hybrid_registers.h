// The register part of hybrid tiles: GenRegTile of the paper's Algorithm 1, in the general form of its appendix.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "codegen/strategies/hybrid/hybrid_distance.h"
#include "codegen/strategies/hybrid/hybrid_tile.h"

namespace pipec::codegen {

class HybridRegisters {
public:
    using Member = HybridTile::Member;

    /// For a tile that is split already; decides which of its members stay in registers.
    explicit HybridRegisters(HybridTile& tile);

    /// Why the members do not fit into the registers of a lane; none where they do.
    [[nodiscard]] std::optional<std::string> too_large() const;

    /// Adds straight-line code, in which all lanes take part, for all iterations of a member and what they need.
    void compute(kernel::Body& body, const Member& m);

private:
    /// Numbers of iterations, by dimension of the stage.
    using Iterations = std::vector<std::int64_t>;
    /// By dimension of the stage that is read.
    using Places = std::vector<LanePlace>;

    [[nodiscard]] std::int64_t count(const Member& m, std::size_t dim) const;
    [[nodiscard]] std::vector<Iterations> all(const Member& m) const;
    /// Offset of lane 0's point from the stage's first one.
    [[nodiscard]] std::int64_t offset(const Member& m, std::size_t dim, std::int64_t iteration) const;
    ir::Expr value(const Member& m, const Iterations& at);
    ir::Expr element(kernel::Body& body, const Member& m, const Iterations& at);
    [[nodiscard]] ir::Expr active(const Member& m, const Iterations& at) const;
    [[nodiscard]] std::vector<ir::Expr> member_reads(const ir::Expr& value) const;
    [[nodiscard]] std::int64_t points(const Member& m) const;
    [[nodiscard]] std::int64_t points() const;
    void find_registers(const Member& reader);
    std::optional<Places> places(const Member& p, const ir::Read& read);
    ir::Expr load(kernel::Body& body, const Member& p, const ir::Read& read, const ir::Expr& e, const Places& at);
    ir::Expr shuffled(kernel::Body& body, const Member& p, const Places& at);
    ir::Expr published(kernel::Body& body, const Member& p, const Places& at, const Iterations& chosen);
    ir::Expr source_lane(kernel::Body& body, const std::vector<std::int64_t>& shift);
    [[nodiscard]] std::string name(const Member& m, const Iterations& at) const;
    Rewriter& rewriter() { return tile_.space.rewriter; }

    HybridTile& tile_;
    std::map<std::pair<int, Iterations>, ir::Expr> elements_;
    std::map<std::tuple<int, Iterations, std::vector<std::int64_t>>, ir::Expr> shuffled_;
    std::map<std::vector<std::int64_t>, ir::Expr> source_lanes_;  ///< by shift in each dimension of the group
};

}  // namespace pipec::codegen
