#include "quantizer.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>

namespace s2s::mel_fsq {

namespace {

/// The rows are the basis vectors of the orthonormal DCT-II.
at::Tensor dct_matrix(int64_t n) {
  const auto options = at::TensorOptions().dtype(at::kDouble);
  const at::Tensor place = (at::arange(n, options) + 0.5) * (M_PI / static_cast<double>(n));
  at::Tensor rows =
      at::cos(at::outer(at::arange(n, options), place)) * std::sqrt(2.0 / static_cast<double>(n));
  rows.select(0, 0).mul_(std::sqrt(0.5));
  return rows;
}

}  // namespace

StatisticsFit::StatisticsFit(int64_t num_elements)
    : speech_sum_F_(at::zeros({num_elements}, at::kDouble)),
      speech_square_F_(at::zeros({num_elements}, at::kDouble)),
      silence_F_(at::zeros({num_elements}, at::kDouble)) {}

void StatisticsFit::add(const at::Tensor& coefficients_NF, const at::Tensor& silent_N) {
  const at::Tensor all_NF = coefficients_NF.to(at::kCPU, at::kDouble);
  const at::Tensor silent = silent_N.to(at::kCPU);
  const at::Tensor speech_NF = all_NF.index_select(0, silent.logical_not().nonzero().squeeze(1));
  speech_sum_F_ += speech_NF.sum(0);
  speech_square_F_ += speech_NF.square().sum(0);
  speech_count_ += speech_NF.size(0);
  const at::Tensor where = silent.nonzero().squeeze(1);
  silent_count_ += where.size(0);
  if (where.size(0) > 0) silence_F_ = all_NF[where[0].item<int64_t>()];
}

Statistics StatisticsFit::finish() const {
  const auto speech = static_cast<double>(speech_count_);
  const double silent = std::min(static_cast<double>(silent_count_), speech / 4);
  const at::Tensor mean_F = (speech_sum_F_ + silence_F_ * silent) / (speech + silent);
  const at::Tensor square_F = (speech_square_F_ + silence_F_.square() * silent) / (speech + silent);
  const at::Tensor std_F = (square_F - mean_F.square()).clamp_min(1e-6).sqrt();
  const at::Tensor order_F = std::get<1>(at::sort(std_F, /*stable=*/true, 0, /*descending=*/true));
  return {mean_F.to(at::kFloat), std_F.to(at::kFloat), order_F};
}

Quantizer::Quantizer(int64_t num_columns, int64_t num_mels, int64_t num_groups,
                     std::vector<int64_t> levels, double clip)
    : num_groups_(num_groups), levels_(std::move(levels)), clip_(clip) {
  // A frame's elements are (column, mel): the product of both transforms is one matrix.
  on_host_.basis_FF = at::kron(dct_matrix(num_columns), dct_matrix(num_mels)).to(at::kFloat);
  const at::Tensor counts_L = at::tensor(levels_.counts(), at::kLong);
  on_host_.num_levels_KL = counts_L.to(at::kFloat).expand({num_groups_, -1}).contiguous();
}

Quantizer::Tables Quantizer::on(const at::Device& device) const {
  if (device.is_cpu()) return on_host_;
  const std::lock_guard lock(mutex_);
  Tables& tables = on_devices_[device.str()];
  if (!tables.basis_FF.defined()) {
    tables = {on_host_.basis_FF.to(device), on_host_.num_levels_KL.to(device)};
  }
  return tables;
}

at::Tensor Quantizer::transform(const at::Tensor& log_mel_F) const {
  return at::matmul(log_mel_F, on(log_mel_F.device()).basis_FF.t());
}

namespace {

/// Statistics of the kept elements, as [levels, K]. Element i of the order becomes level i / K of
/// group i % K, so the elements with the largest variance use the first levels, and all groups get
/// a similar share.
at::Tensor kept(const at::Tensor& values_F, const at::Tensor& order_F, int64_t num_levels,
                int64_t num_groups) {
  const at::Tensor which = order_F.slice(0, 0, num_levels * num_groups);
  return values_F.index_select(0, which).view({num_levels, num_groups}).t();
}

}  // namespace

at::Tensor Quantizer::encode(const at::Tensor& log_mel_BTF, const Statistics& statistics) const {
  const Tables tables = on(log_mel_BTF.device());
  const at::Tensor which = statistics.order_F.slice(0, 0, num_kept());
  const at::Tensor basis_DF = tables.basis_FF.index_select(0, which);
  const at::Tensor x_BTD = at::matmul(log_mel_BTF, basis_DF.t());
  const at::Tensor x_BTKL =
      x_BTD.view({x_BTD.size(0), x_BTD.size(1), num_levels(), num_groups_}).transpose(2, 3);
  const at::Tensor mean_KL = kept(statistics.mean_F, statistics.order_F, num_levels(), num_groups_);
  const at::Tensor std_KL = kept(statistics.std_F, statistics.order_F, num_levels(), num_groups_);
  const at::Tensor unit = ((x_BTKL - mean_KL) / (std_KL * clip_)).clamp(-1, 1);
  const at::Tensor level = ((unit + 1) / 2 * (tables.num_levels_KL - 1)).round().to(at::kLong);
  return levels_.codes(level).transpose(1, 2).contiguous();
}

at::Tensor Quantizer::decode(const at::Tensor& codes_BKT, const Statistics& statistics) const {
  const Tables tables = on(codes_BKT.device());
  const at::Tensor& counts_KL = tables.num_levels_KL;
  const at::Tensor level = levels_.levels(codes_BKT.transpose(1, 2));
  const at::Tensor unit_BTKL = level.to(at::kFloat) / (counts_KL - 1) * 2 - 1;
  const at::Tensor mean_KL = kept(statistics.mean_F, statistics.order_F, num_levels(), num_groups_);
  const at::Tensor std_KL = kept(statistics.std_F, statistics.order_F, num_levels(), num_groups_);
  const at::Tensor x_BTKL = unit_BTKL * std_KL * clip_ + mean_KL;
  const at::Tensor x_BTD = x_BTKL.transpose(2, 3).reshape({x_BTKL.size(0), x_BTKL.size(1), -1});
  const at::Tensor which = statistics.order_F.slice(0, 0, num_kept());
  at::Tensor all_BTF = statistics.mean_F.expand({x_BTD.size(0), x_BTD.size(1), -1}).clone();
  all_BTF.index_copy_(2, which, x_BTD);
  return at::matmul(all_BTF, tables.basis_FF);
}

}  // namespace s2s::mel_fsq
