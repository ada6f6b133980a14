// Small programs, analysed, with the facts of one group of their stages.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "fusion/group_facts.h"
#include "poly/dependences.h"
#include "support/render.h"
#include "support_lib/compile.h"

namespace pipec::testing {

inline constexpr const char* kBlur = R"(
pipeline blur(img: float32[R + 2, C + 2]) -> out: float32[R, C] {
    rows(y, x) = (img(y, x) + img(y + 1, x) + img(y + 2, x)) / 3
    out(y, x) = (rows(y, x) + rows(y, x + 1) + rows(y, x + 2)) / 3
})";

/// The first pipeline of a program, its stages' facts and those of a group, without inlining.
struct Grouped {
    Grouped(const std::string& text, const std::vector<std::string>& members, std::vector<std::int64_t> sizes = {}) {
        SourceManager sources;
        Compiled compiled = compile_text(sources, "test.pipe", text);
        if (!compiled.ok()) throw std::runtime_error(render_text(compiled.diags, sources));
        pipeline = compiled.pipelines.at(0);
        model = compiled.models.at(0);
        dependences = poly::find_dependences(pipeline, model);
        stages =
            fusion::stage_facts(pipeline, model, dependences, sizes.empty() ? fusion::usual_sizes(pipeline) : sizes);
        std::vector<int> indices;
        for (std::size_t s = 0; s < pipeline.stages.size(); ++s) {
            if (std::find(members.begin(), members.end(), pipeline.stages[s].name) != members.end()) {
                indices.push_back(static_cast<int>(s));
            }
        }
        if (members.empty()) return;
        auto group = poly::make_group(pipeline, model, dependences, indices);
        facts = fusion::group_facts(std::get<poly::Group>(group), stages);
    }

    ir::Pipeline pipeline;
    poly::Model model;
    std::vector<poly::Dependence> dependences;
    std::vector<fusion::StageFacts> stages;
    std::optional<fusion::GroupFacts> facts;
};

}  // namespace pipec::testing
