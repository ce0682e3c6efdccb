// What a GPU holds of a model whose parameters live in the host's memory.

#include <ATen/DeviceAccelerator.h>
#include <doctest/doctest.h>

#include "parallel/equality.h"
#include "parallel/gpus.h"

using namespace s2s;
using namespace s2s::test;

namespace {

constexpr int64_t kLayers = 16;

using Stats = c10::CachingDeviceAllocator::DeviceStats;

int64_t allocated(bool peak) {
  const Stats stats = at::accelerator::getDeviceStats(0);
  const auto& all = stats.allocated_bytes[0];  // of all pools
  return peak ? all.peak : all.current;
}

/// What was seen from the second step on.
struct Seen {
  int64_t parameters = 0, begin = 0, peak = 0;
};

class WatchedModel : public TokenModel {
 public:
  WatchedModel(std::unique_ptr<Backbone> llm, Seen& seen)
      : TokenModel(std::move(llm)), seen_(seen) {}
  LossTerms training_loss(const Batch& batch, const StepContext& context) override {
    if (++num_calls_ == 2) {
      at::accelerator::resetPeakStats(0);
      seen_.begin = allocated(false);
    }
    return TokenModel::training_loss(batch, context);
  }

 private:
  Seen& seen_;
  int64_t num_calls_ = 0;
};

TrainedModel watched(Seen& seen) {
  TrainedModel trained;
  trained.name = "llama";
  trained.batches = token_batches(kLayoutSteps, 50, 1, 8);
  trained.make = [&seen](const Registries& registries) {
    BuildContext context;
    context.path = "model.llm";
    auto model = std::make_unique<WatchedModel>(
        registries.create<Backbone>(parse_json(R"({"name": "llama", "hidden_size": 512,
            "num_hidden_layers": )" + std::to_string(kLayers) +
                                                   R"(, "head_dim": 64, "vocab_size": 50,
            "intermediate_size": 1408, "num_attention_heads": 8, "num_key_value_heads": 8})",
                                               "llm"),
                                    context),
        seen);
    model->materialize(at::Device(at::kCUDA, 0), at::kFloat, 3);
    for (const NamedTensor& parameter : model->named_parameters()) {
      seen.parameters += static_cast<int64_t>(parameter.tensor->nbytes());
    }
    return model;
  };
  trained.at_end = [&seen](Communicator*) { seen.peak = allocated(true); };
  return trained;
}

}  // namespace

TEST_CASE("a GPU holds a few units of a model that lives in the host's memory") {
  if (num_gpus() == 0) {
    MESSAGE("skipped: no GPU here");
    return;
  }
  BuiltPlugins plugins;
  load(plugins);
  Seen seen;
  LayoutResult result;
  run_layout(plugins.registries(), watched(seen),
             layout("fsdp 1, offloaded", R"("name": "fsdp", "offload": "params")", 1, 1), nullptr,
             result);
  const int64_t unit = seen.parameters / kLayers;
  CHECK(seen.begin > 0);
  CHECK(seen.begin < 8 * unit);  // with the workspaces of libraries
  // Two units that are whole, one's gradients, two sums on their way, one more for what autograd
  // has of it, and activations.
  CHECK(seen.peak - seen.begin < 7 * unit);
}
