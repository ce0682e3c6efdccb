// Builds DuplexEarTts from options.

#include "duplex_model.h"
#include "eartts_errors.h"
#include "eartts_model.h"
#include "s2s/nn/weights.h"

namespace s2s::eartts {

void DuplexEarTtsOptions::visit(OptionVisitor& v) {
  v("tts_config", tts_config, "the speech model");
  v("codec", codec, "audio codec: its name and options", "codec");
  v("text_embedding", text_embedding,
    "a language model's text embeddings; used with tts_config.context_hidden_size");
  v("prompt", prompt, "what precedes the speech");
  v("tokens", tokens, "special token ids");
  v("pieces", pieces, "the text of each token id; empty: from the tokenizer");
  v("generation", generation, "how codes are generated");
  v("inference_force_speech_silence_on_eos", inference_force_speech_silence_on_eos,
    "text that ends a turn makes the frame before it silent");
  v("inference_speaker_reference", inference_speaker_reference,
    "audio file with the voice that speaks in generate and validate; null: the voices of the data, "
    "else silence");
  v("text_channel", text_channel, "the text channel of a text that is spoken alone");
  v("exclude_norm_from_wd", exclude_norm_from_wd,
    "norms and biases have no weight decay (NeMo: true by default)");
}

namespace {

/// Refuses unknown keys of NeMo's block that change results.
void refuse_missing(const Config& model) {
  for (const char* key :
       {"text_eos_dropout_prob", "text_eos_duplicate_prob", "text_bos_dropout_prob",
        "empty_turn_probability", "rescale_pretrained_weights", "custom_speech_bos_id",
        "custom_speech_eos_id", "custom_speech_pad_id"}) {
    const Config* found = model.find(key);
    if (found == nullptr || found->is_null() || found->text() == "false") continue;
    if (found->is_scalar() && found->text().find_first_not_of("0.") == std::string::npos) continue;
    throw_not_translated(std::string("model.") + key, *found, "no such key");
  }
  const std::pair<const char*, const char*> only[] = {
      {"inference_skip_first_code_prediction_on_init", "true"},
      {"use_system_prompt", "false"},
      {"audio_codec_run_dtype", "float32"}};
  for (const auto& [key, expected] : only) {
    const Config* found = model.find(key);
    if (found == nullptr || found->is_null() || found->text() == expected) continue;
    throw_not_translated(std::string("model.") + key, *found, expected);
  }
}

void check_codec(const DuplexEarTtsOptions& options, const CodecShape& codec) {
  const TtsOptions& tts = options.tts_config;
  const auto check = [](const char* key, int64_t value, int64_t expected) {
    if (value == expected) return;
    throw bad_sizes_error(std::string("model.tts_config.") + key, value,
                          "as the codec: " + std::to_string(expected));
  };
  check("num_quantizers", tts.num_quantizers, codec.num_codebooks);
  check("codebook_size", tts.codebook_size, codec.codebook_size);
}

std::unique_ptr<TextEmbedding> text_embedding_of(const DuplexEarTtsOptions& options,
                                                 const Vocabulary& vocabulary,
                                                 const ModelContext& context) {
  if (!options.tts_config.context_hidden_size) return nullptr;
  const auto pieces = static_cast<int64_t>(vocabulary.pieces.size());
  const int64_t from_tokenizer =
      context.tokenizer != nullptr ? context.tokenizer->vocab_size() : pieces;
  const int64_t rows = options.text_embedding.vocab_size.value_or(from_tokenizer);
  if (rows <= 0) throw no_pieces_error(context.path);
  const auto& path = options.text_embedding.path;
  return std::make_unique<TextEmbedding>(rows, *options.tts_config.context_hidden_size,
                                         path ? resolve_path(*path, context.base_dir) : "");
}

}  // namespace

Config translate_duplex_eartts(const Config& foreign) {
  const Config& model = required_key(foreign, "model", "options");
  refuse_missing(model);
  Config out = Config::map();
  out["tts_config"] = translate_tts(required_key(model, "tts_config", "model"));
  out["codec"] = required_key(model, "codec_config", "model");
  out["codec"]["name"] = Config::scalar("rvq_vae");
  if (const Config* data = foreign.find("data")) {
    if (const Config* rate = data->find("target_sample_rate")) out["codec"]["sample_rate"] = *rate;
    for (const char* key : {"add_audio_prompt", "audio_prompt_duration"}) {
      if (const Config* found = data->find(key)) out["prompt"][key] = *found;
    }
  }
  read_tokens(foreign, out);
  if (const Config* size = foreign.find_path("llm_config.vocab_size")) {
    out["text_embedding"]["vocab_size"] = *size;
  }
  for (const char* key : {"guidance_scale", "noise_scale", "top_p_or_k"}) {
    const Config* found = model.find(std::string("inference_") + key);
    if (found != nullptr) out["generation"][key] = *found;
  }
  out["exclude_norm_from_wd"] = Config::scalar("true");  // NeMo's default
  for (const char* key : {"inference_force_speech_silence_on_eos", "exclude_norm_from_wd",
                          "inference_speaker_reference"}) {
    if (const Config* found = model.find(key)) out[key] = *found;
  }
  return out;
}

std::unique_ptr<Model> create_duplex_eartts(const Config& model, const ModelContext& context) {
  auto options = read_options<DuplexEarTtsOptions>(model, context.path);
  const std::string place = context.path + ".tts_config";
  check(options.tts_config, place);
  DuplexEarTtsParts parts;
  parts.codec = build_part<Codec>(options.codec, model, "codec", context);
  const CodecShape codec = parts.codec->shape();
  check_codec(options, codec);
  if (context.data != nullptr) {
    check_sample_rate("model.codec", codec.sample_rate_hz, context.data, "target_sample_rate");
    check_frame_rate("model.codec", codec.frame_rate_hz(), frame_length_of(context.data));
  }
  const Vocabulary vocabulary = vocabulary_of(options.pieces, options.tokens, context.tokenizer,
                                              options.tts_config.cas_config.is_map());
  const auto pieces = static_cast<int64_t>(vocabulary.pieces.size());
  parts.ids =
      special_ids_of(options.tokens, context.tokenizer,
                     context.tokenizer != nullptr ? context.tokenizer->vocab_size() : pieces);
  parts.tokenizer = context.tokenizer;
  if (const auto& voice = options.inference_speaker_reference) {
    parts.voice_path = resolve_path(*voice, context.base_dir);
  }
  parts.core = std::make_unique<TtsCore>(
      options.tts_config,
      build_part<Backbone>(backbone_node_of(options.tts_config, place), model, "llm", context),
      vocabulary);
  parts.text_embedding = text_embedding_of(options, vocabulary, context);
  const Sampling sampling = sampling_of(options.generation, context.path + ".generation");
  const PromptOptions& prompt = options.prompt;
  const double frames = prompt.audio_prompt_duration * codec.frame_rate_hz();
  if (prompt.add_audio_prompt && frames < 3) {
    throw bad_sizes_error(context.path + ".prompt.audio_prompt_duration",
                          static_cast<int64_t>(frames), "at least three frames of the codec");
  }
  return std::make_unique<DuplexEarTts>(std::move(options), std::move(parts), sampling);
}

}  // namespace s2s::eartts
