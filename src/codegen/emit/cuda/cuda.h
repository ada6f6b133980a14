// The CUDA target: kernels and the functions that launch them, in one self-contained `.cu`. The header is the host's.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/emit/host/host.h"
#include "codegen/kernel/kernel_ir.h"
#include "codegen/made_groups.h"
#include "fusion/schedule.h"
#include "fusion/target.h"

namespace pipec::codegen {

struct CudaOptions {
    /// Float sums and products of an `accumulate` in the program's order, whatever it costs: equal inputs then give
    /// equal bits. Without it atomics add in any order.
    bool deterministic = false;
    /// Floats may be added and multiplied as if they were real numbers, without infinities and NaN.
    bool fast_math = false;
    /// By pipeline; those that are not here run stage after stage.
    std::map<std::string, fusion::Schedule> schedules{};
    /// What was made of the groups while schedules were looked for; null where nothing was kept.
    const MadeGroups* made = nullptr;
    /// The GPU whose limits the code keeps.
    fusion::Target target = fusion::default_target();
    Origin origin{};
};

/// CUDA C++17 (nvcc 12 and 13, sm_70 and newer) that implements the header; `header_name` is what it includes.
/// Throws fusion::ScheduleError.
std::string cuda_source(std::string_view program, const std::string& header_name, const std::vector<Unit>& units,
                        const SourceManager& sources, const CudaOptions& options = {});

/// The same of pipelines that are lowered already, for one GPU.
std::string cuda_source(std::string_view program, const std::string& header_name,
                        const std::vector<kernel::Program>& programs, const Origin& origin = {});

}  // namespace pipec::codegen
