// Signatures, functions of the language and of the standard library: what hover and completion say.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "frontend/stdlib.h"
#include "lsp/features.h"

namespace pipec::lsp {

std::string signature(const Analysis& analysis, const Declaration& d) {
    const std::string whole(analysis.sources.text(d.whole));
    const std::string first_line = whole.substr(0, whole.find('\n'));
    switch (d.kind) {
        case NameKind::Function: return fmt::format("fn {}({})", d.name, fmt::join(d.arguments, ", "));
        case NameKind::Pipeline: {
            std::string head = whole.substr(0, whole.find('{'));
            std::string line;  // its lines as one
            for (const char c : head) {
                if (c != '\n' && (c != ' ' || !line.ends_with(' '))) line += c;
                if (c == '\n' && !line.ends_with(' ')) line += ' ';
            }
            while (line.ends_with(' ')) line.pop_back();
            return line;
        }
        case NameKind::Splice: return ".." + d.name;
        case NameKind::Size: return fmt::format("size {}", d.name);
        case NameKind::Argument: return fmt::format("argument {}", d.name);
        default: return first_line;
    }
}

const BuiltinFunction* builtin_function(std::string_view name) {
    static constexpr std::array kFunctions{
        BuiltinFunction{"abs", "a", "The absolute value."},
        BuiltinFunction{"acos", "a", "The arc cosine."},
        BuiltinFunction{"asin", "a", "The arc sine."},
        BuiltinFunction{"atan", "a", "The arc tangent."},
        BuiltinFunction{"atan2", "y, x", "The angle of the point (x, y)."},
        BuiltinFunction{"ceil", "a", "The least whole number that is not less, as a float."},
        BuiltinFunction{"clamp", "a, lo, hi", "`a`, or the nearer of `lo` and `hi` where it lies outside of them."},
        BuiltinFunction{"cos", "a", "The cosine."},
        BuiltinFunction{"cosh", "a", "The hyperbolic cosine."},
        BuiltinFunction{"exp", "a", "e to the power of `a`."},
        BuiltinFunction{"exp2", "a", "2 to the power of `a`."},
        BuiltinFunction{"extent", "f, dim", "How many points an image with a known border has along a dimension."},
        BuiltinFunction{"floor", "a", "The greatest whole number that is not greater, as a float."},
        BuiltinFunction{"fract", "a", "`a - floor(a)`."},
        BuiltinFunction{"hypot", "a, b", "The square root of the sum of both squares."},
        BuiltinFunction{"isnan", "a", "True where `a` is no number."},
        BuiltinFunction{"length", "t", "How many elements a table has."},
        BuiltinFunction{"lerp", "a, b, t", "`a + t * (b - a)`."},
        BuiltinFunction{"log", "a", "The natural logarithm."},
        BuiltinFunction{"log2", "a", "The logarithm to the base 2."},
        BuiltinFunction{"lower", "f, dim", "The first index along a dimension of an image with a known border."},
        BuiltinFunction{"max", "a, b, ...", "The greatest. Over points: `max(i in 0..4) f(i)`."},
        BuiltinFunction{"min", "a, b, ...", "The least. Over points: `min(i in 0..4) f(i)`."},
        BuiltinFunction{"pow", "a, b", "`a` to the power of `b`."},
        BuiltinFunction{"rank", "f", "How many dimensions an image has."},
        BuiltinFunction{"round", "a", "The nearest whole number, as a float."},
        BuiltinFunction{"rsqrt", "a", "`1 / sqrt(a)`."},
        BuiltinFunction{"select", "c, a, b", "`if c then a else b`."},
        BuiltinFunction{"sin", "a", "The sine."},
        BuiltinFunction{"sinh", "a", "The hyperbolic sine."},
        BuiltinFunction{"sqrt", "a", "The square root."},
        BuiltinFunction{"tan", "a", "The tangent."},
        BuiltinFunction{"tanh", "a", "The hyperbolic tangent."},
        BuiltinFunction{"trunc", "a", "The whole part, as a float."},
        BuiltinFunction{"upper", "f, dim", "The last index along a dimension of an image with a known border."}};
    const auto found = std::ranges::find(kFunctions, name, &BuiltinFunction::name);
    return found == kFunctions.end() ? nullptr : &*found;
}

const std::multimap<std::string, LibraryName, std::less<>>& library_names() {
    static const auto kNames = [] {
        std::multimap<std::string, LibraryName, std::less<>> result;
        for (const std::string_view file : stdlib_names()) {
            AnalysisRequest request;
            request.path = fmt::format("<stdlib>/{}.pipe", file);
            request.text = std::string(*stdlib_file(file));
            const auto analysis = analyze(request);
            for (const Declaration& d : analysis->names.declarations) {
                if (!d.of_file || d.range.file != analysis->main) continue;
                result.emplace(d.name, LibraryName{std::string(file), signature(*analysis, d), d.doc,
                                                   d.kind == NameKind::Function});
            }
        }
        return result;
    }();
    return kNames;
}

Json import_edit(const View& view, const std::string& file) {
    const std::string_view text = view.analysis.text();
    std::size_t at = std::string_view::npos;
    std::string line = fmt::format("import \"{}\"\n", file);
    for (const ast::Item& item : view.analysis.checked.program.main.items) {
        if (!std::holds_alternative<ast::Import>(item.value)) continue;
        at = std::min(text.find('\n', item.range.end), text.size() - 1) + 1;  // texts end with a newline
    }
    if (at == std::string_view::npos) {
        // Behind the comment that begins the file, where a blank line ends it.
        at = 0;
        for (std::size_t next = 0; next < text.size();) {
            const std::size_t end = std::min(text.find('\n', next), text.size() - 1) + 1;
            const std::string_view of = text.substr(next, end - next);
            if (!of.starts_with("//")) {
                if (next > 0 && of == "\n") at = end;
                break;
            }
            next = end;
        }
        line += "\n";
    }
    const Position place = view.lines.position(at);
    return {{"range", to_json(Range{place, place})}, {"newText", line}};
}

}  // namespace pipec::lsp
