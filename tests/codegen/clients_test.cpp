// Programs in C and C++ that call generated code: they are in clients/ and check for themselves.
#include <gtest/gtest.h>

#include "codegen/generated.h"

namespace pipec::testing::clients_test {
namespace {

const std::string kClients = PIPEC_SOURCE_DIR "/tests/codegen/clients/";

constexpr const char* kBlurText = R"(
pipeline blur(img: float32[3, R + 2, C + 2]) -> out: float32[3, R, C] {
    blury(c, y, x) = (img(c, y - 1, x) + img(c, y, x) + img(c, y + 1, x)) / 3
    blurx(c, y, x) = (blury(c, y, x - 1) + blury(c, y, x) + blury(c, y, x + 1)) / 3
    out(c, y, x)   = blurx(c, y + 1, x + 1)
}
)";

class Clients : public ::testing::Test {
protected:
    Clients() {
        const GeneratedText text = generate("blur", kBlurText);
        directory_.write("blur.h", text.header);
        directory_.write("blur.cpp", text.source);
    }
    void expect_success(const std::string& command) {
        std::string output;
        EXPECT_EQ(directory_.run(command, &output), 0) << command << "\n" << output;
        EXPECT_EQ(output, "");
    }
    Directory directory_;
};

TEST_F(Clients, HeaderIsC99AndCpp11) {
    directory_.write("only.c", "#include \"blur.h\"\n#include \"blur.h\"\nint main(void) { return 0; }\n");
    expect_success(PIPEC_HOST_CC " -std=c99 -pedantic -Wall -Wextra -Werror -fsyntax-only $D/only.c");
    expect_success(PIPEC_HOST_CXX " -x c++ -std=c++11 -pedantic -Wall -Wextra -Werror -fsyntax-only $D/only.c");
}

TEST_F(Clients, SourceHasNoWarningsWithAndWithoutOpenMP) {
    expect_success(PIPEC_HOST_CXX " -std=c++17 -O2 -Wall -Wextra -Werror -c $D/blur.cpp -o $D/a.o");
    expect_success(PIPEC_HOST_CXX " -std=c++17 -O2 -fopenmp -Wall -Wextra -Werror -c $D/blur.cpp -o $D/b.o");
}

TEST_F(Clients, CProgramGetsResultsAndRefusals) {
    expect_success(PIPEC_HOST_CC " -std=c99 -pedantic -Wall -Wextra -Werror -I$D -c " + kClients +
                   "blur.c -o $D/c.o && " +
                   PIPEC_HOST_CXX
                   " -std=c++17 -fsanitize=address,undefined -fno-sanitize-recover=all $D/blur.cpp $D/c.o "
                   "-o $D/client && $D/client");
}

TEST_F(Clients, ExampleOfTheDocumentationRuns) {
    const std::string page = read_file(PIPEC_SOURCE_DIR "/docs/generated-code.md");
    const auto block = [&](const std::string& language) {
        const std::string fence = "```" + language + "\n";
        const std::size_t begin = page.find(fence) + fence.size();
        return page.substr(begin, page.find("```", begin) - begin);
    };
    const GeneratedText text = generate("blur", block("pipe"));
    directory_.write("blur.h", text.header);
    directory_.write("blur.cpp", text.source);
    directory_.write("example.c", block("c"));
    expect_success(PIPEC_HOST_CC " -std=c99 -Wall -Wextra -Werror -I$D -c $D/example.c -o $D/c.o && " PIPEC_HOST_CXX
                                 " -std=c++17 -fsanitize=address $D/blur.cpp $D/c.o -o $D/client && $D/client");
}

TEST_F(Clients, ThreadsLaunchAtTheSameTime) {
    expect_success(PIPEC_HOST_CXX " -std=c++17 -O1 -fopenmp -pthread -I$D $D/blur.cpp " + kClients +
                   "threads.cpp -o $D/client && $D/client");
}

/// `where` means exact integers in proofs, so it must in launches: a size for which 4 * R wraps below 100 reads far out
/// of bounds.
TEST_F(Clients, SizesNearTheLimitAreRefused) {
    const GeneratedText text = generate("limits_of_sizes", R"(
        pipeline limits(img: uint8[25], k: int64) -> out: uint8[1] where R >= 0, 4 * R < 100, k * k < 100 { out(x) = img(R) }
    )");
    directory_.write("limits_of_sizes.h", text.header);
    directory_.write("limits.cpp", text.source);
    expect_success(PIPEC_HOST_CC " -std=c99 -pedantic -Wall -Wextra -Werror -I$D -c " + kClients +
                   "limits.c -o $D/c.o && " +
                   PIPEC_HOST_CXX
                   " -std=c++17 -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover=all "
                   "$D/limits.cpp $D/c.o -o $D/client && $D/client");
}

/// The CUDA code, with calls in C99 and C++.
class DeviceClients : public ::testing::Test {
protected:
    DeviceClients() {
        const GeneratedText text = generate_cuda("blur", kBlurText);
        directory_.write("blur.h", text.header);
        directory_.write("blur.cu", text.source);
    }
    void expect_success(const std::string& command) {
        std::string output;
        EXPECT_EQ(directory_.run(command, &output), 0) << command << "\n" << output;
        EXPECT_EQ(output, "");
    }
    Directory directory_;
};

TEST_F(DeviceClients, LayoutsStreamsGraphsAndRefusals) {
    expect_success(PIPEC_SIMT_COMPILE " $D/blur.cu -o $D/blur.o && " PIPEC_SIMT_LINK
                                      " $D/blur.o -o $D/libblur.so && " PIPEC_HOST_CC
                                      " -std=c99 -pedantic -Wall -Wextra -Werror -I$D -c " +
                   kClients + "device_call.c -o $D/call.o && " +
                   PIPEC_HOST_CXX " -std=c++17 -Wall -Wextra -Werror -I" PIPEC_SOURCE_DIR "/tests/simt/include -I$D " +
                   kClients +
                   "device.cpp $D/call.o $D/libblur.so " PIPEC_BINARY_DIR
                   "/tests/simt/libsimt.so -Wl,-rpath,$D:" PIPEC_BINARY_DIR "/tests/simt -o $D/client && $D/client");
}

}  // namespace
}  // namespace pipec::testing::clients_test
