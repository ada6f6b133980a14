// A program, elaborated, for the tests of elaboration: source text in, the pipeline's text or the diagnostics out.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "frontend/elaborate.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace pipec {

struct Elaborated {
    explicit Elaborated(std::string text) {
        const FileId id = sources.add("test.pipe", std::move(text));
        const Program program = load_program(sources, id, {}, diags);
        pipelines = elaborate(program, sources, diags);
        for (const ir::Pipeline& p : pipelines) {
            for (const std::string& problem : ir::verify(p)) ADD_FAILURE() << p.name << ": " << problem;
        }
    }

    /// The ids of the diagnostics, in order.
    [[nodiscard]] std::vector<std::string> ids() const {
        std::vector<std::string> result;
        for (const Diagnostic& d : diags.all()) result.emplace_back(d.id);
        return result;
    }
    [[nodiscard]] std::string messages() const {
        std::string result;
        for (const Diagnostic& d : diags.all()) result += d.message + "\n";
        return result;
    }

    SourceManager sources;
    Diagnostics diags;
    std::vector<ir::Pipeline> pipelines;
};

/// The text of the only pipeline's stages, a line each without indentation; the diagnostics where there is none.
inline std::string stages(std::string text) {
    const Elaborated e(std::move(text));
    if (e.pipelines.size() != 1) return e.messages();
    std::string result;
    const std::string all = ir::to_string(e.pipelines[0]);
    std::size_t begin = all.find('\n') + 1;  // after the pipeline's first line
    while (begin < all.size()) {
        const std::size_t end = all.find('\n', begin);
        const std::string line = all.substr(begin, end - begin);
        if (line != "}") result += line.substr(line.find_first_not_of(' ')) + "\n";
        begin = end + 1;
    }
    return result;
}

/// The stages of a pipeline with these statements, from a gray float image to another; `before` stands before it.
inline std::string in_gray(std::string_view statements, std::string_view before = "") {
    return stages(std::string(before) + "\npipeline p(img: float32[R, C], k: float32 = 0.5) -> out: float32[R, C] {\n" +
                  std::string(statements) + "\n}\n");
}

/// The value of `out(y, x) = e` as text, where `before` may define functions. Inputs: u8, i8, u16, i32, u32, i64, u64,
/// h, f, d (float16, 32, 64), each [R, C]; parameter k: float32.
inline std::string value(std::string_view e, std::string_view type, std::string_view before = "") {
    const std::string all =
        stages(std::string(before) +
               "\npipeline p(u8: uint8[R, C], i8: int8[R, C], u16: uint16[R, C], i32: int32[R, C], u32: uint32[R, C],\n"
               "    i64: int64[R, C], u64: uint64[R, C], h: float16[R, C], f: float32[R, C], d: float64[R, C],\n"
               "    k: float32) -> out: " +
               std::string(type) + "[R, C] {\n    out(y, x) = " + std::string(e) + "\n}\n");
    const std::size_t equals = all.find(" = ");
    if (equals == std::string::npos) return all;
    return all.substr(equals + 3, all.size() - equals - 4);
}

}  // namespace pipec
