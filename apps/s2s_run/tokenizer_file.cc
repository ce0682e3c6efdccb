#include "s2s_run/tokenizer_file.h"

#include <fmt/format.h>

#include <filesystem>

namespace s2s::run {
namespace {

Error unknown_format(const std::string& path) {
  return Error(
      ExitCode::kConfig, "tokenizer/unknown-format",
      fmt::format("'{}' is no tokenizer that is known here; expected a SentencePiece .model "
                  "or a folder with one; 's2s-run plugin list' shows the tokenizers",
                  path));
}

Config with_path(const std::string& path) {
  Config options = Config::map();
  options["path"] = Config::scalar(path, /*quoted=*/true);
  return options;
}

}  // namespace

std::string tokenizer_component_for(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::path(path).extension() == ".model") return "sentencepiece";
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    if (entry.path().extension() == ".model") return "sentencepiece";
  }
  throw unknown_format(path);
}

TokenizerFile::TokenizerFile(const Invocation& invocation, const std::string& path)
    : TokenizerFile(invocation, with_path(path), tokenizer_component_for(path), "--tokenizer") {}

TokenizerFile::TokenizerFile(const Invocation& invocation, Config options, const std::string& name,
                             const std::string& place)
    : host_(process_search_inputs(invocation.plugin_paths)) {
  host_.install(registries_);
  options["name"] = Config::scalar(name);
  BuildContext context;
  context.path = place;
  context.base_dir = "";
  tokenizer_ = registries_.create<Tokenizer>(options, context);
}

}  // namespace s2s::run
