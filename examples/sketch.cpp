// Draws an 8-bit interleaved picture with sketch.pipe. `sketch in.ppm out.ppm` takes a binary PPM file; without
// arguments the program draws a bright disc on a dark ground and checks the drawing.
#include "sketch.h"

#include <string>

#include "example.h"

namespace {

struct Picture {
    std::int64_t rows, cols;
    std::vector<std::uint8_t> rgb;  ///< r, g, b of each pixel, row by row
    std::uint8_t at(std::int64_t y, std::int64_t x, std::int64_t c) const {
        return rgb[static_cast<std::size_t>((y * cols + x) * 3 + c)];
    }
};

Picture draw(const Picture& photo) {
    Picture drawing = photo;
    sketch_args args;
    sketch_defaults(&args);
    args.img = photo.rgb.data();  // dense pixels in the order that the pipeline declares: no strides needed
    args.img_extent[0] = 3;
    args.img_extent[1] = photo.rows;
    args.img_extent[2] = photo.cols;
    args.out = drawing.rgb.data();
    example::run(args, sketch_check, sketch_workspace_size, sketch_launch);
    return drawing;
}

Picture read_ppm(const char* path) {
    std::FILE* file = std::fopen(path, "rb");
    example::check(file != nullptr, "the input file can be read");
    long cols = 0, rows = 0, top = 0;
    example::check(std::fscanf(file, "P6 %ld %ld %ld", &cols, &rows, &top) == 3 && top == 255 && cols > 0 && rows > 0,
                   "the input is a binary PPM with 8 bits a sample and no comments");
    std::fgetc(file);
    Picture picture{rows, cols, std::vector<std::uint8_t>(static_cast<std::size_t>(rows * cols * 3))};
    example::check(std::fread(picture.rgb.data(), 1, picture.rgb.size(), file) == picture.rgb.size(),
                   "the input file is complete");
    std::fclose(file);
    return picture;
}

void write_ppm(const char* path, const Picture& picture) {
    std::FILE* file = std::fopen(path, "wb");
    example::check(file != nullptr, "the output file can be written");
    std::fprintf(file, "P6\n%lld %lld\n255\n", static_cast<long long>(picture.cols),
                 static_cast<long long>(picture.rows));
    example::check(
        std::fwrite(picture.rgb.data(), 1, picture.rgb.size(), file) == picture.rgb.size() && std::fclose(file) == 0,
        "the output file is written");
}

}  // namespace

int main(int argc, char** argv) {
    using example::check;
    if (argc == 3) {
        write_ppm(argv[2], draw(read_ppm(argv[1])));
        return 0;
    }

    Picture photo{90, 120, std::vector<std::uint8_t>(90 * 120 * 3)};
    const auto inside = [](int y, int x) { return (y - 45) * (y - 45) + (x - 60) * (x - 60) < 30 * 30; };
    for (int y = 0; y < 90; y++)
        for (int x = 0; x < 120; x++)
            for (int c = 0; c < 3; c++)
                photo.rgb[static_cast<std::size_t>((y * 120 + x) * 3 + c)] = inside(y, x) ? 220 : c == 0 ? 120 : 60;
    const Picture drawing = draw(photo);

    for (int c = 0; c < 3; c++) {
        // Far from the outline there is only paper with its wash of colour: 3/4 white, 1/4 photograph.
        check(drawing.at(45, 60, c) == std::lround(0.75 * 255 + 0.25 * photo.at(45, 60, c)), "the disc is paper");
        check(drawing.at(5, 5, c) == std::lround(0.75 * 255 + 0.25 * photo.at(5, 5, c)), "the ground is paper");
        check(drawing.at(45, 29, c) + 60 < drawing.at(5, 5, c), "the outline is a dark stroke outside of the disc");
    }
}
