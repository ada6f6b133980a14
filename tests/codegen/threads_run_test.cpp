// Threads of the host: the results are those of one thread, in a caller's own threads at the same time, and in a
// process that a caller forks.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support_lib/compile.h"
#include "support_lib/data.h"
#include "support_lib/host.h"

namespace pipec::testing::threads_run_test {
namespace {

/// Stages in tiles, a stage by itself, a scan across memory and one along it, an accumulate, a reduction.
constexpr const char* kProgram = R"(
    import "boundary"
    pipeline p(img: float32[R, C]) -> out: float32[R, C], down: float32[R, C], along: float32[R, C], table: int32[64],
                                      total: float32[1] where R >= 2, C >= 2 {
        f = clamp_to_edge(img)
        rows(y, x) = sqrt(f(y - 1, x)) + f(y, x) * 2 + exp(f(y + 1, x))
        columns(y, x) = sqrt(rows(y, max(x - 1, 0)) + rows(y, x)) + rows(y, min(x + 1, C - 1))
        out(y, x) = columns(y, x) - f(y, x)
        down(y, x) = if y == 0 then img(y, x) else 0.5 * down(y - 1, x) + img(y, x)
        along(y, x) = if x == 0 then img(y, x) else 0.5 * along(y, x - 1) + img(y, x)
        accumulate table(i in 0..64): int32 = 0 {
            for y in 0..R, x in 0..C { table(int32(img(y, x)) % 64) += 1 }
        }
        total(i) = sum(y in 0..R, x in 0..C) img(y, x)
    }
)";

class Threads : public ::testing::Test {
protected:
    Threads() : compiled_(compile_text(sources_, "threads.pipe", kProgram)) {
        for (const Diagnostic& d : compiled_.diags.all()) {
            if (d.severity == Severity::Error) throw std::runtime_error(d.message);
        }
        units_ = {{&compiled_.pipelines.front(), &compiled_.models.front()}};
        std::mt19937_64 rng(7);
        arguments_ = random_arguments(compiled_.definitions.front(), {{"R", 130}, {"C", 270}}, Fill::Smooth, rng);
        expected_ = reference::run(compiled_.definitions.front(), arguments_);
    }
    bool is_right(const HostLibrary& library, Layout layout = Layout::Dense) const {
        const auto found = run_host(library.info("p"), arguments_, layout);
        return std::all_of(expected_.begin(), expected_.end(), [&](const auto& output) {
            return difference(output.second, found.at(output.first)).empty();
        });
    }

    SourceManager sources_;
    Compiled compiled_;
    std::vector<codegen::Unit> units_;
    reference::Arguments arguments_;
    std::map<std::string, reference::Array> expected_;
};

TEST_F(Threads, OfALaunchOfCallersAndAfterAFork) {
    for (const HostTiling tiling : {HostTiling::None, HostTiling::Usual, HostTiling::Small}) {
        const HostLibrary library(units_, sources_, "", tiling);
        for (const Layout layout : {Layout::Dense, Layout::Pitched}) EXPECT_TRUE(is_right(library, layout));
        std::array<bool, 4> right{};
        std::vector<std::thread> callers;
        for (bool& one : right) callers.emplace_back([&] { one = is_right(library); });
        for (std::thread& caller : callers) caller.join();
        for (const bool one : right) EXPECT_TRUE(one);
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) _exit(is_right(library) ? 0 : 1);
        int status = 0;
        waitpid(child, &status, 0);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

TEST_F(Threads, OneIsNoThreadAtAll) {
    // Without OpenMP there is no call that could begin a thread.
    const HostLibrary none(units_, sources_, "-U_OPENMP");
    EXPECT_TRUE(is_right(none));
}

}  // namespace
}  // namespace pipec::testing::threads_run_test

/// More threads than this machine may have, also where the environment says another number: OpenMP reads it once, when
/// the first library is loaded.
int main(int argc, char** argv) {
    setenv("OMP_NUM_THREADS", "5", 1);
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
