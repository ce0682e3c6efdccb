#include "s2s_run/described_model.h"

#include <cstdio>

#include "config/config_errors.h"
#include "train/run_options.h"

namespace s2s::run {
namespace {

/// Stands in for a tokenizer whose files are not there yet: shapes do not depend on it.
class NoTokenizer : public Tokenizer {
 public:
  std::vector<int64_t> encode(std::string_view) const override { return {}; }
  std::string decode(const std::vector<int64_t>&) const override { return ""; }
  int64_t vocab_size() const override { return 3; }
  const SpecialIds& special_ids() const override { return ids_; }
  std::string piece(int64_t) const override { return ""; }

 private:
  SpecialIds ids_{1, 2, 0};
};

std::unique_ptr<Tokenizer> read_tokenizer(const Config& config, const Registries& registries,
                                          BuildContext context) {
  const Config* node = config.find_path("model.tokenizer");
  if (node == nullptr || node->is_null()) return std::make_unique<NoTokenizer>();
  context.path = "model.tokenizer";
  try {
    return registries.create<Tokenizer>(*node, context);
  } catch (const Error& error) {
    std::fprintf(stderr, "note: planning without the tokenizer: %s\n", error.what());
    return std::make_unique<NoTokenizer>();
  }
}

DescribedModel describe_llm(const Config& config, const Registries& registries,
                            BuildContext context) {
  context.path = "model.llm";
  const Config* node = config.find_path(context.path);
  if (node == nullptr) throw missing_key_error("model.llm", config, "the language model");
  std::shared_ptr<Backbone> model = registries.create<Backbone>(*node, context);
  return {model, [model](const MeshShape& mesh) { return model->configure_model(mesh); }};
}

}  // namespace

DescribedModel describe_model(const Config& config, const Registries& registries) {
  BuildContext context;
  context.registries = &registries;
  context.data = config.find("data");
  if (config.find_path("model.type") == nullptr) return describe_llm(config, registries, context);
  const std::shared_ptr<Tokenizer> tokenizer = read_tokenizer(config, registries, context);
  context.tokenizer = tokenizer.get();
  context.path = "model";
  Config node = *config.find("model");
  const Config type = *node.find("type");
  for (const std::string& key : trainer_owned_model_keys()) node.erase(key);
  node["name"] = type;
  std::shared_ptr<SpeechModel> model = registries.create<SpeechModel>(node, context);
  return {model,
          [model, tokenizer](const MeshShape& mesh) { return model->configure_model(mesh); }};
}

}  // namespace s2s::run
