#include "engine/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <vector>

namespace simt {
namespace {

namespace fs = std::filesystem;

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

struct Symbol {
    std::string name;
    std::size_t value, bytes;
};

struct Symbols {
    fs::file_time_type time{};  // of the file that they are from
    std::map<std::size_t, std::string> functions;
    std::vector<Symbol> shared;
};

// What an ELF file's symbol table has, if it has one.
Symbols read_symbols(const std::string& path) {
    Symbols result;
    std::ifstream in(path, std::ios::binary);
    const auto read = [&](std::size_t at, auto* to, std::size_t count) {
        in.seekg(static_cast<std::streamoff>(at));
        in.read(reinterpret_cast<char*>(to), static_cast<std::streamsize>(count * sizeof *to));
    };
    ElfW(Ehdr) header{};
    read(0, &header, 1);
    std::vector<ElfW(Shdr)> sections(header.e_shnum);
    read(header.e_shoff, sections.data(), sections.size());
    for (const ElfW(Shdr) & section : sections) {
        if (!in || section.sh_type != SHT_SYMTAB) continue;
        std::vector<ElfW(Sym)> symbols(section.sh_size / sizeof(ElfW(Sym)));
        read(section.sh_offset, symbols.data(), symbols.size());
        const ElfW(Shdr)& strings = sections.at(section.sh_link);
        std::vector<char> names(strings.sh_size + 1);
        read(strings.sh_offset, names.data(), strings.sh_size);
        for (const ElfW(Sym) & symbol : symbols) {
            const char* name = names.data() + std::min<std::size_t>(symbol.st_name, strings.sh_size);
            const int type = ELF64_ST_TYPE(symbol.st_info);
            if (type == STT_FUNC) result.functions.emplace(symbol.st_value, name);
            if (type == STT_TLS) result.shared.push_back({name, symbol.st_value, symbol.st_size});
        }
    }
    return result;
}

// Read once, unless the file changes.
const Symbols& symbols_of(const Module& module) {
    static std::map<std::string, Symbols> all;
    std::error_code error;
    const fs::file_time_type time = fs::last_write_time(module.path, error);
    Symbols& known = all[module.path];
    if (known.time != time) {
        known = read_symbols(module.path);
        known.time = time;
    }
    return known;
}

// The mangled name of a function, by its first instruction.
std::string function_at(const Module& module, const void* code) {
    const auto& functions = symbols_of(module).functions;
    const auto found = functions.find(reinterpret_cast<std::uintptr_t>(code) - module.base);
    return found == functions.end() ? "?" : found->second;
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
    std::string name = demangled(function_at(module_of(kernel), kernel));
    name = name.substr(0, name.find_first_of("<("));
    return name.substr(name.find_last_of(" :") + 1);
}

std::vector<SharedVariable> shared_variables(const void* kernel) {
    const Module module = module_of(kernel);
    // A variable of a function _Z... is _ZZ...E<name>.
    const std::string prefix = "_Z" + function_at(module, kernel).substr(1) + "E";
    std::vector<SharedVariable> result;
    for (const Symbol& symbol : symbols_of(module).shared) {
        if (symbol.name.compare(0, prefix.size(), prefix) == 0) result.push_back({symbol.value, symbol.bytes});
    }
    return result;
}

std::string shared_name(const Module& module, std::uintptr_t address) {
    const std::uintptr_t offset = address - module.tls_begin;
    for (const Symbol& symbol : symbols_of(module).shared) {
        if (offset - symbol.value >= symbol.bytes) continue;
        const std::string name = demangled(symbol.name);
        return "byte " + std::to_string(offset - symbol.value) + " of shared `" +
               name.substr(name.find_last_of(" :") + 1) + "` of " + std::to_string(symbol.bytes) + " bytes";
    }
    return "shared memory that is no variable's";
}

}  // namespace simt
