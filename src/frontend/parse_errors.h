// Syntax errors: what is said about them, and where parsing goes on after them. For the parser only.
#pragma once

#include <antlr4-runtime.h>

#include <memory>
#include <optional>
#include <vector>

#include "support/diagnostics.h"
#include "support/source.h"

namespace pipec::syntax {

/// Reports in the language's words. An error gives up the innermost statement (or item) and goes on at the next one;
/// only a missing `}` is taken as written. Throws antlr4::ParseCancellationException after too many errors.
class ErrorStrategy final : public antlr4::DefaultErrorStrategy {
public:
    ErrorStrategy(const SourceManager& sources, FileId file, Diagnostics& diags)
        : sources_(sources), file_(file), diags_(diags) {}

    void reportError(antlr4::Parser* parser, const antlr4::RecognitionException& e) override;
    void recover(antlr4::Parser* parser, std::exception_ptr e) override;
    antlr4::Token* recoverInline(antlr4::Parser* parser) override;
    void sync(antlr4::Parser* parser) override;

private:
    enum class Target { Statement, Body, Item };
    void report(antlr4::Parser* parser, const antlr4::Token& found);
    /// Before each round of a loop over statements or items: reports and skips what can be neither.
    void continue_loop(antlr4::Parser* parser, Target target);
    /// Skips to the next statement, to the `{` of a body, or to the next item; `start` began what failed.
    void skip_to(antlr4::Parser* parser, Target target, const antlr4::Token& start);

    const SourceManager& sources_;
    FileId file_;
    Diagnostics& diags_;
    std::optional<std::size_t> restart_;  ///< where the last report says that the next statement begins
    std::vector<std::unique_ptr<antlr4::Token>> conjured_;  ///< tokens taken as written
};

}  // namespace pipec::syntax
