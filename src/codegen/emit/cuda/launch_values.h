// What the host computes for a launch: grids and arguments over the sizes, each common part once and under a name.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/emit/c/code_names.h"
#include "codegen/emit/c/helpers.h"
#include "codegen/emit/c/text.h"
#include "ir/expr.h"
#include "ir/unique_nodes.h"

namespace pipec::codegen {

class LaunchValues {
public:
    LaunchValues(const CodeNames& names, Helpers& helpers) : names_(names), helpers_(helpers) {}

    /// An expression over sizes, in 64 bits, and what to call it where it is long.
    void add(const ir::Expr& e, const std::string& name);
    /// Defines what has a name, in an order in which each needs what stands before it alone.
    void write(Writer& out);
    /// After write, of an expression that was added: its name, or itself where it is short.
    std::string text(const ir::Expr& e);

private:
    struct Offset {
        ir::Expr base;  ///< null: a constant
        std::int64_t constant;
    };
    ir::Expr simple(const ir::Expr& e);
    ir::Expr extremum(const ir::Expr& e, const ir::Binary& n);
    Offset offset_of(const ir::Expr& e);
    ir::Expr plus(const ir::Expr& base, std::int64_t constant);
    void count(const ir::Expr& e);
    ir::Expr named(Writer& out, const ir::Expr& e);
    std::string c_text(const ir::Expr& e);
    [[nodiscard]] std::string free_name(const std::string& wanted) const;

    const CodeNames& names_;
    Helpers& helpers_;
    ir::UniqueNodes nodes_;
    std::unordered_map<ir::Expr, ir::Expr> simple_;  ///< simplified, each of equal ones the same node
    std::vector<ir::Expr> roots_;
    std::unordered_map<const ir::Node*, std::string> wanted_;
    std::unordered_map<const ir::Node*, int> uses_;
    std::unordered_map<const ir::Node*, ir::Expr> written_;  ///< a variable where it has a name
    std::vector<std::string> variables_;                     ///< names, by the variables' numbers
};

}  // namespace pipec::codegen
