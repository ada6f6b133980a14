#include "driver/explain/explain_json.h"

#include <nlohmann/json.hpp>

#include "driver/explain/explain_words.h"
#include "fusion/strategy.h"

namespace pipec::driver::explain {

namespace {

using OrderedJson = nlohmann::ordered_json;

/// Members are added, never renamed, as long as this number stays.
constexpr int kExplainVersion = 1;

template <class T>
OrderedJson or_null(const std::optional<T>& value) {
    return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson of(const cost::TimePrediction& t) {
    return {{"seconds", t.seconds},
            {"bound_by", cost::bound_by(t)},
            {"resources",
             {{"dram", t.dram},
              {"l2", t.l2},
              {"issue", t.issue},
              {"lsu", t.lsu},
              {"latency", t.latency},
              {"start", t.start}}},
            {"added", {{"ends", t.ends}, {"launch", t.launch}}},
            {"dram_bytes", t.dram_bytes},
            {"l2_bytes", t.l2_bytes},
            {"registers", t.registers},
            {"blocks", t.blocks},
            {"blocks_per_multiprocessor", t.blocks_per_sm},
            {"occupancy", t.occupancy},
            {"waves", t.waves}};
}
OrderedJson of(const std::optional<cost::TimePrediction>& time) {
    return time ? of(*time) : OrderedJson(nullptr);
}

std::string_view of(Kept kept) {
    switch (kept) {
        case Kept::Nowhere: return "nowhere";
        case Kept::Registers: return "registers";
        case Kept::Shared: return "shared";
        case Kept::Both: break;
    }
    return "registers_and_shared";
}

OrderedJson of(const StageReport& stage) {
    OrderedJson tile = OrderedJson::array();
    for (const TilePart& part : stage.part) {
        tile.push_back({{"dimension", part.name},
                        {"computed", part.computed},
                        {"owned", part.owned},
                        {"before", part.before},
                        {"after", part.after}});
    }
    return {{"name", stage.name},
            {"type", stage.type},
            {"place", stage.place},
            {"kept", of(stage.kept)},
            {"written", stage.is_live},
            {"output", stage.is_output},
            {"bytes", stage.bytes},
            {"tile_bytes", stage.tile_bytes},
            {"tile", tile},
            {"inlined", stage.inlined}};
}

/// With a schedule and a time, or with the reason why it is impossible.
OrderedJson of(const Alternative& other) {
    OrderedJson result = {{"strategy", other.what}, {"time", of(other.time)}};
    if (other.schedule) {
        result["strategy"] = fusion::name(other.schedule->strategy);
        result["parameters"] = parameters(*other.schedule, other.dims);
    }
    if (!other.time) {
        result["refusal"] = other.refusal;
        if (!other.place.empty()) result["place"] = other.place;
    }
    return result;
}

OrderedJson of(const GroupReport& group) {
    OrderedJson stages = OrderedJson::array(), alternatives = OrderedJson::array();
    for (const StageReport& stage : group.stages) stages.push_back(of(stage));
    for (const Alternative& other : group.alternatives) alternatives.push_back(of(other));
    OrderedJson traffic = nullptr;
    if (group.traffic) {
        traffic = {
            {"inputs", group.traffic->inputs}, {"stages", group.traffic->stages}, {"outputs", group.traffic->outputs}};
    }
    OrderedJson result = {{"strategy", fusion::name(group.schedule.strategy)},
                          {"parameters", parameters(group.schedule, group.dims)},
                          {"dimensions", group.dims},
                          {"tile", group.tile},
                          {"recomputed", group.redundant},
                          {"shared_bytes", group.shared_bytes},
                          {"stages", stages},
                          {"traffic", traffic},
                          {"time", of(group.time)}};
    if (!group.time) result["unknown"] = group.unknown;
    result["alternatives"] = alternatives;
    result["apart_seconds"] = or_null(group.apart);
    return result;
}

OrderedJson of(const PipelineReport& report) {
    OrderedJson sizes = OrderedJson::object(), kernels = OrderedJson::array(), merges = OrderedJson::array();
    for (const auto& [name, value] : report.sizes) sizes[name] = value;
    for (const GroupReport& group : report.groups) kernels.push_back(of(group));
    for (const MergeReport& merge : report.merges) {
        merges.push_back({{"producer", merge.producer},
                          {"reader", merge.reader},
                          {"apart_seconds", or_null(merge.now)},
                          {"merged", of(merge.merged)}});
    }
    return {{"name", report.name},       {"gpu", report.gpu.name}, {"sizes", sizes},
            {"seconds", report.seconds}, {"kernels", kernels},     {"merges", merges}};
}

}  // namespace

std::string to_json(const std::vector<PipelineReport>& reports) {
    OrderedJson pipelines = OrderedJson::array();
    for (const PipelineReport& report : reports) pipelines.push_back(of(report));
    const OrderedJson document = {{"version", kExplainVersion}, {"pipelines", pipelines}};
    return document.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace pipec::driver::explain
