#include "train/loss_sums.h"

#include <ATen/ATen.h>

namespace s2s {
namespace {

void add_to(at::Tensor& sum, const at::Tensor& value) {
  const at::Tensor number = value.detach().to(at::kDouble).reshape({});
  sum = sum.defined() ? sum + number : number;
}

}  // namespace

void LossSums::add(const LossTerms& loss) {
  add_to(total_, loss.total);
  for (const auto& [name, value] : loss.parts) add_to(parts_[name], value);
}

std::vector<std::string> LossSums::names() const {
  std::vector<std::string> names;
  for (const auto& [name, sum] : parts_) names.push_back(name);
  return names;
}

at::Tensor LossSums::numbers() const {
  std::vector<at::Tensor> sums = {total_};
  for (const auto& [name, sum] : parts_) sums.push_back(sum);
  return at::stack(sums);
}

}  // namespace s2s
