// The report of a run as text and as JSON.
#include "runner/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pipec::runner {

namespace {

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double least(const std::vector<double>& values) {
    return *std::min_element(values.begin(), values.end());
}

std::string type_text(const BufferReport& buffer) {
    return fmt::format("{}[{}]", ir::name(buffer.type), fmt::join(buffer.extents, ", "));
}

nlohmann::json buffer_json(const BufferReport& buffer) {
    nlohmann::json result = {{"name", buffer.name}, {"type", ir::name(buffer.type)}, {"extents", buffer.extents}};
    if (buffer.different) result["different"] = *buffer.different;
    if (buffer.file.empty()) return result;
    result["file"] = buffer.file;
    result["file_type"] = ir::name(buffer.file_type);
    if (!buffer.least.empty()) {
        result["least"] = buffer.least;
        result["greatest"] = buffer.greatest;
    }
    result[buffer.is_output ? "save_ms" : "load_ms"] = buffer.milliseconds;
    return result;
}

}  // namespace

std::string text(const Report& report) {
    std::size_t name_width = 0, type_width = 0;
    for (const BufferReport& buffer : report.buffers) {
        name_width = std::max(name_width, buffer.name.size());
        type_width = std::max(type_width, type_text(buffer).size());
    }
    std::string result;
    const auto rows = [&](bool outputs) {
        for (const BufferReport& buffer : report.buffers) {
            if (buffer.is_output != outputs) continue;
            result += fmt::format("{:<5}{:<{}}  {:<{}}", outputs ? "save" : "load", buffer.name, name_width,
                                  type_text(buffer), type_width);
            if (buffer.file.empty()) {
                result += "  not saved\n";
            } else {
                result +=
                    fmt::format("  {:9.2f} ms  {} ({})", buffer.milliseconds, buffer.file, ir::name(buffer.file_type));
                if (!buffer.least.empty()) result += fmt::format(", {} to {}", buffer.least, buffer.greatest);
                result += '\n';
            }
        }
    };
    rows(false);
    const std::vector<double>& runs = report.run_milliseconds;
    result += fmt::format("{:<5}{:<{}}  {:9.2f} ms  on {}", "run", report.pipeline, name_width + 2 + type_width,
                          least(runs), report.device);
    if (runs.size() > 1) result += fmt::format("; least of {}, median {:.2f} ms", runs.size(), median(runs));
    if (report.tiles) {
        result += fmt::format("; {} tile{} of {} x {}", report.tiles->count, report.tiles->count == 1 ? "" : "s",
                              report.tiles->rows, report.tiles->columns);
    } else if (runs.size() == 1) {
        result += "; a first run, `--repeat 20` times it";
    }
    result += '\n';
    rows(true);
    return result;
}

std::string json(const Report& report) {
    nlohmann::json result = {{"pipeline", report.pipeline},
                             {"target", report.target},
                             {"device", report.device},
                             {"inputs", nlohmann::json::array()},
                             {"outputs", nlohmann::json::array()},
                             {"run_ms", report.run_milliseconds},
                             {"min_ms", least(report.run_milliseconds)},
                             {"median_ms", median(report.run_milliseconds)},
                             {"workspace_bytes", report.workspace_bytes}};
    if (report.tiles) {
        result["tiles"] = {
            {"count", report.tiles->count}, {"rows", report.tiles->rows}, {"columns", report.tiles->columns}};
    }
    for (const BufferReport& buffer : report.buffers) {
        result[buffer.is_output ? "outputs" : "inputs"].push_back(buffer_json(buffer));
    }
    return result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace pipec::runner
