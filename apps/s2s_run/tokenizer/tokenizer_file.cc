#include "s2s_run/tokenizer/tokenizer_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/foreign_json.h"
#include "s2s/foreign_text.h"

namespace s2s::run {
namespace {

Error unknown_format(const std::string& path) {
  std::error_code ignored;
  const bool exists = std::filesystem::exists(path, ignored);
  return Error(
      ExitCode::kConfig, "tokenizer/unknown-format",
      fmt::format("'{}' {}; expected a tokenizer.json, a SentencePiece .model, or a folder with "
                  "one of them; name the plugin that reads it with --plugin ('s2s-run plugin list' "
                  "shows the tokenizers)",
                  path,
                  exists
                      ? "is not a known tokenizer"
                      : "does not exist, and its extension does not determine a tokenizer type"));
}

Error cannot_train(const std::string& name) {
  return Error(
      ExitCode::kConfig, "tokenizer/cannot-train",
      fmt::format(
          "the tokenizer '{}' has no option train.input; expected a plugin that can train "
          "tokenizers; choose another plugin with --plugin, or another extension for --output",
          name));
}

bool can_train(const Component<Tokenizer>& component) {
  if (component.options == nullptr) return false;
  const OptionTable table = component.options();
  return std::any_of(table.begin(), table.end(),
                     [](const OptionRow& row) { return row.name == "train.input"; });
}

Config with_path(const std::string& path) {
  Config options = Config::map();
  options["path"] = Config::scalar(path, /*quoted=*/true);
  return options;
}

/// True for a folder whose tokenizer.json was generated from the SentencePiece model in it.
bool is_of_sentencepiece(const std::filesystem::path& folder) {
  try {
    const auto config = try_parse_foreign_json(
        read_small_file((folder / "tokenizer_config.json").string(), kTokenizerConfigBytes),
        kVocabularyJson);
    return config.is_object() && config.value("s2s_tokenizer", nlohmann::json()) == "sentencepiece";
  } catch (const std::system_error&) {
    return false;
  }
}

}  // namespace

std::string tokenizer_component_for(const std::string& path, const std::string& asked) {
  namespace fs = std::filesystem;
  if (!asked.empty()) return asked;
  std::error_code ignored;
  const auto by_ending = [](const fs::path& file) -> std::string {
    if (file.extension() == ".model") return "sentencepiece";
    return file.extension() == ".json" ? "hf" : "";
  };
  if (!fs::is_directory(path, ignored)) {
    if (std::string name = by_ending(path); !name.empty()) return name;
    throw unknown_format(path);
  }
  if (is_of_sentencepiece(path)) return "sentencepiece";
  if (fs::exists(fs::path(path) / "tokenizer.json", ignored)) return "hf";
  std::string found;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    const std::string name = by_ending(entry.path());
    if (name == "sentencepiece" || found.empty()) found = name.empty() ? found : name;
  }
  if (found.empty()) throw unknown_format(path);
  return found;
}

TokenizerFile::TokenizerFile(const Invocation& invocation, const std::string& path)
    : TokenizerFile(invocation, with_path(path), tokenizer_component_for(path), "--tokenizer") {}

TokenizerFile::TokenizerFile(const Invocation& invocation, Config options, const std::string& name,
                             const std::string& place, TokenizerUse use)
    : host_(process_search_inputs(invocation.plugin_paths)) {
  host_.install(registries_);
  if (use == TokenizerUse::kTrain && !can_train(registries_.get<Tokenizer>(name))) {
    throw cannot_train(name);
  }
  options["name"] = Config::scalar(name);
  BuildContext context;
  context.path = place;
  context.base_dir = "";
  tokenizer_ = registries_.create<Tokenizer>(options, context);
}

}  // namespace s2s::run
