#pragma once
// A model whose blocks' hooks belong to a tensor axis, and its comparison with the whole model.

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <doctest/doctest.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "common/collective_log.h"
#include "engine/tensor_split.h"
#include "parallel/thread_ranks.h"
#include "s2s/kinds/backbone.h"
#include "s2s/nn/losses.h"

namespace s2s::test {

/// Gives a model's hooks to a TensorSplit, as the engine does.
class SplitDoors : public BlockHooks {
 public:
  SplitDoors(Block& model, const ShardPlan& plan, const MeshGroups& mesh)
      : model_(model), split_(model, plan, mesh) {
    model.for_each_block([this](const std::string&, Block& block) { block.set_hooks(this); });
  }
  ~SplitDoors() override {
    model_.for_each_block([](const std::string&, Block& block) { block.set_hooks(nullptr); });
  }
  at::Tensor call(Block& block, const at::Tensor& x, const Forward& forward) override {
    return split_.after(block, forward(split_.before(block, x)));
  }
  const VocabularySplit* vocabulary_split(const Block& block) const override {
    return split_.vocabulary_split(block);
  }
  const TensorSplit& split() const { return split_; }

 private:
  Block& model_;
  TensorSplit split_;
};

inline MeshShape tensor_mesh(int64_t size, bool sequence_parallel) {
  MeshShape shape;
  shape.tensor = size;
  shape.sequence_parallel = sequence_parallel;
  return shape;
}

/// The largest difference as a share of the largest number that is expected, or of `least`, where
/// nothing but rounding is.
inline double relative_difference(const at::Tensor& actual, const at::Tensor& expected,
                                  double least = 1e-6) {
  if (actual.sizes() != expected.sizes()) return 1e9;
  if (expected.numel() == 0) return 0;
  const double difference = (actual - expected).abs().max().item<double>();
  return difference / std::max(least, expected.abs().max().item<double>());
}

/// This rank's elements of a whole tensor.
inline at::Tensor part_of(const at::Tensor& whole, const TensorPlacement& share) {
  std::vector<at::Tensor> shards = {whole.flatten().narrow(0, 0, 0)};
  for (const TensorSpan& span : share.spans) {
    shards.push_back(whole.flatten().narrow(0, span.begin, span.count));
  }
  return at::cat(shards);
}

/// Values that no parameter has by chance: biases and adapters start at zero. On any thread.
inline void scatter_values(Block& model) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(11);
  const at::NoGradGuard no_grad;
  for (NamedTensor& parameter : model.named_parameters()) {
    parameter.tensor->add_(at::randn(parameter.sizes, generator), 0.15);
  }
}

using Gradients = std::map<std::string, at::Tensor>;

inline Gradients gradients_of(Block& model) {
  Gradients gradients;
  for (const NamedTensor& parameter : model.named_parameters()) {
    if (parameter.tensor->grad().defined()) gradients[parameter.name] = parameter.tensor->grad();
  }
  return gradients;
}

/// The parameter whose gradient, parts of sums added up, is furthest from the whole model's.
struct Furthest {
  std::string name = "none";
  double difference = 0;
};
inline Furthest compare_gradients(Block& model, const TensorSplit& split, const Gradients& expected,
                                  double least = 1e-6) {
  Furthest furthest;
  for (const NamedTensor& parameter : model.named_parameters()) {
    const TensorPlacement& share = split.share(parameter.tensor);
    const auto found = expected.find(parameter.name);
    const bool is_trained = found != expected.end();
    double difference = parameter.tensor->grad().defined() == is_trained ? 0 : 1e9;
    if (is_trained && difference == 0) {
      const at::Tensor own = parameter.tensor->grad().contiguous();
      if (share.partial != nullptr) {
        share.partial->all_reduce(own, Reduction::kSum, parameter.name).wait();
      }
      difference = relative_difference(own.flatten(), part_of(found->second, share), least);
    }
    if (difference > furthest.difference) furthest = {parameter.name, difference};
  }
  return furthest;
}

/// What ranks found, by what was compared; the worst of all ranks.
class Differences {
 public:
  void add(const std::string& what, double difference) {
    const std::lock_guard lock(mutex_);
    double& worst = worst_[what];
    worst = std::max(worst, difference);
  }
  void check(double tolerance) const {
    CHECK(!worst_.empty());
    for (const auto& [what, difference] : worst_) {
      CAPTURE(what);
      CHECK(difference < tolerance);
    }
  }

 private:
  std::mutex mutex_;
  std::map<std::string, double> worst_;
};

}  // namespace s2s::test
