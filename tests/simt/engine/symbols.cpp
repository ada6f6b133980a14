#include "engine/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <vector>

namespace simt {
namespace {

struct Search {
    std::uintptr_t address;
    Module module;
};

int visit(dl_phdr_info* info, std::size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    Module module{.path = info->dlpi_name, .base = info->dlpi_addr};
    module.begin = UINTPTR_MAX;
    bool found = false;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = info->dlpi_phdr[i];
        if (header.p_type == PT_LOAD) {
            const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr, end = begin + header.p_memsz;
            found = found || (search.address >= begin && search.address < end);
            module.begin = std::min(module.begin, begin);
            module.end = std::max(module.end, end);
        } else if (header.p_type == PT_TLS && info->dlpi_tls_data != nullptr) {
            module.tls_begin = reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data);
            module.tls_end = module.tls_begin + header.p_memsz;
        }
    }
    if (!found) return 0;
    if (module.path.empty()) module.path = "/proc/self/exe";
    search.module = std::move(module);
    return 1;
}

// Calls f(symbol, name) for every symbol of an ELF file that has its table.
void for_symbols(const std::string& path, const std::function<void(const ElfW(Sym) &, const char*)>& f) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> file{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    ElfW(Ehdr) header;
    if (file.size() < sizeof header) return;
    std::memcpy(&header, file.data(), sizeof header);
    const auto section = [&](std::size_t i) {
        ElfW(Shdr) result{};
        const std::size_t at = header.e_shoff + i * sizeof result;
        if (at + sizeof result <= file.size()) std::memcpy(&result, file.data() + at, sizeof result);
        return result;
    };
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
        const ElfW(Shdr) table = section(i);
        if (table.sh_type != SHT_SYMTAB) continue;
        const ElfW(Shdr) names = section(table.sh_link);
        for (std::size_t at = 0; at + sizeof(ElfW(Sym)) <= table.sh_size; at += sizeof(ElfW(Sym))) {
            ElfW(Sym) symbol;
            std::memcpy(&symbol, file.data() + table.sh_offset + at, sizeof symbol);
            f(symbol, file.data() + names.sh_offset + symbol.st_name);
        }
    }
}

std::string demangled(const std::string& name) {
    const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr),
                                                           &std::free);
    std::string result = text ? text.get() : name;
    constexpr const char* anonymous = "(anonymous namespace)::";
    for (std::size_t at; (at = result.find(anonymous)) != std::string::npos;) {
        result.erase(at, std::strlen(anonymous));
    }
    return result;
}

}  // namespace

Module module_of(const void* address) {
    Search search{reinterpret_cast<std::uintptr_t>(address), {}};
    dl_iterate_phdr(&visit, &search);
    return std::move(search.module);
}

std::string place(const void* return_address) {
    if (return_address == nullptr) return "a place that is not known";
    const Module module = module_of(return_address);
    char offset[32];
    // The call itself, not what follows it.
    std::snprintf(offset, sizeof offset, "0x%zx", reinterpret_cast<std::uintptr_t>(return_address) - 1 - module.base);
    // Inlined functions give several lines, the innermost one first.
    const std::string command = "addr2line -i -e '" + module.path + "' " + offset + " 2>/dev/null";
    std::string output;
    if (FILE* pipe = popen(command.c_str(), "r")) {
        std::array<char, 1024> line;
        while (std::fgets(line.data(), line.size(), pipe) != nullptr) {
            output = line.data();
            if (output.find("/simt_") == std::string::npos) break;  // not one of the emulator's headers
        }
        pclose(pipe);
    }
    output = output.substr(output.rfind('/') + 1);
    output = output.substr(0, output.find_first_of(" \n"));
    if (output.empty() || output[0] == '?') return module.path.substr(module.path.rfind('/') + 1) + "+" + offset;
    return output;
}

std::string kernel_name(const void* kernel) {
    const Module module = module_of(kernel);
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(kernel) - module.base;
    std::string name = "?";
    for_symbols(module.path, [&](const ElfW(Sym) & symbol, const char* text) {
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_value == offset) name = demangled(text);
    });
    name = name.substr(0, name.find_first_of("<("));
    return name.substr(name.find_last_of(" :") + 1);
}

std::string shared_name(const Module& module, std::uintptr_t address) {
    const std::uintptr_t offset = address - module.tls_begin;
    std::string result = "shared memory";
    for_symbols(module.path, [&](const ElfW(Sym) & symbol, const char* text) {
        if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS || offset - symbol.st_value >= symbol.st_size) return;
        std::string name = demangled(text);
        name = name.substr(name.find_last_of(" :") + 1);
        result = "byte " + std::to_string(offset - symbol.st_value) + " of shared `" + name + "` of " +
                 std::to_string(symbol.st_size) + " bytes";
    });
    return result;
}

}  // namespace simt
