#pragma once
// What a device holds of a model whose parameters live in the host's memory.

#include <ATen/ATen.h>
#include <ATen/DeviceAccelerator.h>
#include <doctest/doctest.h>

#include <algorithm>

#include "parallel/equality.h"

namespace s2s::test {

inline constexpr int64_t kMemoryLayers = 16;

/// Bytes that the device's allocator has given out.
inline int64_t allocated() {
  return at::accelerator::getDeviceStats(0).allocated_bytes[0].current;  // of all pools
}

/// What was seen, in bytes: what libraries hold before there is a model, and the device's memory
/// from the second step on.
struct SeenMemory {
  int64_t parameters = 0, libraries = 0, begin = 0, peak = 0;
  int64_t unit() const { return parameters / kMemoryLayers; }
};

/// What stays after a small product. cuBLAS keeps a workspace (32 MiB on an H100) for each thread
/// that multiplies: this one and the one of the backward pass.
inline int64_t bytes_of_libraries(at::Device device) {
  {
    const at::Tensor x =
        at::ones({8, 8}, at::TensorOptions(device).dtype(at::kFloat)).requires_grad_(true);
    at::matmul(x, x).sum().backward();
  }
  at::accelerator::synchronizeDevice(0);
  return allocated();
}

class MemoryWatch : public TokenModel {
 public:
  MemoryWatch(std::unique_ptr<Backbone> llm, SeenMemory& seen)
      : TokenModel(std::move(llm)), seen_(seen) {}
  LossTerms training_loss(const Batch& batch, const StepContext& context) override {
    if (++num_calls_ == 2) seen_.begin = allocated();
    return TokenModel::training_loss(batch, context);
  }

 private:
  SeenMemory& seen_;
  int64_t num_calls_ = 0;
};

inline TrainedModel watched(SeenMemory& seen, at::Device device) {
  TrainedModel trained;
  trained.name = "llama";
  trained.batches = token_batches(kLayoutSteps, 50, 1, 8);
  trained.make = [&seen, device](const Registries& registries) {
    BuildContext context;
    context.path = "model.llm";
    auto model = std::make_unique<MemoryWatch>(
        registries.create<Backbone>(parse_json(R"({"name": "llama", "hidden_size": 512,
            "num_hidden_layers": )" + std::to_string(kMemoryLayers) +
                                                   R"(, "head_dim": 64, "vocab_size": 50,
            "intermediate_size": 1408, "num_attention_heads": 8, "num_key_value_heads": 8})",
                                               "llm"),
                                    context),
        seen);
    model->materialize(device, at::kFloat, 3);
    for (const NamedTensor& parameter : model->named_parameters()) {
      seen.parameters += static_cast<int64_t>(parameter.tensor->nbytes());
    }
    return model;
  };
  return trained;
}

/// Trains it on the device, which is open.
inline SeenMemory memory_of_offloaded(at::Device device) {
  BuiltPlugins plugins;
  load(plugins);
  SeenMemory seen;
  seen.libraries = bytes_of_libraries(device);
  LayoutResult result;
  run_layout(plugins.registries(), watched(seen, device),
             layout("fsdp 1, offloaded", R"("name": "fsdp", "offload": "params")", 1, 1), nullptr,
             result);
  REQUIRE(result.device_peaks.size() == kLayoutSteps);
  seen.peak = *std::max_element(result.device_peaks.begin() + 1, result.device_peaks.end());
  return seen;
}

inline void check_offloaded(const SeenMemory& seen) {
  const int64_t unit = seen.unit();
  REQUIRE(unit > 0);
  CHECK(seen.begin > seen.libraries);
  CHECK(seen.begin - seen.libraries < unit / 2);  // tables and what is no unit
  // Two units that are whole, one's gradients, two sums on their way, one more for what autograd
  // has of it, and activations.
  CHECK(seen.peak - seen.begin > 2 * unit);
  CHECK(seen.peak - seen.begin < 7 * unit);
}

}  // namespace s2s::test
