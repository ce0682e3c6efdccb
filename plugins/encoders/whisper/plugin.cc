#include "s2s/plugin.h"

#include <filesystem>

#include "s2s/nn/weights.h"
#include "whisper.h"
#include "whisper_errors.h"
#include "whisper_scorer.h"

namespace s2s::whisper {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Encoder> create(const Config& node, const BuildContext& context) {
  const Config config = with_encoder_folder(node, context, whisper_from_hf);
  WhisperOptions options = defaults_of(config);
  Findings findings;
  OptionReader(config, context.path, findings).read(options);
  findings.throw_if_any();
  check(options, context.path);
  return std::make_unique<Whisper>(options, context.path, options.path.value_or(""));
}

/// config.json of the folder, with generation_config.json as a block.
Config model_at(const fs::path& folder) {
  Config model = read_json((folder / "config.json").string());
  model["generation_config"] = read_json((folder / "generation_config.json").string());
  return model;
}

/// The encoder of a folder or, without one, of the option `model`. The scorer loads its weights.
std::unique_ptr<Whisper> encoder_of(const Config& node, Config model, const BuildContext& context) {
  model.erase("generation_config");
  Config keys = Config::map();
  if (const Config* const path = node.find("path")) keys["path"] = *path;
  const bool has_model = node.find("model") != nullptr && !node.find("model")->is_null();
  const Config config =
      has_model ? whisper_from_hf(model) : with_encoder_folder(keys, context, whisper_from_hf);
  WhisperOptions options;
  Findings findings;
  OptionReader(config, context.path, findings).read(options);
  findings.throw_if_any();
  check(options, context.path);
  return std::make_unique<Whisper>(options, context.path, "");
}

/// The tokenizer of a folder, if its special tokens have the ids of the model's.
std::unique_ptr<Tokenizer> tokenizer_of(const std::string& folder, const GenerationConfig& config,
                                        const BuildContext& context) {
  Config node = Config::map();
  node["name"] = Config::scalar("hf", true);
  node["path"] = Config::scalar(fs::absolute(folder).string(), true);
  BuildContext below = context;
  below.path += ".tokenizer";
  below.base_dir = "/";
  std::unique_ptr<Tokenizer> tokenizer = context.registries->create<Tokenizer>(node, below);
  const auto require = [&](const char* key, int64_t id, const char* expected) {
    const std::string piece = tokenizer->piece(id);
    if (piece != expected) throw other_token(folder, key, id, piece, expected);
  };
  require("decoder_start_token_id", config.decoder_start_token_id, "<|startoftranscript|>");
  require("eos_token_id", config.eos_token_id, "<|endoftext|>");
  require("no_timestamps_token_id", config.no_timestamps_token_id, "<|notimestamps|>");
  return tokenizer;
}

void require_class(const Config& model, const std::string& place) {
  const Config* const classes = model.find("architectures");
  if (classes == nullptr || !classes->is_list() || classes->items().empty()) return;
  const std::string name = classes->items().front().text();
  if (name == "WhisperForConditionalGeneration") return;
  throw_unsupported_config(place, "architectures", name, "WhisperForConditionalGeneration");
}

std::unique_ptr<Scorer> create_scorer(const Config& node, const ScorerContext& context) {
  const auto options = read_options<WhisperScorerOptions>(node, context.path);
  const std::string folder = options.path ? resolve_path(*options.path, context.base_dir) : "";
  if (folder.empty() && options.model.is_null()) throw no_whisper(context.path);
  const Config model = options.model.is_null() ? model_at(folder) : options.model;
  const std::string place = folder.empty() ? context.path + ".model" : folder;
  require_class(model, place + "/config.json");
  WhisperScorer::Parts parts;
  parts.encoder = encoder_of(node, model, context);
  parts.decoder = read_decoder(model, place + "/config.json");
  parts.generation = read_generation(model, place, options);
  if (!folder.empty()) parts.tokenizer = tokenizer_of(folder, parts.generation, context);
  parts.weights_path = folder;
  parts.batch_size = options.batch_size;
  auto scorer = std::make_unique<WhisperScorer>(std::move(parts));
  scorer->materialize(context.device, at::kFloat, 0);
  scorer->train(false);
  return scorer;
}

/// Reference files have a configuration and no folder. Its block `generate` has arguments of
/// transformers' generate, which are options.
Config as_model(const Config& foreign) {
  const Config* const generate = foreign.find("generate");
  Config options = generate == nullptr ? Config::map() : *generate;
  options["model"] = foreign;
  options["model"].erase("generate");
  return options;
}

std::vector<PublishedWeights> published() {
  return {{"openai/whisper-small", "Apache-2.0"}, {"openai/whisper-large-v3", "Apache-2.0"}};
}

Component<Encoder> component() {
  return {.name = "whisper",
          .summary = "Whisper's encoder and log-mel features; windows of 30 s, not live",
          .create = create,
          .options = list_options<WhisperOptions>,
          .translate = whisper_from_hf,
          .tiny = R"({"num_mel_bins": 16, "d_model": 16, "encoder_layers": 2,
                      "encoder_attention_heads": 2, "encoder_ffn_dim": 24,
                      "max_source_positions": 50})",
          .weights = published()};
}

Component<Scorer> scorer_component() {
  return {.name = "whisper",
          .summary = "Whisper's recognizer or translator; windows of 30 s",
          .create = create_scorer,
          .options = list_options<WhisperScorerOptions>,
          .translate = as_model,
          .weights = published()};
}

}  // namespace
}  // namespace s2s::whisper

S2S_PLUGIN("whisper", "0.1.0", "Apache-2.0", "encoder:whisper\nscorer:whisper") {
  registrar.add(s2s::whisper::component());
  registrar.add(s2s::whisper::scorer_component());
}
