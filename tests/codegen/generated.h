// Generated files in a directory of their own, for tests that compile them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "codegen/emit/cuda/cuda.h"
#include "codegen/emit/host/host.h"
#include "support_lib/compile.h"

namespace pipec::testing {

/// A program's header and host source. Throws where the program has errors.
struct GeneratedText {
    std::string header, source;
};

/// `write` makes the source of checked pipelines.
template <class Write>
GeneratedText generate_with(const std::string& stem, const std::string& text, const Write& write) {
    SourceManager sources;
    const Compiled compiled = compile_text(sources, stem + ".pipe", text);
    if (!compiled.ok()) throw std::runtime_error(compiled.diags.all().front().message);
    std::vector<codegen::Unit> units;
    for (std::size_t i = 0; i < compiled.pipelines.size(); ++i) {
        units.push_back({&compiled.pipelines[i], &compiled.models[i]});
    }
    return {codegen::header(stem + ".pipe", stem, units), write(units, sources)};
}

inline GeneratedText generate(const std::string& stem, const std::string& text) {
    return generate_with(stem, text, [&](const std::vector<codegen::Unit>& units, const SourceManager& sources) {
        return codegen::host_source(stem + ".pipe", stem + ".h", units, sources);
    });
}

/// The same with CUDA source.
inline GeneratedText generate_cuda(const std::string& stem, const std::string& text) {
    return generate_with(stem, text, [&](const std::vector<codegen::Unit>& units, const SourceManager& sources) {
        return codegen::cuda_source(stem + ".pipe", stem + ".h", units, sources);
    });
}

/// A directory that goes with the object.
class Directory {
public:
    Directory() {
        std::string pattern = (std::filesystem::temp_directory_path() / "pipec-codegen-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory");
        path_ = pattern;
    }
    ~Directory() { std::filesystem::remove_all(path_); }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;

    [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream out(file(name), std::ios::binary);
        out << text;
        if (!out.flush()) throw std::runtime_error("cannot write " + name);
    }
    /// Runs a command with the directory as `$D`; what it prints is in `output`.
    [[nodiscard]] int run(const std::string& command, std::string* output = nullptr) const {
        const int status = std::system(("D=" + path_ + "; (" + command + ") >" + file("output") + " 2>&1").c_str());
        if (output != nullptr) *output = read_file(file("output"));
        return status;
    }

private:
    std::string path_;
};

}  // namespace pipec::testing
