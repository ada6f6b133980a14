// The warnings of files that do not show what an output holds.
#include "runner/judge.h"

#include <fmt/format.h>

namespace pipec::runner {

namespace {

/// A part of all values that is no accident of rounding or of a few highlights.
constexpr double kManyClipped = 0.001;
/// An image whose values lie in a smaller part of what its file can hold looks like one colour.
constexpr double kFlat = 1.0 / 16;

}  // namespace

void Judgement::add(const Array& values, const Array& stored) {
    values_.add(value_range(values, stored_type_, scaling_));
    count_ += values.size();
    if (ir::is_float(values.type) && !ir::is_float(stored_type_)) {
        stored_.add(value_range(stored, stored_type_, Scaling::Raw));
    }
}

void Judgement::tell(BufferReport& report, std::vector<std::string>& warnings) const {
    report.least = values_.least;
    report.greatest = values_.greatest;
    if (!ir::is_float(report.type) || ir::is_float(stored_type_)) return;
    const auto warn = [&](const std::string& what) {
        const std::string values_are =
            report.least.empty() ? "" : fmt::format("; `{}` is {} to {}", report.name, report.least, report.greatest);
        warnings.push_back(
            fmt::format("{}: {}{}\n  note: .tif and .npy files hold floats", report.file, what, values_are));
    };
    if (values_.nans > 0) warn(fmt::format("{} of {} values are NaN, and 0 in the file", values_.nans, count_));
    if (static_cast<double>(values_.clipped) > kManyClipped * static_cast<double>(count_)) {
        warn(fmt::format("{} of {} values are clipped: {} holds {}", values_.clipped, count_, ir::name(stored_type_),
                         scaling_ == Scaling::Raw                     ? "no such numbers"
                         : ir::name(stored_type_).starts_with("uint") ? "0 to 1"
                                                                      : "-1 to 1"));
    }
    if (values_.span() > 0 && stored_.span() < kFlat * integer_span(stored_type_)) {
        warn("the image is flat: its values lie in less than 1/16 of what the file can hold");
    }
}

}  // namespace pipec::runner
