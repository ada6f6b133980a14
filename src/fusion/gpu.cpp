#include "fusion/gpu.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <functional>

#include "fusion/gpu_files.h"
#include "fusion/toml_text.h"

namespace pipec::fusion {

namespace {

/// A number of the description: how the file calls it, and where it goes.
struct GpuNumber {
    const char* key;
    bool whole;  ///< an integer
    std::function<void(Gpu&, double)> set;
    /// What every GPU has that CUDA compiles for: blocks of 1024 threads and 48 KB, which code generation relies on.
    double least = 0;
};

std::function<void(Gpu&, double)> to(int Gpu::*field) {
    return [field](Gpu& gpu, double value) { gpu.*field = static_cast<int>(value); };
}
std::function<void(Gpu&, double)> to(double Gpu::*field, double unit) {
    return [field, unit](Gpu& gpu, double value) { gpu.*field = value * unit; };
}
std::function<void(Gpu&, double)> to_bytes(std::int64_t Gpu::*field) {
    return [field](Gpu& gpu, double kilobytes) { gpu.*field = static_cast<std::int64_t>(kilobytes) * 1024; };
}

const std::vector<GpuNumber>& numbers() {
    static const std::vector<GpuNumber> all{
        {"sms", true, to(&Gpu::sms)},
        {"cores_per_sm", true, to(&Gpu::cores_per_sm)},
        {"warps_per_sm", true, to(&Gpu::warps_per_sm), 32},
        {"blocks_per_sm", true, to(&Gpu::blocks_per_sm)},
        {"registers_per_sm", true, to(&Gpu::registers_per_sm), 32768},
        {"registers_per_thread", true, to(&Gpu::registers_per_thread), 63},
        {"shared_per_sm_kb", true, to_bytes(&Gpu::shared_per_sm)},
        {"shared_per_block_kb", true, to_bytes(&Gpu::shared_per_block), 48},
        {"clock_mhz", false, to(&Gpu::clock_hz, 1e6)},
        {"l2_kb", true, to_bytes(&Gpu::l2_bytes)},
        {"dram_gb_per_s", false, to(&Gpu::dram_bandwidth, 1e9)},
    };
    return all;
}

/// Numbers in a description lie between these. They are in the units of the file, and far from every GPU there is.
constexpr double kLargestOfGpu = 1e8, kSmallestOfGpu = 1e-6;

/// The GPU on which the rates were measured. Its description has all of them.
constexpr std::string_view kMeasured = "h200";
const Gpu& measured() {
    static const Gpu gpu = known_gpu(kMeasured).value();
    return gpu;
}

class Reader {
public:
    Reader(const toml::table& table, const std::string& file, bool is_measured)
        : table_(table), file_(file), is_measured_(is_measured) {}

    Gpu run() {
        Gpu gpu;
        refuse_unknown(table_, "", {"name", "devices", "compute_capability", "time", "paper"}, true);
        gpu.name = text(require(table_, "name"), "name");
        if (gpu.name.empty()) throw error(require(table_, "name"), "`name` is empty");
        if (const toml::node* devices = table_.get("devices")) {
            for (const toml::node& device : list(*devices, "devices")) gpu.devices.push_back(text(device, "devices"));
        }
        read_capability(gpu);
        for (const GpuNumber& n : numbers()) {
            const toml::node& node = require(table_, n.key);
            const double value = number(node, n.key, n.whole, false);
            if (value < n.least) throw error(node, fmt::format("`{}` is at least {} on every GPU", n.key, n.least));
            n.set(gpu, value);
        }
        gpu.threads_per_sm = gpu.warps_per_sm * gpu.warp_size;
        if (gpu.shared_per_block > gpu.shared_per_sm) {
            throw error(require(table_, "shared_per_block_kb"), "a block cannot have more shared memory than there is");
        }
        read_rates(gpu);
        if (const toml::node* paper = table_.get("paper")) read_weights(gpu, *paper);
        return gpu;
    }

private:
    [[nodiscard]] GpuError error(const toml::source_region& where, const std::string& sentence) const {
        return GpuError(fmt::format("{}:{}:{}: {}", file_, where.begin.line, where.begin.column, sentence));
    }
    [[nodiscard]] GpuError error(const toml::node& where, const std::string& sentence) const {
        return error(where.source(), sentence);
    }

    void refuse_unknown(const toml::table& table, const std::string& prefix, std::vector<std::string_view> known,
                        bool with_numbers) const {
        if (with_numbers) {
            for (const GpuNumber& n : numbers()) known.emplace_back(n.key);
        }
        for (const auto& [key, value] : table) {
            if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
            throw error(key.source(), fmt::format("a GPU has no `{}{}`", prefix, key.str()));
        }
    }

    const toml::node& require(const toml::table& table, const char* key) const {
        const toml::node* node = table.get(key);
        if (node == nullptr) throw GpuError(fmt::format("{}: `{}` is missing", file_, key));
        return *node;
    }
    [[nodiscard]] std::string text(const toml::node& node, const char* key) const {
        if (const auto* string = node.as_string()) return string->get();
        throw error(node, fmt::format("`{}` is text, in quotes", key));
    }
    [[nodiscard]] const toml::array& list(const toml::node& node, const char* key) const {
        if (const auto* array = node.as_array()) return *array;
        throw error(node, fmt::format("`{}` is a list, in brackets", key));
    }
    [[nodiscard]] const toml::table& table(const toml::node& node, const char* key) const {
        if (const auto* table = node.as_table()) return *table;
        throw error(node, fmt::format("`{}` is a table", key));
    }
    [[nodiscard]] double number(const toml::node& node, const char* key, bool whole, bool zero) const {
        const auto value =
            node.is_integer() || (node.is_floating_point() && !whole) ? node.value<double>() : std::optional<double>();
        if (!value || *value > kLargestOfGpu || !(*value >= (zero ? 0 : kSmallestOfGpu))) {
            throw error(node,
                        fmt::format("`{}` is a {}{} number", key, zero ? "" : "positive ", whole ? "whole" : "finite"));
        }
        return *value;
    }

    void read_capability(Gpu& gpu) const {
        const toml::node& node = require(table_, "compute_capability");
        const std::string version = text(node, "compute_capability");
        const char* const end = version.data() + version.size();
        const auto [dot, bad_major] = std::from_chars(version.data(), end, gpu.capability_major);
        const bool has_dot = bad_major == std::errc() && dot != end && *dot == '.';
        const auto [last, bad_minor] = std::from_chars(has_dot ? dot + 1 : end, end, gpu.capability_minor);
        if (!has_dot || bad_minor != std::errc() || last != end || gpu.capability_major < 1) {
            throw error(node, "`compute_capability` is text like \"9.0\"");
        }
    }

    /// Of what is left out, a number of clocks takes as many on this GPU; the rest is the same.
    void read_rates(Gpu& gpu) const {
        using Kind = RateMember::Kind;
        static const toml::table none;
        const toml::node* node = table_.get("time");
        const toml::table& rates = node != nullptr ? table(*node, "time") : none;
        std::vector<std::string_view> known;
        for (const RateMember& m : rate_members()) known.emplace_back(m.key);
        refuse_unknown(rates, "time.", known, false);
        for (const RateMember& m : rate_members()) {
            const toml::node* given = rates.get(m.key);
            if (given == nullptr && !is_measured_) {
                const double slower = m.kind == Kind::Clocks ? measured().clock_hz / gpu.clock_hz : 1;
                gpu.rates.*m.field = measured().rates.*m.field * slower;
                continue;
            }
            const bool is_time = m.kind == Kind::Time || m.kind == Kind::Clocks;
            const double value = rate(require(rates, m.key), m);
            gpu.rates.*m.field = is_time ? value / 1e6 : value;
        }
        check_losses(gpu.rates);
    }

    [[nodiscard]] double rate(const toml::node& node, const RateMember& member) const {
        using Kind = RateMember::Kind;
        const std::string key = fmt::format("time.{}", member.key);
        const bool has_zero = member.kind == Kind::Loss || member.kind == Kind::Power || member.kind == Kind::Time ||
                              member.kind == Kind::Clocks;
        const double value = number(node, key.c_str(), false, has_zero);
        if (member.kind == Kind::Part && value > 1) throw error(node, fmt::format("`{}` is at most 1", key));
        if (member.kind == Kind::Power && value > 4) throw error(node, fmt::format("`{}` is at most 4", key));
        if (member.kind == Kind::Exponent && value < 1) throw error(node, fmt::format("`{}` is at least 1", key));
        return value;
    }

    /// Something is left of every rate: by accesses of one byte (16 is 2 to the 4th), and where hardly a warp is at
    /// work.
    void check_losses(const GpuRates& r) const {
        const double few = std::max({r.few_warps_dram_loss, r.few_warps_l2_loss, r.register_tile_few_warps_dram_loss,
                                     r.register_tile_few_warps_l2_loss});
        if (4 * r.narrow_loss >= 1) {
            throw GpuError(fmt::format("{}: `time.narrow_loss` is below 1/4, or nothing would be left", file_));
        }
        if (few * r.enough_warps >= 1) {
            throw GpuError(
                fmt::format("{}: every loss by few warps times `time.enough_warps` is below 1, or nothing "
                            "would be left",
                            file_));
        }
    }

    void read_weights(Gpu& gpu, const toml::node& node) const {
        const toml::table& paper = table(node, "paper");
        refuse_unknown(paper, "paper.", {"weights"}, false);
        const toml::node& weights = require(paper, "weights");
        const toml::array& array = list(weights, "paper.weights");
        if (array.size() != 7) throw error(weights, "`paper.weights` are seven, w1 to w7");
        gpu.paper_weights.emplace();
        for (std::size_t i = 0; i < 7; ++i) {
            (*gpu.paper_weights)[i] = number(*array.get(i), "paper.weights", false, true);
        }
    }

    const toml::table& table_;
    const std::string& file_;
    const bool is_measured_;
};

}  // namespace

namespace {

Gpu parse(std::string_view text, const std::string& file, bool is_measured) {
    if (const auto at = control_character(text)) {
        throw GpuError(fmt::format("{}:{}: a control character, 0x{:02x}", file, at->line, at->code));
    }
    try {
        const toml::table table = toml::parse(text);
        return Reader(table, file, is_measured).run();
    } catch (const toml::parse_error& e) {
        throw GpuError(
            fmt::format("{}:{}:{}: {}", file, e.source().begin.line, e.source().begin.column, e.description()));
    }
}

}  // namespace

Gpu parse_gpu(std::string_view text, const std::string& file) {
    return parse(text, file, false);
}

std::vector<std::string> known_gpus() {
    std::vector<std::string> names;
    for (const std::string_view name : gpu_names()) names.emplace_back(name);
    std::sort(names.begin(), names.end());
    return names;
}

std::optional<Gpu> known_gpu(std::string_view name) {
    const auto text = gpu_file(name);
    if (!text) return std::nullopt;
    return parse(*text, fmt::format("gpus/{}.toml", name), name == kMeasured);
}

std::optional<Gpu> gpu_of_device(std::string_view device) {
    for (const std::string& name : known_gpus()) {
        Gpu gpu = *known_gpu(name);
        if (std::find(gpu.devices.begin(), gpu.devices.end(), device) != gpu.devices.end()) return gpu;
    }
    return std::nullopt;
}

Gpu default_gpu() {
    return known_gpu(kDefaultGpu).value();
}

}  // namespace pipec::fusion
