// Arrays of the interpreter: elements as a caller of generated code has them in memory.
#include <cstring>
#include <limits>

#include "reference/interpreter.h"
#include "reference/numeric.h"

namespace pipec::reference {

using ir::Type;

namespace {

template <class T>
T load(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

template <class T>
void store(std::byte* at, T value) {
    std::memcpy(at, &value, sizeof value);
}

}  // namespace

Array::Array(Type element_type, std::vector<std::int64_t> e) : type(element_type), extents(std::move(e)) {
    for (const std::int64_t extent : extents) {
        if (extent < 0) throw Error("an array's extent is negative");
    }
    data.resize(size() * static_cast<std::size_t>(ir::bytes(type)));
}

std::size_t Array::size() const {
    std::size_t product = 1;
    for (const std::int64_t extent : extents) product *= static_cast<std::size_t>(extent);
    return product;
}

Value Array::get(std::size_t linear) const {
    const std::byte* at = data.data() + linear * static_cast<std::size_t>(ir::bytes(type));
    switch (type) {
        case Type::Bool: return boolean(load<std::uint8_t>(at) != 0);
        case Type::Int8: return {type, load<std::int8_t>(at), 0};
        case Type::Int16: return {type, load<std::int16_t>(at), 0};
        case Type::Int32: return {type, load<std::int32_t>(at), 0};
        case Type::Int64: return {type, load<std::int64_t>(at), 0};
        case Type::UInt8: return {type, load<std::uint8_t>(at), 0};
        case Type::UInt16: return {type, load<std::uint16_t>(at), 0};
        case Type::UInt32: return {type, load<std::uint32_t>(at), 0};
        case Type::UInt64: return {type, load<std::int64_t>(at), 0};
        case Type::Float16: return {type, 0, from_half(load<std::uint16_t>(at))};
        case Type::Float32: return {type, 0, load<float>(at)};
        case Type::Float64: return {type, 0, load<double>(at)};
    }
    throw std::logic_error("unknown type");
}

void Array::set(std::size_t linear, Value v) {
    if (v.type != type) throw std::logic_error("a value of another type than the array's");
    std::byte* at = data.data() + linear * static_cast<std::size_t>(ir::bytes(type));
    switch (type) {
        case Type::Float16: return store(at, to_half(v.f));
        case Type::Float32: return store(at, static_cast<float>(v.f));
        case Type::Float64: return store(at, v.f);
        default: break;
    }
    switch (ir::bytes(type)) {
        case 1: return store(at, static_cast<std::uint8_t>(v.i));
        case 2: return store(at, static_cast<std::uint16_t>(v.i));
        case 4: return store(at, static_cast<std::uint32_t>(v.i));
        default: return store(at, v.i);
    }
}

}  // namespace pipec::reference
