#include "driver/lsp/library_files.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "driver/files.h"
#include "driver/native/cache.h"
#include "frontend/stdlib.h"

namespace pipec::driver {

std::string library_directory() {
    const auto cache = ObjectCache::default_directory();
    if (!cache) return "";
    const std::filesystem::path directory = *cache / "stdlib";
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) return "";
    try {
        std::vector<OutputFile> files;
        for (const std::string_view name : stdlib_names()) {
            const std::filesystem::path path = directory / (std::string(name) + ".pipe");
            const std::string text(*stdlib_file(name));
            const bool same = std::filesystem::exists(path, error) && read_source(path.string()) == text;
            if (!same) files.push_back({path.string(), text});
        }
        write_files(files);
        return directory.string();
    } catch (const FileError&) {
        return "";
    }
}

}  // namespace pipec::driver
