#include "support/source.h"

#include <algorithm>

namespace pipec {

SourceRange join(SourceRange a, SourceRange b) {
    if (!a.valid()) return b;
    if (!b.valid() || a.file != b.file) return a;
    return {a.file, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

FileId SourceManager::add(std::string name, std::string text) {
    if (text.empty() || text.back() != '\n') text.push_back('\n');
    File file{std::move(name), std::move(text), {0}};
    for (std::size_t i = 0; i + 1 < file.text.size(); ++i) {
        if (file.text[i] == '\n') file.line_starts.push_back(static_cast<std::uint32_t>(i + 1));
    }
    files_.push_back(std::move(file));
    return static_cast<FileId>(files_.size() - 1);
}

std::string_view SourceManager::name(FileId file) const {
    return files_.at(static_cast<std::size_t>(file)).name;
}

std::string_view SourceManager::text(FileId file) const {
    return files_.at(static_cast<std::size_t>(file)).text;
}

std::string_view SourceManager::text(SourceRange range) const {
    if (!range.valid()) return {};
    const std::string_view all = text(range.file);
    const std::size_t begin = std::min<std::size_t>(range.begin, all.size());
    const std::size_t end = std::clamp<std::size_t>(range.end, begin, all.size());
    return all.substr(begin, end - begin);
}

LineColumn SourceManager::position(FileId file, std::uint32_t offset) const {
    const File& f = files_.at(static_cast<std::size_t>(file));
    // The end of the file is behind its last character, not behind its last newline.
    offset = std::min<std::uint32_t>(offset, static_cast<std::uint32_t>(f.text.size() - 1));
    const auto next = std::upper_bound(f.line_starts.begin(), f.line_starts.end(), offset);
    const std::uint32_t start = *(next - 1);
    std::uint32_t column = 1;
    for (std::uint32_t i = start; i < offset; ++i) {
        // UTF-8 continuation bytes (10xxxxxx) do not start a code point.
        if ((static_cast<unsigned char>(f.text[i]) & 0xC0U) != 0x80U) ++column;
    }
    return {static_cast<std::uint32_t>(next - f.line_starts.begin()), column};
}

std::string_view SourceManager::line(FileId file, std::uint32_t number) const {
    const File& f = files_.at(static_cast<std::size_t>(file));
    if (number == 0 || number > f.line_starts.size()) return {};
    const std::uint32_t begin = f.line_starts[number - 1];
    std::size_t end = number < f.line_starts.size() ? f.line_starts[number] : f.text.size();
    while (end > begin && (f.text[end - 1] == '\n' || f.text[end - 1] == '\r')) --end;
    return std::string_view(f.text).substr(begin, end - begin);
}

}  // namespace pipec
