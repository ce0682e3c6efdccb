#include "checkpoint/checkpoint_copies.h"

#include <filesystem>

#include "s2s/foreign_text.h"
#include "train/train_errors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

constexpr char kLlmConfig[] = "config.json";

/// Returns the component at `key` if it has a `path` option.
Config* part_with_path(Config& config, const std::string& key) {
  Config* const model = config.find("model");
  Config* const part = model != nullptr && model->is_map() ? model->find(key) : nullptr;
  const bool has_path = part != nullptr && part->is_map() && part->find("path") != nullptr &&
                        part->find("path")->is_scalar();
  return has_path ? part : nullptr;
}

/// The part whose config.json a checkpoint copies: the language model, or a model that is read from
/// one folder (model.path). Null without a path.
Config* part_of_folder(Config& config) {
  if (Config* const llm = part_with_path(config, "llm")) return llm;
  Config* const model = config.find("model");
  const Config* const path = model != nullptr && model->is_map() ? model->find("path") : nullptr;
  return path != nullptr && path->is_scalar() && !path->is_null() ? model : nullptr;
}

void turn_to(Config& part, const fs::path& copy) {
  const Origin origin = part.find("path")->origin();
  part["path"] = Config::scalar(fs::absolute(copy).string(), /*quoted=*/true);
  part["path"].set_origin(origin);
}

}  // namespace

Config with_checkpoint_copies(Config config, const std::string& checkpoint) {
  if (checkpoint.empty()) return config;
  const fs::path folder = checkpoint;
  Config* const tokenizer = part_with_path(config, "tokenizer");
  if (tokenizer != nullptr && fs::is_directory(folder / kTokenizerCopy)) {
    turn_to(*tokenizer, folder / kTokenizerCopy);
    tokenizer->erase("train");
  }
  Config* const llm = part_of_folder(config);
  if (llm != nullptr && fs::exists(folder / kLlmCopy / kLlmConfig)) {
    turn_to(*llm, folder / kLlmCopy);
  }
  return config;
}

std::vector<std::string> llm_files(const Config& config) {
  Config copy = config;
  const Config* const llm = part_of_folder(copy);
  if (llm == nullptr) return {};
  const fs::path folder = llm->find("path")->text();
  if (!fs::exists(folder / kLlmConfig)) return {};
  std::vector<std::string> files = {(folder / kLlmConfig).string()};
  const fs::path generation = folder / kGenerationConfig;
  if (fs::is_regular_file(generation)) files.push_back(generation.string());
  for (const std::string& file : files) {
    const std::string target = link_out_of(file, folder.string());
    if (!target.empty()) throw_link_out(file, target);
  }
  return files;
}

}  // namespace s2s
