// Items and statements of the parse tree to the syntax tree. See parse_builder.h.
#include <fmt/format.h>

#include <vector>

#include "PipeLexer.h"
#include "frontend/diagnostics.h"
#include "frontend/parse.h"
#include "frontend/parse_builder.h"
#include "frontend/parse_tokens.h"
#include "frontend/parse_tree.h"

namespace pipec::syntax {

using grammar::PipeParser;

ast::File build_tree(PipeParser::FileContext& file, antlr4::BufferedTokenStream& tokens, const SourceManager& sources,
                     FileId id, Diagnostics& diags) {
    return TreeBuilder(tokens, sources, id, diags).file(file);
}

ast::File TreeBuilder::file(PipeParser::FileContext& context) {
    ast::File result{id_, {}};
    for (auto* child : context.item()) {
        try {
            if (auto built = item(*child)) result.items.push_back(std::move(*built));
        } catch (const TooDeep& deep) {
            diags_.report(diag::ExpressionTooDeep, deep.range, kMaxDepth)
                .note("define a stage, a `let` or a reduction for a part of it");
        }
    }
    return result;
}

std::optional<ast::Item> TreeBuilder::item(PipeParser::ItemContext& context) {
    if (context.exception != nullptr) return std::nullopt;
    const SourceRange where = range(context);
    if (auto* import = context.importItem()) {
        const SourceRange path = range(*import->path);
        std::string_view text = sources_.text(path);
        text.remove_prefix(1);
        if (text.ends_with('"')) text.remove_suffix(1);
        return ast::Item{where, ast::Import{std::string(text), path}};
    }
    if (auto* c = context.constant()) return ast::Item{where, constant(*c)};
    if (auto* f = context.function()) {
        if (f->functionHead()->exception != nullptr) {
            if (f->block() != nullptr) block(f->block());
            return std::nullopt;
        }
        return ast::Item{where, function(*f)};
    }
    if (context.pipeline()->pipelineHead()->exception != nullptr) {
        block(context.pipeline()->block());  // for what is to be reported in it
        return std::nullopt;
    }
    return ast::Item{where, pipeline(*context.pipeline())};
}

/// The lines of the run of `///` comments right before the token.
std::string TreeBuilder::documentation(const antlr4::Token& first) {
    std::vector<std::string_view> lines;
    for (antlr4::Token* hidden : tokens_.getHiddenTokensToLeft(first.getTokenIndex())) {
        if (hidden->getType() != grammar::PipeLexer::DOC_COMMENT) {
            lines.clear();
            continue;
        }
        std::string_view line = sources_.text(range(*hidden)).substr(3);
        if (line.starts_with(' ')) line.remove_prefix(1);
        lines.push_back(line);
    }
    return fmt::format("{}", fmt::join(lines, "\n"));
}

ast::Const TreeBuilder::constant(PipeParser::ConstantContext& context) {
    return {name(*context.name()), expr(context.expr())};
}

ast::Fn TreeBuilder::function(PipeParser::FunctionContext& context) {
    auto& head = *context.functionHead();
    ast::Fn result{name(*head.name()), {}, ast::Expr{}, documentation(*context.start)};
    for (auto* parameter : head.parameter()) {
        result.params.push_back(
            {name(*parameter->name()), parameter->expr() != nullptr ? expr(parameter->expr()) : nullptr});
    }
    if (context.expr() != nullptr) {
        result.body = expr(context.expr());
    } else {
        result.body = std::move(*block(context.block()));
    }
    return result;
}

ast::Port TreeBuilder::port(PipeParser::PortContext& context) {
    ast::Port result;
    result.name = name(*context.name());
    result.type = type(*context.type());
    result.type_range = range(*context.type());
    result.range = range(context);
    if (auto* extents = context.extents()) {
        result.extents.emplace();
        for (auto* extent : extents->extent()) {
            result.extents->push_back(expr(extent->expr(0)));
            result.extent_defaults.push_back(extent->preset != nullptr ? expr(extent->preset) : nullptr);
        }
    }
    if (auto* order = context.memoryOrder()) result.order = exprs(order->exprs()->expr());
    if (context.expr() != nullptr) result.default_value = expr(context.expr());
    return result;
}

ast::Pipeline TreeBuilder::pipeline(PipeParser::PipelineContext& context) {
    ast::Pipeline result;
    auto& head = *context.pipelineHead();
    result.name = name(*head.name());
    if (head.inputs != nullptr) {
        for (auto* p : head.inputs->port()) result.inputs.push_back(port(*p));
    }
    for (auto* p : head.outputs->port()) result.outputs.push_back(port(*p));
    if (head.where() != nullptr) result.where = exprs(head.where()->exprs()->expr());
    result.body = std::move(*block(context.block()));
    result.doc = documentation(*context.start);
    result.range = range(context);
    return result;
}

// ---------------------------------------------------------------------------------------------------- statements

std::shared_ptr<ast::Block> TreeBuilder::block(PipeParser::BlockContext* context) {
    auto result = std::make_shared<ast::Block>();
    for (auto* child : context->statement()) {
        if (auto built = statement(*child)) result->push_back(std::move(*built));
    }
    return result;
}

std::optional<ast::Statement> TreeBuilder::statement(PipeParser::StatementContext& context) {
    if (context.exception != nullptr) return std::nullopt;
    const SourceRange where = range(context);
    if (auto* s = context.definition()) return ast::Statement{where, definition(*s)};
    if (auto* s = context.accumulate()) return ast::Statement{where, accumulate(*s)};
    if (auto* s = context.letStatement()) {
        return ast::Statement{where, ast::LetStatement{bindings(*s->binding())}};
    }
    if (auto* s = context.constant()) return ast::Statement{where, constant(*s)};
    if (auto* s = context.forStatement()) {
        auto index = index_range(*s->indexRange());
        return ast::Statement{where, ast::For{std::move(index), block(s->block())}};
    }
    if (auto* s = context.ifStatement()) return ast::Statement{where, if_statement(*s)};
    return ast::Statement{where, ast::Return{expr(context.returnStatement()->expr())}};
}

ast::IfStatement TreeBuilder::if_statement(PipeParser::IfStatementContext& context) {
    ast::IfStatement result{expr(context.expr()), block(context.then), nullptr};
    if (context.otherwise != nullptr) result.otherwise = block(context.otherwise);
    if (context.chained != nullptr) {
        result.otherwise = std::make_shared<ast::Block>();
        result.otherwise->push_back({range(*context.chained), if_statement(*context.chained)});
    }
    return result;
}

std::vector<ast::Expr> TreeBuilder::array_indices(PipeParser::TargetContext& context) {
    return exprs(context.expr());
}

std::vector<ast::DimPattern> TreeBuilder::dims(PipeParser::DimsContext& context) {
    std::vector<ast::DimPattern> result;
    for (auto* dim : context.dim()) {
        ast::DimPattern pattern{name(*dim->name()), dim->DOTDOT() != nullptr, std::nullopt};
        if (dim->range() != nullptr) pattern.range = range_expr(*dim->range());
        result.push_back(std::move(pattern));
    }
    return result;
}

ast::Definition TreeBuilder::definition(PipeParser::DefinitionContext& context) {
    ast::Definition result;
    result.name = name(*context.target()->name());
    result.array_indices = array_indices(*context.target());
    result.left_range = range(*context.target());
    if (auto* d = context.dims()) {
        result.dims = dims(*d);
        result.left_range = join(result.left_range, range(*d));
    }
    if (context.type() != nullptr) {
        result.type = type(*context.type());
        result.type_range = range(*context.type());
    }
    const SourceRange op = range(*context.definedBy());
    if (context.definedBy()->EQUAL() != nullptr) {
        diags_.report(diag::ComparisonAsDefinition, op).suggest(op, "=");
    } else if (context.definedBy()->ASSIGN() == nullptr) {
        diags_.report(diag::UpdateOutsideAccumulate, op, std::string(sources_.text(op)))
            .note("a stage is defined once, with `=`; updates stand in the body of an `accumulate`");
    }
    result.value = expr(context.expr());
    return result;
}

// ---------------------------------------------------------------------------------------------------- accumulate

ast::Accumulate TreeBuilder::accumulate(PipeParser::AccumulateContext& context) {
    ast::Accumulate result;
    result.name = name(*context.target()->name());
    result.array_indices = array_indices(*context.target());
    result.dims = dims(*context.dims());
    result.type = type(*context.type());
    result.type_range = range(*context.type());
    result.left_range = join(range(*context.target()), range(*context.dims()));
    result.init = expr(context.expr());
    result.body = std::move(*acc_block(context.accBlock()));
    return result;
}

std::shared_ptr<ast::AccBlock> TreeBuilder::acc_block(PipeParser::AccBlockContext* context) {
    auto result = std::make_shared<ast::AccBlock>();
    for (auto* child : context->accStatement()) {
        if (child->exception != nullptr) continue;
        result->push_back(acc_statement(*child));
    }
    return result;
}

ast::AccStatement TreeBuilder::acc_statement(PipeParser::AccStatementContext& context) {
    const SourceRange where = range(context);
    if (auto* s = context.accUpdate()) return {where, acc_update(*s)};
    if (auto* s = context.accFor()) {
        auto ranges = index_ranges(s->indexRange());
        return {where, ast::AccFor{std::move(ranges), acc_block(s->accBlock())}};
    }
    if (auto* s = context.accIf()) return {where, acc_if(*s)};
    return {where, ast::AccLet{bindings(*context.letStatement()->binding())}};
}

ast::AccUpdate TreeBuilder::acc_update(PipeParser::AccUpdateContext& context) {
    ast::AccUpdate result;
    result.target = name(*context.target()->name());
    result.array_indices = array_indices(*context.target());
    if (context.exprs() != nullptr) result.args = exprs(context.exprs()->expr());
    const SourceRange op = range(*context.updatedBy());
    switch (context.updatedBy()->start->getType()) {
        case PipeParser::STAR_ASSIGN: result.op = ir::ReduceOp::Prod; break;
        case PipeParser::MIN_ASSIGN: result.op = ir::ReduceOp::Min; break;
        case PipeParser::MAX_ASSIGN: result.op = ir::ReduceOp::Max; break;
        case PipeParser::PLUS_ASSIGN: result.op = ir::ReduceOp::Sum; break;
        default:
            result.op = ir::ReduceOp::Sum;
            diags_.report(diag::InvalidUpdate, op, std::string(sources_.text(op)))
                .note("the updates are `+=`, `*=`, `min=` and `max=`: their order does not matter");
    }
    result.value = expr(context.expr());
    return result;
}

ast::AccIf TreeBuilder::acc_if(PipeParser::AccIfContext& context) {
    ast::AccIf result{expr(context.expr()), acc_block(context.then), nullptr};
    if (context.otherwise != nullptr) result.otherwise = acc_block(context.otherwise);
    if (context.chained != nullptr) {
        result.otherwise = std::make_shared<ast::AccBlock>();
        result.otherwise->push_back({range(*context.chained), acc_if(*context.chained)});
    }
    return result;
}

}  // namespace pipec::syntax
