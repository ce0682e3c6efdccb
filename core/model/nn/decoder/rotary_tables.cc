// Rotary frequencies and their tables.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "s2s/error.h"
#include "s2s/nn/decoder.h"

namespace s2s {
namespace {

/// Keeps short wavelengths, stretches long ones by `factor`, and interpolates between them.
double stretched_frequency(double inv_freq, const RotarySpec& spec) {
  const double original = spec.original_max_position_embeddings;
  const double wavelength = 2 * M_PI / inv_freq;
  if (wavelength > original / spec.low_freq_factor) return inv_freq / spec.factor;
  if (wavelength < original / spec.high_freq_factor) return inv_freq;
  const double smooth = (original / wavelength - spec.low_freq_factor) /
                        (spec.high_freq_factor - spec.low_freq_factor);
  return (1 - smooth) * inv_freq / spec.factor + smooth * inv_freq;
}

/// Returns the base with which a text of `num_positions` covers the range of the original angles.
/// Source: transformers' "dynamic" scaling (NTK-aware).
double grown_theta(const RotarySpec& spec, int64_t head_dim, int64_t num_positions) {
  const double original = spec.original_max_position_embeddings;
  const double positions = std::max(static_cast<double>(num_positions), original);
  const auto dim = static_cast<double>(head_dim);
  const double growth = spec.factor * positions / original - (spec.factor - 1);
  return spec.theta * std::pow(growth, dim / (dim - 2));
}

/// Returns the indices of the pairs between which YaRN's ramp runs.  Source: Peng et al. 2023,
/// arXiv 2309.00071.
std::pair<double, double> yarn_ramp(const RotarySpec& spec, double dim) {
  const auto pair_that_turns = [&](double turns) {
    return dim * std::log(spec.original_max_position_embeddings / (turns * 2 * M_PI)) /
           (2 * std::log(spec.theta));
  };
  double low = pair_that_turns(spec.beta_fast);
  double high = pair_that_turns(spec.beta_slow);
  if (spec.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  return {low, low == high ? high + 0.001 : high};
}

double yarn_frequency(double inv_freq, int64_t pair, const RotarySpec& spec, int64_t head_dim) {
  const auto [low, high] = yarn_ramp(spec, static_cast<double>(head_dim));
  const double stretched = std::clamp((static_cast<double>(pair) - low) / (high - low), 0.0, 1.0);
  return inv_freq / spec.factor * stretched + inv_freq * (1 - stretched);
}

/// Whether a text of this length has LongRoPE's long factors.
bool is_long(const RotarySpec& spec, int64_t num_positions) {
  return spec.scaling == RotaryScaling::kLongRope &&
         static_cast<double>(num_positions) > spec.original_max_position_embeddings;
}

/// [llm/long-cache] Keys in a cache have the angles of the short factors.
Error grown_cache_error(int64_t original) {
  return {ExitCode::kConfig, "llm/long-cache",
          fmt::format("the text grows past original_max_position_embeddings = {} while it is "
                      "generated: longrope turns texts beyond that length by other factors, and "
                      "the keys of its beginning were turned by the short ones; expected a text "
                      "that stays within {} positions, or a prompt that is longer; generate a "
                      "shorter answer (max_new_tokens, max_duration), or shorten the prompt",
                      original, original)};
}

}  // namespace

at::Tensor rotary_inv_freq(const RotarySpec& spec, int64_t head_dim, int64_t num_positions) {
  S2S_ASSERT(head_dim % 2 == 0, "rotary embedding turns pairs");
  const bool is_dynamic = spec.scaling == RotaryScaling::kDynamic;
  const double theta = is_dynamic ? grown_theta(spec, head_dim, num_positions) : spec.theta;
  const std::vector<double>& divisors =
      is_long(spec, num_positions) ? spec.long_factors : spec.short_factors;
  at::Tensor table = at::empty({head_dim / 2}, at::TensorOptions().dtype(at::kFloat));
  float* values = table.mutable_data_ptr<float>();
  for (int64_t j = 0; j < head_dim / 2; ++j) {
    const double exponent = static_cast<double>(2 * j) / static_cast<double>(head_dim);
    double inv_freq = std::pow(theta, -exponent);
    if (spec.scaling == RotaryScaling::kLinear) inv_freq /= spec.factor;
    if (spec.scaling == RotaryScaling::kByWavelength)
      inv_freq = stretched_frequency(inv_freq, spec);
    if (spec.scaling == RotaryScaling::kYarn)
      inv_freq = yarn_frequency(inv_freq, j, spec, head_dim);
    if (spec.scaling == RotaryScaling::kLongRope) inv_freq /= divisors[static_cast<size_t>(j)];
    values[j] = static_cast<float>(inv_freq);
  }
  return table;
}

std::pair<at::Tensor, at::Tensor> RotaryTables::compute(int64_t begin, int64_t end,
                                                        int64_t text_length,
                                                        at::Device device) const {
  const at::Tensor inv_freq = rotary_inv_freq(spec_, head_dim_, text_length);
  const at::Tensor half = at::arange(begin, end).to(at::kFloat).unsqueeze(1) * inv_freq;
  const at::Tensor angles_TD = at::cat({half, half}, 1);
  at::Tensor cos_TD = angles_TD.cos();
  at::Tensor sin_TD = angles_TD.sin();
  if (spec_.attention_factor != 1) {
    cos_TD.mul_(spec_.attention_factor);
    sin_TD.mul_(spec_.attention_factor);
  }
  return {cos_TD.to(device), sin_TD.to(device)};
}

void RotaryTables::grow(Table& table, int64_t end, int64_t text_length, at::Device device) {
  if (table.cos_TD.defined() && table.cos_TD.size(0) >= end && table.cos_TD.device() == device) {
    return;
  }
  int64_t positions = std::max<int64_t>(256, 2 * end);
  if (spec_.scaling == RotaryScaling::kDynamic) {
    positions = std::min(positions, static_cast<int64_t>(spec_.original_max_position_embeddings));
  }
  if (table.cos_TD.defined() && !table.cos_TD.is_cpu()) {
    outgrown_.insert(outgrown_.end(), {table.cos_TD, table.sin_TD});
  }
  std::tie(table.cos_TD, table.sin_TD) = compute(0, positions, text_length, device);
}

std::pair<at::Tensor, at::Tensor> RotaryTables::at_positions(int64_t begin, int64_t count,
                                                             at::Device device) {
  const int64_t end = begin + count;
  const auto original = static_cast<int64_t>(spec_.original_max_position_embeddings);
  if (spec_.scaling == RotaryScaling::kDynamic) {
    longest_ = end < original ? 0 : std::max(longest_, end);
    if (longest_ > original) return compute(begin, end, longest_, device);
  }
  const bool has_long_factors = is_long(spec_, end);
  if (has_long_factors && begin > 0 && begin <= original) throw grown_cache_error(original);
  Table& table = has_long_factors ? long_ : short_;
  grow(table, end, has_long_factors ? end : 0, device);
  return {table.cos_TD.narrow(0, begin, count), table.sin_TD.narrow(0, begin, count)};
}

void RotaryTables::begin_step(at::Device device, at::ScalarType dtype) {
  device_ = device;
  dtype_ = dtype;
  made_ = {};
}

namespace {

bool are_same(const Positions& a, const Positions& b) {
  return a.begin == b.begin && a.end == b.end && a.row_begins == b.row_begins &&
         a.own_N.is_same(b.own_N);
}

}  // namespace

const std::pair<at::Tensor, at::Tensor>& RotaryTables::of(const Positions& positions,
                                                          int64_t num_columns) {
  if (made_.first.defined() && made_columns_ == num_columns && are_same(made_for_, positions)) {
    return made_;
  }
  const auto [cos_ND, sin_ND] = tables_of(positions, num_columns);
  made_for_ = positions;
  made_columns_ = num_columns;
  made_ = {cos_ND.to(dtype_), sin_ND.to(dtype_)};
  return made_;
}

std::pair<at::Tensor, at::Tensor> RotaryTables::tables_of(const Positions& positions,
                                                          int64_t num_columns) {
  if (positions.own_N.defined()) {
    const auto [cos_TD, sin_TD] = at_positions(0, positions.end, device_);
    return {cos_TD.index_select(0, positions.own_N), sin_TD.index_select(0, positions.own_N)};
  }
  if (positions.row_begins.empty()) return at_positions(positions.begin, num_columns, device_);
  std::vector<at::Tensor> cosines, sines;
  const int64_t longest = longest_;
  for (const int64_t begin : positions.row_begins) {
    longest_ = 0;  // other texts do not count
    const auto [cos_TD, sin_TD] = at_positions(begin, num_columns, device_);
    cosines.push_back(cos_TD);
    sines.push_back(sin_TD);
  }
  longest_ = longest;
  if (cosines.size() == 1) return {cosines[0], sines[0]};
  return {at::cat(cosines), at::cat(sines)};
}

}  // namespace s2s
