// The steps of a run in one piece, in their order.
#include "runner/execute.h"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <optional>

#include "runner/arguments.h"
#include "runner/device.h"
#include "runner/files.h"
#include "runner/judge.h"
#include "runner/measure.h"
#include "runner/pending.h"
#include "runner/views.h"

namespace pipec::runner {

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct LoadedInput {
    Memory memory;
    std::string description;  ///< of the file, for errors about its shape
};

/// The array of a file as the pipeline sees it.
Array read_input(const Buffer& buffer, const FileBinding& binding, LoadedInput& result, BufferReport& report) {
    Array array = read_file(binding.path);
    report.file_type = array.type;
    const InputView view(buffer, binding, array.type, array.extents, is_array(binding.path));
    result.description = view.description();
    return view.to_buffer(std::move(array), Extents(view.extents().size(), 0));
}

LoadedInput load_input(const Buffer& buffer, const FileBinding& binding, const Arguments& args, BufferReport& report) {
    const auto start = Clock::now();
    LoadedInput result;
    Array array;
    if (binding.random) {
        result.description = fmt::format("`{}` has random values", buffer.name);
        array = random_array(buffer.type, *binding.random, std::hash<std::string>()(buffer.name));
    } else {
        array = read_input(buffer, binding, result, report);
    }
    const Extents extents = array.extents;
    const Extents dense = dense_strides(extents), strides = dense_strides(extents, buffer.order);
    if (dense == strides) {
        result.memory = std::move(array.data);
    } else {
        result.memory = Memory(array.data.size());
        copy_strided(buffer.type, extents, array.data.data(), dense, result.memory.data(), strides);
    }
    args.set_extents(buffer, extents);
    report.extents = extents;
    report.milliseconds = milliseconds_since(start);
    return result;
}

std::vector<std::string> descriptions(const std::vector<LoadedInput>& inputs) {
    std::vector<std::string> result;
    for (const LoadedInput& input : inputs) result.push_back(input.description);
    return result;
}

std::size_t workspace_size(const Library& library, const Arguments& args, const std::vector<LoadedInput>& inputs) {
    const std::size_t size = library.info().workspace_size(args.get());
    if (size == SIZE_MAX) throw refused(library, args, descriptions(inputs));
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

PendingFile save_output(const Buffer& buffer, const FileBinding& binding, const OutputView& view, const Arguments& args,
                        const Memory& memory, BufferReport& report, std::vector<std::string>& warnings) {
    const auto start = Clock::now();
    Array contents = output_array(buffer, args, memory);
    PendingFile file(binding.path);
    report.file_type = view.file_type();
    if (!view.is_array()) contents = view.to_file(contents, Extents(contents.extents.size(), 0));
    write_file(file.path(), binding.path, contents);
    report.milliseconds = milliseconds_since(start);
    Judgement judgement(view.file_type(), binding.scaling);
    judgement.add(output_array(buffer, args, memory), contents);
    judgement.tell(report, warnings);
    return file;
}

}  // namespace

Report execute(const Library& library, const Options& options) {
    const abi::pipe_info& info = library.info();
    const std::vector<Buffer> inputs = select(library, false), outputs = select(library, true);
    Bindings files = bindings(library, options);
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
    if (info.resolve(args.get()) != abi::PIPE_OK) throw refused(library, args, descriptions(loaded));
    for (std::size_t i = 0; i < inputs.size(); ++i) args.set_data(inputs[i], device->copy_in(loaded[i].memory));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        memory[i] = Memory(span_bytes(outputs[i].type, args.extents(outputs[i]), args.strides(outputs[i])));
        rooms[i] = device->room_for(memory[i]);
        args.set_data(outputs[i], rooms[i]);
        report.buffers[inputs.size() + i].extents = args.extents(outputs[i]);
    }
    std::vector<std::optional<OutputView>> views(outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const FileBinding& binding = files[outputs[i].name];
        if (!binding.path.empty()) views[i].emplace(outputs[i], binding, args.extents(outputs[i]));
    }
    report.workspace_bytes = workspace_size(library, args, loaded);
    void* const workspace = device->scratch(report.workspace_bytes);
    const auto launch = [&](int times) {
        const auto [status, all] = device->launch(info, args.get(), workspace, report.workspace_bytes, times);
        if (status != abi::PIPE_OK) throw refused(library, args, descriptions(loaded));
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
        pending.push_back(save_output(outputs[i], binding, *views[i], args, memory[i],
                                      report.buffers[inputs.size() + i], report.warnings));
    }
    commit(pending);
    return report;
}

}  // namespace pipec::runner
