#include "codegen/wrapper/size_value.h"

#include <fmt/format.h>

#include "codegen/emit/c/c_expr.h"
#include "codegen/emit/c/wide_expr.h"
#include "codegen/expr/exact_expr.h"
#include "ir/build.h"
#include "ir/widen.h"

namespace pipec::codegen {

std::string size_value(Writer& out, const ir::Pipeline& pipeline, const CodeNames& names, Names& locals,
                       Helpers& helpers, const ir::Expr& e, const std::string& failure) {
    const ir::Expr value = ir::widened(e);
    const ir::Expr from_extent = ir::binary(ir::BinaryOp::Sub, ir::int_constant(ir::Type::Int64, kIndexLimit), value);
    const bool may_leave = may_overflow(pipeline, from_extent);
    if (!may_leave && is_wide(e)) {
        const WideLeaf leaf = [&](const ir::Expr& n) {
            return Text{names.sizes.at(static_cast<std::size_t>(ir::as<ir::SizeRef>(n)->index))};
        };
        return wide_text(e, leaf, helpers).text;
    }
    Uses uses;
    uses.add(value);
    Naming naming;
    naming.size = [&](int size) { return names.sizes[static_cast<std::size_t>(size)]; };
    ExpressionWriter writer(pipeline, uses, naming, locals, helpers, out);
    const std::string exact = may_leave ? locals.add("exact") : "";
    if (may_leave) {
        out.line("bool {} = true;", exact);
        writer.detect_overflow(exact);
    }
    const Text text = writer.value(value);
    const std::string name = locals.add("value");
    out.line("const int64_t {} = {};", name, text.text);
    if (may_leave) {
        out.line("if (!{0} || {1} < -(INT64_C(1) << 62) || {1} > (INT64_C(1) << 62)) return {2};", exact, name,
                 failure);
    }
    return name;
}

}  // namespace pipec::codegen
