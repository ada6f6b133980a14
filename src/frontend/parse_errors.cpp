// Syntax errors: where parsing goes on after them. What is said about them is in parse_messages.cpp. See
// parse_errors.h.
#include "frontend/parse_errors.h"

#include <utility>

#include "PipeParser.h"
#include "frontend/parse_messages.h"
#include "frontend/parse_tokens.h"

namespace pipec::syntax {

using grammar::PipeParser;

void ErrorStrategy::reportError(antlr4::Parser* parser, const antlr4::RecognitionException& e) {
    // An error passes through every rule from the innermost outwards; it is reported in the first.
    report(parser, *e.getOffendingToken());
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
        report(parser, found);
        auto brace = std::make_unique<antlr4::CommonToken>(PipeParser::RBRACE, "}");
        brace->setStartIndex(found.getStartIndex());
        brace->setStopIndex(found.getStartIndex() - 1);
        conjured_.push_back(std::move(brace));
        return conjured_.back().get();
    }
    throw antlr4::InputMismatchException(parser);
}

void ErrorStrategy::sync(antlr4::Parser* parser) {
    const std::size_t rule = parser->getContext()->getRuleIndex();
    if (rule == PipeParser::RuleFile) return continue_loop(parser, Target::Item);
    if (rule == PipeParser::RuleBlock || rule == PipeParser::RuleAccBlock) {
        return continue_loop(parser, Target::Statement);
    }
    if (inErrorRecoveryMode(parser)) return;
    // Fails before an optional part is skipped, while all that could stand here is known.
    antlr4::atn::ATNState& state = *parser->getATN().states[parser->getState()];
    const antlr4::misc::IntervalSet& next = parser->getATN().nextTokens(&state);
    if (next.contains(antlr4::Token::EPSILON) || next.contains(parser->getTokenStream()->LA(1))) return;
    switch (state.getStateType()) {
        case antlr4::atn::ATNState::BLOCK_START:
        case antlr4::atn::ATNState::STAR_BLOCK_START:
        case antlr4::atn::ATNState::PLUS_BLOCK_START:
        case antlr4::atn::ATNState::STAR_LOOP_ENTRY:
        case antlr4::atn::ATNState::STAR_LOOP_BACK:
        case antlr4::atn::ATNState::PLUS_LOOP_BACK: throw antlr4::InputMismatchException(parser);
        default: return;
    }
}

void ErrorStrategy::continue_loop(antlr4::Parser* parser, Target target) {
    while (true) {
        const antlr4::Token& found = *parser->getCurrentToken();
        // Also at the end of file. A block that meets one of these lacks its `}`, which is found there.
        const bool is_item = starts_item(found) && !(target == Target::Statement && is_nested_function(*parser, found));
        if (is_item || found.getType() == PipeParser::SEMICOLON) return;
        if (target == Target::Statement && (starts_statement(found) || found.getType() == PipeParser::RBRACE)) return;
        report(parser, found);
        skip_to(parser, target, found);
    }
}

void ErrorStrategy::report(antlr4::Parser* parser, const antlr4::Token& found) {
    if (inErrorRecoveryMode(parser)) return;
    beginErrorCondition(parser);
    restart_ = report_syntax_error(*parser, found, sources_, file_, diags_);
    if (diags_.too_many()) throw antlr4::ParseCancellationException();
}

void ErrorStrategy::skip_to(antlr4::Parser* parser, Target target, const antlr4::Token& start) {
    antlr4::TokenStream& tokens = *parser->getTokenStream();
    if (restart_ && target == Target::Statement) {
        tokens.seek(*std::exchange(restart_, std::nullopt));
        endErrorCondition(parser);
        return;
    }
    // Braces are counted from here on. Parentheses are not: a missing one is the most frequent error of all. Layout
    // decides instead: what starts a line no further right than the failed statement did is the next statement.
    for (int braces = 0; tokens.LA(1) != antlr4::Token::EOF; tokens.consume()) {
        const antlr4::Token& token = *tokens.LT(1);
        const antlr4::Token* previous = tokens.LT(-1);
        const bool later = token.getTokenIndex() > start.getTokenIndex();
        const bool first_on_line = previous == nullptr || previous->getLine() != token.getLine();
        const bool at_margin = later && first_on_line && token.getCharPositionInLine() <= start.getCharPositionInLine();
        const bool item = starts_item(token) && (token.getType() != PipeParser::CONST || (braces == 0 && at_margin));
        if (later && first_on_line && item) break;
        if (target == Target::Body && token.getType() == PipeParser::LBRACE) break;
        if (target == Target::Statement && braces == 0) {
            if (token.getType() == PipeParser::RBRACE || token.getType() == PipeParser::SEMICOLON) break;
            if (at_margin && (starts_statement(token) || is_keyword(token))) {
                endErrorCondition(parser);
                break;
            }
        }
        if (token.getType() == PipeParser::LBRACE) ++braces;
        if (token.getType() == PipeParser::RBRACE && braces > 0) --braces;
    }
}

}  // namespace pipec::syntax
