// Amounts of memory: as a person writes and reads them, and what this machine and this process have.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace pipec::runner {

/// "2G", "512M", "1.5G", a number of bytes; K, M, G and T are powers of 1024. None where it is not of that form.
std::optional<std::size_t> parse_memory(const std::string& text);

/// "1.5 GiB".
std::string memory_text(std::size_t bytes);

/// What this process may use of the machine: its memory, or what its control group allows.
std::size_t machine_memory();

/// What this process has in memory now.
std::size_t resident_memory();

}  // namespace pipec::runner
