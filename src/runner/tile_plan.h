// Which tiles a run is made of, so that what they need fits the memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/tile_buffers.h"
#include "runner/tiling.h"
#include "runner/windows.h"

namespace pipec::runner {

/// What a run in tiles is about. Vectors are by the pipeline's buffers, inputs first.
struct TileJob {
    const Library& library;
    Arguments args;  ///< with the extents of whole images, and strides of 0
    std::vector<TiledInput> inputs = {};
    std::vector<std::optional<TiledOutput>> outputs = {};  ///< none: not asked for
    /// Why an input is needed as a whole; empty: it is not.
    std::vector<std::string> held = {};
};

/// What a run may use.
struct TileLimits {
    std::size_t memory = SIZE_MAX;         ///< of the host, with all that this process has
    std::size_t device_memory = SIZE_MAX;  ///< of a GPU
    bool on_gpu = false;                   ///< the workspace and copies of windows are in the GPU's memory
    int slots = 1;                         ///< tiles that are under way at the same time
};

/// What one tile needs.
struct TileNeed {
    WindowBoxes boxes;  ///< of inputs that are held: all of them
    std::size_t workspace = 0;
};

struct TilePlan {
    TileShape shape;
    TileShape counts;
    std::vector<std::size_t> buffer_bytes;  ///< of the largest window; 0 for inputs that are held
    std::size_t workspace_bytes = 0;
};

class TilePlanner {
public:
    /// Finds out which inputs are needed as a whole (job.held). Throws Error, also where these do not fit.
    TilePlanner(TileJob& job, const TileLimits& limits);

    /// Tiles that fit, and of those the ones for which the least is read and computed. Throws Error where none fits.
    [[nodiscard]] TilePlan choose();
    /// With tiles of this shape. Throws Error where they do not fit.
    [[nodiscard]] TilePlan with(TileShape shape);

    [[nodiscard]] TileNeed need(TileShape shape, TileShape at);
    [[nodiscard]] const Windows& windows() const { return windows_; }

private:
    struct Amount {
        std::size_t host = 0, device = 0;
        double work = 0;  ///< bytes read, written and computed
    };
    [[nodiscard]] Amount amount(const TileNeed& need) const;
    [[nodiscard]] bool fits(const Amount& amount) const;
    /// The greatest of some tiles from the corners and the middle.
    [[nodiscard]] Amount sample(TileShape shape);
    /// The most rows, of those that candidates have, with which a tile of these columns fits.
    [[nodiscard]] std::optional<std::int64_t> most_rows(std::int64_t columns);
    /// The plan, where all of its tiles fit.
    [[nodiscard]] std::optional<TilePlan> try_plan(TileShape shape);
    void find_held();
    void check_held() const;
    [[nodiscard]] Error too_large(TileShape shape, const std::string& what);

    TileJob& job_;
    TileLimits limits_;
    Windows windows_;
    Tiling tiling_;
    std::size_t own_ = 0;                            ///< of this process, before it reads anything
    std::size_t fixed_host_ = 0, fixed_device_ = 0;  ///< whatever the tiles are
};

}  // namespace pipec::runner
