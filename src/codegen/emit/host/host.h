// The host target: C++ with OpenMP, one loop nest per stage, and the C header that every target shares.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "codegen/emit/origin.h"
#include "fusion/schedule_json.h"
#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::codegen {

/// A pipeline with what is known about it.
struct Unit {
    const ir::Pipeline* pipeline;
    const poly::Model* model;
};

/// The C header (C99 and C++) for the pipelines of one file. `program` is that file's name, for the first comment;
/// `base` is the header's stem and names the include guard.
std::string header(std::string_view program, const std::string& base, const std::vector<Unit>& units,
                   const Origin& origin = {});

/// C++17 that implements the header; `header_name` is what it includes. `schedules`: by pipeline; those of which there
/// is none run stage by stage. Throws fusion::ScheduleError where one is impossible.
std::string host_source(std::string_view program, const std::string& header_name, const std::vector<Unit>& units,
                        const SourceManager& sources, const Origin& origin = {},
                        const fusion::Schedules& schedules = {});

}  // namespace pipec::codegen
