#pragma once
// Models that are described first and get memory from their strategy.

#include "parallel/equality.h"
#include "s2s/first_values.h"

namespace s2s::test {

/// A model, and where its first values come from.
struct Started {
  std::string name;
  std::function<std::unique_ptr<SpeechModel>(const Registries&)> make;  // not described yet
  FirstValuesSettings settings = {at::kCPU, at::kFloat, 3};
  std::function<void(SpeechModel&, FirstValues&)> change = {};
};

inline std::unique_ptr<FirstValues> described(const Started& started, SpeechModel& model) {
  auto values = std::make_unique<FirstValues>(model, started.settings);
  if (started.change) started.change(model, *values);
  return values;
}

inline std::unique_ptr<ParallelStrategy> strategy_of(const Registries& registries,
                                                     const RunLayout& layout, Communicator* world) {
  BuildContext context;
  context.world = world;
  context.path = "trainer.strategy";
  return registries.create<ParallelStrategy>(parse_json(layout.strategy, "strategy"), context);
}

inline void attach(ParallelStrategy& strategy, SpeechModel& model, const FirstValues& values) {
  ShardPlan plan = model.configure_model(strategy.mesh());
  add_lora_rows(model, plan);
  strategy.attach_described(model, plan, values);
}

inline std::unique_ptr<TokenModel> llama(const Registries& registries, const std::string& keys) {
  BuildContext context;
  context.path = "model.llm";
  return std::make_unique<TokenModel>(registries.create<Backbone>(
      parse_json(R"({"name": "llama", )" + keys + "}", "llm"), context));
}

}  // namespace s2s::test
