// The model as text, for `--emit domains` and golden tests.
#include <fmt/format.h>

#include "ir/parameter_sizes.h"
#include "ir/print.h"
#include "poly/model.h"

namespace pipec::poly {

namespace {

class Printer {
public:
    explicit Printer(const ir::Pipeline& pipeline) : pipeline_(pipeline) {}

    [[nodiscard]] std::string text(const ir::Expr& e) const { return ir::to_string(pipeline_, e); }

    [[nodiscard]] std::string domain(std::size_t index, const Domain& domain) const {
        const ir::Stage& stage = pipeline_.stages[index];
        std::string dims;
        for (std::size_t d = 0; d < domain.box.size(); ++d) {
            const auto var = static_cast<std::size_t>(stage.dims[d].var);
            dims += fmt::format("{}{} in {}..{}", d == 0 ? "" : ", ", pipeline_.variables[var].name,
                                text(domain.box[d].lo), text(domain.box[d].hi));
        }
        const std::string guard = domain.guard ? " where " + text(domain.guard) : "";
        return fmt::format("  stage {}({}){}\n", stage.name, dims, guard);
    }

    [[nodiscard]] std::string size(const SizeSolution& solution) const {
        const std::string& name = pipeline_.sizes[static_cast<std::size_t>(solution.size)].name;
        if (ir::parameter_of(pipeline_, static_cast<std::size_t>(solution.size))) {
            return fmt::format("  size {} is a parameter\n", name);
        }
        if (solution.from == SizeSolution::From::Explicit) return fmt::format("  size {} is passed\n", name);
        const auto b = static_cast<std::size_t>(solution.buffer);
        const ir::Buffer& buffer =
            solution.from == SizeSolution::From::Input ? pipeline_.inputs[b] : pipeline_.outputs[b].buffer;
        const std::string rest = text(solution.rest);
        std::string value = fmt::format("extent({}, {})", buffer.name, solution.dim);
        const bool simple = rest.find_first_not_of("0123456789") == std::string::npos;
        if (rest != "0") value += simple ? " - " + rest : fmt::format(" - ({})", rest);
        if (solution.divisor != 1) value = fmt::format("({}) / {}", value, solution.divisor);
        const ir::Expr& preset = pipeline_.sizes[static_cast<std::size_t>(solution.size)].default_value;
        const std::string otherwise = preset ? fmt::format(", or {} where it is not given", text(preset)) : "";
        return fmt::format("  size {} = {}{}\n", name, value, otherwise);
    }

    [[nodiscard]] std::string footprint(std::size_t index, const InputFootprint& footprint) const {
        std::string dims;
        for (const Interval& i : footprint.box) {
            dims += fmt::format("{}{}..{}", dims.empty() ? "" : ", ", text(i.lo), text(i.hi));
        }
        return fmt::format("  input {}[{}]\n", pipeline_.inputs[index].name, dims);
    }

private:
    const ir::Pipeline& pipeline_;
};

}  // namespace

std::string to_string(const ir::Pipeline& pipeline, const Model& model) {
    const Printer printer(pipeline);
    std::string result = "domains of " + pipeline.name + "\n";
    for (const SizeSolution& solution : model.sizes) result += printer.size(solution);
    for (const ir::Expr& check : model.checks) result += "  where " + printer.text(check) + "\n";
    for (std::size_t i = 0; i < model.footprints.size(); ++i) result += printer.footprint(i, model.footprints[i]);
    for (std::size_t s = 0; s < model.domains.size(); ++s) result += printer.domain(s, model.domains[s]);
    return result;
}

}  // namespace pipec::poly
