// The words for syntax errors. See parse_messages.h.
#include "frontend/parse_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "PipeParser.h"
#include "frontend/diagnostics.h"
#include "frontend/parse.h"
#include "frontend/parse_builder.h"
#include "frontend/parse_expectations.h"
#include "frontend/parse_foreign.h"
#include "frontend/parse_tokens.h"
#include "frontend/stdlib.h"

namespace pipec::syntax {

using grammar::PipeParser;

namespace {

/// Tokens that may end an expression.
bool ends_expression(const antlr4::Token& token) {
    switch (token.getType()) {
        case PipeParser::NAME:
        case PipeParser::MIN:
        case PipeParser::MAX:
        case PipeParser::ARGMIN:
        case PipeParser::ARGMAX:
        case PipeParser::INT:
        case PipeParser::FLOAT:
        case PipeParser::TRUE:
        case PipeParser::FALSE:
        case PipeParser::RPAREN:
        case PipeParser::RBRACKET: return true;
        default: return false;
    }
}

std::string list_of(const std::vector<std::string>& words) {
    std::string result;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0) result += i + 1 < words.size() ? ", " : " or ";
        result += words[i];
    }
    return result;
}

class Reporter {
public:
    Reporter(antlr4::Parser& parser, const antlr4::Token& found, const SourceManager& sources, FileId file,
             Diagnostics& diags)
        : parser_(parser), found_(found), sources_(sources), file_(file), diags_(diags) {
        previous_ = visible(found.getTokenIndex(), -1);
        next_ = visible(found.getTokenIndex(), +1);
        // What was expected is known for the current token only; a longer lookahead may have failed at a later one.
        if (parser.getCurrentToken() == &found) {
            for (const ssize_t type : parser.getExpectedTokens().toList()) {
                expected_.push_back(static_cast<std::size_t>(type));
            }
        }
    }

    std::optional<std::size_t> report() {
        if (follows_garbage(found_)) return std::nullopt;
        if (const auto next_statement = swallowed_statement()) return next_statement;
        if (nested_function() || foreign_syntax() || closing_bracket() || keyword_as_name() || outside_pipeline() ||
            beginning_of_statement() || no_statement()) {
            return std::nullopt;
        }
        generic();
        return std::nullopt;
    }

private:
    [[nodiscard]] const antlr4::Token* visible(std::size_t index, int step) const {
        auto& tokens = *parser_.getTokenStream();
        while (true) {
            if (step < 0 ? index == 0 : index + 1 >= tokens.size()) return nullptr;
            index += static_cast<std::size_t>(step);
            const antlr4::Token* token = tokens.get(index);
            if (token->getChannel() == antlr4::Token::DEFAULT_CHANNEL) return token;
        }
    }
    [[nodiscard]] std::string text(const antlr4::Token& token) const {
        return excerpt(sources_, range_of(file_, token));
    }
    [[nodiscard]] bool is(std::size_t type) const { return found_.getType() == type; }
    [[nodiscard]] bool expects(std::size_t type) const {
        return std::find(expected_.begin(), expected_.end(), type) != expected_.end();
    }
    [[nodiscard]] std::size_t rule() const { return parser_.getContext()->getRuleIndex(); }
    /// Between two statements.
    [[nodiscard]] bool in_block() const {
        return rule() == PipeParser::RuleBlock || rule() == PipeParser::RuleAccBlock;
    }
    [[nodiscard]] bool starts_line() const {
        return previous_ == nullptr || is(antlr4::Token::EOF) || previous_->getLine() != found_.getLine();
    }
    /// Where something is missing: at the offending token, or after the one before where that ended its line.
    [[nodiscard]] SourceRange place() const {
        if (previous_ == nullptr || !starts_line()) return range_of(file_, found_);
        const std::uint32_t end = range_of(file_, *previous_).end;
        return {file_, end, end};
    }
    [[nodiscard]] std::string relation() const {
        if (previous_ != nullptr && starts_line()) return fmt::format("after `{}`", text(*previous_));
        return fmt::format("before `{}`", text(found_));
    }

    /// The innermost bracket that is open before the offending token.
    [[nodiscard]] const antlr4::Token* open_bracket() const {
        int closed = 0;
        for (const antlr4::Token* t = previous_; t != nullptr; t = visible(t->getTokenIndex(), -1)) {
            switch (t->getType()) {
                case PipeParser::RPAREN:
                case PipeParser::RBRACKET:
                case PipeParser::RBRACE: ++closed; break;
                case PipeParser::LPAREN:
                case PipeParser::LBRACKET:
                case PipeParser::LBRACE:
                    if (closed-- == 0) return t;
                    break;
                default: break;
            }
        }
        return nullptr;
    }

    /// `a = b +`, and the `c` of the next line's `c = d` was taken for an operand: the error is seen at the second `=`,
    /// but it is where the line before ended.
    std::optional<std::size_t> swallowed_statement() {
        if (!is(PipeParser::ASSIGN) && !is(PipeParser::COLON)) return std::nullopt;
        const antlr4::Token* first = &first_of_line(found_);
        const antlr4::Token* before = visible(first->getTokenIndex(), -1);
        if (before == nullptr || !starts_statement(*first)) return std::nullopt;
        if (ends_expression(*before) || before->getType() == PipeParser::LBRACE ||
            before->getType() == PipeParser::RBRACE || before->getType() == PipeParser::SEMICOLON) {
            return std::nullopt;
        }
        const auto* statement = last_statement();
        if (statement == nullptr || statement->start == first ||
            first->getCharPositionInLine() > statement->start->getCharPositionInLine()) {
            return std::nullopt;
        }
        if (!follows_garbage(*first)) {
            const std::uint32_t end = range_of(file_, *before).end;
            diags_.report(diag::SyntaxError, {file_, end, end},
                          fmt::format("expected an expression after `{}`", text(*before)));
        }
        return first->getTokenIndex();
    }
    /// The statement being parsed, or the last one of the block.
    [[nodiscard]] const antlr4::ParserRuleContext* last_statement() const {
        if (in_block()) {
            const auto& children = parser_.getContext()->children;
            return children.empty() ? nullptr : dynamic_cast<const antlr4::ParserRuleContext*>(children.back());
        }
        for (const antlr4::tree::ParseTree* c = parser_.getContext(); c != nullptr; c = c->parent) {
            const auto* context = dynamic_cast<const antlr4::ParserRuleContext*>(c);
            if (context == nullptr) continue;
            const std::size_t index = context->getRuleIndex();
            if (index == PipeParser::RuleStatement || index == PipeParser::RuleAccStatement) return context;
        }
        return nullptr;
    }

    /// Follows what was complained of before there was a parser, and hidden from it (parse_tokens, parse_habits).
    [[nodiscard]] bool follows_garbage(const antlr4::Token& token) const {
        const std::size_t index = token.getTokenIndex();
        if (index == 0) return false;
        const antlr4::Token& before = *parser_.getTokenStream()->get(index - 1);
        switch (before.getType()) {
            case PipeParser::DOC_COMMENT:
            case PipeParser::LINE_COMMENT:
            case PipeParser::BLOCK_COMMENT: return false;
            default: return before.getChannel() != antlr4::Token::DEFAULT_CHANNEL;
        }
    }

    bool foreign_syntax() {
        const auto* statement = rule() == PipeParser::RuleFile ? nullptr : last_statement();
        if (statement == nullptr && in_block()) {  // the block has not begun
            const auto* around = dynamic_cast<const antlr4::ParserRuleContext*>(parser_.getContext()->parent);
            const bool known = around != nullptr && (around->getRuleIndex() == PipeParser::RuleIfStatement ||
                                                     around->getRuleIndex() == PipeParser::RuleForStatement);
            if (known) statement = around;
        }
        const antlr4::Token* first = statement == nullptr ? nullptr : statement->start;
        const auto* block =
            statement == nullptr ? nullptr : dynamic_cast<const antlr4::ParserRuleContext*>(statement->parent);
        const auto* around = block == nullptr ? nullptr : dynamic_cast<const antlr4::ParserRuleContext*>(block->parent);
        const bool in_function = around != nullptr && around->getRuleIndex() == PipeParser::RuleFunction;
        return report_foreign_syntax({*parser_.getTokenStream(), found_, first, rule(), expected_, in_function},
                                     sources_, file_, diags_);
    }

    bool nested_function() {
        if (!is_nested_function(parser_, found_)) return false;
        diags_.report(diag::ForeignSyntax, range_of(file_, found_),
                      "functions are defined outside of pipelines and of other functions, at the top of a file");
        return true;
    }

    bool closing_bracket() {
        const bool closes = is(PipeParser::RPAREN) || is(PipeParser::RBRACKET) || is(PipeParser::RBRACE);
        if (in_block() && starts_item(found_)) return unclosed_brace();
        if (in_block() || rule() == PipeParser::RuleFile) {
            if (!closes) return false;
            diags_.report(diag::UnmatchedBracket, range_of(file_, found_), text(found_));
            return true;
        }
        const antlr4::Token* open = open_bracket();
        if (open == nullptr || open->getType() == PipeParser::LBRACE) return false;
        const bool round = open->getType() == PipeParser::LPAREN;
        const std::size_t closer = round ? PipeParser::RPAREN : PipeParser::RBRACKET;
        // What can only come after the bracket's end.
        const bool past_it = starts_line() || closes || is(PipeParser::ASSIGN) || is(PipeParser::LBRACE) ||
                             is(PipeParser::SEMICOLON) || is(PipeParser::ARROW);
        return expects(closer) && past_it && unclosed(*open, round ? ")" : "]");
    }
    /// The `{` that is left open in the end is seldom the one whose `}` was forgotten: layout knows that one.
    bool unclosed_brace() {
        const antlr4::Token& outermost = *parser_.getContext()->start;
        std::vector<const antlr4::Token*> open;
        for (const antlr4::Token* t = &outermost; t != nullptr && t != &found_; t = visible(t->getTokenIndex(), +1)) {
            if (t->getType() == PipeParser::LBRACE) open.push_back(t);
            if (t->getType() != PipeParser::RBRACE || open.empty()) continue;
            const antlr4::Token& first = first_of_line(*open.back());
            if (&first_of_line(*t) == t && t->getCharPositionInLine() < first.getCharPositionInLine()) {
                return unclosed(*open.back(), "}");
            }
            open.pop_back();
        }
        return unclosed(outermost, "}");
    }
    [[nodiscard]] const antlr4::Token& first_of_line(const antlr4::Token& token) const {
        const antlr4::Token* first = &token;
        for (const antlr4::Token* t = first; t != nullptr && t->getLine() == token.getLine();
             t = visible(t->getTokenIndex(), -1)) {
            first = t;
        }
        return *first;
    }
    bool unclosed(const antlr4::Token& open, const std::string& closer) {
        auto report = diags_.report(diag::UnclosedBracket, place(), closer, relation());
        report.note(range_of(file_, open), fmt::format("to close this `{}`", text(open)));
        const antlr4::Token* after =
            previous_ == nullptr ? nullptr : parser_.getTokenStream()->get(previous_->getTokenIndex() + 1);
        if (after != nullptr && after->getType() == PipeParser::LINE_COMMENT &&
            after->getLine() == previous_->getLine()) {
            report.note(range_of(file_, *after), "this is a comment; `/` of integers rounds down");
        }
        return true;
    }

    bool keyword_as_name() {
        if (!is_keyword(found_)) return false;
        if (starts_line() && (starts_item(found_) || starts_statement(found_))) return false;
        if (typed_port()) return true;
        const bool name = expects(PipeParser::NAME) && !expects(PipeParser::INT) && !expects(PipeParser::TYPE);
        // In a block, `order(y, x) = ...` has a keyword where the name of a stage would be.
        const bool defined =
            next_ != nullptr && (next_->getType() == PipeParser::ASSIGN || next_->getType() == PipeParser::LPAREN);
        if (in_block() ? !defined : !name) return false;
        // `hist(int32(img(y, x))) += 1`: the target of an update
        if (rule() == PipeParser::RuleDims && is(PipeParser::TYPE) && defined) return false;
        diags_.report(diag::KeywordAsName, range_of(file_, found_), text(found_));
        return true;
    }

    /// `float32 img[R]` and `-> float32[R]`, where a port's name would be.
    bool typed_port() {
        const bool head = rule() == PipeParser::RulePipelineHead && previous_ != nullptr &&
                          (previous_->getType() == PipeParser::LPAREN || previous_->getType() == PipeParser::ARROW);
        const auto* parent = dynamic_cast<const antlr4::ParserRuleContext*>(parser_.getContext()->parent);
        const bool port = rule() == PipeParser::RulePorts || rule() == PipeParser::RulePort ||
                          (parent != nullptr && parent->getRuleIndex() == PipeParser::RulePort);
        if (!is(PipeParser::TYPE) || !expects(PipeParser::NAME) || next_ == nullptr || !(head || port)) return false;
        if (next_->getType() == PipeParser::NAME) {
            diags_.report(diag::DeclarationOrder, range_of(file_, found_), text(*next_), text(found_));
        } else {
            diags_
                .report(diag::SyntaxError, range_of(file_, found_),
                        fmt::format("expected {}, found `{}`", name_in_words(parser_, expected_), text(found_)))
                .note(fmt::format("inputs and outputs have names: `out: {}[R, C]`", text(found_)));
        }
        return true;
    }

    [[nodiscard]] bool follows_error_on_line() const {
        if (diags_.all().empty() || diags_.all().back().range.file != file_) return false;
        return sources_.position(file_, diags_.all().back().range.begin).line == found_.getLine();
    }

    [[nodiscard]] bool last_failed() const {
        const antlr4::ParserRuleContext* last = last_statement();
        return last != nullptr && last->exception != nullptr;
    }

    /// What begins no statement, and `a = b c`.
    bool no_statement() {
        if (!in_block() || is(antlr4::Token::EOF) || expects(PipeParser::LBRACE)) return false;
        const bool operand_before = previous_ != nullptr && !starts_line() && ends_expression(*previous_);
        if (is(PipeParser::ELSE) && (follows_error_on_line() || last_failed())) return true;  // of what was reported
        auto report = diags_.report(
            diag::SyntaxError, range_of(file_, found_),
            fmt::format("expected {}, found `{}`",
                        operand_before ? "an operator or the next statement" : "a statement or `}`", text(found_)));
        if (is(PipeParser::COMMA) && first_of_line(found_).getType() == PipeParser::LET)
            report.note("a statement `let` gives one name: `let a = 1` and `let b = 2` are two");
        if (is(PipeParser::LBRACKET) && !operand_before)
            report.note("`t(y, x) = [a, b]` makes a stage of each element, and `let [g, h] = t` names them");
        return true;
    }

    bool outside_pipeline() {
        if (rule() != PipeParser::RuleFile) return false;
        if (is(PipeParser::NAME)) {
            if (const auto keyword = closest_name(text(found_), {"import", "const", "fn", "pipeline"});
                keyword && next_ != nullptr &&
                (next_->getType() == PipeParser::NAME || next_->getType() == PipeParser::STRING)) {
                diags_
                    .report(diag::MisspeltKeyword, range_of(file_, found_), "`import`, `const`, `fn` or `pipeline`",
                            text(found_))
                    .suggest(range_of(file_, found_), *keyword);
                return true;
            }
        }
        if (starts_statement(found_)) {
            diags_.report(diag::StatementOutsidePipeline, range_of(file_, found_))
                .note("a file holds `import`, `const`, `fn` and `pipeline`");
            return true;
        }
        diags_.report(diag::SyntaxError, range_of(file_, found_),
                      fmt::format("expected `import`, `const`, `fn` or `pipeline`, found `{}`", text(found_)));
        return true;
    }

    /// Two names in a row, or a type and a name, at the start of a statement.
    bool beginning_of_statement() {
        const antlr4::Token* first = nullptr;
        const antlr4::Token* second = nullptr;
        if (in_block()) {
            first = &found_;
            second = next_;
        } else {
            const auto* statement = last_statement();
            if (statement == nullptr || previous_ != statement->start) return false;
            first = previous_;
            second = &found_;
        }
        if (second == nullptr || second->getType() != PipeParser::NAME) return false;
        if (first->getLine() != second->getLine()) return false;
        if (first->getType() == PipeParser::TYPE || foreign_type(text(*first))) {
            const auto foreign = foreign_type(text(*first));
            const std::string type = foreign ? std::string(ir::name(*foreign)) : text(*first);
            const antlr4::Token* third = visible(second->getTokenIndex(), +1);
            if (third != nullptr && third->getType() == PipeParser::ASSIGN) {  // no dimensions
                diags_
                    .report(diag::ForeignSyntax, range_of(file_, *first),
                            "a number is named by `let a = e`, an image by `a(y, x) = e`")
                    .suggest(range_of(file_, *first), "let");
                return true;
            }
            if (third != nullptr && third->getType() == PipeParser::LBRACKET) {
                diags_.report(diag::ForeignSyntax, range_of(file_, *first),
                              "a table is `const t = [1, 2, 3]`, an image `a(y, x) = e`");
                return true;
            }
            if (third == nullptr || third->getType() != PipeParser::LPAREN) {
                diags_.report(diag::ForeignSyntax, range_of(file_, *first), std::string(kNothingDeclared));
                return true;
            }
            diags_.report(diag::DeclarationOrder, range_of(file_, *first), text(*second), type);
            return true;
        }
        if (first->getType() != PipeParser::NAME) return false;
        const auto keyword = closest_name(text(*first), {"const", "accumulate", "let", "for", "if", "return"});
        if (!keyword) return false;
        diags_.report(diag::MisspeltKeyword, range_of(file_, *first), "a statement", text(*first))
            .suggest(range_of(file_, *first), *keyword);
        return true;
    }

    void generic() {
        const std::vector<std::string> words = expectations(parser_, expected_);
        const std::string found = is(antlr4::Token::EOF) ? "the end of the file" : fmt::format("`{}`", text(found_));
        std::string message;
        if (words.empty() || words.size() > 5) {
            message = fmt::format("unexpected {}", found);
        } else if (previous_ != nullptr && starts_line()) {
            message = fmt::format("expected {} after `{}`", list_of(words), text(*previous_));
        } else {
            message = fmt::format("expected {}, found {}", list_of(words), found);
        }
        auto report = diags_.report(diag::SyntaxError, place(), message);
        if (const auto note = advice()) report.note(*note);
        if (rule() == PipeParser::RuleImportItem) {
            const std::vector<std::string_view> library = stdlib_names();
            if (std::ranges::find(library, text(found_)) != library.end()) {
                report.suggest(range_of(file_, found_), fmt::format("\"{}\"", text(found_)));
            } else {
                report.note("an import brings in a file of this language: `import \"stencil\"`");
            }
        }
    }

    /// What people mean who know other languages.
    [[nodiscard]] std::optional<std::string> advice() const {
        if (previous_ == nullptr) return std::nullopt;
        if (previous_->getType() == PipeParser::SATURATE)
            return "the type to clamp to stands first: `saturate<uint8>(e)`";
        const antlr4::Token* open = open_bracket();
        if (is(PipeParser::COMMA) && open != nullptr && open->getType() == PipeParser::LBRACKET) {
            return "points of images are written with parentheses, `f(y, x)`; elements of tables and stage arrays with "
                   "one bracket for each index, `t[i][j]`";
        }
        if (is(PipeParser::LBRACE) && rule() == PipeParser::RuleAccumulate) {
            return fmt::format("the value that its points start from is missing: `{} = 0 {{`", text(*previous_));
        }
        if (rule() == PipeParser::RuleDims || rule() == PipeParser::RuleDim) {
            return "a definition gives every point of an image, so its dimensions are names: `f(y, x) = ...`; single "
                   "points are updated in an `accumulate`";
        }
        return std::nullopt;
    }

    antlr4::Parser& parser_;
    const antlr4::Token& found_;
    const SourceManager& sources_;
    FileId file_;
    Diagnostics& diags_;
    const antlr4::Token* previous_ = nullptr;  ///< the visible tokens around the offending one
    const antlr4::Token* next_ = nullptr;
    std::vector<std::size_t> expected_;
};

}  // namespace

std::optional<std::size_t> report_syntax_error(antlr4::Parser& parser, const antlr4::Token& found,
                                               const SourceManager& sources, FileId file, Diagnostics& diags) {
    return Reporter(parser, found, sources, file, diags).report();
}

bool is_nested_function(antlr4::Parser& parser, const antlr4::Token& found) {
    const antlr4::ParserRuleContext& block = *parser.getContext();
    const bool in_block =
        block.getRuleIndex() == PipeParser::RuleBlock || block.getRuleIndex() == PipeParser::RuleAccBlock;
    if (!in_block || found.getType() != PipeParser::FN) return false;
    std::size_t first = block.start->getTokenIndex();
    for (std::size_t i = first; i-- > 0 && parser.getTokenStream()->get(i)->getLine() == block.start->getLine();) {
        if (parser.getTokenStream()->get(i)->getChannel() == antlr4::Token::DEFAULT_CHANNEL) first = i;
    }
    return found.getLine() > block.start->getLine() &&
           found.getCharPositionInLine() > parser.getTokenStream()->get(first)->getCharPositionInLine();
}

}  // namespace pipec::syntax
