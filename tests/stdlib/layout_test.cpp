// stdlib/layout.pipe: a function of planes on an interleaved image, and the way back.
#include <gtest/gtest.h>

#include <algorithm>

#include "evaluate.h"

namespace pipec::test {
namespace {

TEST(Layout, PlanesOfAnInterleavedImage) {
    const Grid f = random3(4, 5, 3);  // rows, columns, channels
    const Grid moved = evaluate(
        "import \"layout\" import \"boundary\" pipeline p(f: float64[R, C, 3]) -> out: float64[R, C, 3] {"
        " g = clamp_to_edge(channels_first(f)) right(c, y, x) = g(c, y, x + 1) out = channels_last(right) }",
        {{"f", f}});
    expect_near(moved,
                make3(4, 5, 3,
                      [&](auto y, auto x, auto c) {
                          return f({y, std::min<std::int64_t>(x + 1, 4), c});
                      }),
                0);
}

}  // namespace
}  // namespace pipec::test
