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

void judge(const Array& values, const Array& stored, Scaling scaling, BufferReport& report,
           std::vector<std::string>& warnings) {
    const ValueRange range = value_range(values, stored.type, scaling);
    report.least = range.least;
    report.greatest = range.greatest;
    if (!ir::is_float(values.type) || ir::is_float(stored.type)) return;
    const std::size_t count = values.size();
    const auto warn = [&](const std::string& what) {
        const std::string values_are =
            range.least.empty() ? "" : fmt::format("; `{}` is {} to {}", report.name, range.least, range.greatest);
        warnings.push_back(
            fmt::format("{}: {}{}\n  note: .tif and .npy files hold floats", report.file, what, values_are));
    };
    if (range.nans > 0) warn(fmt::format("{} of {} values are NaN, and 0 in the file", range.nans, count));
    if (static_cast<double>(range.clipped) > kManyClipped * static_cast<double>(count)) {
        warn(fmt::format("{} of {} values are clipped: {} holds {}", range.clipped, count, ir::name(stored.type),
                         scaling == Scaling::Raw                     ? "no such numbers"
                         : ir::name(stored.type).starts_with("uint") ? "0 to 1"
                                                                     : "-1 to 1"));
    }
    const double written = value_range(stored, stored.type, Scaling::Raw).span;
    if (range.span > 0 && written < kFlat * integer_span(stored.type)) {
        warn("the image is flat: its values lie in less than 1/16 of what the file can hold");
    }
}

}  // namespace pipec::runner
