// The cells of shadow memory against the definition: random histories of one byte, in which two lanes of each of two
// warps read, write, count and wait. Whatever is reported must be a race, and every first race must be reported.
#include "engine/shadow.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace simt {
namespace {

constexpr std::array<unsigned, 4> lanes{0, 1, 32, 33};
using Clocks = std::array<int, 4>;

struct Event {
    int lane;
    Access access;
    int time;  // of the lane, by its own count
};

// The definition: all that was done, and what each lane has seen of the others, as vector clocks.
class Definition {
public:
    [[nodiscard]] bool races(int lane, Access access) const {
        for (const Event& e : events_) {
            const bool harmless = e.access == access && access != Access::Write;
            if (!harmless && e.lane != lane && seen_[lane][e.lane] < e.time) return true;
        }
        return false;
    }
    void add(int lane, Access access) { events_.push_back({lane, access, ++seen_[lane][lane]}); }
    void join(const std::vector<int>& members) {
        Clocks all{};
        for (const int m : members) {
            for (int i = 0; i < 4; ++i) all[i] = std::max(all[i], seen_[m][i]);
        }
        for (const int m : members) seen_[m] = all;
    }

private:
    std::vector<Event> events_;
    std::array<Clocks, 4> seen_{};
};

// The same, as the emulator keeps it.
class Shadow {
public:
    Shadow() {
        cell_.write = written_by_host;
        new_era();
        for (View& view : views_) view.settled = view.block = view.era;
    }
    bool races(int lane, Access access) {
        const View& view = views_[lane];
        const Space space{view.settled, unwritten, written_by_host};
        const Verdict verdict = access == Access::Read    ? touch<Access::Read>(cell_, view, space, 1)
                                : access == Access::Write ? touch<Access::Write>(cell_, view, space, 1)
                                                          : touch<Access::Atomic>(cell_, view, space, 1);
        return verdict != Verdict::Fine;
    }
    void new_era() {
        ++era_;
        for (int i = 0; i < 4; ++i) {
            views_[i].now = era_begin(era_) | lanes[i];
            views_[i].era = era_begin(era_);
            views_[i].seen = {};
        }
    }
    void join_warp(int warp) {
        View &a = views_[2 * warp], &b = views_[2 * warp + 1];
        a.seen[0] = b.seen[0] = clock_of(a.now) + 1;
        a.seen[1] = b.seen[1] = clock_of(b.now) + 1;
        for (View* view : {&a, &b}) view->now += Record(1) << clock_shift;
    }

private:
    Cell cell_{};
    std::array<View, 4> views_{};
    std::uint32_t era_ = 1;
};

TEST(Shadow, ReportsFirstRacesAndNothingElse) {
    std::mt19937 random(11);
    int races = 0;
    for (int history = 0; history < 200000; ++history) {
        Definition definition;
        Shadow shadow;
        std::string text;
        for (int step = 0; step < 12; ++step) {
            const auto choice = random() % 10;
            if (choice == 0) {
                definition.join({0, 1, 2, 3});
                shadow.new_era();
                text += " block";
            } else if (choice <= 3) {
                const int warp = static_cast<int>(random() % 2);
                definition.join({2 * warp, 2 * warp + 1});
                shadow.join_warp(warp);
                text += " warp" + std::to_string(warp);
            } else {
                const int lane = static_cast<int>(random() % 4);
                const Access access = choice <= 4 ? Access::Write : choice <= 6 ? Access::Atomic : Access::Read;
                text += " " + std::to_string(lane) + "RWA"[static_cast<int>(access)];
                const bool expected = definition.races(lane, access);
                ASSERT_EQ(shadow.races(lane, access), expected) << text;
                if (expected) {
                    ++races;
                    break;
                }
                definition.add(lane, access);
            }
        }
    }
    EXPECT_GT(races, 50000);
}

}  // namespace
}  // namespace simt
