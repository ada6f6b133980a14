// Text to syntax tree: tokens (parse_tokens.cpp), ANTLR's parse tree with errors in the language's words
// (parse_errors.cpp, parse_messages.cpp), and from that the project's tree (parse_tree.cpp, parse_statements.cpp).
#include "frontend/parse.h"

#include <antlr4-runtime.h>

#include "PipeParser.h"
#include "frontend/concrete.h"
#include "frontend/diagnostics.h"
#include "frontend/parse_concrete.h"
#include "frontend/parse_errors.h"
#include "frontend/parse_habits.h"
#include "frontend/parse_tokens.h"
#include "frontend/parse_tree.h"

namespace pipec {

namespace {

using grammar::PipeParser;

/// The generated parser, bounded in its recursion. Brackets are bounded before (parse_tokens.cpp); this holds what
/// nests without them: `- - - a`, `if a then if b then ...`, `if a { } else if b { } else if ...`.
class BoundedParser final : public PipeParser {
public:
    BoundedParser(antlr4::TokenStream* tokens, FileId file, Diagnostics& diags)
        : PipeParser(tokens), file_(file), diags_(diags) {}

    void enterRule(antlr4::ParserRuleContext* context, std::size_t state, std::size_t rule) override {
        PipeParser::enterRule(context, state, rule);
        if (rule != RuleIfStatement && rule != RuleAccIf) return;
        int chained = 0;
        for (const auto* c = dynamic_cast<const antlr4::ParserRuleContext*>(context->parent);
             c != nullptr && c->getRuleIndex() == rule; c = dynamic_cast<const antlr4::ParserRuleContext*>(c->parent)) {
            if (++chained >= kMaxNesting) give_up();
        }
    }
    void reset() override {
        PipeParser::reset();
        open_expressions_ = 0;
    }
    /// True after an error was reported here.
    [[nodiscard]] bool gave_up() const { return gave_up_; }

    // `expr` is the only left-recursive rule, hence what these two count.
    void enterRecursionRule(antlr4::ParserRuleContext* context, std::size_t state, std::size_t rule,
                            int precedence) override {
        PipeParser::enterRecursionRule(context, state, rule, precedence);
        ++open_expressions_;
        if (open_expressions_ > kMaxOpenExpressions) give_up();
    }
    void unrollRecursionContexts(antlr4::ParserRuleContext* parent) override {
        PipeParser::unrollRecursionContexts(parent);
        --open_expressions_;
    }

private:
    /// Inside each bracket, operators of rising precedence open a few more expressions.
    static constexpr int kMaxOpenExpressions = 6 * kMaxNesting;

    [[noreturn]] void give_up() {
        diags_.report(diag::NestedTooDeeply, syntax::range_of(file_, *getCurrentToken()), kMaxNesting);
        gave_up_ = true;
        throw antlr4::ParseCancellationException();
    }

    FileId file_;
    Diagnostics& diags_;
    int open_expressions_ = 0;
    bool gave_up_ = false;
};

/// The project's tree, and, for who gives a place for it, the tree of all tokens: empty after an error.
ast::File parse_unsorted(const SourceManager& sources, FileId file, Diagnostics& diags,
                         std::optional<concrete::File>* concrete = nullptr) {
    syntax::ByteStream stream(sources.text(file));
    syntax::TokenList list = syntax::tokenize(stream, sources, file, diags);
    if (list.empty()) return {file, {}};
    antlr4::ListTokenSource source(std::move(list));
    antlr4::CommonTokenStream tokens(&source);
    tokens.fill();  // messages look at the tokens after an error too
    BoundedParser parser(&tokens, file, diags);
    parser.removeErrorListeners();
    // Weak prediction first: it is fast, and what it accepts is right. Where it fails, full prediction has the last
    // word and reports.
    using antlr4::atn::PredictionMode;
    for (const PredictionMode mode : {PredictionMode::SLL, PredictionMode::LL}) {
        parser.reset();
        parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(mode);
        if (mode == PredictionMode::SLL) {
            parser.setErrorHandler(std::make_shared<antlr4::BailErrorStrategy>());
        } else {
            parser.setErrorHandler(std::make_shared<syntax::ErrorStrategy>(sources, file, diags));
        }
        try {
            PipeParser::FileContext& tree = *parser.file();
            ast::File result = syntax::build_tree(tree, tokens, sources, file, diags);
            if (concrete != nullptr && !diags.has_errors()) *concrete = syntax::build_concrete(tree, tokens, file);
            return result;
        } catch (const antlr4::ParseCancellationException&) {
            if (parser.gave_up()) break;
            if (mode == PredictionMode::SLL) syntax::mend_habits(tokens, sources, file, diags);
        }
    }
    return {file, {}};
}

}  // namespace

ast::File parse(const SourceManager& sources, FileId file, Diagnostics& diags) {
    const std::size_t before = diags.all().size();
    ast::File tree = parse_unsorted(sources, file, diags);
    diags.sort_from(before);
    return tree;
}

std::optional<concrete::File> parse_concrete(const SourceManager& sources, FileId file, Diagnostics& diags) {
    const std::size_t before = diags.all().size();
    std::optional<concrete::File> result;
    parse_unsorted(sources, file, diags, &result);
    diags.sort_from(before);
    return result;
}

}  // namespace pipec
