#pragma once
// Layouts, and how each is held against one process that accumulates as many batches as there are
// data ranks.

#include <doctest/doctest.h>

#include <map>

#include "parallel/equality_table.h"
#include "parallel/layout_run.h"
#include "parallel/thread_ranks.h"

namespace s2s::test {

constexpr double kEqualityTolerance = 1e-5;

inline RunLayout layout(const std::string& name, const std::string& strategy, int64_t num_ranks,
                        int64_t data_ranks, int64_t accumulate = 1) {
  return {name, "{" + strategy + "}", num_ranks, data_ranks, accumulate};
}

inline std::vector<RunLayout> data_layouts() {
  const std::string fsdp = R"("name": "fsdp")";
  return {
      layout("ddp 1", R"("name": "ddp")", 1, 1),
      layout("ddp 2", R"("name": "ddp", "bucket_cap_mb": 0.01)", 2, 2),
      layout("ddp 4", R"("name": "ddp")", 4, 4),
      layout("ddp 2, accumulating", R"("name": "ddp")", 2, 2, 3),
      layout("zero-1 2", fsdp + R"(, "zero_stage": 1)", 2, 2),
      layout("zero-2 2", fsdp + R"(, "zero_stage": 2)", 2, 2, 2),
      layout("fsdp 2", fsdp, 2, 2),
      layout("fsdp 4", fsdp, 4, 4),
      layout("fsdp 4, never reshard", fsdp + R"(, "reshard_after_forward": "never")", 4, 4),
      layout("fsdp 4, reshard by 2", fsdp + R"(, "reshard_after_forward": "2")", 4, 4),
      layout("fsdp 2, accumulating", fsdp, 2, 2, 3),
      layout("hybrid 2 x 2", fsdp + R"(, "replicate_size": 2)", 4, 4),
      layout("fsdp 2, recomputed", fsdp + R"(, "activation_checkpointing": "full")", 2, 2, 2),
      layout("fsdp 2, norms and MLPs recomputed",
             fsdp + R"(, "activation_checkpointing": "norm_and_mlp")", 2, 2),
      layout("fsdp 2, every second block recomputed",
             fsdp + R"(, "activation_checkpointing": "full", "activation_checkpointing_every": 2)",
             2, 2),
      layout("fsdp 2, reduced once a step", fsdp + R"(, "gradient_sync": "last")", 2, 2, 3),
      layout("zero-1 2, reduced each time", fsdp + R"(, "zero_stage": 1, "gradient_sync": "all")",
             2, 2, 3),
      layout("fsdp 2, frozen replicated", fsdp + R"(, "replicate_frozen": true)", 2, 2),
      layout("fsdp 2, offloaded", fsdp + R"(, "offload": "params")", 2, 2, 2),
      layout("fsdp 1, offloaded", fsdp + R"(, "offload": "params")", 1, 1, 3),
      layout("hybrid 2 x 2, optimizer offloaded",
             fsdp + R"(, "replicate_size": 2, "offload": "optimizer")", 4, 4, 2),
  };
}

inline std::vector<RunLayout> tensor_layouts() {
  const std::string name = R"("name": "model_parallel")";
  const std::string whole = R"(, "sequence_parallel": false)";
  const auto tensor = [](int64_t size) {
    return R"(, "tensor_parallel_size": )" + std::to_string(size);
  };
  return {
      layout("tp 2", name + tensor(2) + whole, 2, 1),
      layout("tp 4", name + tensor(4) + whole, 4, 1),
      layout("tp 2, accumulating", name + tensor(2) + whole, 2, 1, 2),
      layout("tp + sp 2", name + tensor(2), 2, 1),
      layout("tp + sp 4", name + tensor(4), 4, 1),
      layout("tp + sp 2, recomputed", name + tensor(2) + R"(, "activation_checkpointing": "full")",
             2, 1),
      layout("fsdp 2 x tp 2", name + tensor(2), 4, 2),
      layout("fsdp 2 x tp 2, accumulating", name + tensor(2) + whole, 4, 2, 2),
      layout("fsdp 2 x tp 2, recomputed and offloaded",
             name + tensor(2) + R"(, "activation_checkpointing": "full", "offload": "params")", 4,
             2),
      layout("zero-1 2 x tp 2", name + tensor(2) + R"(, "zero_stage": 1)", 4, 2),
      layout("replicate 2 x shard 2 x tp 2", name + tensor(2) + R"(, "replicate_size": 2)", 8, 4),
  };
}

/// Loads what the runs need, on one thread.
inline void load(BuiltPlugins& plugins) {
  for (const char* name : {"ddp", "fsdp", "model_parallel", "single"}) {
    plugins.registries().get<ParallelStrategy>(name);
  }
  for (const char* name : {"llama", "tinyllama", "gemma", "qwen"}) {
    plugins.registries().get<Backbone>(name);
  }
  plugins.registries().get<Optimizer>("adamw");
}

/// One process's results, by the number of batches of a step.
class Reference {
 public:
  Reference(const Registries& registries, const TrainedModel& trained)
      : registries_(registries), trained_(trained) {}
  const LayoutResult& of(int64_t global_batches) {
    const auto [found, is_new] = results_.try_emplace(global_batches);
    if (is_new) {
      const RunLayout one{"single", R"({"name": "single"})", 1, 1, global_batches};
      run_layout(registries_, trained_, one, nullptr, found->second);
    }
    return found->second;
  }

 private:
  const Registries& registries_;
  const TrainedModel& trained_;
  std::map<int64_t, LayoutResult> results_;
};

/// Of a layout whose ranks are threads.
inline LayoutResult result_of(const Registries& registries, const TrainedModel& trained,
                              const RunLayout& layout) {
  LayoutResult result;
  std::vector<std::string> errors;
  if (layout.num_ranks == 1) {
    run_layout(registries, trained, layout, nullptr, result);
  } else {
    errors = run_thread_ranks(layout.num_ranks, [&](Communicator& world) {
      run_layout(registries, trained, layout, &world, result);
    });
  }
  for (const std::string& error : errors) CHECK(error == "");
  return result;
}

inline double difference_of(const Registries& registries, const TrainedModel& trained,
                            const RunLayout& layout, Reference& reference) {
  const LayoutResult result = result_of(registries, trained, layout);
  for (const auto& [name, value] : result.parameters) CHECK(!value.eq(kNotHere).any().item<bool>());
  return largest_difference(reference.of(layout.global_batches()), result);
}

inline void check_all(const std::vector<TrainedModel>& models,
                      const std::vector<RunLayout>& layouts, const std::string& table_name) {
  BuiltPlugins plugins;
  load(plugins);
  EqualityTable table(table_name);
  for (TrainedModel trained : models) {
    trained.make(plugins.registries());  // loads its plugins on one thread
    Reference reference(plugins.registries(), trained);
    for (const RunLayout& layout : layouts) {
      CAPTURE(trained.name);
      CAPTURE(layout.name);
      const double difference = difference_of(plugins.registries(), trained, layout, reference);
      CHECK(difference < trained.tolerances * kEqualityTolerance);
      table.add(layout.name, trained.name, difference);
    }
  }
}

}  // namespace s2s::test
