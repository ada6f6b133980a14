// The steps of a run in their order. Every check of the command line against the pipeline is here.
#include "runner/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <new>
#include <optional>

#include "runner/binding.h"
#include "runner/convert.h"
#include "runner/device.h"
#include "runner/error.h"
#include "runner/files.h"
#include "runner/judge.h"
#include "runner/measure.h"
#include "runner/scalar.h"
#include "support/diagnostics.h"

namespace pipec::runner {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

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

/// `name` among things with a `.name`; an error that says what there is, where there is none.
template <class Range>
const auto& find(const Range& candidates, const std::string& name, const std::string& what, const std::string& option) {
    const auto found =
        std::find_if(candidates.begin(), candidates.end(), [&](const auto& c) { return c.name == name; });
    if (found != candidates.end()) return *found;
    std::vector<std::string> names;
    std::string list;
    for (const auto& candidate : candidates) {
        names.push_back(candidate.name);
        list += fmt::format("{}`{}`", list.empty() ? "" : ", ", candidate.name);
    }
    std::string message = fmt::format("{}: the pipeline has no {} `{}`", option, what, name);
    if (const auto close = closest_name(name, names)) {
        message += fmt::format("; did you mean `{}`?", *close);
    } else if (names.empty()) {
        message += fmt::format("; it has none at all");
    } else {
        message += fmt::format("; it has {}", list);
    }
    throw usage_error(message);
}

std::vector<Buffer> select(const Library& library, bool outputs) {
    std::vector<Buffer> result;
    for (const Buffer& buffer : library.buffers()) {
        if (buffer.is_output == outputs) result.push_back(buffer);
    }
    return result;
}

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

std::vector<int> parse_channels(const NamedValue& option) {
    const auto list = parse_list(option.value);
    const auto valid = [](std::int64_t c) { return c >= 0 && c < 1024; };
    if (!list || !std::all_of(list->begin(), list->end(), valid)) {
        throw usage_error(
            fmt::format("--channels {}={}: expected channel numbers such as 0,1,2", option.name, option.value));
    }
    return {list->begin(), list->end()};
}

ir::Type parse_depth(const NamedValue& option) {
    static const std::map<std::string, ir::Type, std::less<>> depths = {
        {"8", ir::Type::UInt8}, {"16", ir::Type::UInt16}, {"half", ir::Type::Float16}, {"float", ir::Type::Float32}};
    const auto found = depths.find(option.value);
    if (found != depths.end()) return found->second;
    throw usage_error(fmt::format("--depth {}={}: expected 8, 16, half or float", option.name, option.value));
}

/// N,N,...
Extents parse_extents(const char* flag, const NamedValue& option, const Buffer& buffer) {
    const auto extents = parse_list(option.value);
    if (extents && extents->size() == buffer.rank()) return *extents;
    throw usage_error(fmt::format("{} {}={}: expected {} integers for {}", flag, option.name, option.value,
                                  buffer.rank(), shape_text(buffer)));
}

/// The bindings of all buffers by name. Throws where an option names something that is not there, says a thing twice,
/// or leaves an input without a file.
std::map<std::string, FileBinding> bindings(const Library& library, const Options& options) {
    const std::vector<Buffer> inputs = select(library, false), outputs = select(library, true);
    std::map<std::string, FileBinding> result;
    const auto bind = [&](const std::vector<NamedValue>& files, const std::vector<Buffer>& buffers, const char* what,
                          const char* option) {
        for (const NamedValue& file : files) {
            std::string& path = result[find(buffers, file.name, what, option).name].path;
            if (!path.empty()) throw usage_error(fmt::format("{}: `{}` is given twice", option, file.name));
            path = file.value;
        }
    };
    bind(options.inputs, inputs, "input", "--in");
    bind(options.outputs, outputs, "output", "--out");
    for (const NamedValue& option : options.random) {
        const Buffer& input = find(inputs, option.name, "input", "--random");
        result[input.name].random = parse_extents("--random", option, input);
    }
    for (const NamedValue& option : options.expected) {
        result[find(outputs, option.name, "output", "--expect").name].expected = option.value;
    }
    for (const NamedValue& option : options.channels) {
        result[find(library.buffers(), option.name, "input or output", "--channels").name].channels =
            parse_channels(option);
    }
    for (const NamedValue& option : options.depths) {
        result[find(outputs, option.name, "output", "--depth").name].depth = parse_depth(option);
    }
    for (const std::string& name : options.gray) result[find(inputs, name, "input", "--gray").name].gray = true;
    for (const std::string& name : options.raw) {
        result[find(library.buffers(), name, "input or output", "--raw").name].scaling = Scaling::Raw;
    }
    std::string missing;
    for (const Buffer& input : inputs) {
        if (!result[input.name].path.empty() || result[input.name].random) continue;
        missing += fmt::format("{}input `{}` ({}) has no file: give `--in {}=FILE`",
                               missing.empty() ? "" : "\n  note: ", input.name, shape_text(input), input.name);
    }
    if (!missing.empty()) throw usage_error(missing);
    return result;
}

void set_scalars(const Library& library, const Options& options, const Arguments& args) {
    std::map<std::string, bool> given;
    for (const NamedValue& option : options.params) {
        const Scalar& parameter = find(library.parameters(), option.name, "parameter", "--set");
        if (given[parameter.name]) throw usage_error(fmt::format("--set: `{}` is given twice", parameter.name));
        given[parameter.name] = true;
        if (const auto wrong = store_scalar(parameter.type, option.value, args.at(parameter.offset))) {
            throw usage_error(fmt::format("--set {}={}: {}; `{}` is {}", option.name, option.value, *wrong,
                                          parameter.name, ir::name(parameter.type)));
        }
    }
    for (const Scalar& parameter : library.parameters()) {
        if (!parameter.has_default && !given[parameter.name]) {
            throw usage_error(fmt::format("parameter `{0}` ({1}) has no value: give `--set {0}=VALUE`", parameter.name,
                                          ir::name(parameter.type)));
        }
    }
}

std::int64_t parse_extent(const std::string& option, const std::string& text) {
    const auto list = parse_list(text);
    if (list && list->size() == 1 && list->front() > -(1 << 30) && list->front() < (1 << 30)) return list->front();
    throw usage_error(fmt::format("{}: `{}` is not a size: an integer below 2^30", option, text));
}

/// Sizes are fields of their own, or they are the extents of outputs that no input determines.
void set_sizes(const Library& library, const Options& options, const Arguments& args) {
    const std::vector<Buffer> outputs = select(library, true);
    for (const NamedValue& option : options.extents) {
        const Buffer& output = find(outputs, option.name, "output", "--extent");
        args.set_extents(output, parse_extents("--extent", option, output));
    }
    std::map<std::string, bool> given;
    for (const NamedValue& option : options.sizes) {
        const std::int64_t value = parse_extent("--size " + option.name, option.value);
        bool used = false;
        for (const Scalar& size : library.sizes()) {
            if (size.name != option.name) continue;
            std::memcpy(args.at(size.offset), &value, sizeof value);
            given[size.name] = used = true;
        }
        for (const Buffer& output : outputs) {
            Extents extents = args.extents(output);
            for (std::size_t dim = 0; dim < output.rank(); ++dim) {
                if (output.extent_text[dim] != option.name) continue;
                if (value < 1) throw usage_error(fmt::format("--size {}: an extent is at least 1", option.name));
                used = true;
                extents[dim] = value;
            }
            args.set_extents(output, extents);
        }
        if (!used) {
            throw usage_error(fmt::format(
                "--size: the pipeline needs no size `{}`; sizes come from the inputs where they can", option.name));
        }
    }
    for (const Scalar& size : library.sizes()) {
        if (!given[size.name]) {
            throw usage_error(fmt::format("nothing determines the size `{0}`: give `--size {0}=N`", size.name));
        }
    }
}

struct LoadedInput {
    Memory memory;
    std::string description;  ///< of the file, for errors about its shape
};

/// "element [2, 5]" of a row-major array.
std::string position_text(const Extents& extents, std::size_t index) {
    std::string text;
    for (auto extent = extents.rbegin(); extent != extents.rend(); ++extent) {
        const auto n = static_cast<std::size_t>(*extent);
        text = fmt::format("{}{}{}", index % n, text.empty() ? "" : ", ", text);
        index /= n;
    }
    return fmt::format("[{}]", text);
}

/// The array of a file as the pipeline sees it.
Converted read_input(const Buffer& buffer, const FileBinding& binding, LoadedInput& result, BufferReport& report) {
    Array array = read_file(binding.path);
    report.file_type = array.type;
    Scaling scaling = binding.scaling;
    if (is_npy(binding.path)) {
        if (binding.gray || binding.channels) {
            throw usage_error(fmt::format("--gray and --channels are for images; {} is an array", binding.path));
        }
        result.description = fmt::format("{} is {} {}", binding.path, shape_text(array.extents), ir::name(array.type));
        if (array.extents.size() != buffer.rank()) {
            throw file_error(fmt::format("{}; `{}` needs {} dimension{}: {}", result.description, buffer.name,
                                         buffer.rank(), buffer.rank() == 1 ? "" : "s", shape_text(buffer)));
        }
        if (ir::is_float(array.type) && !ir::is_float(buffer.type) && scaling != Scaling::Raw) {
            throw file_error(fmt::format("{}; `{}` is {}\n  note: `--raw {}` rounds the values", result.description,
                                         buffer.name, shape_text(buffer), buffer.name));
        }
        scaling = Scaling::Raw;  // its numbers are numbers
    } else {
        result.description = fmt::format("{} is {}", binding.path, image_text(array));
        if (binding.gray) array = to_gray(array);
        if (binding.channels) {
            for (const int channel : *binding.channels) {
                if (channel < array.extents[2]) continue;
                throw usage_error(fmt::format("--channels {}: there is no channel {} in {}, which is {}", buffer.name,
                                              channel, binding.path, image_text(array)));
            }
            array = select_channels(array, *binding.channels);
        }
        array = image_to_buffer(array, buffer, binding.path);
    }
    return convert(std::move(array), buffer.type, scaling);
}

LoadedInput load_input(const Buffer& buffer, const FileBinding& binding, const Arguments& args, BufferReport& report) {
    const auto start = Clock::now();
    LoadedInput result;
    Converted converted;
    if (binding.random) {
        result.description = fmt::format("`{}` has random values", buffer.name);
        converted.array = random_array(buffer.type, *binding.random, std::hash<std::string>()(buffer.name));
    } else {
        converted = read_input(buffer, binding, result, report);
    }
    if (converted.misfit) {
        throw file_error(fmt::format(
            "{}: the value {} at {} does not fit `{}`, which is {}", binding.path, converted.misfit->value,
            position_text(converted.array.extents, converted.misfit->index), buffer.name, ir::name(buffer.type)));
    }
    const Extents& extents = converted.array.extents;
    const Extents dense = dense_strides(extents), strides = dense_strides(extents, buffer.order);
    if (dense == strides) {
        result.memory = std::move(converted.array.data);
    } else {
        result.memory = Memory(converted.array.data.size());
        copy_strided(buffer.type, extents, converted.array.data.data(), dense, result.memory.data(), strides);
    }
    args.set_extents(buffer, extents);
    report.extents = extents;
    report.milliseconds = milliseconds_since(start);
    return result;
}

/// A refusal in the pipeline's own words, with the files that the shapes come from.
Error refused(const Library& library, const Arguments& args, const std::vector<LoadedInput>& inputs) {
    std::string message(1024, '\0');
    const abi::pipe_status status = library.info().check(args.get(), message.data(), message.size());
    message.resize(std::strlen(message.c_str()));
    if (message.empty()) message = fmt::format("`{}` failed (status {})", library.info().name, status);
    // Bits 8 to 15 of this status are the number of the buffer that is to blame, + 1.
    const bool extent = (status & 0xFF) == abi::PIPE_ERROR_EXTENT;
    const std::size_t blamed = extent ? static_cast<std::uint32_t>(status) >> 8U & 0xFFU : 0;
    if (blamed > 0 && blamed <= library.buffers().size() && library.buffers()[blamed - 1].is_output) {
        message += fmt::format("\n  note: `--size` and `--extent {}=...` give extents that no input determines",
                               library.buffers()[blamed - 1].name);
    }
    for (const LoadedInput& input : inputs) message += "\n  note: " + input.description;
    return run_error(message);
}

std::size_t workspace_size(const Library& library, const Arguments& args, const std::vector<LoadedInput>& inputs) {
    const std::size_t size = library.info().workspace_size(args.get());
    if (size == SIZE_MAX) throw refused(library, args, inputs);
    return size;
}

/// An output as a dense, row-major array.
Array output_array(const Buffer& buffer, const Arguments& args, const Memory& memory) {
    Array contents(buffer.type, args.extents(buffer));
    copy_strided(buffer.type, contents.extents, memory.data(), args.strides(buffer), contents.data.data(),
                 dense_strides(contents.extents));
    return contents;
}

std::size_t compare_output(const Buffer& buffer, const std::string& file, double tolerance, const Arguments& args,
                           const Memory& memory) {
    Array expected = read_file(file);
    Array contents = output_array(buffer, args, memory);
    if (!is_npy(file) || expected.type != contents.type || expected.extents != contents.extents) {
        throw file_error(fmt::format("--expect {}: {} is no .npy file of {} {}", buffer.name, file,
                                     shape_text(contents.extents), ir::name(contents.type)));
    }
    return count_different(std::move(contents), std::move(expected), tolerance);
}

PendingFile save_output(const Buffer& buffer, const FileBinding& binding, const Arguments& args, const Memory& memory,
                        BufferReport& report, std::vector<std::string>& warnings) {
    const auto start = Clock::now();
    Array contents = output_array(buffer, args, memory);
    PendingFile file(binding.path);
    report.file_type = buffer.type;
    if (!is_npy(binding.path)) {
        Array image = buffer_to_image(contents, buffer, binding.path);
        if (binding.channels) image = select_channels(image, *binding.channels);
        const std::vector<ir::Type> storable = storable_types(binding.path, image.extents[2], buffer.name);
        report.file_type = binding.depth.value_or(default_storage(buffer.type, storable));
        Converted converted = convert(std::move(image), report.file_type, binding.scaling);
        if (converted.misfit) {
            throw file_error(fmt::format(
                "cannot write {}: the value {} at {} (row, column, channel) of `{}` does not fit {}\n  note: .tif "
                "files hold "
                "integers of 8 to 32 bits, .npy files all",
                binding.path, converted.misfit->value, position_text(converted.array.extents, converted.misfit->index),
                buffer.name, ir::name(report.file_type)));
        }
        contents = std::move(converted.array);
    }
    write_file(file.path(), binding.path, contents);
    report.milliseconds = milliseconds_since(start);
    judge(output_array(buffer, args, memory), contents, binding.scaling, report, warnings);
    return file;
}

/// What can be known about an output's file before the run: better a wrong name now than after a minute.
void check_output(const Buffer& buffer, const FileBinding& binding) {
    check_writable(binding.path);
    if (is_npy(binding.path)) {
        if (binding.depth || binding.channels) {
            throw usage_error(fmt::format("--depth and --channels are for images; {} is an array", binding.path));
        }
        return;
    }
    const std::vector<ir::Type> storable = storable_types(binding.path, 0, buffer.name);
    if (binding.depth && std::find(storable.begin(), storable.end(), *binding.depth) == storable.end()) {
        std::string list;
        for (const ir::Type type : storable) list += fmt::format("{}{}", list.empty() ? "" : ", ", ir::name(type));
        throw usage_error(fmt::format("--depth {}: {} cannot hold {}; it can hold {}", buffer.name, binding.path,
                                      ir::name(*binding.depth), list));
    }
}

/// The same file for two outputs would keep one of them.
void check_distinct(const std::vector<Buffer>& outputs, std::map<std::string, FileBinding>& files) {
    std::map<std::string, std::string> seen;
    for (const Buffer& output : outputs) {
        const std::string& path = files[output.name].path;
        if (path.empty()) continue;
        const auto [other, is_new] = seen.emplace(path, output.name);
        if (!is_new)
            throw usage_error(fmt::format("--out: `{}` and `{}` go to the same file", other->second, output.name));
    }
}

}  // namespace

Report execute(const Library& library, const Options& options) {
    const abi::pipe_info& info = library.info();
    const std::vector<Buffer> inputs = select(library, false), outputs = select(library, true);
    std::map<std::string, FileBinding> files = bindings(library, options);
    check_distinct(outputs, files);
    for (const Buffer& output : outputs) {
        if (!files[output.name].path.empty()) check_output(output, files[output.name]);
    }
    const Arguments args(info);
    set_scalars(library, options, args);
    set_sizes(library, options, args);
    const std::unique_ptr<Device> device = open_device(options.device, info);

    Report report{info.name, info.target, device->name(), {}, {}, 0};
    for (const Buffer& buffer : library.buffers()) {
        report.buffers.push_back(
            {buffer.name, buffer.is_output, buffer.type, {}, files[buffer.name].path, buffer.type, 0, {}});
    }
    std::vector<LoadedInput> loaded;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        loaded.push_back(load_input(inputs[i], files[inputs[i].name], args, report.buffers[i]));
    }

    // resolve() does not look at memory; check(), which words its errors, looks at shapes first.
    std::vector<Memory> memory(outputs.size());
    std::vector<void*> rooms(outputs.size());
    if (info.resolve(args.get()) != abi::PIPE_OK) throw refused(library, args, loaded);
    for (std::size_t i = 0; i < inputs.size(); ++i) args.set_data(inputs[i], device->copy_in(loaded[i].memory));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        memory[i] = Memory(span_bytes(outputs[i].type, args.extents(outputs[i]), args.strides(outputs[i])));
        rooms[i] = device->room_for(memory[i]);
        args.set_data(outputs[i], rooms[i]);
        report.buffers[inputs.size() + i].extents = args.extents(outputs[i]);
    }
    report.workspace_bytes = workspace_size(library, args, loaded);
    void* const workspace = device->scratch(report.workspace_bytes);
    const auto launch = [&](int times) {
        const auto [status, all] = device->launch(info, args.get(), workspace, report.workspace_bytes, times);
        if (status != abi::PIPE_OK) throw refused(library, args, loaded);
        return all;
    };
    if (options.measure) report.run_milliseconds = batch_means(launch);
    for (int i = 0; i < options.repeat && !options.measure; ++i) report.run_milliseconds.push_back(launch(1));

    std::vector<PendingFile> pending;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const FileBinding& binding = files[outputs[i].name];
        if (binding.path.empty() && binding.expected.empty()) continue;
        device->copy_out(memory[i], rooms[i]);
        if (!binding.expected.empty()) {
            report.buffers[inputs.size() + i].different =
                compare_output(outputs[i], binding.expected, options.tolerance, args, memory[i]);
        }
        if (binding.path.empty()) continue;
        pending.push_back(
            save_output(outputs[i], binding, args, memory[i], report.buffers[inputs.size() + i], report.warnings));
    }
    for (PendingFile& file : pending) file.commit();
    return report;
}

}  // namespace pipec::runner
