#include "run/meta_model.h"

#include <algorithm>
#include <memory>

#include "config/config_errors.h"
#include "config/scalar.h"
#include "nn/lora.h"
#include "plan/mesh.h"
#include "plan/plan_errors.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/kinds/strategy.h"
#include "s2s/kinds/tokenizer.h"
#include "train/run_options.h"

namespace s2s::run {
namespace {

/// A placeholder for the tokenizer, whose files may not exist yet. Shapes do not depend on them.
class NoTokenizer : public Tokenizer {
 public:
  explicit NoTokenizer(const SpecialIds& ids) : ids_(ids) {}
  std::vector<int64_t> encode(std::string_view) const override { return {}; }
  std::string decode(const std::vector<int64_t>&) const override { return ""; }
  int64_t vocab_size() const override { return 3; }
  const SpecialIds& special_ids() const override { return ids_; }
  std::string piece(int64_t) const override { return ""; }

 private:
  SpecialIds ids_;
};

/// Returns three ids that `model.tokens` does not assign to another special token.
SpecialIds free_ids(const Config& config) {
  std::vector<int64_t> taken;
  if (const Config* tokens = config.find_path("model.tokens")) {
    for (const auto& [key, value] : tokens->entries()) {
      if (const auto id = parse_int(value.text())) taken.push_back(*id);
    }
  }
  std::vector<int64_t> free;
  for (int64_t id = 0; free.size() < 3; ++id) {
    if (std::find(taken.begin(), taken.end(), id) == taken.end()) free.push_back(id);
  }
  return {free[1], free[2], free[0]};
}

/// Adds the LoRA adapters that model.lora configures.
MetaModel with_lora(const Config& config, std::shared_ptr<Block> model, Block& adapted,
                    std::function<ShardPlan(const MeshShape&)> plan) {
  const Config* node = config.find_path("model.lora");
  const auto lora =
      node == nullptr ? LoraOptions() : read_options<LoraOptions>(*node, "model.lora");
  if (lora.r == 0) return {std::move(model), std::move(plan), {}};
  add_lora(adapted, lora);
  Block* const whole = model.get();
  return {std::move(model),
          [whole, plan = std::move(plan)](const MeshShape& mesh) {
            ShardPlan with_adapters = plan(mesh);
            add_lora_rows(*whole, with_adapters);
            return with_adapters;
          },
          {}};
}

MetaModel build_meta_llm(const Config& config, const Registries& registries) {
  const std::shared_ptr<Backbone> model = build_meta_language_model(config, registries);
  return with_lora(config, model, *model,
                   [model](const MeshShape& mesh) { return model->configure_model(mesh); });
}

}  // namespace

std::unique_ptr<Backbone> build_meta_language_model(const Config& config,
                                                    const Registries& registries) {
  BuildContext context;
  context.path = "model.llm";
  const Config* node = config.find_path(context.path);
  if (node == nullptr) throw missing_key_error("model.llm", config, "the language model");
  return registries.create<Backbone>(*node, context);
}

MetaModel meta_model_of(Model& model) {
  return {std::shared_ptr<Block>(std::shared_ptr<void>(), &model),
          [&model](const MeshShape& mesh) {
            ShardPlan plan = model.configure_model(mesh);
            add_lora_rows(model, plan);
            return plan;
          },
          model.metric_names()};
}

MetaModel build_meta_model(const Config& config, const Registries& registries) {
  if (config.find_path("model.type") == nullptr) return build_meta_llm(config, registries);
  ModelContext context;
  context.data = config.find("data");
  const auto tokenizer = std::make_shared<NoTokenizer>(free_ids(config));
  const Config* named = config.find_path("model.tokenizer");
  if (named != nullptr && !named->is_null()) context.tokenizer = tokenizer.get();
  context.path = "model";
  std::shared_ptr<Model> model = registries.create<Model>(model_component(config), context);
  const auto plan = [model, tokenizer](const MeshShape& mesh) {
    return model->configure_model(mesh);
  };
  Block* const adapted = adapted_part(*model).root;
  MetaModel meta =
      adapted == nullptr ? MetaModel{model, plan, {}} : with_lora(config, model, *adapted, plan);
  meta.metrics = model->metric_names();
  return meta;
}

std::optional<int64_t> given_axis_size(const Config& config, const std::string& key) {
  const std::string path = "trainer.strategy." + key;
  const Config* node = config.find_path(path);
  const bool is_open =
      node == nullptr || !node->is_scalar() || node->is_null() || node->text() == "auto";
  return is_open ? std::nullopt : std::optional(node->as_int(path));
}

std::optional<int64_t> ranks_to_try(const Config& config) {
  if (const auto configured = configured_ranks(config)) return configured;
  const auto size = [&config](const char* key) -> std::optional<int64_t> {
    try {
      const auto given = given_axis_size(config, key);
      return given ? std::optional(std::max<int64_t>(1, *given)) : std::nullopt;
    } catch (const Error&) {
      return 1;  // the strategy reports the error
    }
  };
  const auto data = size("data_parallel_size");
  return data ? std::optional(*data * size("tensor_parallel_size").value_or(1)) : std::nullopt;
}

MeshShape mesh_of_strategy(const Registries& registries, const Config& config, int64_t num_ranks) {
  // A mesh lists all ranks.
  constexpr int64_t kMostRanks = int64_t{1} << 20;
  if (num_ranks > kMostRanks) {
    throw plan_errors::mesh_size(static_cast<double>(num_ranks), kMostRanks);
  }
  const std::unique_ptr<Communicator> ranks = make_simulated_ranks(num_ranks);
  return simulated_strategy(registries, config, *ranks)->mesh();
}

std::unique_ptr<ParallelStrategy> simulated_strategy(const Registries& registries,
                                                     const Config& config, Communicator& ranks) {
  ProcessContext context;
  context.path = "trainer.strategy";
  context.world = ranks.size() > 1 ? &ranks : nullptr;
  return registries.create<ParallelStrategy>(*config.find_path(context.path), context);
}

}  // namespace s2s::run
