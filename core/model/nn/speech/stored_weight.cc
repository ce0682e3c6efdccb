#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "nn/kernels/affine.h"
#include "s2s/nn/audio.h"

namespace s2s {
namespace {

/// The norm of each slice of dim 0, with the other dims of size 1.
at::Tensor slice_lengths(const at::Tensor& weight) {
  std::vector<int64_t> others;
  for (int64_t dim = 1; dim < weight.dim(); ++dim) others.push_back(dim);
  return weight.norm(2, others, /*keepdim=*/true);
}

}  // namespace

at::Tensor DerivedTensor::of(const at::Tensor& a, const at::Tensor& b,
                             const std::function<at::Tensor()>& compute) {
  const std::lock_guard lock(mutex_);
  const bool is_known =
      a_.is_same(a) && b_.is_same(b) && version_a_ == a._version() && version_b_ == b._version();
  if (!is_known) {
    a_ = a;
    b_ = b;
    version_a_ = a._version();
    version_b_ = b._version();
    value_ = compute();
  }
  return value_;
}

StoredWeight::StoredWeight(std::vector<int64_t> sizes, int64_t fan_in, int64_t num_biases,
                           const WeightForm& form, const std::string& name)
    : sizes_(std::move(sizes)), fan_in_(fan_in), num_biases_(num_biases), form_(form) {
  const double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  const Init drawn = fan_in > 0 ? Init{Init::Kind::kUniform, bound} : Init{Init::Kind::kOnes, 1};
  const auto add = [&](const std::string& own, at::Tensor& slot, std::vector<int64_t> own_sizes,
                       const Init& init) {
    if (form_.trains) {
      register_parameter(own, slot, std::move(own_sizes), init);
    } else {
      register_buffer(own, slot);
    }
  };
  std::vector<int64_t> lengths(sizes_.size(), 1);
  lengths[0] = sizes_[0];
  if (form_.is_normed) add(name + "_g", length_, lengths, {Init::Kind::kOnes, 1});
  add(form_.is_normed ? name + "_v" : name, weight_, sizes_, drawn);
  if (num_biases_ > 0) add("bias", bias, {num_biases_}, {Init::Kind::kZeros, 0});
  if (!form_.trains) StoredWeight::reset_buffers();
}

StoredWeight::~StoredWeight() = default;

void StoredWeight::reset_buffers() {
  if (form_.trains) return;
  if (fan_in_ == 0) {
    weight_ = at::ones(sizes_, at::kFloat);
  } else {
    const double bound = 1 / std::sqrt(static_cast<double>(fan_in_));
    const auto generator = at::make_generator<at::CPUGeneratorImpl>(uint64_t{0});
    weight_ = at::empty(sizes_, at::kFloat).uniform_(-bound, bound, generator);
  }
  if (form_.is_normed) length_ = slice_lengths(weight_);
  if (num_biases_ > 0) bias = at::zeros({num_biases_}, at::kFloat);
}

at::Tensor StoredWeight::value() const {
  if (!form_.is_normed) return weight_;
  const auto normed = [&] { return weight_ * (length_ / slice_lengths(weight_)); };
  return form_.trains ? normed() : normed_.of(weight_, length_, normed);
}

at::Tensor StoredWeight::arranged(
    const std::function<at::Tensor(const at::Tensor&)>& arrange) const {
  if (form_.trains) return arrange(value());
  const at::Tensor& length = form_.is_normed ? length_ : weight_;
  return arranged_.of(weight_, length, [&] {
    return arrange(form_.is_normed ? weight_ * (length_ / slice_lengths(weight_)) : weight_);
  });
}

at::Tensor StoredWeight::product(const at::Tensor& x) const {
  return affine(x, value().flatten(1), bias);
}

}  // namespace s2s
