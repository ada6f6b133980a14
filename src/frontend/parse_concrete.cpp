// See parse_concrete.h.
#include "frontend/parse_concrete.h"

#include "PipeLexer.h"
#include "frontend/parse_tokens.h"

namespace pipec::syntax {

using concrete::Rule;
using concrete::TokenKind;
using grammar::PipeLexer;
using grammar::PipeParser;

namespace {

TokenKind kind_of(std::size_t type) {
    switch (type) {
        case PipeLexer::DOC_COMMENT:
        case PipeLexer::LINE_COMMENT: return TokenKind::LineComment;
        case PipeLexer::BLOCK_COMMENT: return TokenKind::BlockComment;
        case PipeLexer::STRING: return TokenKind::String;
        default: return type >= PipeLexer::LPAREN ? TokenKind::Punctuation : TokenKind::Word;
    }
}

Rule rule_of_expr(antlr4::ParserRuleContext& context) {
    if (dynamic_cast<PipeParser::CallExprContext*>(&context)) return Rule::Call;
    if (dynamic_cast<PipeParser::IndexExprContext*>(&context)) return Rule::Call;
    if (dynamic_cast<PipeParser::UnaryExprContext*>(&context)) return Rule::Unary;
    if (dynamic_cast<PipeParser::BinaryExprContext*>(&context)) return Rule::Binary;
    if (dynamic_cast<PipeParser::ComparisonExprContext*>(&context)) return Rule::Binary;
    if (dynamic_cast<PipeParser::ReduceExprContext*>(&context)) return Rule::Reduce;
    return Rule::Other;
}

Rule rule_of_primary(PipeParser::PrimaryContext& primary) {
    if (primary.SATURATE() != nullptr) return Rule::Saturate;
    if (primary.TYPE() != nullptr) return Rule::Cast;
    if (primary.LPAREN() != nullptr || primary.LBRACKET() != nullptr) return Rule::Nested;
    return Rule::Other;
}

Rule rule_of(antlr4::ParserRuleContext& context) {
    switch (context.getRuleIndex()) {
        case PipeParser::RuleFile: return Rule::File;
        case PipeParser::RuleConstant: return Rule::Constant;
        case PipeParser::RuleFunction: return Rule::Function;
        case PipeParser::RulePipelineHead: return Rule::PipelineHead;
        case PipeParser::RuleWhere: return Rule::Where;
        case PipeParser::RulePorts: return Rule::Ports;
        case PipeParser::RulePort: return Rule::Port;
        case PipeParser::RuleBlock:
        case PipeParser::RuleAccBlock: return Rule::Block;
        case PipeParser::RuleItem:
        case PipeParser::RuleStatement:
        case PipeParser::RuleAccStatement: return Rule::Statement;
        case PipeParser::RuleDefinition: return Rule::Definition;
        case PipeParser::RuleAccumulate: return Rule::Accumulate;
        case PipeParser::RuleAccUpdate: return Rule::Update;
        case PipeParser::RuleIfStatement:
        case PipeParser::RuleAccIf: return Rule::If;
        case PipeParser::RuleBinding: return Rule::Binding;
        case PipeParser::RuleRange: return Rule::Range;
        case PipeParser::RuleFunctionHead: return Rule::Brackets;
        case PipeParser::RuleExtents:
        case PipeParser::RuleTarget:
        case PipeParser::RuleDims:
        case PipeParser::RuleMemoryOrder: return Rule::Dimensions;
        case PipeParser::RuleDim: {
            return dynamic_cast<PipeParser::DimContext&>(context).DOTDOT() != nullptr ? Rule::Splice : Rule::Other;
        }
        case PipeParser::RuleArgument: {
            return dynamic_cast<PipeParser::ArgumentContext&>(context).DOTDOT() != nullptr ? Rule::Splice : Rule::Other;
        }
        case PipeParser::RuleIfExpr: return Rule::IfExpr;
        case PipeParser::RuleLetExpr: return Rule::LetExpr;
        case PipeParser::RuleExpr: return rule_of_expr(context);
        case PipeParser::RulePrimary: return rule_of_primary(dynamic_cast<PipeParser::PrimaryContext&>(context));
        default: return Rule::Other;
    }
}

class Builder {
public:
    Builder(antlr4::CommonTokenStream& tokens, FileId file) {
        for (const auto* token : tokens.getTokens()) {
            if (token->getType() == antlr4::Token::EOF) break;
            result_.tokens.push_back({kind_of(token->getType()), range_of(file, *token)});
        }
    }

    concrete::File build(PipeParser::FileContext& tree) && {
        result_.root = node(tree);
        return std::move(result_);
    }

private:
    concrete::Node node(antlr4::ParserRuleContext& context) {
        concrete::Node result;
        result.rule = rule_of(context);
        for (antlr4::tree::ParseTree* child : context.children) {
            if (auto* leaf = dynamic_cast<antlr4::tree::TerminalNode*>(child)) {
                if (leaf->getSymbol()->getType() == antlr4::Token::EOF) continue;
                const int index = static_cast<int>(leaf->getSymbol()->getTokenIndex());
                result.children.push_back({Rule::Leaf, index, index, {}});
            } else if (auto* rule = dynamic_cast<antlr4::ParserRuleContext*>(child)) {
                concrete::Node inner = node(*rule);
                // A node that adds nothing would only make the tree deep.
                if (inner.rule == Rule::Other && inner.children.size() == 1) {
                    concrete::Node only = std::move(inner.children[0]);
                    inner = std::move(only);
                }
                if (inner.last >= inner.first) result.children.push_back(std::move(inner));
            }
        }
        if (!result.children.empty()) {
            result.first = result.children.front().first;
            result.last = result.children.back().last;
        }
        return result;
    }

    concrete::File result_;
};

}  // namespace

concrete::File build_concrete(PipeParser::FileContext& tree, antlr4::CommonTokenStream& tokens, FileId file) {
    return Builder(tokens, file).build(tree);
}

}  // namespace pipec::syntax
