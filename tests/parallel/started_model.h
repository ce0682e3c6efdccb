#pragma once
// Models that are described first and get memory from their strategy.

#include "parallel/equality.h"
#include "s2s/nn/initial_values.h"

namespace s2s::test {

/// A model, and where its initial values come from.
struct Started {
  std::string name;
  std::function<std::unique_ptr<Model>(const Registries&)> make;  // not described yet
  InitialValuesSettings settings = {at::kCPU, at::kFloat, 3};
  std::function<void(Model&, InitialValues&)> change = {};
};

inline std::unique_ptr<InitialValues> described(const Started& started, Model& model) {
  auto values = std::make_unique<InitialValues>(model, started.settings);
  if (started.change) started.change(model, *values);
  return values;
}

inline std::unique_ptr<ParallelStrategy> strategy_of(const Registries& registries,
                                                     const RunLayout& layout, Communicator* world) {
  ProcessContext context;
  context.world = world;
  context.path = "trainer.strategy";
  return registries.create<ParallelStrategy>(parse_json(layout.strategy, "strategy"), context);
}

inline void attach(ParallelStrategy& strategy, Model& model, const InitialValues& values) {
  ShardPlan plan = model.configure_model(strategy.mesh());
  add_lora_rows(model, plan);
  strategy.attach_meta(model, plan, values);
}

inline std::unique_ptr<TokenModel> llama(const Registries& registries, const std::string& keys) {
  BuildContext context;
  context.path = "model.llm";
  return std::make_unique<TokenModel>(registries.create<Backbone>(
      parse_json(R"({"name": "llama", )" + keys + "}", "llm"), context));
}

}  // namespace s2s::test
