#include "driver/response_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "driver/files.h"

namespace fs = std::filesystem;

namespace pipec::driver {

namespace {

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

std::vector<std::string> split(const std::string& text, const std::string& file) {
    std::vector<std::string> result;
    bool inside = false;  // an argument has begun; it may still be empty, as '' is
    char quote = '\0';
    const auto current = [&]() -> std::string& {
        if (!inside) result.emplace_back();
        inside = true;
        return result.back();
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\\' && i + 1 < text.size()) {
            current() += text[++i];
        } else if (quote != '\0') {
            if (c == quote) {
                quote = '\0';
            } else {
                current() += c;
            }
        } else if (c == '\'' || c == '"') {
            quote = c;
            current();
        } else if (is_blank(c)) {
            inside = false;
        } else {
            current() += c;
        }
    }
    if (quote != '\0') throw FileError(fmt::format("`@{}`: the file ends inside a quotation", file));
    return result;
}

class Expander {
public:
    void add(const std::vector<std::string>& arguments) {
        for (const std::string& argument : arguments) {
            if (argument == "--") only_files_ = true;
            if (only_files_ || argument.size() < 2 || argument[0] != '@') {
                result.push_back(argument);
            } else {
                add_file(argument.substr(1));
            }
        }
    }
    std::vector<std::string> result;

private:
    void add_file(const std::string& file) {
        std::error_code error;
        const fs::path path = fs::weakly_canonical(file, error);
        if (std::find(open_.begin(), open_.end(), path) != open_.end()) {
            throw FileError(fmt::format("`@{}`: the file holds itself", file));
        }
        open_.push_back(path);
        add(split(read_source(file), file));
        open_.pop_back();
    }

    std::vector<fs::path> open_;  ///< the files that are being read, the outermost first
    bool only_files_ = false;
};

}  // namespace

std::vector<std::string> expand_response_files(const std::vector<std::string>& arguments) {
    Expander expander;
    expander.add(arguments);
    return std::move(expander.result);
}

}  // namespace pipec::driver
