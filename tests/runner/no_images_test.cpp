// A pipec-run without OpenImageIO (PIPEC_IMAGES=OFF): arrays and portable maps are all there, image files are an error.
#include "command.h"

namespace pipec::testing::no_images_test {

namespace {

class NoImages : public InDirectory {
protected:
    void SetUp() override {
        InDirectory::SetUp();
        write_bytes("in.pgm", pnm(2, 2, 1, ramp(4)));
    }
    static Outcome run(const std::string& pipeline, const std::string& options) {
        return shell(PIPEC_RUN " " PIPEC_COPIES " --pipeline " + pipeline + " " + options);
    }
    static void expect_refused(const std::string& options, const std::string& what) {
        const std::vector<std::string> before = files();
        const Outcome result = run("uint8_gray", options);
        EXPECT_EQ(result.exit_code, 2);
        EXPECT_EQ(result.err, "pipec-run: error: cannot " + what +
                                  ": this pipec-run was built without image files\n"
                                  "  note: it knows .npy, .zarr, .pfm, and binary .pgm and .ppm with 8 or 16 bits\n");
        EXPECT_EQ(files(), before) << "something was left behind";
    }
};

TEST_F(NoImages, ArraysAndPortableMapsGoThrough) {
    EXPECT_EQ(run("uint8_gray", "-q --in in=in.pgm --out out=out.npy").exit_code, 0);
    EXPECT_EQ(run("uint8_gray", "-q --in in=out.npy --out out=out.pgm").exit_code, 0);
    EXPECT_EQ(read_bytes("out.pgm"), read_bytes("in.pgm"));
    const std::vector<float> values = {-2.5F, 0.F, 0.1F, 3e20F};
    write_bytes("in.npy", npy("<f4", "(2, 2)", values));
    EXPECT_EQ(run("float32_gray", "-q --in in=in.npy --out out=a.pfm").exit_code, 0);
    EXPECT_EQ(run("float32_gray", "-q --in in=a.pfm --out out=b.npy").exit_code, 0);
    EXPECT_EQ(npy_values<float>(read_bytes("b.npy")), values);
}

TEST_F(NoImages, OtherFilesAreRefusedBeforeTheRun) {
    write_bytes("in.png", "whatever it is");
    write_bytes("text.pgm", "P2\n1 1\n255\n7\n");
    expect_refused("--in in=in.png", "read in.png");
    expect_refused("--in in=text.pgm", "read text.pgm");
    expect_refused("--in in=in.pgm --out out=out.png", "write out.png");
    expect_refused("--in in=in.pgm --out out=out", "write out");
}

}  // namespace

}  // namespace pipec::testing::no_images_test
