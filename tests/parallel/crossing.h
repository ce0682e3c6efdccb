#pragma once
// Every layout with and without accumulation, recomputation and offload, and with all three.

#include "parallel/equality.h"

namespace s2s::test {

/// What a layout is crossed with.
struct Variant {
  std::string name;
  std::string keys;  // of the strategy
  int64_t accumulate = 1;
};

inline std::vector<Variant> variants() {
  const std::string recomputed = R"(, "activation_checkpointing": "full")";
  const std::string offloaded = R"(, "offload": "params")";
  return {
      {"plain", ""},
      {"accumulating", "", 2},
      {"recomputed", recomputed},
      {"offloaded", offloaded},
      {"all three", recomputed + offloaded, 2},
  };
}

/// The layouts of the matrix without what they are crossed with. (zero-3 is fsdp.)
inline std::vector<RunLayout> crossed_layouts() {
  const std::vector<std::string> names = {"ddp 1",
                                          "ddp 2",
                                          "ddp 4",
                                          "zero-1 2",
                                          "zero-2 2",
                                          "fsdp 2",
                                          "fsdp 4",
                                          "hybrid 2 x 2",
                                          "tp 2",
                                          "tp 4",
                                          "tp + sp 2",
                                          "fsdp 2 x tp 2",
                                          "replicate 2 x shard 2 x tp 2"};
  std::vector<RunLayout> crossed;
  for (const std::string& name : names) {
    for (const auto& layouts : {data_layouts(), tensor_layouts()}) {
      for (const RunLayout& layout : layouts) {
        if (layout.name == name) crossed.push_back(layout);
      }
    }
  }
  REQUIRE(crossed.size() == names.size());
  return crossed;
}

inline RunLayout varied(RunLayout layout, const Variant& variant) {
  layout.strategy.insert(layout.strategy.size() - 1, variant.keys);
  layout.accumulate = variant.accumulate;
  return layout;
}

/// Each cell is named "variant: model".
inline void check_crossed(const Registries& registries, const std::vector<TrainedModel>& models,
                          const std::string& table_name) {
  EqualityTable table(table_name);
  for (const TrainedModel& trained : models) {
    Reference reference(registries, trained);
    for (const RunLayout& layout : crossed_layouts()) {
      for (const Variant& variant : variants()) {
        CAPTURE(trained.name);
        CAPTURE(layout.name);
        CAPTURE(variant.name);
        const double difference =
            difference_of(registries, trained, varied(layout, variant), reference);
        CHECK(difference < kEqualityTolerance);
        table.add(layout.name, variant.name + ": " + trained.name, difference);
      }
    }
  }
}

}  // namespace s2s::test
