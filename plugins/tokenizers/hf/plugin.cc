#include "s2s/plugin.h"

#include <filesystem>

#include "hf_errors.h"
#include "hf_tokenizer.h"
#include "s2s/data/training_texts.h"
#include "train.h"

namespace {

namespace fs = std::filesystem;
namespace plugin = s2s::hf;

std::unique_ptr<s2s::Tokenizer> create(const s2s::Config& node, const s2s::BuildContext& context) {
  s2s::Findings findings;
  plugin::HfOptions options;
  s2s::OptionReader(node, context.path, findings, {"name"}).read(options);
  findings.throw_if_any();
  if (options.path.empty()) throw plugin::errors::no_path(context.path);
  const fs::path path = (fs::path(context.base_dir) / options.path).lexically_normal();
  std::error_code ignored;
  const bool wanted = options.train.overwrite || !fs::exists(path, ignored);
  if (wanted && !options.train.input.is_null()) {
    const auto texts =
        s2s::read_training_texts(options.train.input, context.path, context.base_dir);
    plugin::train_tokenizer(texts, options.train, path.string());
    s2s::record_training_texts(path.string(), options.train.input, context.base_dir);
  } else if (!options.train.input.is_null()) {
    const std::string other = s2s::other_training_texts(path.string(), options.train.input,
                                                        context.path, context.base_dir);
    if (!other.empty() && context.warn) context.warn(other);
  }
  return std::make_unique<plugin::HfTokenizer>(options, path.string(), context.path);
}

s2s::Component<s2s::Tokenizer> component() {
  return {.name = "hf",
          .summary = "Hugging Face tokenizer.json with byte-pair encoding",
          .create = create,
          .options = s2s::list_options<plugin::HfOptions>};
}

}  // namespace

S2S_PLUGIN("hf", "0.1.0", "Apache-2.0", "tokenizer:hf") { registrar.add(component()); }
