#include "s2s_run/checkpoint/checkpoint_export_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <vector>

#include "base/atomic_file.h"
#include "checkpoint/checkpoint_copies.h"
#include "config/interpolation.h"
#include "run/checkpoint_config.h"
#include "s2s/foreign_class.h"
#include "s2s/foreign_text.h"
#include "s2s/kinds/tokenizer.h"
#include "train/train_errors.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

bool is_tokenizer_file(const fs::path& name) {
  static const std::set<std::string> kNames = {"tokenizer.json",
                                               "tokenizer_config.json",
                                               "special_tokens_map.json",
                                               "added_tokens.json",
                                               "vocab.json",
                                               "vocab.txt",
                                               "merges.txt",
                                               "chat_template.jinja"};
  return kNames.contains(name.string()) || name.extension() == ".model";
}

/// A link may lead to a private file of this machine, which the export would publish.
void check_file(const fs::path& file, const std::string& checkpoint) {
  std::error_code error;
  if (!link_out_of(file.string(), checkpoint).empty()) {
    throw_no_export(fmt::format("'{}' of the checkpoint is a link to a file outside the checkpoint",
                                printable_name(file.string())),
                    "a regular file; check the link's target, and copy the checkpoint with cp -rL "
                    "if you want that file");
  }
  if (!fs::is_regular_file(file, error)) {
    throw_no_export(
        fmt::format("'{}' of the checkpoint is not a regular file", printable_name(file.string())),
        "the tokenizer's files as s2s-run copied them");
  }
}

/// `model.tokenizer` of a checkpoint's configuration, reading the files in `folder`.
Config tokenizer_block(Config config, const std::string& folder) {
  Config* const model = config.find("model");
  Config* const block = model != nullptr && model->is_map() ? model->find("tokenizer") : nullptr;
  if (block == nullptr || !block->is_map() || block->find("name") == nullptr) {
    throw_no_export(
        "config.yaml of the checkpoint names no tokenizer, but its folder has tokenizer files",
        "the config.yaml that the run wrote");
  }
  for (const char* key : {"path", "train"}) block->erase(key);
  Findings findings;
  resolve_interpolations_at(config, {"model", "tokenizer"}, findings);
  findings.throw_if_any();
  Config tokenizer = *config.find_path("model.tokenizer");
  tokenizer["path"] = Config::scalar(folder, /*quoted=*/true);
  return tokenizer;
}

}  // namespace

namespace {

/// `model.tokenizer` of a checkpoint that has copies of the tokenizer's files.
Config block_of_copies(const std::string& checkpoint) {
  DroppedParts dropped;  // export_checkpoint reports them
  const Config config =
      load_config_safely((fs::path(checkpoint) / "config.yaml").string(), checkpoint, &dropped);
  return tokenizer_block(config, (fs::path(checkpoint) / kTokenizerCopy).string());
}

std::unique_ptr<Tokenizer> tokenizer_of_block(const Config& block, const Registries& registries) {
  BuildContext context;
  context.path = "model.tokenizer";
  return registries.create<Tokenizer>(block, context);
}

}  // namespace

std::unique_ptr<Tokenizer> tokenizer_of_checkpoint(const std::string& checkpoint,
                                                   const Registries& registries) {
  if (!fs::is_directory(fs::path(checkpoint) / kTokenizerCopy)) return nullptr;
  return tokenizer_of_block(block_of_copies(checkpoint), registries);
}

bool write_transformers_tokenizer(const std::string& checkpoint, const std::string& output,
                                  const Registries& registries) {
  const fs::path copies = fs::path(checkpoint) / kTokenizerCopy;
  if (!fs::is_directory(copies) || fs::exists(copies / "tokenizer.json")) return false;
  const Config block = block_of_copies(checkpoint);
  std::map<std::string, std::string> files;
  try {
    files = tokenizer_of_block(block, registries)->transformers_files();
  } catch (const Error& error) {
    if (error.id() == "io/read") throw;  // a retry may succeed
    fmt::print(stderr, "note: {} has no tokenizer for transformers: {}\n", printable_name(output),
               printable(error.what()));
  }
  for (const auto& [name, content] : files) {
    write_file_atomically((fs::path(output) / name).string(), content);
  }
  return !files.empty();
}

void copy_generation_config(const std::string& checkpoint, const std::string& output) {
  const fs::path folder = fs::path(checkpoint) / kLlmCopy;
  const fs::path file = folder / kGenerationConfig;
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(file, ignored))) return;
  if (!link_out_of(folder.string(), checkpoint).empty()) check_file(folder, checkpoint);
  check_file(file, checkpoint);
  fs::copy_file(file, fs::path(output) / kGenerationConfig, fs::copy_options::overwrite_existing);
}

void copy_tokenizer(const std::string& checkpoint, const std::string& output) {
  const fs::path folder = fs::path(checkpoint) / kTokenizerCopy;
  if (!fs::is_directory(folder)) return;
  if (!link_out_of(folder.string(), checkpoint).empty()) check_file(folder, checkpoint);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!is_tokenizer_file(entry.path().filename())) {
      fmt::print(stderr, "note: '{}' is skipped: it is not a tokenizer file of transformers\n",
                 printable_name(entry.path().string()));
      continue;
    }
    check_file(entry.path(), checkpoint);
    files.push_back(entry.path());
  }
  for (const fs::path& file : files) {
    fs::copy_file(file, fs::path(output) / file.filename(), fs::copy_options::overwrite_existing);
  }
}

}  // namespace s2s::run
