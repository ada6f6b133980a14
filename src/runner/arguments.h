// What a command line says to a pipeline: its argument struct, and the files of its buffers. Every check of the options
// against the pipeline is here.
#pragma once

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/convert.h"
#include "runner/error.h"
#include "runner/library.h"
#include "runner/options.h"

namespace pipec::runner {

/// The argument struct of a pipeline, whose layout only its tables know.
class Arguments {
public:
    explicit Arguments(const abi::pipe_info& info) : memory_(info.args_size) { info.defaults(memory_.data()); }
    [[nodiscard]] void* get() const { return memory_.data(); }
    [[nodiscard]] std::byte* at(std::size_t offset) const { return memory_.data() + offset; }

    void set_data(const Buffer& buffer, void* data) const {
        std::memcpy(at(buffer.info->data_offset), &data, sizeof data);
    }
    void set_extents(const Buffer& buffer, const Extents& extents) const {
        std::memcpy(at(buffer.info->extent_offset), extents.data(), extents.size() * sizeof(std::int64_t));
    }
    void set_strides(const Buffer& buffer, const Extents& strides) const {
        std::memcpy(at(buffer.info->stride_offset), strides.data(), strides.size() * sizeof(std::int64_t));
    }
    [[nodiscard]] Extents extents(const Buffer& buffer) const { return integers(buffer.info->extent_offset, buffer); }
    [[nodiscard]] Extents strides(const Buffer& buffer) const { return integers(buffer.info->stride_offset, buffer); }

private:
    [[nodiscard]] Extents integers(std::size_t offset, const Buffer& buffer) const {
        Extents result(buffer.rank());
        std::memcpy(result.data(), at(offset), result.size() * sizeof(std::int64_t));
        return result;
    }
    Memory memory_;
};

/// The inputs of a pipeline, or its outputs.
std::vector<Buffer> select(const Library& library, bool outputs);

/// What the options say about one buffer.
struct FileBinding {
    std::string path;               ///< of its file; empty: not bound
    std::optional<Extents> random;  ///< an input of random values
    std::string expected;           ///< the file to compare an output with; empty: none
    std::optional<std::vector<int>> channels;
    std::optional<ir::Type> depth;
    bool gray = false;
    Scaling scaling = Scaling::Normalized;
};

/// What the options say, by the names of buffers.
using Bindings = std::map<std::string, FileBinding>;

/// The bindings of all buffers. Throws Error where an option names something that is not there, says a thing twice, or
/// leaves an input without a file, and for output files that cannot become what they are to be: better a wrong name now
/// than after a minute.
Bindings bindings(const Library& library, const Options& options);

/// The values of --set, --size and --extent. Throws Error where one is missing or makes no sense.
void set_scalars(const Library& library, const Options& options, const Arguments& args);
void set_sizes(const Library& library, const Options& options, const Arguments& args);

/// A refusal in the pipeline's own words, with `notes` about the files that the shapes come from.
Error refused(const Library& library, const Arguments& args, const std::vector<std::string>& notes);

}  // namespace pipec::runner
