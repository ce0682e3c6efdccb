#pragma once
// What `bench llm` and `bench parallel` train: a language model on one fixed batch of random
// tokens. Shape letters: B rows, T positions, N = B * T.

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "benchmark/commands/commands.h"
#include "plugin/plugin_host.h"
#include "s2s/kinds/backbone.h"
#include "s2s/kinds/device_kernels.h"
#include "s2s/kinds/optimizer.h"
#include "s2s/kinds/strategy.h"
#include "s2s/registry.h"
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

struct LlmSetup {
  Config model, strategy;  // the options of model.llm and trainer.strategy
  int64_t batch_size = 1, positions = 1;
  at::Device device = at::kCPU;
  Precision precision = {};
  double clip = 0;                // 0: no clipping
  bool is_fast = false;           // draws values on the device, also in place of those of files
  bool whole_first = false;       // allocates the whole model before it is split
  Communicator* world = nullptr;  // null: one process
};

/// That of `bench llm`. Errors: [config/precision].
LlmSetup llm_setup(const BenchLlmArguments& arguments, const PluginHost& host, at::Device device);

/// The model, its optimizer and its batch. Data ranks have different tokens.
class LlmTraining {
 public:
  /// Errors: those of the components.
  LlmTraining(const LlmSetup& setup, const Registries& registries);

  Backbone& model() { return *model_; }
  const Precision& precision() const { return setup_.precision; }
  /// The type of matrix products.
  at::ScalarType product_type() const {
    return setup_.precision.autocast.value_or(setup_.precision.parameter_type);
  }
  int64_t num_parameters();
  const at::Tensor& ids_BT() const { return ids_BT_; }
  /// The token that follows each position.
  const at::Tensor& labels_BT() const { return labels_BT_; }
  /// The peak of resident memory until the strategy had the model.
  int64_t attach_bytes() const { return attach_bytes_; }

  /// Returns this rank's part of the mean loss over all positions, on the device. Does not wait.
  at::Tensor forward();
  /// Computes the gradients and replaces the previous ones. Returns the loss. Does not wait.
  at::Tensor backward(at::Tensor loss);
  /// Returns the norm of all gradients. Waits for them.
  double gradient_norm();
  /// Clips, if asked for, and updates the parameters.
  void update();
  /// Runs a whole training step. Only clipping waits for the device.
  at::Tensor step();

 private:
  LlmSetup setup_;
  std::unique_ptr<DeviceKernels> kernels_;  // null on a CPU and where no plugin has some
  std::unique_ptr<Backbone> model_;
  std::unique_ptr<ParallelStrategy> strategy_;
  std::unique_ptr<Optimizer> optimizer_;
  at::Tensor ids_BT_, labels_BT_;
  int64_t attach_bytes_ = 0;
  double num_labels_ = 1;  // of all data ranks
};

/// Writes the model as a Hugging Face folder, with the batch (batch.safetensors: input_ids, labels,
/// int64 [B, T]) and the settings (bench.json), so that a peer trains the same.
/// Errors: [io/exists], [io/write], [checkpoint/export].
void export_llm_training(LlmTraining& training, const BenchLlmArguments& arguments);

}  // namespace s2s::run
