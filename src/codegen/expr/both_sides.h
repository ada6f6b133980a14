// Where `and` and `or` of data may compute both of their sides (rewrite_logic.cpp).
#pragma once

#include <unordered_map>

#include "ir/pipeline.h"
#include "poly/model.h"

namespace pipec::codegen {

/// What the right sides read in the stage's definition is in bounds whatever the conditions on data are that stand
/// before them: nothing links the places to what is compared with data. Where a condition says what a read's place is,
/// as in `k(x) < 10 and w(k(x)) > 3`, it has to be asked first.
bool both_sides_are_safe(const ir::Pipeline& pipeline, const poly::Model& model, int stage);

/// The same of right sides and of what an `if` on data chooses from: all of it may be read before the choice.
bool choices_are_safe(const ir::Pipeline& pipeline, const poly::Model& model, int stage);

/// Which conditions are made of comparisons that read something, all of them.
class DataConditions {
public:
    bool ask_data(const ir::Expr& condition);

private:
    std::unordered_map<ir::Expr, bool> known_;
};

}  // namespace pipec::codegen
