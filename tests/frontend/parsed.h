// A text, parsed, for the tests of the parser.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontend/parse.h"

namespace pipec {

struct Parsed {
    explicit Parsed(std::string text)
        : id(sources.add("test.pipe", std::move(text))), file(parse(sources, id, diags)) {}

    [[nodiscard]] std::string tree() const { return ast::to_string(file, sources); }
    /// The ids of the diagnostics, in order.
    [[nodiscard]] std::vector<std::string> ids() const {
        std::vector<std::string> result;
        for (const Diagnostic& d : diags.all()) result.emplace_back(d.id);
        return result;
    }
    /// The lines of the diagnostics, in order.
    [[nodiscard]] std::vector<unsigned> lines() const {
        std::vector<unsigned> result;
        for (const Diagnostic& d : diags.all()) result.push_back(sources.position(id, d.range.begin).line);
        return result;
    }
    [[nodiscard]] std::string messages() const {
        std::string result;
        for (const Diagnostic& d : diags.all()) result += d.message + "\n";
        return result;
    }

    SourceManager sources;
    Diagnostics diags;
    FileId id;
    ast::File file;
};

/// A pipeline with these statements.
inline std::string in_pipeline(std::string_view statements) {
    return "pipeline p(img: float32[R]) -> out: float32[R] {\n" + std::string(statements) + "\n}\n";
}

}  // namespace pipec
