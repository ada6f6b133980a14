// Inputs and outputs of a run in tiles: windows of them, from files and into files, a band of rows at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runner/judge.h"
#include "runner/parts.h"
#include "runner/pending.h"
#include "runner/views.h"

namespace pipec::runner {

/// An input, whose file is open.
class TiledInput {
public:
    /// Throws Error where the file cannot be the buffer.
    TiledInput(const Buffer& buffer, const FileBinding& binding);

    [[nodiscard]] const InputView& view() const { return view_; }
    [[nodiscard]] const PartReader& file() const { return *reader_; }
    /// Fills `to` with a window of the buffer, dense in the buffer's order of dimensions. Throws Error.
    void read(const Box& window, std::byte* to);
    /// The memory that this takes besides, in bytes.
    [[nodiscard]] std::size_t scratch_bytes(const Box& window) const;
    /// What the reader keeps in memory from its first read() on: files that have no parts.
    [[nodiscard]] std::size_t file_bytes() const;
    /// Nothing more will be read.
    void close() { reader_.reset(); }
    /// What is read of the file for a window, in bytes: whole tiles, strips or chunks.
    [[nodiscard]] std::size_t bytes_read(const Box& window) const;

private:
    [[nodiscard]] std::int64_t band_size(const Box& window) const;
    Buffer buffer_;
    std::unique_ptr<PartReader> reader_;
    InputView view_;
};

/// An output and the file that it becomes.
class TiledOutput {
public:
    /// Throws Error where the file cannot be made of parts, or cannot hold the output.
    TiledOutput(const Buffer& buffer, const FileBinding& binding, const Extents& extents);

    [[nodiscard]] const OutputView& view() const { return view_; }
    /// Makes the file, under a temporary name. Throws Error.
    void create();
    /// Writes a window, which is dense in the buffer's order of dimensions. Throws Error.
    void write(const Box& window, const std::byte* from);
    /// The memory that this takes besides, in bytes, with parts that wait for the rest of the file's tiles or chunks.
    [[nodiscard]] std::size_t scratch_bytes(const Box& window) const;
    /// The file is complete, and waits to be committed. Throws Error.
    PendingFile finish();
    void tell(BufferReport& report, std::vector<std::string>& warnings) const { judgement_.tell(report, warnings); }

private:
    [[nodiscard]] std::int64_t band_size(const Box& window) const;
    Buffer buffer_;
    std::string path_;
    OutputView view_;
    Extents block_;  ///< what the file is written in
    Judgement judgement_;
    std::optional<PendingFile> pending_;
    std::unique_ptr<PartWriter> writer_;
};

}  // namespace pipec::runner
