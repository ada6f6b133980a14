// Options against pipelines.
#include "runner/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "runner/files.h"
#include "runner/scalar.h"
#include "support/diagnostics.h"

namespace pipec::runner {

namespace {

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

std::int64_t parse_extent(const std::string& option, const std::string& text) {
    const auto list = parse_list(text);
    if (list && list->size() == 1 && list->front() > -(1 << 30) && list->front() < (1 << 30)) return list->front();
    throw usage_error(fmt::format("{}: `{}` is not a size: an integer below 2^30", option, text));
}

void check_output(const Buffer& buffer, const FileBinding& binding) {
    check_writable(binding.path);
    if (is_array(binding.path)) {
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
void check_distinct(const std::vector<Buffer>& outputs, Bindings& files) {
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

std::vector<Buffer> select(const Library& library, bool outputs) {
    std::vector<Buffer> result;
    for (const Buffer& buffer : library.buffers()) {
        if (buffer.is_output == outputs) result.push_back(buffer);
    }
    return result;
}
Bindings bindings(const Library& library, const Options& options) {
    const std::vector<Buffer> inputs = select(library, false), outputs = select(library, true);
    Bindings result;
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
    check_distinct(outputs, result);
    for (const Buffer& output : outputs) {
        if (!result[output.name].path.empty()) check_output(output, result[output.name]);
    }
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
Error refused(const Library& library, const Arguments& args, const std::vector<std::string>& notes) {
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
    for (const std::string& note : notes) message += "\n  note: " + note;
    return run_error(message);
}

}  // namespace pipec::runner
