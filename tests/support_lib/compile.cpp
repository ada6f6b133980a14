#include "support_lib/compile.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace pipec::testing {

Compiled compile_text(SourceManager& sources, const std::string& name, const std::string& text,
                      const compiler::Settings& options) {
    Compiled result;
    compiler::Checked compilation = compiler::check(sources, sources.add(name, text), options, result.diags);
    result.definitions = std::move(compilation.definitions);
    result.pipelines = std::move(compilation.pipelines);
    result.models = std::move(compilation.models);
    return result;
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

}  // namespace pipec::testing
