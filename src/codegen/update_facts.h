// What the form of an update tells about who shares its targets.
#pragma once

#include <optional>
#include <set>

#include "ir/pipeline.h"

namespace pipec::codegen {

/// The range variables that stand alone, or with a constant added, in a dimension of the target: points that differ in
/// one of them have different targets.
std::set<ir::VarId> owners(const ir::Update& update);

/// Every point has a target of its own.
bool has_own_targets(const ir::Update& update);

/// All points have the same target, whatever the data.
bool has_one_target(const ir::Update& update);

/// A sum or product of floats, which rounds, where points share targets.
bool depends_on_order(const ir::Update& update);

/// `update` with the range variables of `like`, if it has the same domain; none otherwise.
std::optional<ir::Update> with_domain_of(const ir::Update& like, ir::Update update);

}  // namespace pipec::codegen
