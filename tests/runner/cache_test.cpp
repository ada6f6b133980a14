// The cache of compiled objects, and the system's compiler when it is missing, fails or is killed.
#include "driver/native/cache.h"

#include <unistd.h>

#include <thread>

#include "command.h"
#include "driver/files.h"
#include "driver/native/cache_digest.h"
#include "driver/native/native_compiler.h"

namespace pipec::testing::cache_test {

namespace {

namespace fs = std::filesystem;
using driver::ObjectCache;

class Cache : public InDirectory {
protected:
    static std::string contents(const driver::OpenFile& file) {
        const std::string bytes = read_bytes(file.inherited_path());
        return bytes.substr(0, bytes.size() - 64);  // without the digest
    }
};

TEST_F(Cache, DigestsAreThoseOfTheStandard) {
    EXPECT_EQ(driver::sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(driver::sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(driver::sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(driver::sha256(std::string(1000000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_F(Cache, WhatIsStoredIsFound) {
    const ObjectCache cache(fs::path("deep") / "cache");
    EXPECT_FALSE(cache.find("key"));
    write_bytes("object", "the object");
    EXPECT_EQ(contents(cache.store("key", "object")), "the object");
    const auto found = cache.find("key");
    ASSERT_TRUE(found);
    EXPECT_EQ(contents(*found), "the object");
    EXPECT_FALSE(cache.find("other"));
}

TEST_F(Cache, ADamagedEntryIsRemoved) {
    const ObjectCache cache("cache");
    write_bytes("object", "the object");
    cache.store("key", "object");
    const std::string entry = read_bytes("cache/key.so");
    std::string flipped = entry;
    flipped[3] ^= 1;
    for (const std::string& damaged : {flipped, entry.substr(0, entry.size() - 1), std::string(), std::string("x")}) {
        write_bytes("cache/key.so", damaged);
        EXPECT_FALSE(cache.find("key"));
        EXPECT_FALSE(fs::exists("cache/key.so"));
    }
}

TEST_F(Cache, TheOldestEntriesGoFirst) {
    const ObjectCache cache("cache", 3 * (1000 + 64));
    write_bytes("object", std::string(1000, 'x'));
    const auto age = [](const char* key, int hours) {
        fs::last_write_time(fs::path("cache") / (std::string(key) + ".so"),
                            fs::file_time_type::clock::now() - std::chrono::hours(hours));
    };
    cache.store("a", "object");
    cache.store("b", "object");
    cache.store("c", "object");
    age("a", 3);
    age("b", 2);
    age("c", 1);
    EXPECT_TRUE(cache.find("a"));  // used now
    write_bytes("cache/key.tmpXYZ", "left by a killed process");
    fs::last_write_time("cache/key.tmpXYZ", fs::file_time_type::clock::now() - std::chrono::hours(2));
    cache.store("d", "object");
    EXPECT_TRUE(cache.find("a"));
    EXPECT_FALSE(cache.find("b"));
    EXPECT_TRUE(cache.find("c"));
    EXPECT_TRUE(cache.find("d"));
    EXPECT_FALSE(fs::exists("cache/key.tmpXYZ"));
}

TEST_F(Cache, AnOpenEntrySurvivesItsRemoval) {
    const ObjectCache cache("cache", 0);
    write_bytes("object", "first");
    const driver::OpenFile first = cache.store("a", "object");
    write_bytes("object", "second");
    const driver::OpenFile second = cache.store("b", "object");
    EXPECT_FALSE(fs::exists("cache/a.so"));
    EXPECT_EQ(contents(first), "first");
    EXPECT_EQ(contents(second), "second");
}

TEST_F(Cache, ManyWritersAndReadersAgree) {
    write_bytes("object", std::string(100000, 'x'));
    std::atomic<int> found = 0, wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&] {
            const ObjectCache cache("cache");
            for (int i = 0; i < 20; ++i) {
                const std::string key = "key" + std::to_string(i % 3);
                if (const auto entry = cache.find(key)) {
                    ++found;
                    if (contents(*entry) != std::string(100000, 'x')) ++wrong;
                } else {
                    cache.store(key, "object");
                }
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(found, 0);
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(ObjectCache("cache").find("key0"));
}

TEST_F(Cache, ADirectoryThatCannotBeMadeIsAnError) {
    write_bytes("file", "");
    write_bytes("object", "x");
    EXPECT_THROW(ObjectCache("file/cache").store("key", "object"), driver::FileError);
}

TEST_F(Cache, TheKeyDependsOnEverythingThatMatters) {
    const driver::NativeCompiler compiler{{"the C++ compiler", {"c++"}, ""}, {"-O3"}, "version 1"};
    const driver::NativeSource source{"a.cpp", "text", "a.h", "header"};
    const std::string key = driver::object_key(compiler, source);
    EXPECT_EQ(driver::object_key(compiler, source), key);
    auto other = compiler;
    other.flags = {"-O2"};
    EXPECT_NE(driver::object_key(other, source), key);
    other = compiler;
    other.identity = "version 2";
    EXPECT_NE(driver::object_key(other, source), key);
    other = compiler;
    other.tool.command = {"g++"};
    EXPECT_NE(driver::object_key(other, source), key);
    auto changed = source;
    changed.source = "text2";
    EXPECT_NE(driver::object_key(compiler, changed), key);
    changed = source;
    changed.header = "header2";
    EXPECT_NE(driver::object_key(compiler, changed), key);
}

/// A compiler that answers --version and then behaves as told.
std::string fake_compiler(const std::string& behaviour) {
    write_bytes("fake.sh", "#!/bin/sh\ncase \"$*\" in *--version*) echo fake 1.0; exit 0;; esac\n" + behaviour + "\n");
    fs::permissions("fake.sh", fs::perms::owner_all);
    return fs::absolute("fake.sh").string();
}

std::string failure(const std::string& command) {
    fs::create_directory("work");
    try {
        const driver::NativeCompiler compiler = driver::find_native_compiler({command, 3, ""});
        driver::compile_object(compiler, {"a.cpp", "text", "a.h", "header"}, "work", "object.so");
    } catch (const driver::ToolError& error) {
        fs::remove_all("work");
        return error.what();
    }
    fs::remove_all("work");
    return {};
}

TEST_F(Cache, ACompilerThatIsMissing) {
    EXPECT_NE(failure("no-such-compiler").find("cannot start the C++ compiler `no-such-compiler`: No such file"),
              std::string::npos);
}

TEST_F(Cache, ACompilerThatFails) {
    const std::string command = fake_compiler("echo 'a.cpp:1: nonsense' >&2; exit 7");
    EXPECT_EQ(failure(command),
              "the C++ compiler `" + command +
                  "` failed with exit code 7 on the code that pipec generated\n    a.cpp:1: nonsense");
}

TEST_F(Cache, ACompilerThatIsKilled) {
    EXPECT_NE(failure(fake_compiler("kill -9 $$")).find("was killed by signal 9 (Killed)"), std::string::npos);
}

TEST_F(Cache, ACompilerThatPrintsALot) {
    const std::string message =
        failure(fake_compiler("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; exit 1"));
    EXPECT_NE(message.find("line 29"), std::string::npos);
    EXPECT_EQ(message.find("line 30\n"), std::string::npos);
    EXPECT_NE(message.find("... and 2970 lines more"), std::string::npos);
}

}  // namespace
}  // namespace pipec::testing::cache_test
