#include "codegen/emit/host/host_runtime.h"

namespace pipec::codegen {

// clang-format off

std::vector<Piece> host_runtime() {
    return {
        {"", R"text(// ---- Boxes
)text"},
        {"Box", R"text(// Points with lo[d] <= index[d] < hi[d].
template <int rank>
struct Box {
    int32_t lo[rank], hi[rank];
};
)text"},
        {"within", R"text(// The nearest place to `at` from `lo` to `hi`; `lo` where there is none.
[[maybe_unused]] int32_t within(int64_t at, int32_t lo, int32_t hi) {
    return at <= lo ? lo : at < hi ? static_cast<int32_t>(at) : hi < lo ? lo : hi;
}
)text"},
        {"domain_of_output", R"text(// Where an output is computed.
template <int rank>
[[maybe_unused]] Box<rank> domain_of_output(const Array& array) {
    Box<rank> box{};
    for (int d = 0; d < rank; ++d) box.hi[d] = static_cast<int32_t>(array.extent[d]);
    return box;
}
)text"},
        {"domain_of_stage", R"text(// Where a stage in the workspace is computed.
template <int rank>
[[maybe_unused]] Box<rank> domain_of_stage(const Space& space) {
    Box<rank> box{};
    for (int d = 0; d < rank; ++d) box.lo[d] = space.lo[d], box.hi[d] = space.hi[d];
    return box;
}
)text"},
        {"piece_size", R"text(// The sizes of pieces of about so many points. `order`: dimensions from the outermost one in memory.
template <int rank>
[[maybe_unused]] Box<rank> piece_size(const Box<rank>& box, const int (&order)[rank], int64_t points) {
    Box<rank> size{};
    for (int i = rank - 1; i >= 0; --i) {
        const int d = order[i];
        const int64_t extent = std::max(int64_t{box.hi[d]} - box.lo[d], int64_t{1});
        const int64_t taken = std::max(std::min(extent, points), int64_t{1});
        size.hi[d] = static_cast<int32_t>(taken);
        points = (points + taken - 1) / taken;
    }
    return size;
}
)text"},
        {"lines_size", R"text(// The same for pieces that have all of the first `whole` dimensions of `order`.
template <int rank>
[[maybe_unused]] Box<rank> lines_size(const Box<rank>& box, const int (&order)[rank], int whole, int64_t points,
                                      int64_t least_lines) {
    const auto extent = [&](int i) { return std::max(int64_t{box.hi[order[i]]} - box.lo[order[i]], int64_t{1}); };
    for (int i = 0; i < whole; ++i) points /= extent(i);
    Box<rank> size = piece_size(box, order, std::max(points, least_lines));
    for (int i = 0; i < whole; ++i) size.hi[order[i]] = static_cast<int32_t>(extent(i));
    return size;
}
)text"},
        {"most_threads", R"text(constexpr int most_threads = 256;  // of a launch
)text"},
        {"Crew", R"text(// The threads of a launch. They begin with the first loop that is shared, and are gone when the launch returns.
// Whoever waits sleeps, and nobody waits for a thread that has not come yet: a core that another program has taken
// costs its part of the time and no more.
class Crew {
public:
    explicit Crew(int threads) : most_(std::max(1, std::min(threads, most_threads))) {}
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    // Calls `work(item, thread)` for each item; a thread takes the next one that is left.
    template <class Work>
    void share(int64_t count, const Work& work) {
        share(count, &work, [](const void* of, int64_t item, int thread) {
            (*static_cast<const Work*>(of))(item, thread);
        });
    }

    // The last call: no destructor, so that C programs need no library of C++.
    void end() {
#ifdef _OPENMP
        pthread_mutex_lock(&mutex_);
        over_ = true;
        pthread_cond_broadcast(&ready_);
        pthread_mutex_unlock(&mutex_);
        for (int i = 0; i < begun_; ++i) pthread_join(helpers_[i].thread, nullptr);
        pthread_cond_destroy(&ready_), pthread_cond_destroy(&done_), pthread_mutex_destroy(&mutex_);
#endif
    }

private:
    using Step = void (*)(const void* work, int64_t item, int thread);
    int most_;
    void share(int64_t count, const void* work, Step step) {
#ifdef _OPENMP
        if (most_ > 1 && count > 1) return run(count, work, step);
#endif
        for (int64_t item = 0; item < count; ++item) step(work, item, 0);
    }
#ifdef _OPENMP
    struct Helper {
        Crew* crew;
        int number;
        pthread_t thread;
    };
    void take(int thread) {
        for (int64_t item; (item = next_.fetch_add(1)) < count_;) step_(work_, item, thread);
    }
    void run(int64_t count, const void* work, Step step) {
        pthread_mutex_lock(&mutex_);
        count_ = count, work_ = work, step_ = step, next_ = 0, open_ = true;
        begin_another();
        pthread_cond_broadcast(&ready_);
        pthread_mutex_unlock(&mutex_);
        take(0);
        pthread_mutex_lock(&mutex_);
        open_ = false;
        while (busy_ > 0) pthread_cond_wait(&done_, &mutex_);
        pthread_mutex_unlock(&mutex_);
    }
    // Each that has come begins two more, as long as there is work for them.
    void begin_another() {
        if (begun_ + 1 >= most_ || begun_ + 1 >= count_ || next_ >= count_) return;
        Helper& helper = helpers_[begun_];
        helper.crew = this, helper.number = begun_ + 1;
        if (pthread_create(&helper.thread, nullptr, [](void* of) -> void* {
                static_cast<Helper*>(of)->crew->help(static_cast<Helper*>(of)->number);
                return nullptr;
            }, &helper) == 0) {
            ++begun_;
        } else {
            most_ = begun_ + 1;
        }
    }
    void help(int thread) {
        pthread_mutex_lock(&mutex_);
        for (;;) {
            while (!over_ && !(open_ && next_ < count_)) pthread_cond_wait(&ready_, &mutex_);
            if (over_) break;
            ++busy_;
            begin_another(), begin_another();
            pthread_mutex_unlock(&mutex_);
            take(thread);
            pthread_mutex_lock(&mutex_);
            if (--busy_ == 0) pthread_cond_signal(&done_);
        }
        pthread_mutex_unlock(&mutex_);
    }
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;  // of all that is below
    pthread_cond_t ready_ = PTHREAD_COND_INITIALIZER, done_ = PTHREAD_COND_INITIALIZER;
    int begun_ = 0, busy_ = 0;
    bool open_ = false, over_ = false;
    int64_t count_ = 0;
    const void* work_ = nullptr;
    Step step_ = nullptr;
    std::atomic<int64_t> next_{0};
    Helper helpers_[most_threads];
#endif
};
)text"},
        {"for_pieces", R"text(// Cuts a box into pieces, and computes each of them.
template <int rank, class Compute>
[[maybe_unused]] void for_pieces(Crew& crew, const Box<rank>& box, const Box<rank>& size, const Compute& compute) {
    int64_t count[rank], pieces = 1;
    for (int d = 0; d < rank; ++d) {
        const int64_t extent = int64_t{box.hi[d]} - box.lo[d];
        count[d] = extent <= 0 ? 0 : (extent + size.hi[d] - 1) / size.hi[d];
        pieces *= count[d];
    }
    crew.share(pieces, [&](int64_t piece, int) {
        Box<rank> part{};
        int64_t rest = piece;
        for (int d = rank - 1; d >= 0; --d) {
            const int64_t from = box.lo[d] + rest % count[d] * size.hi[d];
            rest /= count[d];
            part.lo[d] = static_cast<int32_t>(from);
            part.hi[d] = static_cast<int32_t>(std::min(from + size.hi[d], int64_t{box.hi[d]}));
        }
        compute(part);
    });
}
)text"},
        {"bound", R"text(// Notes where a stage is computed that only tiles hold.
[[maybe_unused]] pipe_status bound(Report& report, const char* stage, int rank, const int64_t (*box)[2], Space& space) {
    if (const pipe_status status = check_box(report, stage, rank, box)) return status;
    for (int d = 0; d < rank; ++d) {
        space.lo[d] = static_cast<int32_t>(box[d][0]);
        space.hi[d] = static_cast<int32_t>(std::max(box[d][0], box[d][1]));
    }
    return PIPE_OK;
}
)text"},
        {"max_threads", R"text(// As many as OpenMP would take here: one inside of a parallel region.
[[maybe_unused]] int max_threads() {
#ifdef _OPENMP
    if (omp_get_active_level() >= omp_get_max_active_levels()) return 1;
    return std::max(1, std::min(omp_get_max_threads(), most_threads));
#else
    return 1;
#endif
}
)text"},
        {"threads_of", R"text(// The threads for which the workspace has memory.
[[maybe_unused]] int threads_of(size_t bytes, size_t of_thread) {
    return static_cast<int>(std::min(bytes / of_thread, static_cast<size_t>(max_threads())));
}
)text"},
        {"clip", R"text(// The points from `first` on that are in the box.
template <int rank>
[[maybe_unused]] void clip(Box<rank>& box, int d, int64_t first, int64_t count) {
    const int64_t lo = std::max(first, int64_t{box.lo[d]}), hi = std::min(first + count, int64_t{box.hi[d]});
    box.lo[d] = static_cast<int32_t>(std::min(lo, int64_t{box.hi[d]}));
    box.hi[d] = static_cast<int32_t>(std::max(hi, int64_t{box.lo[d]}));
}
)text"},
        {"extend", R"text(// Makes a range of a group's coordinates hold the points of an output; tiles begin at multiples of `unit`.
[[maybe_unused]] void extend(int64_t& from, int64_t& to, int32_t lo, int32_t hi, int64_t scale, int64_t unit) {
    const int64_t first = lo * scale;
    from = std::min(from, first - (first % unit + unit) % unit);
    to = std::max(to, (int64_t{hi} - 1) * scale + 1);
}
)text"},
        {"for_tiles", R"text(// Calls `compute(first, thread)` for each tile.
template <int rank, class Compute>
[[maybe_unused]] void for_tiles(Crew& crew, const int64_t (&from)[rank], const int64_t (&to)[rank],
                                const int64_t (&size)[rank], const Compute& compute) {
    int64_t count[rank], tiles = 1;
    for (int d = 0; d < rank; ++d) {
        count[d] = to[d] <= from[d] ? 0 : (to[d] - from[d] + size[d] - 1) / size[d];
        tiles *= count[d];
    }
    crew.share(tiles, [&](int64_t tile, int thread) {
        int64_t first[rank], rest = tile;
        for (int d = rank - 1; d >= 0; --d) {
            first[d] = from[d] + rest % count[d] * size[d];
            rest /= count[d];
        }
        compute(first, thread);
    });
}
)text"},
    };
}

// clang-format on

const std::vector<std::string_view>& host_runtime_names() {
    static const std::vector<std::string_view> kNames = {"Box",
                                                         "Crew",
                                                         "bound",
                                                         "box",
                                                         "clip",
                                                         "crew",
                                                         "domain_of_output",
                                                         "domain_of_stage",
                                                         "extend",
                                                         "first",
                                                         "for_pieces",
                                                         "for_tiles",
                                                         "from",
                                                         "lines_size",
                                                         "max_threads",
                                                         "memory",
                                                         "most_threads",
                                                         "order",
                                                         "piece",
                                                         "piece_size",
                                                         "scratch",
                                                         "size",
                                                         "thread",
                                                         "threads",
                                                         "threads_of",
                                                         "to",
                                                         "within"};
    return kNames;
}

}  // namespace pipec::codegen
