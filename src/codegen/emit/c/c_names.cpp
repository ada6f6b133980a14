// Identifiers: reserved words and collisions.
#include "codegen/emit/c/c_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "ir/parameter_sizes.h"

namespace pipec::codegen {

namespace {

/// Keywords of C and C++, types and macros of the headers that generated code includes, and what GNU mode predefines.
/// Sorted.
constexpr auto kReserved = std::to_array<std::string_view>({"CHAR_BIT",
                                                            "EOF",
                                                            "HUGE_VAL",
                                                            "INFINITY",
                                                            "NAN",
                                                            "NULL",
                                                            "alignas",
                                                            "alignof",
                                                            "and",
                                                            "and_eq",
                                                            "asm",
                                                            "assert",
                                                            "auto",
                                                            "bitand",
                                                            "bitor",
                                                            "bool",
                                                            "break",
                                                            "case",
                                                            "catch",
                                                            "char",
                                                            "char16_t",
                                                            "char32_t",
                                                            "char8_t",
                                                            "class",
                                                            "co_await",
                                                            "co_return",
                                                            "co_yield",
                                                            "compl",
                                                            "complex",
                                                            "concept",
                                                            "const",
                                                            "const_cast",
                                                            "consteval",
                                                            "constexpr",
                                                            "constinit",
                                                            "continue",
                                                            "decltype",
                                                            "default",
                                                            "delete",
                                                            "do",
                                                            "double",
                                                            "dynamic_cast",
                                                            "else",
                                                            "enum",
                                                            "errno",
                                                            "explicit",
                                                            "export",
                                                            "extern",
                                                            "false",
                                                            "far",
                                                            "float",
                                                            "for",
                                                            "friend",
                                                            "goto",
                                                            "half",
                                                            "i386",
                                                            "if",
                                                            "import",
                                                            "inline",
                                                            "int",
                                                            "int16_t",
                                                            "int32_t",
                                                            "int64_t",
                                                            "int8_t",
                                                            "intptr_t",
                                                            "linux",
                                                            "long",
                                                            "main",
                                                            "module",
                                                            "mutable",
                                                            "namespace",
                                                            "near",
                                                            "new",
                                                            "noexcept",
                                                            "not",
                                                            "not_eq",
                                                            "nullptr",
                                                            "nullptr_t",
                                                            "offsetof",
                                                            "operator",
                                                            "or",
                                                            "or_eq",
                                                            "private",
                                                            "protected",
                                                            "ptrdiff_t",
                                                            "public",
                                                            "register",
                                                            "reinterpret_cast",
                                                            "requires",
                                                            "restrict",
                                                            "return",
                                                            "short",
                                                            "signed",
                                                            "size_t",
                                                            "sizeof",
                                                            "static",
                                                            "static_assert",
                                                            "static_cast",
                                                            "std",
                                                            "stderr",
                                                            "stdin",
                                                            "stdout",
                                                            "struct",
                                                            "switch",
                                                            "template",
                                                            "this",
                                                            "thread_local",
                                                            "throw",
                                                            "true",
                                                            "try",
                                                            "typedef",
                                                            "typeid",
                                                            "typename",
                                                            "typeof",
                                                            "uint16_t",
                                                            "uint32_t",
                                                            "uint64_t",
                                                            "uint8_t",
                                                            "uintptr_t",
                                                            "union",
                                                            "unix",
                                                            "unsigned",
                                                            "using",
                                                            "va_arg",
                                                            "va_end",
                                                            "va_list",
                                                            "va_start",
                                                            "virtual",
                                                            "void",
                                                            "volatile",
                                                            "wchar_t",
                                                            "while",
                                                            "xor",
                                                            "xor_eq"});

bool starts_with(std::string_view text, std::string_view prefix) {
    return text.substr(0, prefix.size()) == prefix;
}

bool is_reserved(std::string_view name) {
    if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end()) return true;
    // Ours, and the macros of <stdint.h>.
    for (const std::string_view prefix : {"pipe_", "PIPE_", "INT", "UINT", "SIZE_", "PTRDIFF_", "_Pragma"}) {
        if (starts_with(name, prefix)) return true;
    }
    return false;
}

}  // namespace

std::string identifier(std::string_view name) {
    std::string out;
    for (const char c : name) {
        const bool word = std::isalnum(static_cast<unsigned char>(c)) != 0;
        // "g[3]" gives g_3 and "g[3].f" g_3_f: no run of underscores (C++ keeps those for itself), none at the end.
        if (word)
            out += c;
        else if (out.empty() || out.back() != '_')
            out += '_';
    }
    while (out.size() > 1 && out.back() == '_' && !name.empty() && name.back() == ']') out.pop_back();
    if (out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) != 0) out.insert(0, "n");
    if (out[0] == '_') out.insert(0, "n");
    if (is_reserved(out)) out += out.back() == '_' ? "0" : "_";
    return out;
}

std::string Names::add(std::string_view wanted) {
    const std::string base = identifier(wanted);
    if (taken_.insert(base).second) return base;
    const char* separator = base.back() == '_' ? "" : "_";
    int& n = last_.try_emplace(base, 1).first->second;
    std::string name;
    do {
        name = fmt::format("{}{}{}", base, separator, ++n);
    } while (!taken_.insert(name).second);
    return name;
}

ArgumentNames argument_names(const Unit& unit) {
    std::set<std::string> taken;
    // The fields are what callers write, so they stay as close to the program's names as they can.
    const auto claim = [&](std::string_view wanted, const std::vector<std::string>& suffixes) {
        std::string base = identifier(wanted);
        const auto collides = [&](const std::string& suffix) { return taken.count(base + suffix) > 0; };
        while (std::any_of(suffixes.begin(), suffixes.end(), collides)) base += base.back() == '_' ? "0" : "_";
        for (const std::string& suffix : suffixes) taken.insert(base + suffix);
        return base;
    };

    const ir::Pipeline& pipeline = *unit.pipeline;
    ArgumentNames names;
    const auto add_buffer = [&](const ir::Buffer& buffer) {
        const std::string base = claim(buffer.name, {"", "_extent", "_stride"});
        names.buffers.push_back({base, base + "_extent", base + "_stride"});
    };
    for (const ir::Buffer& input : pipeline.inputs) add_buffer(input);
    for (const ir::Output& output : pipeline.outputs) add_buffer(output.buffer);
    for (const ir::ScalarParameter& param : pipeline.params) names.params.push_back(claim(param.name, {""}));
    names.sizes.resize(pipeline.sizes.size());
    for (const poly::SizeSolution& solution : unit.model->sizes) {
        if (solution.from != poly::SizeSolution::From::Explicit) continue;
        const auto size = static_cast<std::size_t>(solution.size);
        if (ir::parameter_of(pipeline, size)) continue;
        names.sizes[size] = claim(pipeline.sizes[size].name, {""});
    }
    return names;
}

std::vector<std::string> pipeline_names(const std::vector<Unit>& units) {
    Names taken;
    std::vector<std::string> names;
    for (const Unit& unit : units) {
        // Every public name has a suffix, so keywords do no harm: register_launch. But "pipe" would give pipe_info and
        // pipe_status, which the header has for itself.
        std::string name = unit.pipeline->name;
        while (name == "pipe" || starts_with(name, "pipe_") || taken.has(name)) name.insert(0, "p_");
        taken.reserve(name);
        names.push_back(name);
    }
    return names;
}

}  // namespace pipec::codegen
