// Schedules as files: what is written is read again, and what is wrong is said with its place.
#include "fusion/schedule_json.h"

#include <gtest/gtest.h>

#include "support_lib/compile.h"

namespace pipec::fusion::schedule_json_test {
namespace {

constexpr const char* kFile = "blur.schedule.json";

/// Two pipelines: `blur` with the stages rows, cols, out, and `copy` with the stage o.
class ScheduleJson : public ::testing::Test {
protected:
    ScheduleJson() {
        testing::Compiled compiled = testing::compile_text(sources_, "p.pipe", R"(
            pipeline blur(img: float32[R + 2, C + 2]) -> out: float32[R, C] {
                rows(y, x) = img(y, x) + img(y + 2, x)
                cols(y, x) = rows(y, x) + rows(y, x + 2)
                out(y, x) = cols(y, x) / 4
            }
            pipeline copy(a: float32[N]) -> o: float32[N] { o(x) = a(x) })");
        EXPECT_TRUE(compiled.ok());
        pipelines_ = std::move(compiled.pipelines);
    }

    Schedules read(const std::string& text) { return schedules_from_json(text, kFile, pipelines_); }
    std::string error_of(const std::string& text) {
        try {
            read(text);
        } catch (const ScheduleError& error) {
            return error.what();
        }
        return "no error";
    }
    /// The message about a file with this schedule of `blur`.
    std::string error_in(const std::string& schedule) {
        return error_of(R"({"version": 2, "pipelines": {"blur": )" + schedule + "}}");
    }
    /// The message about a file with this group.
    std::string error_in_group(const std::string& group) {
        return error_in(R"({"inlined": [], "groups": [)" + group + "]}");
    }
    /// The message about these parameters of a group.
    std::string error_in_fields(const std::string& strategy, const std::string& fields) {
        return error_in_group(R"({"stages": ["rows"], "strategy": ")" + strategy + "\", " + fields + "}");
    }

    SourceManager sources_;
    std::vector<ir::Pipeline> pipelines_;
};

Schedules some_schedules() {
    GroupSchedule otpw{.stages = {"rows"}, .strategy = Strategy::Otpw, .block = {32, 4, 1}, .tile = {4, 8, 1}};
    otpw.vector = 4;
    otpw.load_cache = LoadCache::Cg;
    GroupSchedule hybrid{.stages = {"out"}, .strategy = Strategy::Hybrid, .block = {64, 2, 2}, .tile = {1, 16, 2}};
    hybrid.split = 1;
    hybrid.frac_reg = 0.3;
    GroupSchedule tile{.stages = {"o"}, .strategy = Strategy::RegisterTile, .block = {128, 1, 1}, .tile = {4, 1, 1}};
    tile.prefetch = 3;
    tile.load_cache = LoadCache::Ca;
    return {{"blur", {{"cols"}, {otpw, hybrid}}}, {"copy", {{}, {tile}}}};
}

TEST_F(ScheduleJson, IsWrittenForPeople) {
    EXPECT_EQ(to_json(some_schedules(), pipelines_), R"({
  "version": 2,
  "pipelines": {
    "blur": {
      "inlined": ["cols"],
      "groups": [
        {
          "stages": ["rows"],
          "strategy": "otpw",
          "block": [32, 4, 1],
          "tile": [4, 8, 1],
          "vector": 4,
          "load_cache": "cg"
        },
        {
          "stages": ["out"],
          "strategy": "hybrid",
          "block": [64, 2, 2],
          "tile": [1, 16, 2],
          "split": "y",
          "frac_reg": 0.3,
          "load_cache": "default"
        }
      ]
    },
    "copy": {
      "inlined": [],
      "groups": [
        {
          "stages": ["o"],
          "strategy": "register_tile",
          "block": [128, 1, 1],
          "tile": [4, 1, 1],
          "prefetch": 3,
          "load_cache": "ca"
        }
      ]
    }
  }
}
)");
}

TEST_F(ScheduleJson, LongListsAreBroken) {
    Schedule schedule;
    for (int i = 0; i < 20; ++i) schedule.inlined.push_back("stage_" + std::to_string(i));
    EXPECT_EQ(to_json({{"copy", schedule}}, pipelines_), R"({
  "version": 2,
  "pipelines": {
    "copy": {
      "inlined": [
        "stage_0", "stage_1", "stage_2", "stage_3", "stage_4", "stage_5", "stage_6", "stage_7",
        "stage_8", "stage_9", "stage_10", "stage_11", "stage_12", "stage_13", "stage_14",
        "stage_15", "stage_16", "stage_17", "stage_18", "stage_19"
      ],
      "groups": []
    }
  }
}
)");
}

TEST_F(ScheduleJson, WhatIsWrittenIsReadAgain) {
    const std::string text = to_json(some_schedules(), pipelines_);
    const Schedules again = read(text);
    EXPECT_EQ(to_json(again, pipelines_), text);
    const GroupSchedule& hybrid = again.at("blur").groups.at(1);
    EXPECT_EQ(hybrid.stages, std::vector<std::string>{"out"});
    EXPECT_EQ(hybrid.strategy, Strategy::Hybrid);
    EXPECT_EQ(hybrid.block, (std::array<int, 3>{64, 2, 2}));
    EXPECT_EQ(hybrid.split, 1);
    EXPECT_EQ(hybrid.frac_reg, 0.3);
    EXPECT_EQ(again.at("copy").groups.at(0).prefetch, 3);
    EXPECT_EQ(again.at("copy").groups.at(0).load_cache, LoadCache::Ca);
    EXPECT_EQ(to_json({}, pipelines_), "{\n  \"version\": 2,\n  \"pipelines\": {}\n}\n");
    EXPECT_TRUE(read(to_json({}, pipelines_)).empty());
}

TEST_F(ScheduleJson, ParametersMayBeLeftOut) {
    const Schedules all = read(R"({"version": 2, "pipelines": {
        "blur": {"inlined": [], "groups": [{"stages": ["rows", "cols"], "strategy": "otptb"}]}}})");
    ASSERT_EQ(all.size(), 1u);
    const GroupSchedule& group = all.at("blur").groups.at(0);
    EXPECT_EQ(group.block, GroupSchedule{}.block);
    EXPECT_EQ(group.tile, GroupSchedule{}.tile);
    EXPECT_EQ(group.load_cache, LoadCache::Default);
}

GroupSchedule with_all_choices(GroupSchedule group) {
    group.choices = {.block_order = BlockOrder::Xzy,
                     .edge_tiles = EdgeTiles::InOrder,
                     .direction = Direction::Backward,
                     .min_blocks = 3,
                     .packed = false,
                     .edges = EdgeCode::WholeLate,
                     .access_widths = AccessWidths::Few,
                     .threads = {{64, 4}},
                     .columns = 2,
                     .shared_lanes = true,
                     .histogram = HistogramShape{{512, 1, 32, 4, 1, 0, 16, 2048}}};
    return group;
}

TEST_F(ScheduleJson, ChoicesOfAStrategyAreWrittenAndReadAgain) {
    const GroupSchedule tile = with_all_choices({.stages = {"rows"}, .strategy = Strategy::RegisterTile});
    const GroupSchedule stage = with_all_choices({.stages = {"o"}});
    const std::string text = to_json({{"blur", {{}, {tile}}}, {"copy", {{}, {stage}}}}, pipelines_);
    EXPECT_EQ(text, R"({
  "version": 2,
  "pipelines": {
    "blur": {
      "inlined": [],
      "groups": [
        {
          "stages": ["rows"],
          "strategy": "register_tile",
          "block": [32, 8, 1],
          "tile": [1, 1, 1],
          "prefetch": 0,
          "load_cache": "default",
          "block_order": "xzy",
          "edge_tiles": "in_order",
          "direction": "backward",
          "min_blocks": 3,
          "packed": false,
          "edges": "whole_late",
          "access_widths": "few"
        }
      ]
    },
    "copy": {
      "inlined": [],
      "groups": [
        {
          "stages": ["o"],
          "strategy": "stage",
          "load_cache": "default",
          "min_blocks": 3,
          "threads": [64, 4],
          "columns": 2,
          "shared_lanes": true,
          "histogram": [512, 1, 32, 4, 1, 0, 16, 2048]
        }
      ]
    }
  }
}
)");
    const Schedules again = read(text);
    EXPECT_EQ(to_json(again, pipelines_), text);
    const Choices& read_tile = again.at("blur").groups.at(0).choices;
    Choices expected = tile.choices;
    expected.threads.reset();
    expected.columns.reset();
    expected.shared_lanes.reset();
    expected.histogram.reset();
    EXPECT_EQ(read_tile, expected);
    EXPECT_EQ(again.at("copy").groups.at(0).choices.threads, stage.choices.threads);
    EXPECT_EQ(again.at("copy").groups.at(0).choices.histogram, stage.choices.histogram);
}

TEST_F(ScheduleJson, AutoIsWhatIsLeftOut) {
    const Schedules all = read(R"({"version": 2, "pipelines": {"blur": {"inlined": [], "groups": [
        {"stages": ["rows"], "strategy": "register_tile", "block_order": "auto", "edge_tiles": "auto",
         "direction": "auto", "min_blocks": "auto", "packed": "auto", "edges": "auto", "access_widths": "auto"},
        {"stages": ["cols"], "strategy": "stage", "threads": "auto", "columns": "auto", "shared_lanes": "auto", "histogram": "auto"}]}}})");
    for (const GroupSchedule& group : all.at("blur").groups) EXPECT_EQ(group.choices, Choices{});
    EXPECT_EQ(to_json(all, pipelines_).find("auto"), std::string::npos);
}

TEST_F(ScheduleJson, FilesOfVersionOneAreRead) {
    const std::string group = R"("blur": {"inlined": ["cols"], "groups": [
        {"stages": ["rows"], "strategy": "otpw", "tile": [4, 8, 1], "vector": 4)";
    const Schedules first = read(R"({"version": 1, "pipelines": {)" + group + "}]}}}");
    EXPECT_EQ(to_json(first, pipelines_),
              to_json(read(R"({"version": 2, "pipelines": {)" + group + "}]}}}"), pipelines_));
    EXPECT_EQ(error_of(R"({"version": 1, "pipelines": {)" + group + R"(, "direction": "forward"}]}}})"),
              "blur.schedule.json: pipelines.blur.groups[0].direction: `direction` is for files of version 2, and this "
              "is one of version 1");
}

TEST_F(ScheduleJson, ChoicesHaveValues) {
    const std::string group = "blur.schedule.json: pipelines.blur.groups[0].";
    const auto tile = [&](const std::string& fields) { return error_in_fields("register_tile", fields); };
    const auto stage = [&](const std::string& fields) { return error_in_fields("stage", fields); };
    EXPECT_EQ(tile(R"("block_order": "xy")"), group +
                                                  "block_order: `xy` is not a value of `block_order`; there are: auto, "
                                                  "xyz, xzy, yxz, yzx, zxy, zyx");
    EXPECT_EQ(tile(R"("edge_tiles": "last")"),
              group + "edge_tiles: `last` is not a value of `edge_tiles`; there are: auto, first, in_order");
    EXPECT_EQ(tile(R"("direction": "up")"),
              group + "direction: `up` is not a value of `direction`; there are: auto, forward, backward");
    EXPECT_EQ(tile(R"("direction": 1)"), group + "direction: this must be a string, but is an integer");
    EXPECT_EQ(tile(R"("min_blocks": 33)"), group + "min_blocks: 33 is not between 0 and 32");
    EXPECT_EQ(tile(R"("min_blocks": "3")"), group + "min_blocks: \"3\" is no value; there are: auto, 0 to 32");
    EXPECT_EQ(tile(R"("packed": 1)"), group + "packed: this must be true or false, but is an integer");
    EXPECT_EQ(tile(R"("packed": "true")"), group + "packed: \"true\" is no value; there are: auto, true, false");
    EXPECT_EQ(tile(R"("edges": "slice")"), group +
                                               "edges: `slice` is not a value of `edges`; there are: auto, whole, "
                                               "sliced, whole_late, sliced_late");
    EXPECT_EQ(tile(R"("access_widths": "16")"),
              group + "access_widths: `16` is not a value of `access_widths`; there are: auto, all, few");
    EXPECT_EQ(tile(R"("threads": [32, 8])"), group + "threads: the strategy `register_tile` has no `threads`");
    EXPECT_EQ(stage(R"("threads": [32, 8, 1])"), group + "threads: this has 3 elements, and must have two: x, y");
    EXPECT_EQ(stage(R"("threads": [32, 0])"), group + "threads[1]: 0 is not between 1 and 1024");
    EXPECT_EQ(stage(R"("columns": 3)"), group + "columns: 3 is no power of two");
    EXPECT_EQ(stage(R"("columns": 32)"), group + "columns: 32 is not between 1 and 16");
    EXPECT_EQ(stage(R"("packed": true)"), group + "packed: the strategy `stage` has no `packed`");
}

TEST_F(ScheduleJson, SyntaxErrorsHaveLineAndColumn) {
    EXPECT_EQ(error_of("{\n  \"version\": 2,\n  \"pipelines\": {]\n}\n"),
              "blur.schedule.json:3:17: this is no JSON: syntax error while parsing object key - unexpected ']'; "
              "expected string literal");
    EXPECT_EQ(error_of("").substr(0, 41), "blur.schedule.json:1:1: this is no JSON: ");
    EXPECT_EQ(error_of("{\n\xff}").substr(0, 41), "blur.schedule.json:2:1: this is no JSON: ");
    EXPECT_EQ(error_of("[1e999]"), "blur.schedule.json: this is no JSON: number overflow parsing '1e999'");
    EXPECT_EQ(error_of(R"({"version": 2, "version": 2})"), "blur.schedule.json: `version` stands twice in one object");
    EXPECT_NE(error_of(std::string(200'000, '[')), "no error");
}

TEST_F(ScheduleJson, EveryMistakeHasItsPlace) {
    EXPECT_EQ(error_of("[]"), "blur.schedule.json: this must be an object, but is a list");
    EXPECT_EQ(error_of("{}"), "blur.schedule.json: `version` is missing");
    EXPECT_EQ(error_of(R"({"version": 3, "pipelines": {}})"),
              "blur.schedule.json: version: this is 3, but must be 1 or 2");
    EXPECT_EQ(error_of(R"({"version": "1", "pipelines": {}})"),
              "blur.schedule.json: version: this is \"1\", but must be 1 or 2");
    EXPECT_EQ(error_of(R"({"version": 2, "pipeline": {}})"),
              "blur.schedule.json: `pipeline` is unknown here; did you mean `pipelines`?");
    EXPECT_EQ(error_of(R"({"version": 2, "pipelines": {"harris": {}}})"),
              "blur.schedule.json: pipelines: `harris` is unknown here; there are: blur, copy");
    EXPECT_EQ(error_in("{}"), "blur.schedule.json: pipelines.blur: `inlined` is missing");
    EXPECT_EQ(error_in(R"({"inlined": "rows", "groups": []})"),
              "blur.schedule.json: pipelines.blur.inlined: this must be a list, but is a string");
    EXPECT_EQ(error_in(R"({"inlined": ["row"], "groups": []})"),
              "blur.schedule.json: pipelines.blur.inlined[0]: `blur` has no stage `row`; did you mean `rows`?");
    EXPECT_EQ(error_in(R"({"inlined": ["rows"], "groups": [{"stages": ["rows"], "strategy": "stage"}]})"),
              "blur.schedule.json: pipelines.blur.groups[0].stages[0]: `rows` stands in pipelines.blur.inlined[0] "
              "already");
    EXPECT_EQ(error_in_group("7"),
              "blur.schedule.json: pipelines.blur.groups[0]: this must be an object, but is an "
              "integer");
    EXPECT_EQ(error_in_group(R"({"stages": ["rows"]})"),
              "blur.schedule.json: pipelines.blur.groups[0]: `strategy` is missing");
    EXPECT_EQ(error_in_group(R"({"stages": [], "strategy": "stage"})"),
              "blur.schedule.json: pipelines.blur.groups[0].stages: a group has at least one stage");
    EXPECT_EQ(error_in_group(R"({"stages": ["rows"], "strategy": "otpx"})"),
              "blur.schedule.json: pipelines.blur.groups[0].strategy: `otpx` is no strategy; did you mean `otpw`?");
    EXPECT_EQ(error_in_group(R"({"stages": ["rows"], "strategy": "stage", "size": 3})"),
              "blur.schedule.json: pipelines.blur.groups[0]: `size` is unknown here; there are: stages, strategy, "
              "block, tile, vector, split, frac_reg, prefetch, load_cache, block_order, edge_tiles, direction, "
              "min_blocks, packed, edges, access_widths, threads, columns, shared_lanes, histogram");
}

TEST_F(ScheduleJson, ParametersAreThoseOfTheStrategy) {
    const std::string group = "blur.schedule.json: pipelines.blur.groups[0].";
    EXPECT_EQ(error_in_fields("stage", R"("tile": [1, 1, 1])"), group + "tile: the strategy `stage` has no `tile`");
    EXPECT_EQ(error_in_fields("otpw", R"("split": "x")"), group + "split: the strategy `otpw` has no `split`");
    EXPECT_EQ(error_in_fields("otptb", R"("frac_reg": 1)"), group + "frac_reg: the strategy `otptb` has no `frac_reg`");
    EXPECT_EQ(error_in_fields("hybrid", R"("vector": 1)"), group + "vector: the strategy `hybrid` has no `vector`");
    EXPECT_EQ(error_in_fields("otpw", R"("prefetch": 1)"), group + "prefetch: the strategy `otpw` has no `prefetch`");
    EXPECT_EQ(error_in_fields("stage", R"("load_cache": "cg")"), "no error");

    EXPECT_EQ(error_in_fields("otpw", R"("tile": [1, 0, 1])"), group + "tile[1]: 0 is not between 1 and 4096");
    EXPECT_EQ(error_in_fields("otpw", R"("tile": [1, 99999999999999999999, 1])"),
              group + "tile[1]: this must be an integer, but is a number");
    EXPECT_EQ(error_in_fields("otpw", R"("tile": [1, 1.0, 1])"),
              group + "tile[1]: this must be an integer, but is a number");
    EXPECT_EQ(error_in_fields("otpw", R"("tile": [1, true, 1])"),
              group + "tile[1]: this must be an integer, but is true or false");
    EXPECT_EQ(error_in_fields("otpw", R"("tile": [1, 4294967297, 1])"),
              group + "tile[1]: 4294967297 is not between 1 and 4096");
    EXPECT_EQ(error_in_fields("otpw", R"("tile": [1, 1])"), group +
                                                                "tile: this has 2 elements, and must have three: "
                                                                "x, y, z");
    EXPECT_EQ(error_in_fields("otpw", R"("block": 32)"), group + "block: this must be a list, but is an integer");
    EXPECT_EQ(error_in_fields("otpw", R"("block": [1, 1, 65])"), group + "block[2]: 65 is not between 1 and 64");
    EXPECT_EQ(error_in_fields("otpw", R"("vector": 3)"), group + "vector: 3 is no power of two");
    EXPECT_EQ(error_in_fields("otpw", R"("vector": 32)"), group + "vector: 32 is not between 1 and 16");
    EXPECT_EQ(error_in_fields("hybrid", R"("split": "w")"), group + "split: `w` is no dimension; there are: x, y, z");
    EXPECT_EQ(error_in_fields("hybrid", R"("split": 0)"), group + "split: this must be a string, but is an integer");
    EXPECT_EQ(error_in_fields("hybrid", R"("frac_reg": 1.25)"), group + "frac_reg: 1.25 is not between 0 and 1");
    EXPECT_EQ(error_in_fields("hybrid", R"("frac_reg": null)"), group + "frac_reg: this must be a number, but is null");
    EXPECT_EQ(error_in_fields("register_tile", R"("prefetch": 65)"), group + "prefetch: 65 is not between 0 and 64");
    EXPECT_EQ(error_in_fields("register_tile", R"("prefetch": "all")"),
              group + "prefetch: this must be an integer, but is a string");
    EXPECT_EQ(error_in_fields("otpw", R"("load_cache": "l1")"),
              group + "load_cache: `l1` is no cache; there are: default, ca, cg");
}

}  // namespace
}  // namespace pipec::fusion::schedule_json_test
