#include "s2s/plugin.h"

#include "s2s/model_parts.h"
#include "stt_errors.h"
#include "stt_model.h"

namespace s2s::duplex_stt {
namespace {

/// Returns the ids that mark the user's turns: the special id, and the first id of the text that an
/// old checkpoint uses.
std::vector<int64_t> turn_ids(int64_t special, const std::optional<std::string>& text,
                              const std::string& key, const Tokenizer* tokenizer) {
  if (!text) return {special};
  const std::vector<int64_t> ids = required_tokenizer(tokenizer).encode(*text);
  if (ids.empty()) throw_user_turn_token(key, *text);
  return {special, ids.front()};
}

/// Builds the parts that the options name, and checks that they are compatible.
/// Errors: those of the parts, and [model/part-missing], [model/vocabulary], [model/token-id],
/// [model/frame-rate], [model/sample-rate], [model/user-turn-token], [model/forced-turns].
SttParts build_parts(const SttOptions& options, const Config& model, const ModelContext& context) {
  SttParts parts;
  parts.frame_length_s = frame_length_of(context.data);
  parts.tokenizer = context.tokenizer;
  parts.llm = build_part<Backbone>(options.llm, model, "llm", context);
  parts.encoder = build_part<Encoder>(options.encoder, model, "encoder", context);
  check_sample_rate("model.encoder", parts.encoder->sample_rate_hz(), context.data,
                    "source_sample_rate");
  check_frame_rate("model.encoder", parts.encoder->frame_rate_hz(), parts.frame_length_s);
  const int64_t vocab_size = parts.llm->shape().vocab_size;
  check_vocabulary(parts.tokenizer, vocab_size);
  parts.ids = special_ids_of(options.tokens, parts.tokenizer, vocab_size);
  const DecodingOptions& decoding = options.decoding;
  if (decoding.force_turn_taking && !options.predict_user_text) throw_forced_turns();
  parts.user_bos =
      turn_ids(parts.ids.bos, decoding.user_bos_token, "user_bos_token", parts.tokenizer);
  parts.user_eos =
      turn_ids(parts.ids.eos, decoding.user_eos_token, "user_eos_token", parts.tokenizer);
  if (!options.system_prompt.empty()) {
    parts.prompt = required_tokenizer(parts.tokenizer).encode(options.system_prompt);
    parts.prompt.insert(parts.prompt.begin(), parts.ids.bos);
    parts.prompt.push_back(parts.ids.eos);
  }
  return parts;
}

std::unique_ptr<Model> create(const Config& model, const ModelContext& context) {
  auto options = read_options<SttOptions>(model, context.path);
  const Config* const weights = model.find("token_loss_weight");
  options.has_token_loss_weight =
      weights != nullptr && weights->is_map() && !weights->entries().empty();
  SttParts parts = build_parts(options, model, context);
  return std::make_unique<SttModel>(std::move(options), std::move(parts));
}

Component<Model> component() {
  return {.name = "duplex_stt",
          .summary = "duplex model that answers in text, with an optional text channel of the user",
          .create = create,
          .options = list_options<SttOptions>,
          .translate = translate_nemo,
          .foreign = foreign_classes};
}

}  // namespace
}  // namespace s2s::duplex_stt

S2S_PLUGIN("duplex_stt", "0.1.0", "Apache-2.0", "model:duplex_stt") {
  registrar.add(s2s::duplex_stt::component());
}
