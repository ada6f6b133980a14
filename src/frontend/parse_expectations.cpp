// What could stand at a syntax error, in words. See parse_expectations.h.
#include "frontend/parse_expectations.h"

#include <fmt/format.h>

#include <algorithm>

#include "PipeParser.h"

namespace pipec::syntax {

using grammar::PipeParser;

namespace {

bool is_keyword_type(std::size_t type) {
    return type >= PipeParser::IMPORT && type <= PipeParser::TYPE;
}

/// Operators and brackets that may follow any expression: no news in a list of what was expected.
bool continues_expression(std::size_t type) {
    return (type >= PipeParser::EQUAL && type <= PipeParser::PIPE) || type == PipeParser::CARET ||
           type == PipeParser::AND || type == PipeParser::OR || type == PipeParser::QUESTION ||
           type == PipeParser::LPAREN || type == PipeParser::LBRACKET;
}

bool has(const std::vector<std::size_t>& expected, std::size_t type) {
    return std::ranges::find(expected, type) != expected.end();
}

}  // namespace

/// What a name would be here, in words.
std::string name_in_words(antlr4::Parser& parser, const std::vector<std::size_t>& expected) {
    const antlr4::tree::ParseTree* context = parser.getContext();
    if (parser.getContext()->getRuleIndex() == PipeParser::RuleName && context->parent != nullptr)
        context = context->parent;
    const auto* within = dynamic_cast<const antlr4::ParserRuleContext*>(context);
    switch (within == nullptr ? SIZE_MAX : within->getRuleIndex()) {
        case PipeParser::RuleDim:
        case PipeParser::RuleDims: return "the name of an index variable";
        case PipeParser::RuleIndexRange: return "the name of a variable";
        case PipeParser::RulePort:
        case PipeParser::RulePorts: return "the name of an input or output";
        case PipeParser::RuleParameter: return "the name of a parameter";
        case PipeParser::RuleFunctionHead:
            return has(expected, PipeParser::RPAREN) ? "the name of a parameter" : "the function's name";
        case PipeParser::RulePipelineHead:
            return has(expected, PipeParser::RPAREN) ? "the name of an input" : "the pipeline's name";
        default: return "a name";
    }
}

std::vector<std::string> expectations(antlr4::Parser& parser, const std::vector<std::size_t>& expected) {
    const bool after_expression = has(expected, PipeParser::PLUS) && has(expected, PipeParser::STAR);
    const bool expression = has(expected, PipeParser::INT);
    const bool statement = has(expected, PipeParser::RETURN) || has(expected, PipeParser::PIPELINE);
    std::vector<std::string> words;
    if (expression) words.emplace_back("an expression");
    if (after_expression) words.emplace_back("an operator");
    for (const std::size_t type : expected) {
        if (type == antlr4::Token::EOF) continue;
        if (expression && type != PipeParser::DOTDOT && type != PipeParser::RPAREN && type != PipeParser::RBRACKET)
            continue;
        if (after_expression && continues_expression(type)) continue;
        if (statement && (is_keyword_type(type) || type == PipeParser::NAME || type == PipeParser::SEMICOLON)) continue;
        if (type == PipeParser::NAME && has(expected, PipeParser::TYPE)) continue;
        if (type >= PipeParser::MIN && type <= PipeParser::ARGMAX) continue;  // names, too
        if (type == PipeParser::QUESTION) continue;
        if (type == PipeParser::EQUAL || type == PipeParser::MINUS_ASSIGN) continue;
        if (type == PipeParser::ASSIGN && has(expected, PipeParser::PLUS_ASSIGN) && !has(expected, PipeParser::EQUAL))
            continue;
        if (has(expected, PipeParser::EQUAL) && type >= PipeParser::PLUS_ASSIGN && type <= PipeParser::MAX_ASSIGN)
            continue;
        if (type == PipeParser::NAME) {
            words.push_back(name_in_words(parser, expected));
        } else if (type == PipeParser::TYPE) {
            words.emplace_back("a type");
        } else if (type == PipeParser::STRING) {
            words.emplace_back("a path in quotes");
        } else {
            const std::string literal = parser.getVocabulary().getLiteralName(type);
            if (literal.size() > 2) words.push_back(fmt::format("`{}`", literal.substr(1, literal.size() - 2)));
        }
    }
    if (statement) words.emplace_back("the next statement");
    return words;
}

}  // namespace pipec::syntax
