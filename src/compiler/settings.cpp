#include "compiler/settings.h"

#include <algorithm>

namespace pipec::compiler {

bool is_automatic(const ScheduleRequest& request) {
    return !request.file && !request.strategy && request.changed.empty() && !request.model.profile &&
           request.model.cost_model.value_or(CostModelName::Time) == CostModelName::Time;
}

std::string option_name(fusion::Field field) {
    std::string result = "--" + std::string(name(field));
    std::replace(result.begin(), result.end(), '_', '-');
    return result;
}

}  // namespace pipec::compiler
