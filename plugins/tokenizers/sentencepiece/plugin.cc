#include "s2s/plugin.h"

#include <filesystem>

#include "s2s/data/training_texts.h"
#include "sentencepiece_errors.h"
#include "sentencepiece_tokenizer.h"
#include "train.h"

namespace {

namespace fs = std::filesystem;
namespace plugin = s2s::sentencepiece_plugin;

/// The model file at `path`: the file itself, or the model in the folder.
std::string model_file(const std::string& path, const std::string& base_dir) {
  const fs::path given = (fs::path(base_dir) / path).lexically_normal();
  std::error_code ignored;
  if (!fs::is_directory(given, ignored)) return given.string();
  const std::string usual = (given / "tokenizer.model").string();
  if (fs::exists(usual, ignored)) return usual;
  std::vector<std::string> models;
  for (const auto& entry : fs::directory_iterator(given, ignored)) {
    if (entry.path().extension() == ".model") models.push_back(entry.path().string());
  }
  return models.size() == 1 ? models.front() : usual;
}

std::unique_ptr<s2s::Tokenizer> create(const s2s::Config& node, const s2s::BuildContext& context) {
  s2s::Findings findings;
  plugin::SentencePieceOptions options;
  s2s::OptionReader(node, context.path, findings, {"name"}).read(options);
  findings.throw_if_any();
  if (options.path.empty()) throw plugin::errors::no_path(context.path);
  const std::string file = model_file(options.path, context.base_dir);
  std::error_code ignored;
  const bool wanted = options.train.overwrite || !fs::exists(file, ignored);
  if (wanted && !options.train.input.is_null()) {
    const auto texts =
        s2s::read_training_texts(options.train.input, context.path, context.base_dir);
    plugin::train_model(texts, options.train, context.path, file);
    s2s::record_training_texts(file, options.train.input, context.base_dir);
  } else if (!options.train.input.is_null()) {
    const std::string other =
        s2s::other_training_texts(file, options.train.input, context.path, context.base_dir);
    if (!other.empty() && context.warn) context.warn(other);
  }
  return std::make_unique<plugin::SentencePieceTokenizer>(options, file, context.path);
}

s2s::Component<s2s::Tokenizer> component() {
  return {.name = "sentencepiece",
          .summary = "SentencePiece models; can train small ones on texts",
          .create = create,
          .options = s2s::list_options<plugin::SentencePieceOptions>};
}

}  // namespace

S2S_PLUGIN("sentencepiece", "0.1.0", "Apache-2.0", "tokenizer:sentencepiece") {
  registrar.add(component());
}
