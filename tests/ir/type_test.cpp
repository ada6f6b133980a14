// Scalar types: names, ranges, implicit conversions and the types of operators.
#include "ir/type.h"

#include <gtest/gtest.h>

#include <vector>

namespace pipec::ir::type_test {
namespace {

const std::vector<Type> kAll = {Type::Bool,   Type::Int8,   Type::Int16,  Type::Int32,   Type::Int64,   Type::UInt8,
                                Type::UInt16, Type::UInt32, Type::UInt64, Type::Float16, Type::Float32, Type::Float64};

TEST(Type, NamesGoBothWays) {
    for (const Type t : kAll) EXPECT_EQ(type_from_name(name(t)), t);
    EXPECT_EQ(name(Type::UInt16), "uint16");
    EXPECT_EQ(type_from_name("float"), std::nullopt);
    EXPECT_EQ(type_from_name(""), std::nullopt);
}

TEST(Type, Ranges) {
    EXPECT_EQ(int_min(Type::Int8), -128);
    EXPECT_EQ(int_max(Type::Int8), 127u);
    EXPECT_EQ(int_min(Type::UInt16), 0);
    EXPECT_EQ(int_max(Type::UInt16), 65535u);
    EXPECT_EQ(int_min(Type::Int64), INT64_MIN);
    EXPECT_EQ(int_max(Type::Int64), static_cast<std::uint64_t>(INT64_MAX));
    EXPECT_EQ(int_max(Type::UInt64), UINT64_MAX);
    EXPECT_EQ(int_max(Type::Bool), 1u);
    EXPECT_EQ(bytes(Type::Bool), 1);
    EXPECT_EQ(bytes(Type::Float16), 2);
}

TEST(Type, ImplicitConversionsKeepEveryInteger) {
    for (const Type from : kAll) {
        for (const Type to : kAll) {
            bool allowed = false;
            if (from == to) {
                allowed = true;
            } else if (from == Type::Bool || to == Type::Bool) {
                allowed = false;
            } else if (is_float(to)) {
                allowed = is_int(from) || bits(from) < bits(to);
            } else if (is_int(from)) {
                const bool signs = is_signed_int(to) || is_unsigned_int(from);
                const int from_digits = bits(from) - (is_signed_int(from) ? 1 : 0);
                const int to_digits = bits(to) - (is_signed_int(to) ? 1 : 0);
                allowed = signs && from_digits <= to_digits;
            }
            EXPECT_EQ(converts_implicitly(from, to), allowed) << name(from) << " to " << name(to);
        }
    }
}

TEST(Type, CommonTypes) {
    const auto common = [](Type a, Type b) {
        EXPECT_EQ(common_type(a, b), common_type(b, a));
        return common_type(a, b);
    };
    EXPECT_EQ(common(Type::UInt8, Type::UInt8), Type::Int32);  // both promote to int32
    EXPECT_EQ(common(Type::UInt8, Type::Int16), Type::Int32);
    EXPECT_EQ(common(Type::UInt16, Type::UInt32), Type::UInt32);
    EXPECT_EQ(common(Type::UInt32, Type::UInt32), Type::UInt32);
    EXPECT_EQ(common(Type::Int32, Type::UInt32), Type::Int64);
    EXPECT_EQ(common(Type::Int64, Type::UInt32), Type::Int64);
    EXPECT_EQ(common(Type::UInt32, Type::UInt64), Type::UInt64);
    EXPECT_EQ(common(Type::Int32, Type::UInt64), std::nullopt);
    EXPECT_EQ(common(Type::UInt64, Type::UInt64), Type::UInt64);
    EXPECT_EQ(common(Type::Float16, Type::Int64), Type::Float16);
    EXPECT_EQ(common(Type::Float16, Type::Float32), Type::Float32);
    EXPECT_EQ(common(Type::Float64, Type::UInt64), Type::Float64);
    for (const Type t : kAll) EXPECT_EQ(common(Type::Bool, t), std::nullopt);
}

}  // namespace
}  // namespace pipec::ir::type_test
