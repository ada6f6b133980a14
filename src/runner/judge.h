// What the values of an output are, and whether the image file that they are written to shows them.
#pragma once

#include <string>
#include <vector>

#include "runner/convert.h"
#include "runner/execute.h"

namespace pipec::runner {

/// Looks at the values of an output, part by part, before and after they are converted for a file.
class Judgement {
public:
    Judgement(ir::Type stored, Scaling scaling) : stored_type_(stored), scaling_(scaling) {}
    void add(const Array& values, const Array& stored);
    /// The range for the report, and what the file loses.
    void tell(BufferReport& report, std::vector<std::string>& warnings) const;

private:
    ir::Type stored_type_;
    Scaling scaling_;
    ValueRange values_, stored_;
    std::size_t count_ = 0;
};

}  // namespace pipec::runner
