// Integer expressions as interval arithmetic in C++: what an index can be where the variables in it have ranges that
// are known when the code runs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "codegen/emit/c/c_text.h"
#include "codegen/emit/c/code_names.h"
#include "codegen/expr/rewrite.h"
#include "ir/pipeline.h"
#include "poly/value_ranges.h"

namespace pipec::codegen {

/// A sum of variables, sizes and quotients, and a constant that may be one of several.
struct IndexSum {
    std::vector<std::pair<ir::Expr, std::int64_t>> terms;
    std::int64_t least = 0, greatest = 0;
};

/// Writes expressions of type Ends (emit/c/window_runtime.h). Sizes stand under their names, as int64_t, parameters as
/// fields of `args`. What it does not follow has the range that is known of it before the code runs; data has that of
/// its type.
class EndsText {
public:
    /// Adds variables to `pipeline`.
    EndsText(ir::Pipeline& pipeline, const CodeNames& names);

    /// A variable lies in `within`, and stands under a name. A name can be given again, for a range inside of the
    /// first.
    void bind(ir::VarId var, const poly::Interval& within, const std::string& name);
    void rename(ir::VarId var, const std::string& name) { variables_[var] = name; }
    [[nodiscard]] const std::string& name(ir::VarId var) const { return variables_.at(var); }

    /// What an integer can be. The whole of its type where it may wrap.
    Text ends(const ir::Expr& e);
    /// The sum that an index is, where it is one that cannot wrap.
    std::optional<IndexSum> sum(const ir::Expr& e);
    Text ends(const IndexSum& sum);

    /// What a condition can be, from 0 to 1; none where nothing is known of it.
    std::optional<Text> condition(const ir::Expr& e);

    /// factor * var + rest >= 0.
    struct HalfSpace {
        ir::VarId var;
        std::int64_t factor;
        IndexSum rest;
    };
    /// What a variable must be where a condition is `truth`; some of it.
    std::vector<HalfSpace> half_spaces(const ir::Expr& condition, bool truth);

private:
    bool is_index(const ir::Expr& e);
    ir::Expr canonical(const ir::Expr& e);
    Text node(const ir::Expr& e);
    Text cast(const ir::Expr& e, const ir::Cast& n);
    Text known(const ir::Expr& e);

    ir::Pipeline& pipeline_;
    const CodeNames& names_;
    Rewriter rewriter_;
    poly::ValueRanges ranges_;
    std::map<ir::VarId, std::string> variables_;
    std::unordered_map<ir::Expr, bool> is_index_;
};

}  // namespace pipec::codegen
