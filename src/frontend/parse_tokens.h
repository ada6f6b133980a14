// Text to tokens, for the parser only. What the lexer could not make sense of is reported here, and replaced by what
// was most likely meant, so that parsing can go on.
#pragma once

#include <antlr4-runtime.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostics.h"
#include "support/source.h"

namespace pipec::syntax {

/// The bytes of a file as ANTLR reads them: an index is a byte offset, and nothing is decoded.
class ByteStream final : public antlr4::CharStream {
public:
    explicit ByteStream(std::string_view text) : text_(text) {}

    void consume() override { ++position_; }
    std::size_t LA(ssize_t i) override;
    ssize_t mark() override { return -1; }
    void release(ssize_t) override {}
    std::size_t index() override { return position_; }
    void seek(std::size_t index) override { position_ = std::min(index, text_.size()); }
    std::size_t size() override { return text_.size(); }
    [[nodiscard]] std::string getSourceName() const override { return "input"; }
    std::string getText(const antlr4::misc::Interval& interval) override;
    [[nodiscard]] std::string toString() const override { return std::string(text_); }

private:
    std::string_view text_;
    std::size_t position_ = 0;
};

using TokenList = std::vector<std::unique_ptr<antlr4::Token>>;

/// The tokens of a file with the end of file as the last one; comments are among them, on the hidden channel. Empty
/// when the file is hopeless (no text, nested too deeply, too many errors); the reason was reported then.
TokenList tokenize(antlr4::CharStream& stream, const SourceManager& sources, FileId file, Diagnostics& diags);

/// True for what begins an item, and for the end of file.
bool starts_item(const antlr4::Token& token);
bool starts_statement(const antlr4::Token& token);
bool is_keyword(const antlr4::Token& token);

inline SourceRange range_of(FileId file, const antlr4::Token& token) {
    const auto begin = static_cast<std::uint32_t>(token.getStartIndex());
    return {file, begin, static_cast<std::uint32_t>(token.getStopIndex() + 1)};  // an empty range at the end of file
}

/// Source text for a message: cut where it is long.
std::string excerpt(const SourceManager& sources, SourceRange range);

}  // namespace pipec::syntax
