// bench llm --export: what a peer needs to train the same.

#include <ATen/ATen.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "benchmark/commands/llm_training.h"
#include "config/config_tree.h"
#include "s2s/foreign_class.h"
#include "s2s/nn/weights.h"
#include "s2s_run/new_output.h"
#include "train/train_errors.h"
#include "weights/safetensors.h"
#include "weights/weight_shards.h"

namespace s2s::run {
namespace {

/// What config.json calls the type of the parameters.
const char* dtype_text(at::ScalarType type) {
  return type == at::kBFloat16 ? "bfloat16" : "float32";
}

}  // namespace

void export_llm_training(LlmTraining& training, const BenchLlmArguments& arguments) {
  const std::filesystem::path folder = arguments.export_folder;
  require_new({folder.string()}, arguments.force);
  Config foreign = training.model().hf_config();
  if (foreign.is_null()) {
    throw_no_export("this language model has no counterpart in transformers",
                    "a plugin whose Backbone has an hf_config()");
  }
  foreign["torch_dtype"] =
      Config::scalar(dtype_text(training.precision().parameter_type), /*quoted=*/true);
  make_folders(folder.string());
  Backbone& model = training.model();
  write_weight_shards(folder.string(), export_weights(model, model.checkpoint_names()), {});
  write_file_atomically((folder / "config.json").string(), config_json(foreign).dump(2) + "\n");
  write_safetensors(
      (folder / "batch.safetensors").string(),
      {{"input_ids", training.ids_BT().cpu()}, {"labels", training.labels_BT().cpu()}});
  const nlohmann::ordered_json settings = {
      {"precision", arguments.precision},
      {"recompute", arguments.recompute},
      {"clip", arguments.clip},
      {"steps", arguments.steps},
      {"warm_up", arguments.warm_up},
      {"optimizer",
       {{"lr", LlmOptimizer::kLearningRate},
        {"betas", {LlmOptimizer::kBeta1, LlmOptimizer::kBeta2}},
        {"eps", LlmOptimizer::kEpsilon},
        {"weight_decay", 0.0}}}};
  write_file_atomically((folder / "bench.json").string(), settings.dump(2) + "\n");
}

}  // namespace s2s::run
