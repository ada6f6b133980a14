#include "runner/tile_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runner/memory_size.h"

namespace pipec::runner {

namespace {

/// Tiles are multiples of this in both dimensions, if they may be so large: of what TIFF files and Zarr arrays that
/// this program writes have, too.
constexpr std::int64_t kUnit = 512;
/// Tiles that are chosen here are no shorter than this in either dimension, unless the output is.
constexpr std::int64_t kSmallest = 16;
constexpr std::int64_t kMostTiles = 1'000'000;
/// Libraries, threads and the heap need some memory that nobody counts.
constexpr std::size_t kReserve = std::size_t{16} << 20;
/// On a GPU tiles take turns, so that there are some; below this it does not matter.
constexpr std::int64_t kTurns = 6;
/// An input with a smaller part of all that is needed is not what is too large.
constexpr std::size_t kNotable = 16;
constexpr double kSmallWork = 256e6;

std::int64_t round_up(std::int64_t n, std::int64_t to) {
    return (n + to - 1) / to * to;
}

std::size_t bytes_of(const Buffer& buffer, const Box& box) {
    return box.empty() ? 0 : byte_size(buffer.type, box.extents());
}

std::vector<Tiling::Output> tiled_outputs(const TileJob& job) {
    std::vector<Tiling::Output> result;
    for (std::size_t i = 0; i < job.outputs.size(); ++i) {
        const Buffer& buffer = job.library.buffers()[job.inputs.size() + i];
        if (job.outputs[i]) result.push_back({buffer, job.args.extents(buffer)});
    }
    return result;
}

}  // namespace

TilePlanner::TilePlanner(TileJob& job, const TileLimits& limits)
    : job_(job), limits_(limits), windows_(job.library), tiling_(tiled_outputs(job)) {
    job_.held.assign(job_.inputs.size(), "");
    find_held();
    own_ = fixed_host_ = resident_memory() + kReserve;
    for (std::size_t i = 0; i < job_.inputs.size(); ++i) {
        const std::size_t whole = bytes_of(job_.library.buffers()[i], whole_box(job_.inputs[i].view().extents()));
        if (!job_.held[i].empty()) {
            fixed_host_ += whole;
            fixed_device_ += whole;
        }
        fixed_host_ += job_.inputs[i].file_bytes();
    }
    check_held();
}

TileNeed TilePlanner::need(TileShape shape, TileShape at) {
    TileNeed result{WindowBoxes(job_.library.buffers().size()), 0};
    std::size_t output = 0;
    for (std::size_t i = 0; i < job_.outputs.size(); ++i) {
        if (job_.outputs[i]) result.boxes[job_.inputs.size() + i] = tiling_.window(output++, shape, at);
    }
    windows_.require(job_.args, result.boxes);
    for (std::size_t i = 0; i < job_.inputs.size(); ++i) {
        const InputView& view = job_.inputs[i].view();
        if (!job_.held[i].empty()) {
            result.boxes[i] = whole_box(view.extents());
        } else if (result.boxes[i]) {
            result.boxes[i] = view.of_whole_pixels(*result.boxes[i]);
        }
    }
    windows_.set(result.boxes);
    result.workspace = windows_.workspace_size(job_.args);
    return result;
}

void TilePlanner::find_held() {
    const TileShape one, whole = tiling_.whole();
    for (const std::int64_t row : {std::int64_t{0}, whole.rows / 2, whole.rows - 1}) {
        for (const std::int64_t column : {std::int64_t{0}, whole.columns / 2, whole.columns - 1}) {
            const TileNeed probe = need(one, {row, column});
            for (std::size_t i = 0; i < job_.inputs.size(); ++i) {
                if (!probe.boxes[i] || *probe.boxes[i] != whole_box(job_.inputs[i].view().extents())) continue;
                job_.held[i] = "a tile depends on all of it (a statistic, or places that data choose)";
            }
        }
    }
}

void TilePlanner::check_held() const {
    if (fixed_host_ <= limits_.memory && fixed_device_ <= limits_.device_memory) return;
    const bool host = fixed_host_ > limits_.memory;
    const std::size_t needed = host ? fixed_host_ : fixed_device_;
    if (host && own_ > limits_.memory) {
        throw run_error(fmt::format("{} of memory are too little: pipec-run and its libraries have {}",
                                    memory_text(limits_.memory), memory_text(own_ - kReserve)));
    }
    std::string message;
    bool has_parts = true;
    for (std::size_t i = 0; i < job_.inputs.size(); ++i) {
        const Buffer& buffer = job_.library.buffers()[i];
        const TiledInput& input = job_.inputs[i];
        const std::string newline = message.empty() ? "" : "\n  note: ";
        const std::size_t bytes = bytes_of(buffer, whole_box(input.view().extents()));
        if (!job_.held[i].empty() && bytes > needed / kNotable) {
            message += fmt::format("{}`{}` is needed as a whole, {}: {}", newline, buffer.name, memory_text(bytes),
                                   job_.held[i]);
        } else if (input.file_bytes() > needed / kNotable) {
            message += fmt::format("{}{}, {}: {}", newline, input.view().description(), memory_text(input.file_bytes()),
                                   input.file().whole);
            has_parts = false;
        }
    }
    throw run_error(fmt::format(
        "{}\n  note: {} {}; there are {}{}", message, host ? "with pipec-run itself that is" : "on the GPU that is",
        memory_text(needed), memory_text(host ? limits_.memory : limits_.device_memory),
        has_parts ? "" : "\n  note: .tif, .exr, .npy, .zarr and portable maps are read in parts"));
}

TilePlanner::Amount TilePlanner::amount(const TileNeed& need) const {
    Amount result;
    std::size_t windows = 0, held = 0, input_scratch = 0, output_scratch = 0;
    double work = static_cast<double>(need.workspace);
    for (std::size_t i = 0; i < need.boxes.size(); ++i) {
        if (!need.boxes[i]) continue;
        const std::size_t bytes = bytes_of(job_.library.buffers()[i], *need.boxes[i]);
        work += static_cast<double>(bytes);
        if (i >= job_.inputs.size()) {
            windows += bytes;
            output_scratch += job_.outputs[i - job_.inputs.size()]->scratch_bytes(*need.boxes[i]);
        } else if (!job_.held[i].empty()) {
            held = std::max(held, job_.inputs[i].scratch_bytes(*need.boxes[i]));
        } else {
            windows += bytes;
            input_scratch = std::max(input_scratch, job_.inputs[i].scratch_bytes(*need.boxes[i]));
            work += static_cast<double>(job_.inputs[i].bytes_read(*need.boxes[i]));
        }
    }
    const auto slots = static_cast<std::size_t>(limits_.slots);
    result.host = fixed_host_ + slots * windows + std::max(held, input_scratch) + output_scratch;
    if (limits_.on_gpu) {
        result.device = fixed_device_ + slots * (windows + need.workspace);
    } else {
        result.host += need.workspace;
    }
    result.work = work;
    return result;
}

bool TilePlanner::fits(const Amount& amount) const {
    return amount.host <= limits_.memory && amount.device <= limits_.device_memory;
}

TilePlanner::Amount TilePlanner::sample(TileShape shape) {
    const TileShape counts = tiling_.counts(shape);
    Amount most;
    for (const std::int64_t row : {std::int64_t{0}, counts.rows / 2, counts.rows - 1}) {
        for (const std::int64_t column : {std::int64_t{0}, counts.columns / 2, counts.columns - 1}) {
            const Amount one = amount(need(shape, {row, column}));
            most.host = std::max(most.host, one.host);
            most.device = std::max(most.device, one.device);
            most.work = std::max(most.work, one.work);
        }
    }
    return most;
}

std::optional<std::int64_t> TilePlanner::most_rows(std::int64_t columns) {
    const std::int64_t rows = tiling_.whole().rows;
    const auto good = [&](std::int64_t n) { return fits(sample({n, columns})); };
    if (good(rows)) return rows;
    for (std::int64_t few = std::min(kUnit, round_up(rows, kSmallest)); few >= kSmallest; few /= 2) {
        if (!good(few)) continue;
        if (few < kUnit) return few;
        std::int64_t least = 1, most = round_up(rows, kUnit) / kUnit;  // in units: good, and not good
        while (most - least > 1) {
            const std::int64_t middle = least + (most - least) / 2;
            (good(middle * kUnit) ? least : most) = middle;
        }
        return least * kUnit;
    }
    return std::nullopt;
}

std::optional<TilePlan> TilePlanner::try_plan(TileShape shape) {
    shape = {std::min(shape.rows, tiling_.whole().rows), std::min(shape.columns, tiling_.whole().columns)};
    TilePlan plan{shape, tiling_.counts(shape), std::vector<std::size_t>(job_.library.buffers().size()), 0};
    if (plan.counts.rows > kMostTiles / plan.counts.columns) {
        throw usage_error(
            fmt::format("--tiles {}x{}: that would be more than {} tiles", shape.rows, shape.columns, kMostTiles));
    }
    TileShape at{0, 0};
    for (at.rows = 0; at.rows < plan.counts.rows; ++at.rows) {
        for (at.columns = 0; at.columns < plan.counts.columns; ++at.columns) {
            const TileNeed one = need(shape, at);
            if (!fits(amount(one))) return std::nullopt;
            for (std::size_t i = 0; i < one.boxes.size(); ++i) {
                if (!one.boxes[i] || (i < job_.held.size() && !job_.held[i].empty())) continue;
                plan.buffer_bytes[i] =
                    std::max(plan.buffer_bytes[i], bytes_of(job_.library.buffers()[i], *one.boxes[i]));
            }
            plan.workspace_bytes = std::max(plan.workspace_bytes, one.workspace);
        }
    }
    return plan;
}

TilePlan TilePlanner::choose() {
    const TileShape whole = tiling_.whole();
    struct Candidate {
        TileShape shape;
        double work;
    };
    std::vector<Candidate> candidates;
    std::int64_t columns = whole.columns;
    for (std::int64_t parts = 1; columns >= 1; parts *= 2) {
        if (std::optional<std::int64_t> rows = most_rows(columns)) {
            // As many tiles as that makes, of about the same size.
            const std::int64_t below = tiling_.counts({*rows, columns}).rows;
            const std::int64_t even = round_up((whole.rows + below - 1) / below, std::min(*rows, kUnit));
            TileShape shape{std::min(*rows, even), columns};
            const auto count = [&] {
                const TileShape counts = tiling_.counts(shape);
                return static_cast<double>(counts.rows * counts.columns);
            };
            if (limits_.on_gpu && sample(shape).work * count() > kSmallWork) {
                shape.rows = std::min(shape.rows, round_up(std::max<std::int64_t>(whole.rows / kTurns, 1), kUnit));
            }
            candidates.push_back({shape, sample(shape).work * count()});
        }
        if (columns <= kSmallest) break;
        const std::int64_t next = round_up((whole.columns + 2 * parts - 1) / (2 * parts), kUnit);
        columns = next < columns ? next : std::max(columns / 2, kSmallest);
    }
    // The widest of those that do not clearly more than the least work: files like whole rows. Then the others.
    constexpr double kClearly = 1.1;
    double least_work = std::numeric_limits<double>::infinity();
    for (const Candidate& candidate : candidates) least_work = std::min(least_work, candidate.work);
    const auto first = std::find_if(candidates.begin(), candidates.end(),
                                    [&](const Candidate& c) { return c.work <= kClearly * least_work; });
    if (first != candidates.end()) std::rotate(candidates.begin(), first, first + 1);
    for (const Candidate& candidate : candidates) {
        // What a sample does not show: fewer rows, then.
        for (std::int64_t rows = candidate.shape.rows; rows >= 1; rows /= 2) {
            if (auto plan = try_plan({rows, candidate.shape.columns})) return *std::move(plan);
        }
    }
    const TileShape least{std::min(kSmallest, whole.rows), std::min(kSmallest, whole.columns)};
    throw too_large(least, "the least tile");
}

TilePlan TilePlanner::with(TileShape shape) {
    if (auto plan = try_plan(shape)) return *std::move(plan);
    throw too_large(shape, fmt::format("--tiles {}x{}: a tile", shape.rows, shape.columns));
}

Error TilePlanner::too_large(TileShape shape, const std::string& what) {
    const Amount amount =
        sample({std::min(shape.rows, tiling_.whole().rows), std::min(shape.columns, tiling_.whole().columns)});
    if (amount.host <= limits_.memory && amount.device > limits_.device_memory) {
        return run_error(fmt::format("{} needs {} on the GPU, which has {}", what, memory_text(amount.device),
                                     memory_text(limits_.device_memory)));
    }
    return run_error(
        fmt::format("{} needs {}, {} of them for the program and for what is needed as a whole; there are {}", what,
                    memory_text(amount.host), memory_text(fixed_host_), memory_text(limits_.memory)));
}

}  // namespace pipec::runner
