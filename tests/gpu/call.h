// One call of a pipeline: its arguments, and the memory that they point to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cases.h"
#include "device.h"
#include "image.h"

namespace pipec::gpu {

enum class Space { Host, Device };

/// Values of every input, the same for the same case.
std::vector<Values> make_inputs(const Case& c, const runner::abi::pipe_info& info, Fill how);

class Call {
public:
    /// Throws where the pipeline refuses the arguments, or the case lacks one.
    Call(const runner::abi::pipe_info& info, const Case& c, const std::vector<Values>& inputs, Layout layout,
         Space space, bool fresh_workspace);
    void launch(Stream stream) const;
    void clear_outputs();
    /// In stream order, and so that it takes a while: what stood in the inputs is gone, then they are there again.
    void renew_inputs(Stream stream) const;
    /// After the launch has ended. Of everything that is not an element of an output it notes what was changed.
    std::vector<Values> results();
    [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }
    [[nodiscard]] std::size_t image_bytes() const;  ///< of all elements
    [[nodiscard]] std::size_t workspace_bytes() const { return workspace_bytes_; }

private:
    struct Image {
        const runner::abi::pipe_buffer_info* info;
        Placement placement;
        std::vector<std::byte> before;
        std::unique_ptr<Block> block;         ///< on the device
        std::unique_ptr<Block> right, wrong;  ///< of an input: its values once more, and others
        std::vector<std::byte> host;          ///< on the host
    };
    void add_image(const runner::abi::pipe_buffer_info& buffer, const std::vector<std::int64_t>& extents,
                   const Values* values);
    static std::size_t bytes_of(const Image& image);  ///< of its elements
    void set_scalars(const Case& c);
    void add_workspace(bool fresh);
    std::vector<std::byte> content(const Image& image) const;

    const runner::abi::pipe_info& info_;
    Layout layout_;
    Space space_;
    std::vector<std::byte> args_;
    std::vector<Image> images_;
    std::size_t workspace_bytes_ = 0;
    std::unique_ptr<Block> workspace_;  ///< on the device, with guard bytes behind
    std::vector<std::byte> host_workspace_;
    void* workspace_data_ = nullptr;
    std::vector<std::string> faults_;
};

}  // namespace pipec::gpu
