#include "compiler/settings.h"

#include <algorithm>

namespace pipec::compiler {

std::string option_name(fusion::Field field) {
    std::string result = "--" + std::string(name(field));
    std::replace(result.begin(), result.end(), '_', '-');
    return result;
}

}  // namespace pipec::compiler
