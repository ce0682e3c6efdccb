#pragma once
// What `bench llm` trains: a language model on one fixed batch of random tokens.
// Shape letters: B rows, T positions, N = B * T.

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "plugin/plugin_host.h"
#include "s2s/kinds/backbone.h"
#include "s2s/kinds/device_kernels.h"
#include "s2s/kinds/optimizer.h"
#include "s2s/kinds/strategy.h"
#include "s2s/registry.h"
#include "s2s_run/bench/bench.h"
#include "train/precision.h"

namespace s2s::run {

/// Returns what is wrong with a value of --preset; "" if it is right.
std::string llm_preset_problem(const std::string& value);
/// The same for --recompute.
std::string llm_recompute_problem(const std::string& value);

/// The hyperparameters of the optimizer. They are constants, so that a peer can have the same.
struct LlmOptimizer {
  static constexpr double kLearningRate = 1e-4;
  static constexpr double kBeta1 = 0.9, kBeta2 = 0.98;
  static constexpr double kEpsilon = 1e-8;
};

/// The model, its optimizer and its batch.
class LlmTraining {
 public:
  /// Errors: those of the components; [config/precision].
  LlmTraining(const BenchLlmArguments& arguments, const PluginHost& host,
              const Registries& registries, at::Device device);

  Backbone& model() { return *model_; }
  const Precision& precision() const { return precision_; }
  /// The type of matrix products.
  at::ScalarType product_type() const {
    return precision_.autocast.value_or(precision_.parameter_type);
  }
  int64_t num_parameters();
  const at::Tensor& ids_BT() const { return ids_BT_; }
  /// The token that follows each position.
  const at::Tensor& labels_BT() const { return labels_BT_; }

  /// Computes the gradients of the mean loss over all positions and replaces the previous ones.
  /// Returns the loss on the device. Does not wait.
  at::Tensor forward_backward();
  /// Returns the norm of all gradients. Waits for them.
  double gradient_norm();
  /// Clips, if asked for, and updates the parameters.
  void update();
  /// Runs a whole training step. Only clipping waits for the device.
  at::Tensor step();

 private:
  double clip_;
  at::Device device_;
  Precision precision_;
  std::unique_ptr<DeviceKernels> kernels_;  // null on a CPU and where no plugin has some
  std::unique_ptr<Backbone> model_;
  std::unique_ptr<ParallelStrategy> strategy_;
  std::unique_ptr<Optimizer> optimizer_;
  at::Tensor ids_BT_, labels_BT_;
};

/// Writes the model as a Hugging Face folder, with the batch (batch.safetensors: input_ids, labels,
/// int64 [B, T]) and the settings (bench.json), so that a peer trains the same.
/// Errors: [io/exists], [io/write], [checkpoint/export].
void export_llm_training(LlmTraining& training, const BenchLlmArguments& arguments);

}  // namespace s2s::run
