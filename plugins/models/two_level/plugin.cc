// Moshi and CSM in one plugin. In both, a depth decoder turns the state of a decoder over time into
// the codebooks of a frame. They share the heads per codebook, their losses, and the codes of
// batches.

#include "s2s/plugin.h"

#include "csm_model.h"
#include "moshi_model.h"
#include "s2s/nn/decoder_options.h"
#include "two_level_errors.h"

namespace s2s::two_level {
namespace {

/// Null without model.codec.name: batches contain the codes.
std::unique_ptr<Codec> build_codec(const Config& codec, const Config& model,
                                   const ModelContext& context, int64_t num_codebooks,
                                   int64_t codebook_size) {
  const Config* name = codec.find("name");
  if (name == nullptr) return nullptr;
  auto built = build_part<Codec>(codec, model, "codec", context);
  const CodecShape shape = built->shape();
  // The model may have control codes above the codec's codes.
  if (shape.num_codebooks != num_codebooks || shape.codebook_size > codebook_size) {
    throw codec_books_error(name->text(), shape.num_codebooks, shape.codebook_size, num_codebooks,
                            codebook_size);
  }
  for (const char* key : {"source_sample_rate", "target_sample_rate"}) {
    check_sample_rate("model.codec", shape.sample_rate_hz, context.data, key);
  }
  check_frame_rate("model.codec", shape.frame_rate_hz(), frame_length_of(context.data));
  return built;
}

/// id -1: none. Errors: [model/token-id].
void check_text_id(const std::string& key, int64_t id, int64_t vocab_size) {
  if (id >= vocab_size) throw text_id_error(key, id, vocab_size);
}

std::unique_ptr<Model> create_moshi(const Config& node, const ModelContext& context) {
  const Config model = with_folder_config(node, context, moshi_from_hf);
  auto options = read_options<MoshiOptions>(model, context.path);
  MoshiParts parts;
  parts.frame_length_s = frame_length_of(context.data);
  parts.tokenizer = context.tokenizer;
  parts.codec =
      build_codec(options.codec, model, context, options.num_codebooks, options.audio_vocab_size);
  check_vocabulary(parts.tokenizer, options.vocab_size);
  if (parts.tokenizer != nullptr) {
    parts.pad = special_ids_of(options.tokens, parts.tokenizer, options.vocab_size).pad;
  } else {
    parts.pad = options.tokens.pad.value_or(-1);
    check_text_id("tokens.pad", parts.pad, options.vocab_size);
  }
  if (parts.pad < 0 && options.text_padding_weight != 1) throw no_pad_error();
  return std::make_unique<MoshiModel>(std::move(options), std::move(parts), context.path);
}

std::unique_ptr<Model> create_csm(const Config& node, const ModelContext& context) {
  const Config model = with_folder_config(node, context, csm_from_hf);
  auto options = read_options<CsmOptions>(model, context.path);
  CsmParts parts;
  parts.frame_length_s = frame_length_of(context.data);
  parts.tokenizer = context.tokenizer;
  parts.codec =
      build_codec(options.codec, model, context, options.num_codebooks, options.vocab_size);
  check_vocabulary(parts.tokenizer, options.text_vocab_size);
  const SpecialIds known =
      parts.tokenizer != nullptr ? parts.tokenizer->known_special_ids() : SpecialIds{};
  parts.text_bos = options.text_bos_id.value_or(known.bos);
  parts.text_eos = options.text_eos_id.value_or(known.eos);
  check_text_id("text_bos_id", parts.text_bos, options.text_vocab_size);
  check_text_id("text_eos_id", parts.text_eos, options.text_vocab_size);
  return std::make_unique<CsmModel>(std::move(options), std::move(parts), context.path);
}

Component<Model> moshi() {
  return {.name = "moshi",
          .summary = "Moshi: text and codes of both speakers in, a depth decoder over codebooks",
          .create = create_moshi,
          .options = list_options<MoshiOptions>,
          .translate = moshi_reference_options,
          .tiny = R"({"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2,
                      "num_attention_heads": 4, "num_key_value_heads": 2, "ffn_dim": 24,
                      "audio_vocab_size": 10, "num_codebooks": 3, "sliding_window": 6,
                      "depth_decoder": {"hidden_size": 8, "num_hidden_layers": 1,
                                        "num_attention_heads": 2, "ffn_dim": 12}})",
          .weights = {{"kyutai/moshiko-pytorch-bf16", "CC-BY-4.0"},
                      {"kyutai/moshika-pytorch-bf16", "CC-BY-4.0"}}};
}

Component<Model> csm() {
  return {.name = "csm",
          .summary = "CSM: text and frames of codes in, a depth decoder over codebooks",
          .create = create_csm,
          .options = list_options<CsmOptions>,
          .translate = csm_reference_options,
          .tiny = R"({"vocab_size": 10, "text_vocab_size": 40, "hidden_size": 16,
                      "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
                      "num_key_value_heads": 2, "num_codebooks": 3, "audio_token_id": 38,
                      "audio_eos_token_id": 39,
                      "depth_decoder": {"hidden_size": 8, "intermediate_size": 12,
                                        "num_hidden_layers": 1, "num_attention_heads": 2,
                                        "num_key_value_heads": 1}})",
          .weights = {{"sesame/csm-1b", "Apache-2.0"}}};
}

}  // namespace
}  // namespace s2s::two_level

S2S_PLUGIN("two_level", "0.1.0", "Apache-2.0", "model:moshi\nmodel:csm") {
  registrar.add(s2s::two_level::moshi());
  registrar.add(s2s::two_level::csm());
}
