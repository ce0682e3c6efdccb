#include "train/loss_values.h"

#include <ATen/ATen.h>

namespace s2s {

void LossValues::add(const LossTerms& loss) {
  add("", loss.total);
  for (const auto& [name, value] : loss.parts) add(name, value);
}

void LossValues::add(const std::string& name, const at::Tensor& value) {
  names_.push_back(name);
  values_.push_back(value.detach().to(at::kDouble).reshape({}));
}

void LossValues::add_to(StepReport& report) const {
  if (values_.empty()) return;
  const at::Tensor read = at::stack(values_).cpu();
  for (size_t i = 0; i < names_.size(); ++i) {
    double& sum = names_[i].empty() ? report.loss : report.parts[names_[i]];
    sum += read.const_data_ptr<double>()[i];
  }
}

}  // namespace s2s
