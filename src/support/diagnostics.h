// Diagnostics: what the compiler tells a person about a program.
//
// A diagnostic is declared once, beside its use, with a severity, a stable id and a typed message:
//
//     PIPEC_DIAGNOSTIC(UnknownName, Error, "unknown-name", "unknown name `{}`", std::string)
//
// in the `diagnostics.def` of its module; `src/support/diagnostic_registry.h` lists the modules. The id is what -W
// flags, JSON output and the golden tests use. Declaring one without a golden test fails the test suite.
//
//     diags.report(diag::UnknownName, range, name).note(other, "defined here").suggest(range, "blurx");
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "support/source.h"

namespace pipec {

enum class Severity : std::uint8_t { Note, Warning, Error };

/// What is the same for every report of one kind of diagnostic.
struct DiagnosticInfo {
    std::string_view name;  ///< C++ name, for the registry test
    Severity severity;
    std::string_view id;  ///< stable, lower-case-with-dashes; warnings are switched by -W<id>
};

/// A kind of diagnostic; Args are the types of its message's placeholders, checked against the format at compile time.
template <class... Args>
struct DiagnosticKind {
    DiagnosticInfo info;
    fmt::format_string<const Args&...> format;
};

/// A second place that matters, or advice without a place (invalid range).
struct DiagnosticNote {
    SourceRange range;
    std::string message;
};

/// A replacement that is sure to be what was meant: `range` becomes `text`.
struct FixIt {
    SourceRange range;
    std::string text;
};

struct Diagnostic {
    Severity severity = Severity::Error;
    std::string_view id;
    SourceRange range;
    std::string message;
    std::vector<DiagnosticNote> notes;
    std::vector<FixIt> fixits;
};

/// -Werror, -W<id>, -Wno-<id>, -Werror=<id>. Warnings are on unless switched off.
struct WarningOptions {
    bool all_as_errors = false;
    bool none = false;  ///< -w
    std::set<std::string, std::less<>> disabled;
    std::set<std::string, std::less<>> as_errors;
};

/// Collects diagnostics in the order of their reports. Rendering is elsewhere (support/render.h).
class Diagnostics {
public:
    explicit Diagnostics(WarningOptions options = {}) : options_(std::move(options)) {}

    /// Adds to the diagnostic just reported. Does nothing where that one was switched off.
    class Builder {
    public:
        explicit Builder(Diagnostic* diagnostic) : diagnostic_(diagnostic) {}
        Builder& note(SourceRange range, std::string message);
        Builder& note(std::string message) { return note({}, std::move(message)); }
        Builder& suggest(SourceRange range, std::string replacement);

    private:
        Diagnostic* diagnostic_;
    };

    template <class... Args>
    Builder report(const DiagnosticKind<Args...>& kind, SourceRange range, const std::type_identity_t<Args>&... args) {
        return add(kind.info, range, fmt::format(kind.format, args...));
    }

    [[nodiscard]] bool has_errors() const { return errors_ > 0; }
    [[nodiscard]] std::size_t error_count() const { return errors_; }
    [[nodiscard]] std::size_t warning_count() const { return warnings_; }
    [[nodiscard]] const std::deque<Diagnostic>& all() const { return diagnostics_; }

    /// Orders the diagnostics from the `first`-th on by their place, for a phase that finds them in another order.
    void sort_from(std::size_t first);

    /// True once so many errors were reported that more would not help (a garbage file).
    [[nodiscard]] bool too_many() const { return errors_ >= kMaxErrors; }
    static constexpr std::size_t kMaxErrors = 100;

private:
    Builder add(const DiagnosticInfo& info, SourceRange range, std::string message);

    WarningOptions options_;
    std::deque<Diagnostic> diagnostics_;  // a deque, so that Builders stay valid
    std::size_t errors_ = 0;
    std::size_t warnings_ = 0;
};

/// The candidate that `name` most likely meant: equal but for upper and lower case, or at most a third of its length in
/// edits away (a swap of neighbours is one edit).
std::optional<std::string> closest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace pipec

/// Declares a diagnostic kind in namespace pipec::diag; used only in the modules' diagnostics.def files.
#define PIPEC_DECLARE_DIAGNOSTIC(Name, SeverityName, Id, Format, ...) \
    inline constexpr ::pipec::DiagnosticKind<__VA_ARGS__> Name {      \
        {#Name, ::pipec::Severity::SeverityName, Id}, Format          \
    }
