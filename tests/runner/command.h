// Running the real binaries in a directory of their own, and small files in formats that a test can write and read by
// itself: PGM and PPM, .npy.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace pipec::testing {

struct Outcome {
    int exit_code = -1;
    std::string out, err;
};

inline std::string read_bytes(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream file(path, std::ios::binary);
    file << bytes;
}

/// A test in a new, empty current directory.
class InDirectory : public ::testing::Test {
protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "pipec-test-XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        directory_ = name;
        home_ = std::filesystem::current_path();
        std::filesystem::current_path(directory_);
    }
    void TearDown() override {
        std::filesystem::current_path(home_);
        std::filesystem::remove_all(directory_);
    }
    /// A line for the shell.
    static Outcome shell(const std::string& line) {
        const int status = std::system(("(" + line + ") > .stdout 2> .stderr < /dev/null").c_str());
        Outcome result{WIFEXITED(status) ? WEXITSTATUS(status) : 256, read_bytes(".stdout"), read_bytes(".stderr")};
        std::filesystem::remove(".stdout");
        std::filesystem::remove(".stderr");
        return result;
    }
    /// The names of the files here.
    static std::vector<std::string> files() {
        std::vector<std::string> result;
        for (const auto& entry : std::filesystem::directory_iterator(".")) result.push_back(entry.path().filename());
        std::sort(result.begin(), result.end());
        return result;
    }

private:
    std::filesystem::path directory_, home_;
};

/// A binary PGM (one channel) or PPM (three); `values` row by row, pixel by pixel. Above 255 it has 16 bits.
inline std::string pnm(int rows, int columns, int channels, const std::vector<int>& values, int greatest = 255) {
    std::string text = (channels == 1 ? "P5\n" : "P6\n") + std::to_string(columns) + " " + std::to_string(rows) + "\n" +
                       std::to_string(greatest) + "\n";
    for (const int value : values) {
        if (greatest > 255) text += static_cast<char>(value >> 8);
        text += static_cast<char>(value);
    }
    return text;
}

/// Values that differ everywhere, so that an exchange of any two shows.
inline std::vector<int> ramp(int count, int step = 1, int start = 0) {
    std::vector<int> values;
    for (int i = 0; i < count; ++i) values.push_back(start + i * step);
    return values;
}

/// A .npy file, version 1, of elements in memory form.
template <class T>
std::string npy(const std::string& descr, const std::string& shape, const std::vector<T>& values) {
    std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
    std::string text = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header;
    text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    return text;
}

/// The elements of a .npy file of version 1, and its header.
template <class T>
std::vector<T> npy_values(const std::string& bytes, std::string* header = nullptr) {
    const std::size_t size = static_cast<unsigned char>(bytes.at(8)) + 256U * static_cast<unsigned char>(bytes.at(9));
    if (header != nullptr) *header = bytes.substr(10, size);
    std::vector<T> values((bytes.size() - 10 - size) / sizeof(T));
    bytes.copy(reinterpret_cast<char*>(values.data()), values.size() * sizeof(T), 10 + size);
    return values;
}

}  // namespace pipec::testing
