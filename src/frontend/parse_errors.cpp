// Syntax errors: where parsing goes on after them. What is said about them is in parse_messages.cpp. See
// parse_errors.h.
#include "frontend/parse_errors.h"

#include "PipeParser.h"
#include "frontend/parse_messages.h"

namespace pipec::syntax {

using grammar::PipeParser;

void ErrorStrategy::reportError(antlr4::Parser* parser, const antlr4::RecognitionException& e) {
    // An error passes through every rule from the innermost outwards; it is reported in the first.
    if (inErrorRecoveryMode(parser)) return;
    beginErrorCondition(parser);
    report_syntax_error(*parser, *e.getOffendingToken(), sources_, file_, diags_);
    if (diags_.too_many()) throw antlr4::ParseCancellationException();
}

void ErrorStrategy::recover(antlr4::Parser* parser, std::exception_ptr e) {
    const antlr4::ParserRuleContext& context = *parser->getContext();
    switch (context.getRuleIndex()) {
        case PipeParser::RuleStatement:
        case PipeParser::RuleAccStatement: skip_to(parser, Target::Statement, *context.start); return;
        case PipeParser::RulePipelineHead:
        case PipeParser::RuleFunctionHead: skip_to(parser, Target::Body, *context.start); return;
        case PipeParser::RuleItem:
        case PipeParser::RuleFile: skip_to(parser, Target::Item, *context.start); return;
        default: std::rethrow_exception(e);
    }
}

antlr4::Token* ErrorStrategy::recoverInline(antlr4::Parser* parser) {
    const antlr4::Token& found = *parser->getCurrentToken();
    const std::size_t rule = parser->getContext()->getRuleIndex();
    const bool in_block = rule == PipeParser::RuleBlock || rule == PipeParser::RuleAccBlock;
    if (in_block && starts_item(found) && parser->isExpectedToken(PipeParser::RBRACE)) {
        const antlr4::InputMismatchException missing(parser);
        reportError(parser, missing);
        return getMissingSymbol(parser);
    }
    throw antlr4::InputMismatchException(parser);
}

void ErrorStrategy::sync(antlr4::Parser* parser) {
    // Only the loops over statements and items are kept going; everything else fails where a token does not match.
    const antlr4::ParserRuleContext& context = *parser->getContext();
    const std::size_t rule = context.getRuleIndex();
    const bool file = rule == PipeParser::RuleFile;
    if (!file && rule != PipeParser::RuleBlock && rule != PipeParser::RuleAccBlock) return;
    while (true) {
        const antlr4::Token& found = *parser->getCurrentToken();
        if (starts_item(found)) return;  // also the end of file; a block that meets it lacks its `}`
        if (!file && (starts_statement(found) || found.getType() == PipeParser::RBRACE)) return;
        if (found.getType() == PipeParser::SEMICOLON) return;
        if (!inErrorRecoveryMode(parser)) {
            beginErrorCondition(parser);
            report_syntax_error(*parser, found, sources_, file_, diags_);
            if (diags_.too_many()) throw antlr4::ParseCancellationException();
        }
        skip_to(parser, file ? Target::Item : Target::Statement, found);
    }
}

void ErrorStrategy::skip_to(antlr4::Parser* parser, Target target, const antlr4::Token& start) {
    antlr4::TokenStream& tokens = *parser->getTokenStream();
    if (tokens.index() == last_recovery_ && target != Target::Body && tokens.LA(1) != antlr4::Token::EOF) {
        tokens.consume();
    }
    // Braces are counted from here on. Parentheses are not: a missing one is the most frequent error of all. Layout
    // decides instead: what starts a line no further right than the failed statement did is the next statement.
    for (int braces = 0; tokens.LA(1) != antlr4::Token::EOF; tokens.consume()) {
        const antlr4::Token& token = *tokens.LT(1);
        const antlr4::Token* previous = tokens.LT(-1);
        const bool first_on_line = previous == nullptr || previous->getLine() != token.getLine();
        const bool at_margin = first_on_line && token.getCharPositionInLine() <= start.getCharPositionInLine() &&
                               token.getTokenIndex() > start.getTokenIndex();
        if (first_on_line && starts_item(token) &&
            (token.getType() != PipeParser::CONST || (braces == 0 && at_margin)) &&
            token.getTokenIndex() > start.getTokenIndex()) {
            break;
        }
        if (target == Target::Body && token.getType() == PipeParser::LBRACE) break;
        if (target == Target::Statement && braces == 0) {
            if (token.getType() == PipeParser::RBRACE || token.getType() == PipeParser::SEMICOLON) break;
            if (at_margin && starts_statement(token)) break;
        }
        if (token.getType() == PipeParser::LBRACE) ++braces;
        if (token.getType() == PipeParser::RBRACE && braces > 0) --braces;
    }
    last_recovery_ = tokens.index();
}

}  // namespace pipec::syntax
