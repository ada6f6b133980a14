// The syntax tree's say in the layout: spaces, places where lines may begin, and what they are aligned with.
#include <algorithm>
#include <map>
#include <utility>

#include "format/format.h"
#include "format/items.h"

namespace pipec::format {

using concrete::Node;
using concrete::Rule;
using concrete::TokenKind;

namespace {

/// Breaks in brackets are worse than those outside.
constexpr int kBracketPenalty = 10;
constexpr int kOutputPenalty = 3, kThenPenalty = 2, kElseBranchPenalty = 4, kBindingPenalty = 7, kReducePenalty = 8;
/// Left sides and shapes stay together if anyhow possible.
constexpr int kDimensionsPenalty = 1000;

/// The looser an operator binds, the better is a break behind it.
int operator_penalty(std::string_view op) {
    static const std::map<std::string_view, int> kPenalties = {{"or", 1}, {"and", 2}, {"+", 6}, {"-", 6},
                                                               {"*", 8},  {"/", 8},   {"%", 8}, {"<<", 7},
                                                               {">>", 7}, {"|", 4},   {"^", 4}, {"&", 5}};
    const auto found = kPenalties.find(op);
    return found == kPenalties.end() ? 3 : found->second;
}

bool opens(std::string_view text) {
    return text == "(" || text == "[";
}
bool closes(std::string_view text) {
    return text == ")" || text == "]";
}

class Annotator {
public:
    Annotator(const concrete::File& file, const SourceManager& sources) {
        std::uint32_t end = 0;
        const std::string_view text = file.tokens.empty() ? "" : sources.text(file.tokens.front().range.file);
        for (const concrete::Token& token : file.tokens) {
            item_of_.push_back(static_cast<int>(out_.items.size()));
            Item item;
            item.kind = token.kind;
            item.text = std::string(sources.text(token.range));
            if (item.text == ";") continue;
            item.newlines = newlines(text.substr(end, token.range.begin - end));
            clean(item);
            out_.items.push_back(std::move(item));
            end = token.range.end;
        }
    }

    Items run(const Node& root) && {
        for (const Node& child : root.children) {
            if (child.rule == Rule::Leaf) continue;  // a semicolon
            statement(child, {}, -1);
        }
        settle_blocks();
        anchor_comments();
        return std::move(out_);
    }

private:
    static int newlines(std::string_view gap) {
        int count = 0;
        for (std::size_t i = 0; i < gap.size(); ++i) {
            if (gap[i] == '\n' || (gap[i] == '\r' && (i + 1 == gap.size() || gap[i + 1] != '\n'))) ++count;
        }
        return count;
    }
    static void clean(Item& item) {
        if (!item.comment()) return;
        std::erase(item.text, '\r');
        if (item.kind != TokenKind::LineComment) return;
        while (item.text.ends_with(' ') || item.text.ends_with('\t') || item.text.ends_with('\f')) item.text.pop_back();
    }

    [[nodiscard]] int first(const Node& node) const { return item_of_[static_cast<std::size_t>(node.first)]; }
    Item& item(int index) { return out_.items[static_cast<std::size_t>(index)]; }
    Item& item(const Node& node) { return item(first(node)); }
    std::string_view text(const Node& leaf) {
        return leaf.rule == Rule::Leaf ? std::string_view(item(leaf).text) : std::string_view();
    }

    /// The first that says it has its way: what is around comes before what is in it.
    void set_anchor(int index, Anchor anchor) {
        if (anchor.item != index && item(index).anchor.item < 0) item(index).anchor = anchor;
    }
    void allow(const Node& node, int penalty) {
        item(node).breakable = true;
        item(node).penalty = depth_ * kBracketPenalty + penalty;
    }

    /// A part whose lines are aligned with its beginning.
    void place(const Node& node, Anchor beginning) {
        set_anchor(first(node), beginning);
        walk(node, {first(node), 0});
    }

    void statement(const Node& node, Anchor anchor, int block) {
        item(node).statement = true;
        item(node).block = block;
        set_anchor(first(node), anchor);
        const int outer = std::exchange(statement_, first(node));
        const int outer_head = std::exchange(head_, first(node));
        walk(node, {first(node), kIndent});
        head_ = outer_head;
        statement_ = outer;
    }

    void walk(const Node& node, Anchor anchor) {
        switch (node.rule) {
            case Rule::Leaf: leaf(node, anchor); return;
            case Rule::Definition:
            case Rule::Constant:
            case Rule::Update:
            case Rule::Function:
            case Rule::Binding: defined(node, anchor); return;
            case Rule::PipelineHead: pipeline_head(node, anchor); return;
            case Rule::Where:
            case Rule::Ports: list(node, anchor); return;
            case Rule::Block: block(node); return;
            case Rule::If: if_statement(node, anchor); return;
            case Rule::IfExpr: if_expr(node, anchor, first(node)); return;
            case Rule::LetExpr: let_expr(node, anchor); return;
            case Rule::Reduce: reduce(node, anchor); return;
            case Rule::Binary: binary(node, anchor); return;
            case Rule::Unary: unary(node, anchor); return;
            case Rule::Range:
            case Rule::Splice: glued(node, anchor); return;
            case Rule::Saturate: saturate(node, anchor); return;
            case Rule::Dimensions: {
                const int depth = std::exchange(depth_, depth_ + kDimensionsPenalty / kBracketPenalty);
                brackets(node, anchor, true, node.children.size());
                depth_ = depth;
                return;
            }
            case Rule::Nested: brackets(node, anchor, false, node.children.size()); return;
            default: brackets(node, anchor, true, node.children.size()); return;
        }
    }

    void leaf(const Node& node, Anchor anchor) {
        set_anchor(first(node), anchor);
        if (text(node) == "," || text(node) == ":") {
            item(node).glued = true;
            item(node).trails = true;
        }
    }

    /// The first `count` children; what stands in brackets is aligned behind the bracket.
    void brackets(const Node& node, Anchor anchor, bool glue, std::size_t count) {
        Anchor inner = anchor;
        bool list = false;
        for (const Node& child : node.children) list = list || text(child) == ",";
        const int depth = depth_;
        for (std::size_t i = 0; i < count; ++i) {
            const Node& child = node.children[i];
            if (i > 0 && text(node.children[i - 1]) == ",") allow(child, 0);
            if (opens(text(child))) {
                item(child).glued |= glue || i > 0;
                set_anchor(first(child), anchor);
                inner = {first(child), 1};
                ++depth_;
                glue_next(node, i);
            } else if (closes(text(child))) {
                item(child).glued = true;
                set_anchor(first(child), inner);
                inner = anchor;
                depth_ = depth;
            } else if ((depth_ > depth || list) && child.rule != Rule::Block) {
                place(child, inner);
            } else {
                walk(child, inner);
            }
        }
        depth_ = depth;
    }
    void glue_next(const Node& node, std::size_t i) {
        if (i + 1 < node.children.size()) item(node.children[i + 1]).glued = true;
    }

    /// `left = value`, `fn f(a) = value` or `fn f(a) { ... }`.
    void defined(const Node& node, Anchor anchor) {
        const std::size_t n = node.children.size();
        const Node& value = node.children[n - 1];
        const Anchor inner = node.rule == Rule::Binding ? Anchor{first(node), kIndent} : anchor;
        brackets(node, inner, node.rule != Rule::Binding, n - 1);
        if (value.rule == Rule::Block) {
            walk(value, anchor);
            return;
        }
        item(node.children[n - 2]).trails = true;
        allow(value, node.rule == Rule::Binding ? kBindingPenalty : 0);
        item(value).value = node.rule != Rule::Binding;
        place(value, inner);
    }

    void pipeline_head(const Node& node, Anchor anchor) {
        bool out = false;
        const Anchor line{statement_, kIndent};
        for (std::size_t i = 0; i < node.children.size(); ++i) {
            const Node& child = node.children[i];
            if (text(child) == "->" || child.rule == Rule::Where) {
                allow(child, 0);
                set_anchor(first(child), line);
                out = true;
            }
            if (opens(text(child))) {
                item(child).glued = true;
                glue_next(node, i);
                set_anchor(first(child), anchor);
                anchor = {first(child), 1};
                ++depth_;
            } else if (closes(text(child))) {
                item(child).glued = true;
                set_anchor(first(child), anchor);
                anchor = line;
                --depth_;
            } else if (out && child.rule == Rule::Ports) {
                set_anchor(first(child), line);
                walk(child, {first(child), 0});
            } else {
                walk(child, anchor);
            }
        }
    }

    /// Ports, or `where` and its conditions, one beside or below the other.
    void list(const Node& node, Anchor anchor) {
        const bool where = node.rule == Rule::Where;
        if (where) {
            set_anchor(first(node), anchor);
            const Node& conditions = node.children.back();
            set_anchor(first(conditions), anchor);
            walk(conditions, {first(conditions), 0});
            return;
        }
        for (std::size_t i = 0; i < node.children.size(); ++i) {
            const Node& child = node.children[i];
            if (i > 0 && text(node.children[i - 1]) == ",") allow(child, kOutputPenalty);
            if (child.rule == Rule::Leaf) {
                walk(child, anchor);
            } else {
                set_anchor(first(child), anchor);
                walk(child, {first(child), kIndent});
            }
        }
    }

    void block(const Node& node) {
        Block block;
        block.open = first(node);
        block.close = item_of_[static_cast<std::size_t>(node.last)];
        block.head = head_;
        block.chain = statement_;
        const int number = static_cast<int>(out_.blocks.size());
        out_.blocks.push_back(block);
        item(block.open).block = item(block.close).block = number;
        set_anchor(block.open, {statement_, 0});
        set_anchor(block.close, {statement_, 0});
        const int owner = statement_, depth = std::exchange(depth_, 0);
        for (std::size_t i = 1; i + 1 < node.children.size(); ++i) {
            if (node.children[i].rule == Rule::Leaf) continue;  // a semicolon
            statement(node.children[i], {owner, kIndent}, number);
        }
        if (block.close == block.open + 1) item(block.close).glued = true;
        depth_ = depth;
    }

    void if_statement(const Node& node, Anchor anchor) {
        for (std::size_t i = 0; i < node.children.size(); ++i) {
            const Node& child = node.children[i];
            if (child.rule == Rule::Leaf) head_ = first(child);
            if (i == 1) {
                place(child, anchor);
            } else {
                walk(child, anchor);
            }
        }
    }

    /// `if` of an expression. An `else` stands below the first `if` of its chain, at `base`.
    void if_expr(const Node& node, Anchor anchor, int base) {
        set_anchor(first(node), anchor);
        const Anchor deeper{base, kIndent};
        place(node.children[1], deeper);
        set_anchor(first(node.children[2]), deeper);
        item(node.children[2]).trails = true;
        allow(node.children[3], kThenPenalty);
        place(node.children[3], deeper);
        if (node.children.size() < 6) return;
        allow(node.children[4], 0);
        set_anchor(first(node.children[4]), {base, 0});
        item(node.children[3]).with = first(node.children[4]);
        const Node& otherwise = node.children[5];
        allow(otherwise, kElseBranchPenalty);
        set_anchor(first(otherwise), deeper);
        if (otherwise.rule == Rule::IfExpr) {
            if_expr(otherwise, deeper, base);
        } else {
            walk(otherwise, {first(otherwise), 0});
        }
    }

    void let_expr(const Node& node, Anchor anchor) {
        const int let = first(node);
        set_anchor(let, anchor);
        for (std::size_t i = 1; i < node.children.size(); ++i) {
            const Node& child = node.children[i];
            if (text(node.children[i - 1]) == "," || i + 1 == node.children.size()) allow(child, 0);
            if (text(child) == "in") {
                item(child).trails = true;
                set_anchor(first(child), {let, 0});
            } else {
                place(child, {let, i + 1 == node.children.size() ? 0 : kIndent});
            }
        }
    }

    /// `sum(i in 0..4) body`.
    void reduce(const Node& node, Anchor anchor) {
        brackets(node, anchor, true, node.children.size() - 1);
        const Node& body = node.children.back();
        allow(body, kReducePenalty);
        set_anchor(first(body), {first(node), kIndent});
        walk(body, anchor);
    }

    void binary(const Node& node, Anchor anchor) {
        walk(node.children[0], anchor);
        set_anchor(first(node.children[1]), anchor);
        item(node.children[1]).trails = true;
        allow(node.children[2], operator_penalty(text(node.children[1])));
        walk(node.children[2], anchor);
    }

    void unary(const Node& node, Anchor anchor) {
        set_anchor(first(node), anchor);
        if (text(node.children[0]) != "not") item(node.children[1]).glued = true;
        walk(node.children[1], anchor);
    }

    void glued(const Node& node, Anchor anchor) {
        for (std::size_t i = 0; i < node.children.size(); ++i) {
            if (i > 0) item(node.children[i]).glued = true;
            walk(node.children[i], anchor);
        }
    }

    /// `saturate<uint8>(e)`.
    void saturate(const Node& node, Anchor anchor) {
        for (std::size_t i = 1; i < 4; ++i) item(node.children[i]).glued = true;
        brackets(node, anchor, true, node.children.size());
    }

    /// A block is on one line where its author had it so, and it has one statement and no comment.
    void settle_blocks() {
        std::map<int, bool> together;
        // Inner blocks stand behind outer ones.
        for (auto block = out_.blocks.rbegin(); block != out_.blocks.rend(); ++block) {
            int statements = 0;
            bool plain = together.try_emplace(block->chain, true).first->second;
            if (item(block->close).newlines > 0) plain = false;
            for (int i = block->open + 1; plain && i <= block->close; ++i) {
                plain = item(i).newlines == 0 && !item(i).comment();
                statements += item(i).statement && item(i).block == item(block->open).block ? 1 : 0;
            }
            if (plain && statements <= 1) continue;
            together[block->chain] = false;
            const int around = item(block->chain).block;
            if (around >= 0) together[out_.blocks[static_cast<std::size_t>(around)].chain] = false;
        }
        for (Block& block : out_.blocks) block.one_line = together[block.chain];
    }

    /// A comment on a line of its own stands as what follows it does; before a closing brace, as a statement does.
    void anchor_comments() {
        for (int i = static_cast<int>(out_.items.size()) - 1, next = -1; i >= 0; --i) {
            if (!item(i).comment()) {
                next = i;
                continue;
            }
            if (next < 0) continue;
            const bool closing = item(next).block >= 0 && item(next).text == "}";
            item(i).anchor = item(next).anchor;
            if (closing) item(i).anchor.columns += kIndent;
        }
    }

    Items out_;
    std::vector<int> item_of_;  ///< by token
    int statement_ = -1;        ///< the first item of the statement that is walked
    int head_ = -1;
    int depth_ = 0;  ///< of brackets
};

}  // namespace

Items items_of(const concrete::File& file, const SourceManager& sources) {
    return Annotator(file, sources).run(file.root);
}

}  // namespace pipec::format
