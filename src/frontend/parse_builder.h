// The builder behind build_tree (parse_tree.h), shared by its two files: expressions in parse_tree.cpp, items and
// statements in parse_statements.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "PipeParser.h"
#include "frontend/ast.h"
#include "support/diagnostics.h"

namespace pipec::syntax {

/// Thrown where an expression's tree would be deeper than kMaxDepth.
struct TooDeep {
    SourceRange range;
    int terms;
};

class TreeBuilder {
public:
    TreeBuilder(antlr4::BufferedTokenStream& tokens, const SourceManager& sources, FileId id, Diagnostics& diags)
        : tokens_(tokens), sources_(sources), id_(id), diags_(diags) {}

    ast::File file(grammar::PipeParser::FileContext& context);

private:
    using P = grammar::PipeParser;

    // Items and statements: parse_statements.cpp.
    std::optional<ast::Item> item(P::ItemContext& context);
    ast::Fn function(P::FunctionContext& context);
    ast::Pipeline pipeline(P::PipelineContext& context);
    ast::Port port(P::PortContext& context);
    std::string documentation(const antlr4::Token& first);
    ast::Const constant(P::ConstantContext& context);
    std::shared_ptr<ast::Block> block(P::BlockContext* context);
    std::optional<ast::Statement> statement(P::StatementContext& context);
    ast::Definition definition(P::DefinitionContext& context);
    ast::IfStatement if_statement(P::IfStatementContext& context);
    std::vector<ast::DimPattern> dims(P::DimsContext& context);
    std::vector<ast::Expr> array_indices(P::TargetContext& context);
    ast::Accumulate accumulate(P::AccumulateContext& context);
    std::shared_ptr<ast::AccBlock> acc_block(P::AccBlockContext* context);
    ast::AccStatement acc_statement(P::AccStatementContext& context);
    ast::AccUpdate acc_update(P::AccUpdateContext& context);
    ast::AccIf acc_if(P::AccIfContext& context);

    // Expressions: parse_tree.cpp. `depth` is the number of nodes above the one to be built.
    ast::Expr expr(P::ExprContext* context, int depth = 0);
    ast::Expr extend(P::ExprContext* outer, ast::Expr left, bool open_chain, int depth);
    ast::Expr operand(P::ExprContext* context, int depth);
    void middle_of_chain(grammar::PipeParser::ExprContext* middle);
    ast::Expr primary(P::PrimaryContext& context, int depth);
    ast::Expr int_literal(const antlr4::Token& token);
    ast::Expr float_literal(const antlr4::Token& token);
    std::vector<ast::Expr> exprs(const std::vector<P::ExprContext*>& contexts, int depth = 0);
    std::vector<ast::LetBinding> bindings(P::BindingContext& context, int depth = 0);
    ast::Range range_expr(P::RangeContext& context, int depth = 0);
    ast::IndexRange index_range(P::IndexRangeContext& context, int depth = 0);
    std::vector<ast::IndexRange> index_ranges(const std::vector<P::IndexRangeContext*>& contexts, int depth = 0);
    ir::Type type(P::TypeContext& context);
    ast::Name name(P::NameContext& context) const;

    SourceRange range(const antlr4::ParserRuleContext& context) const;
    SourceRange range(const antlr4::Token& token) const;
    template <class T>
    static ast::Expr make(SourceRange range, T value) {
        return std::make_shared<const ast::ExprNode>(ast::ExprNode{range, std::move(value)});
    }

    antlr4::BufferedTokenStream& tokens_;
    const SourceManager& sources_;
    FileId id_;
    Diagnostics& diags_;
};

}  // namespace pipec::syntax
