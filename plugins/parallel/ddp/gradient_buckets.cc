#include "gradient_buckets.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "s2s/error.h"

namespace s2s::ddp {
namespace {

class ArrivalHook : public torch::autograd::PostAccumulateGradHook {
 public:
  ArrivalHook(GradientBuckets& buckets, size_t bucket) : buckets_(buckets), bucket_(bucket) {}
  void operator()(const torch::autograd::Variable&) override { buckets_.arrived(bucket_); }

 private:
  GradientBuckets& buckets_;
  size_t bucket_;
};

int64_t bytes_of(int64_t num_elements, const at::Tensor& like) {
  return num_elements * static_cast<int64_t>(like.element_size());
}

}  // namespace

GradientBuckets::GradientBuckets(const std::vector<NamedTensor>& parameters, Communicator& group,
                                 const BucketSettings& settings)
    : group_(group) {
  for (size_t i = parameters.size(); i-- > 0;) {
    if (parameters[i].tensor->requires_grad()) add(*parameters[i].tensor, settings);
  }
  for (size_t i = 0; i < buckets_.size(); ++i) {
    for (const at::Tensor& parameter : buckets_[i].parameters) {
      torch::autograd::impl::set_post_acc_grad_hooks(parameter,
                                                     std::make_unique<ArrivalHook>(*this, i));
    }
  }
}

GradientBuckets::~GradientBuckets() {
  for (const Bucket& bucket : buckets_) {
    for (const at::Tensor& parameter : bucket.parameters) {
      torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
    }
  }
}

void GradientBuckets::add(const at::Tensor& parameter, const BucketSettings& settings) {
  const int64_t limit = buckets_.size() <= 1 ? settings.first_bytes : settings.bytes;
  const bool fits = !buckets_.empty() &&
                    buckets_.back().parameters[0].scalar_type() == parameter.scalar_type() &&
                    bytes_of(buckets_.back().num_elements + parameter.numel(), parameter) <= limit;
  if (!fits) buckets_.emplace_back();
  buckets_.back().parameters.push_back(parameter);
  buckets_.back().num_elements += parameter.numel();
}

void GradientBuckets::arrived(size_t bucket) {
  if (!is_last_) return;
  ++buckets_[bucket].num_arrived;
  while (num_launched_ < buckets_.size()) {
    Bucket& next = buckets_[num_launched_];
    if (next.num_arrived < next.parameters.size()) return;
    launch(next);
    ++num_launched_;
  }
}

void GradientBuckets::launch(Bucket& bucket) {
  const at::NoGradGuard no_grad;
  const auto num_parameters = static_cast<int64_t>(bucket.parameters.size());
  bucket.flat = at::empty({bucket.num_elements + num_parameters}, bucket.parameters[0].options());
  bucket.flat.narrow(0, bucket.num_elements, num_parameters).fill_(1);
  int64_t begin = 0;
  for (int64_t i = 0; i < num_parameters; ++i) {
    const at::Tensor& parameter = bucket.parameters[static_cast<size_t>(i)];
    const at::Tensor place = bucket.flat.narrow(0, begin, parameter.numel());
    begin += parameter.numel();
    at::Tensor& gradient = parameter.mutable_grad();
    if (gradient.defined()) {
      place.view(parameter.sizes()).copy_(gradient);
      gradient.reset();
    } else {
      place.zero_();
      bucket.flat[bucket.num_elements + i].zero_();
    }
  }
  bucket.reduction = group_.all_reduce(bucket.flat, Reduction::kSum, "gradients");
}

void GradientBuckets::hand_out(Bucket& bucket) {
  bucket.reduction->wait();
  bucket.reduction.reset();
  const auto num_parameters = static_cast<int64_t>(bucket.parameters.size());
  const at::Tensor has_gradient =
      bucket.flat.narrow(0, bucket.num_elements, num_parameters).to(at::kCPU, at::kFloat);
  int64_t begin = 0;
  for (int64_t i = 0; i < num_parameters; ++i) {
    const at::Tensor& parameter = bucket.parameters[static_cast<size_t>(i)];
    S2S_ASSERT(!parameter.grad().defined(), "a gradient comes once in the last backward");
    if (has_gradient[i].item<float>() > 0) {
      parameter.mutable_grad() =
          bucket.flat.narrow(0, begin, parameter.numel()).view(parameter.sizes());
    }
    begin += parameter.numel();
  }
  bucket.flat.reset();
  bucket.num_arrived = 0;
}

void GradientBuckets::finish() {
  for (; num_launched_ < buckets_.size(); ++num_launched_) launch(buckets_[num_launched_]);
  for (Bucket& bucket : buckets_) hand_out(bucket);
  num_launched_ = 0;
}

}  // namespace s2s::ddp
