// How a run fails: one sentence for the person, and the exit code that says what kind of failure it was.
#pragma once

#include <stdexcept>
#include <string>

namespace pipec::runner {

/// The exit codes of pipec, too.
enum class ExitCode { Success = 0, Failed = 1, Usage = 2, Io = 3 };

/// what() is the text after "error: "; further lines are notes.
class Error : public std::runtime_error {
public:
    Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
    [[nodiscard]] ExitCode code() const { return code_; }

private:
    ExitCode code_;
};

/// What was asked for makes no sense for this pipeline: a name that it does not have, a value of the wrong type.
inline Error usage_error(const std::string& message) {
    return {ExitCode::Usage, message};
}
/// A file cannot be read, does not fit, or cannot be written.
inline Error file_error(const std::string& message) {
    return {ExitCode::Io, message};
}
/// The pipeline refused its arguments or failed.
inline Error run_error(const std::string& message) {
    return {ExitCode::Failed, message};
}

}  // namespace pipec::runner
