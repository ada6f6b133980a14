// Which helper functions code uses, and their definitions in the order in which they need each other.
#include "codegen/emit/c/helpers.h"

#include <algorithm>
#include <stdexcept>

#include "codegen/emit/c/helper_texts.h"

namespace pipec::codegen {

namespace {

/// In the order in which they are defined.
const std::vector<Helper>& all_helpers() {
    static const std::vector<Helper> all = [] {
        const std::span<const Helper> numbers = number_helpers(), atomics = atomic_helpers();
        std::vector<Helper> result(numbers.begin(), numbers.end());
        result.insert(result.end(), atomics.begin(), atomics.end());
        return result;
    }();
    return all;
}

const Helper& find(std::string_view name) {
    for (const Helper& helper : all_helpers()) {
        if (helper.name == name) return helper;
    }
    throw std::logic_error("no helper " + std::string(name));
}

/// For the host without what is for the device; for Cuda with all functions for both.
std::string text_for(fusion::Platform platform, std::string_view text) {
    std::string out;
    bool skip = false;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n') + 1);
        text.remove_prefix(line.size());
        if (platform == fusion::Platform::Host && line.front() == '#') {
            skip = line.substr(0, 6) == "#ifdef";
        } else if (!skip) {
            const bool is_function = line.substr(0, 10) == "constexpr " || line.substr(0, 7) == "inline ";
            if (platform == fusion::Platform::Cuda && is_function) out.append("__host__ __device__ ");
            out.append(line);
        }
    }
    return out;
}

}  // namespace

std::string_view Helpers::use(std::string_view name) {
    const Helper& helper = find(name);
    if (used_.emplace(name).second) {
        for (const std::string_view needed : helper.needs) {
            if (!needed.empty()) use(needed);
        }
    }
    return helper.name;
}

std::string Helpers::definitions() const {
    std::string out;
    for (const Helper& helper : all_helpers()) {
        if (used_.count(helper.name) == 0) continue;
        const std::string text = text_for(platform_, helper.text);
        if (!text.empty()) out.append(text).append("\n");
    }
    return out;
}

std::vector<std::string_view> helper_names() {
    std::vector<std::string_view> names;
    for (const Helper& helper : all_helpers()) names.push_back(helper.name);
    return names;
}

}  // namespace pipec::codegen
