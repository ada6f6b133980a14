// Ownership, names and points; see isl_context.h.
#include "poly/isl_context.h"

#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/options.h>
#include <isl/point.h>

#include <algorithm>
#include <cstdlib>

namespace pipec::poly {

IslContext::IslContext(unsigned long max_operations) : ctx_(isl_ctx_alloc()), max_operations_(max_operations) {
    isl_options_set_on_error(ctx_, ISL_ON_ERROR_CONTINUE);
    renew_budget();
}

IslContext::~IslContext() {
    isl_ctx_free(ctx_);
}

void IslContext::begin_question(SourceRange range, std::string what) {
    question_ = std::move(what);
    question_range_ = range;
    renew_budget();
}

void IslContext::give_up() const {
    ++given_up_;
    renew_budget();
}

void IslContext::renew_budget(unsigned share) const {
    constexpr unsigned kHalvings = 10;  // a question of a thousand steps is always possible
    isl_ctx_set_max_operations(ctx_, (max_operations_ >> std::min(given_up_ / 8, kHalvings)) / share);
    isl_ctx_reset_operations(ctx_);
    isl_ctx_reset_error(ctx_);
}

bool IslContext::is_budget(const isl::exception& failure) const {
    return dynamic_cast<const isl::exception_quota*>(&failure) != nullptr ||
           isl_ctx_last_error(ctx_) == isl_error_quota;
}

namespace {

std::string text(Name name) {
    return static_cast<char>(name.kind) + std::to_string(name.index);
}

}  // namespace

isl::id IslContext::id(Name name) const {
    return isl::manage(isl_id_alloc(ctx_, text(name).c_str(), nullptr));
}

isl::pw_aff IslContext::value(Name name) const {
    return isl::pw_aff::param_on_domain(everything(), id(name));
}

isl::pw_aff IslContext::constant(long value) const {
    return everything().pw_aff_on_domain(isl::val(ctx(), value));
}

isl::set IslContext::everything() const {
    return isl::manage(isl_set_universe(isl_space_params_alloc(ctx_, 0)));
}

isl::set IslContext::nothing() const {
    return isl::manage(isl_set_empty(isl_space_params_alloc(ctx_, 0)));
}

isl::multi_id IslContext::tuple(const std::vector<Name>& names) const {
    isl_space* space = isl_space_set_from_params(isl_space_params_alloc(ctx_, 0));
    space = isl_space_add_dims(space, isl_dim_set, static_cast<unsigned>(names.size()));
    isl_id_list* ids = isl_id_list_alloc(ctx_, static_cast<int>(names.size()));
    for (const Name name : names) ids = isl_id_list_add(ids, id(name).release());
    return isl::manage(isl_multi_id_from_id_list(space, ids));
}

namespace {

std::vector<Name> names_of(const isl::space& space) {
    std::vector<Name> result;
    const isl_size count = isl_space_dim(space.get(), isl_dim_param);
    for (isl_size i = 0; i < count; ++i) {
        const char* text = isl_space_get_dim_name(space.get(), isl_dim_param, static_cast<unsigned>(i));
        result.push_back({static_cast<Name::Kind>(text[0]), std::atoi(text + 1)});
    }
    return result;
}

}  // namespace

std::vector<Name> names_in(const isl::set& set) {
    return names_of(isl::manage(isl_set_drop_unused_params(set.copy())).space());
}

std::vector<Name> names_in(const isl::pw_aff& value) {
    return names_of(isl::manage(isl_pw_aff_drop_unused_params(value.copy())).space());
}

bool contains(const std::vector<Name>& names, Name name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

isl::val coefficient(const isl::aff& aff, Name name) {
    const int position = isl_aff_find_dim_by_name(aff.get(), isl_dim_param, text(name).c_str());
    if (position < 0) return isl::val(aff.ctx(), 0L);
    return isl::manage(isl_aff_get_coefficient_val(aff.get(), isl_dim_param, position));
}

isl::set project_out(const IslContext& isl, isl::set set, const std::vector<Name>& names) {
    for (const Name name : names) set = set.project_out_param(isl.id(name));
    return set;
}

isl::set as_tuple(const IslContext& isl, const isl::set& set, const std::vector<Name>& names) {
    return set.unbind_params(isl.tuple(names));
}

long to_long(const isl::val& v) {
    if (!v.is_rat()) throw NumberTooLarge();
    const isl::val numerator = v.mul(isl::manage(isl_val_get_den_val(v.get())));
    if (isl_val_gt_si(numerator.abs().get(), 1L << 62) != isl_bool_false) throw NumberTooLarge();
    return numerator.num_si();
}

std::optional<std::vector<long>> least_point(const IslContext& isl, const isl::set& set,
                                             const std::vector<Name>& names) {
    isl::set tuple = as_tuple(isl, set, names);
    if (tuple.is_empty()) return std::nullopt;
    // Bounded, so that a least point exists: no program has an int32 or an extent outside.
    constexpr long kFar = 1L << 33;
    for (unsigned i = 0; i < names.size(); ++i) {
        const auto far = [&](long v) { return isl_val_int_from_si(isl.ctx().get(), v); };
        isl::set bounded = isl::manage(isl_set_lower_bound_val(tuple.copy(), isl_dim_set, i, far(-kFar)));
        bounded = isl::manage(isl_set_upper_bound_val(bounded.release(), isl_dim_set, i, far(kFar)));
        if (!bounded.is_empty()) tuple = bounded;
    }
    const auto least = isl.attempt([&] { return tuple.lexmin().sample_point(); });
    const isl::point point = least ? *least : tuple.sample_point();
    std::vector<long> result;
    for (unsigned i = 0; i < names.size(); ++i) {
        const isl::val v = isl::manage(isl_point_get_coordinate_val(point.get(), isl_dim_set, static_cast<int>(i)));
        result.push_back(to_long(v));
    }
    return result;
}

}  // namespace pipec::poly
