// Finds the four corners of a bright rectangle with harris.pipe.
#include "harris.h"

#include <algorithm>

#include "example.h"

int main() {
    using namespace example;
    const int top = 20, bottom = 50, left = 30, right = 75;
    auto img = make<float>(
        1, 80, 110, [&](auto, auto y, auto x) { return y >= top && y < bottom && x >= left && x < right ? 1.0 : 0.0; });
    Image<float> response(1, 76, 106);

    harris_args args;
    harris_defaults(&args);
    bind(args.img, args.img_extent, img);
    bind(args.response, args.response_extent, response);
    run(args, harris_check, harris_workspace_size, harris_launch);

    // Local maxima of a clear response.
    int corners = 0;
    for (int y = 1; y + 1 < response.rows; y++)
        for (int x = 1; x + 1 < response.cols; x++) {
            const float v = response(0, y, x);
            if (v < 0.05f) continue;
            bool greatest = true;
            for (int i = -1; i <= 1; i++)
                for (int j = -1; j <= 1; j++)
                    if (i < 0 || (i == 0 && j < 0) ? response(0, y + i, x + j) >= v : response(0, y + i, x + j) > v)
                        greatest = false;
            if (!greatest) continue;
            corners++;
            const int py = y + 2, px = x + 2;  // in the input
            check(std::min(std::abs(py - top), std::abs(py - bottom)) <= 1, "a corner lies on a horizontal side");
            check(std::min(std::abs(px - left), std::abs(px - right)) <= 1, "a corner lies on a vertical side");
        }
    check(corners == 4, "there are four corners");
    check(response(0, 33, left - 2) < 0, "edges are negative");
    check(response(0, 5, 5) == 0, "flat areas are zero");
}
