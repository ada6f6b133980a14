// What the layout of a file works on: tokens and comments in their order, with what the syntax tree says about the
// places between them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontend/concrete.h"

namespace pipec::format {

/// Where an item stands that begins a line: columns to the right of another, earlier item.
struct Anchor {
    int item = -1;  ///< -1: the margin
    int columns = 0;
};

/// A token, or a comment. Semicolons are none.
struct Item {
    concrete::TokenKind kind{};
    std::string text;
    int newlines = 0;  ///< before it in the source

    bool glued = false;      ///< no space before it
    bool statement = false;  ///< begins a statement or an item of a file, and hence a line
    bool breakable = false;  ///< a line may begin here
    bool trails = false;     ///< no line begins here: a break before it moves behind it
    int penalty = 0;         ///< of a break that nobody asked for; lower is better
    bool value = false;      ///< the value of a definition: its first item
    int with = -1;           ///< an item that begins a line where this one does: `else`
    Anchor anchor;
    int block = -1;  ///< of a brace of a block: its number. Of a statement: of the block around it

    [[nodiscard]] bool comment() const {
        return kind == concrete::TokenKind::LineComment || kind == concrete::TokenKind::BlockComment;
    }
};

/// `{ ... }` with statements.
struct Block {
    int open = 0, close = 0;  ///< items
    int head = 0;             ///< the item that begins what the block belongs to: `for`, `else`, ...
    int chain = 0;            ///< blocks of one `if` are on one line together or not at all
    bool one_line = false;
};

struct Items {
    std::vector<Item> items;
    std::vector<Block> blocks;
};

/// The items of a file in which nothing is decided yet but what the tree alone decides.
Items items_of(const concrete::File& file, const SourceManager& sources);

/// The text with its lines.
std::string layout(Items items);

}  // namespace pipec::format
