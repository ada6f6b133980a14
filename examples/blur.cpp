// Calls the blur of blur.pipe and compares every pixel with the mean of its 3 x 3 neighbours.
#include "blur.h"

#include "example.h"

int main() {
    using namespace example;
    auto img = make<float>(3, 61, 97, noise);
    Image<float> out(3, 59, 95);

    blur_args args;
    blur_defaults(&args);
    bind(args.img, args.img_extent, img);
    bind(args.out, args.out_extent, out);
    run(args, blur_check, blur_workspace_size, blur_launch);

    for (int c = 0; c < 3; c++)
        for (int y = 0; y < out.rows; y++)
            for (int x = 0; x < out.cols; x++) {
                double sum = 0;
                for (int i = 0; i < 3; i++)
                    for (int j = 0; j < 3; j++) sum += static_cast<double>(img(c, y + i, x + j));
                check(std::abs(out(c, y, x) - sum / 9) < 1e-6, "each pixel is the mean of its neighbourhood");
            }

    // The wrapper tells what is wrong before it touches anything.
    args.img_extent[1] = 60;
    char message[256];
    check(blur_check(&args, message, sizeof message) != PIPE_OK, "extents that do not fit together are refused");
    std::printf("refused as it should be: %s\n", message);
}
