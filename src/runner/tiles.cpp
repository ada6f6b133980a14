// The steps of a run in tiles, in their order.
#include "runner/tiles.h"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "runner/memory_size.h"
#include "runner/tile_device.h"
#include "runner/tile_plan.h"

namespace pipec::runner {

namespace {

using Clock = std::chrono::steady_clock;

/// Adds the time that it lives to a sum.
class Timer {
public:
    explicit Timer(double& milliseconds) : milliseconds_(milliseconds) {}
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;
    ~Timer() { milliseconds_ += std::chrono::duration<double, std::milli>(Clock::now() - start_).count(); }

private:
    double& milliseconds_;
    Clock::time_point start_ = Clock::now();
};

/// A line that says how far it is, where a person watches.
class Progress {
public:
    Progress(std::string what, std::int64_t count, bool quiet)
        : what_(std::move(what)), count_(count), watched_(!quiet && isatty(STDERR_FILENO) != 0) {}
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress() {
        if (watched_) std::fputs("\r\033[K", stderr);
    }
    void show(std::int64_t tile) const {
        if (watched_) std::fprintf(stderr, "\r%s: tile %ld of %ld", what_.c_str(), tile + 1, count_);
    }

private:
    std::string what_;
    std::int64_t count_;
    bool watched_;
};

/// One run.
class Run {
public:
    Run(const Library& library, const Options& options)
        : options_(options), files_(bindings(library, options)), job_{library, Arguments(library.info())} {
        set_scalars(library, options, job_.args);
        set_sizes(library, options, job_.args);
        open_files();
    }

    Report execute() {
        // Freed parts go back to the system at once, so that they are not counted twice.
        constexpr int kLarge = 1 << 20;
        mallopt(M_MMAP_THRESHOLD, kLarge);
        const Library& library = job_.library;
        device_ = open_tile_device(options_.device, library.info());
        TilePlanner planner(job_, limits());
        const auto shape = parse_tile_shape(options_.tiles);
        const TilePlan plan = shape ? planner.with(*shape) : planner.choose();
        device_->reserve(plan.buffer_bytes, plan.workspace_bytes);
        begin_report(plan);
        hold_inputs();
        for (auto& output : job_.outputs) {
            if (output) output->create();
        }
        run_tiles(planner, plan);
        finish();
        return std::move(report_);
    }

private:
    [[nodiscard]] const Buffer& buffer(std::size_t i) const { return job_.library.buffers()[i]; }
    [[nodiscard]] std::size_t inputs() const { return job_.inputs.size(); }

    void open_files() {
        const Library& library = job_.library;
        std::vector<std::string> notes;
        for (const Buffer& input : select(library, false)) {
            job_.inputs.emplace_back(input, files_[input.name]);
            job_.args.set_extents(input, job_.inputs.back().view().extents());
            notes.push_back(job_.inputs.back().view().description());
        }
        if (library.info().resolve(job_.args.get()) != abi::PIPE_OK) throw refused(library, job_.args, notes);
        bool any = false;
        for (const Buffer& output : select(library, true)) {
            const FileBinding& binding = files_[output.name];
            auto& place = job_.outputs.emplace_back();
            if (!binding.path.empty()) place.emplace(output, binding, job_.args.extents(output));
            any = any || place;
        }
        if (!any) throw usage_error("--tiles computes what is written: give `--out NAME=FILE`");
        // Windows are dense; resolve() has filled in the strides of whole images.
        for (const Buffer& each : library.buffers()) job_.args.set_strides(each, Extents(each.rank(), 0));
    }

    [[nodiscard]] TileLimits limits() const {
        TileLimits limits;
        const std::optional<std::size_t> memory = parse_memory(options_.memory);
        if (memory || !parse_tile_shape(options_.tiles)) limits.memory = memory.value_or(machine_memory() / 2);
        limits.device_memory = device_->free_memory();
        limits.on_gpu = device_->on_gpu();
        limits.slots = device_->slots();
        return limits;
    }

    void begin_report(const TilePlan& plan) {
        const abi::pipe_info& info = job_.library.info();
        report_ = {info.name, info.target, device_->name(), {}, {0}, plan.workspace_bytes};
        report_.tiles = TilesReport{plan.counts.rows * plan.counts.columns, plan.shape.rows, plan.shape.columns};
        for (std::size_t i = 0; i < job_.library.buffers().size(); ++i) {
            const Buffer& b = buffer(i);
            ir::Type file_type = b.type;
            if (i < inputs()) file_type = job_.inputs[i].file().type;
            if (i >= inputs() && job_.outputs[i - inputs()]) file_type = job_.outputs[i - inputs()]->view().file_type();
            report_.buffers.push_back(
                {b.name, b.is_output, b.type, job_.args.extents(b), files_[b.name].path, file_type});
        }
    }

    void hold_inputs() {
        for (std::size_t i = 0; i < inputs(); ++i) {
            if (job_.held[i].empty()) continue;
            const Timer timer(report_.buffers[i].milliseconds);
            const Box all = whole_box(job_.inputs[i].view().extents());
            Memory memory(byte_size(buffer(i).type, all.extents()));
            job_.inputs[i].read(all, memory.data());
            job_.inputs[i].close();
            job_.args.set_data(buffer(i), device_->keep(std::move(memory)));
        }
    }

    void run_tiles(TilePlanner& planner, const TilePlan& plan) {
        const Progress progress(report_.pipeline, report_.tiles->count, options_.quiet || options_.json);
        const auto slots = static_cast<std::size_t>(device_->slots());
        std::vector<std::optional<TileNeed>> under_way(slots);
        for (std::int64_t tile = 0; tile < report_.tiles->count; ++tile) {
            progress.show(tile);
            const auto slot = static_cast<std::size_t>(tile) % slots;
            complete(under_way[slot], slot);
            under_way[slot] = planner.need(plan.shape, {tile / plan.counts.columns, tile % plan.counts.columns});
            start(*under_way[slot], slot, planner.windows());
        }
        for (std::int64_t tile = report_.tiles->count; tile < report_.tiles->count + device_->slots(); ++tile) {
            const auto slot = static_cast<std::size_t>(tile) % slots;
            complete(under_way[slot], slot);
        }
    }

    void start(const TileNeed& tile, std::size_t slot, const Windows& windows) {
        TileDevice::Launch launch{job_.library.info(), windows.info(), job_.args.get(), windows.get(), tile.workspace};
        for (std::size_t i = 0; i < tile.boxes.size(); ++i) {
            const bool held = i < inputs() && !job_.held[i].empty();
            if (held || !tile.boxes[i]) continue;
            const std::size_t bytes = byte_size(buffer(i).type, tile.boxes[i]->extents());
            job_.args.set_data(buffer(i), device_->address(static_cast<int>(slot), i));
            if (i >= inputs()) {
                launch.out.push_back({i, bytes});
                continue;
            }
            const Timer timer(report_.buffers[i].milliseconds);
            job_.inputs[i].read(*tile.boxes[i], device_->host(static_cast<int>(slot), i));
            launch.in.push_back({i, bytes});
        }
        const abi::pipe_status status = device_->start(static_cast<int>(slot), launch);
        if (status != abi::PIPE_OK) throw windows.refused(job_.args, status);
    }

    /// Waits for the tile in a slot, if there is one, and writes it.
    void complete(std::optional<TileNeed>& tile, std::size_t slot) {
        if (!tile) return;
        report_.run_milliseconds.front() += device_->finish(static_cast<int>(slot));
        for (std::size_t o = 0; o < job_.outputs.size(); ++o) {
            const std::optional<Box>& box = tile->boxes[inputs() + o];
            if (!box) continue;
            const Timer timer(report_.buffers[inputs() + o].milliseconds);
            job_.outputs[o]->write(*box, device_->host(static_cast<int>(slot), inputs() + o));
        }
        tile.reset();
    }

    void finish() {
        std::vector<PendingFile> pending;
        for (std::size_t o = 0; o < job_.outputs.size(); ++o) {
            if (!job_.outputs[o]) continue;
            BufferReport& report = report_.buffers[inputs() + o];
            const Timer timer(report.milliseconds);
            pending.push_back(job_.outputs[o]->finish());
            job_.outputs[o]->tell(report, report_.warnings);
        }
        commit(pending);
    }

    const Options& options_;
    Bindings files_;
    TileJob job_;
    std::unique_ptr<TileDevice> device_;
    Report report_;
};

}  // namespace

Report execute_in_tiles(const Library& library, const Options& options) {
    return Run(library, options).execute();
}

}  // namespace pipec::runner
