// Faults: what they say, and what becomes of them.
#pragma once

#include <string>

#include "engine/block.h"
#include "simt.h"

namespace simt {

/// Of the running lane, which does not come back. `what` is a sentence, `where` a place in the source.
[[noreturn]] void lane_fault(Kind kind, const Lane& lane, const std::string& what, const std::string& where,
                             const std::string& other = {});
/// As it would be reported, for later.
Fault fault_of(Kind kind, const Lane& lane, const std::string& what, const std::string& where,
               const std::string& other = {});
/// Of a block that can go no further, of a launch, or of the host.
void block_fault(Kind kind, const std::string& what);
void launch_fault(Kind kind, const void* kernel, const std::string& what);
void host_fault(Kind kind, const std::string& what, const std::string& where);

std::string text(Site site);
std::string text(uint3 index);
/// Reports it: see CatchFaults.
void keep(Fault fault);
/// A fault makes the device unusable until whoever expects it has seen it.
bool device_failed();

}  // namespace simt
