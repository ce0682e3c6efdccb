#include "s2s/plugin.h"

#include "duplex_errors.h"
#include "duplex_model.h"
#include "s2s/model_parts.h"
#include "s2s/nn/grouped_codec.h"

namespace s2s::duplex_s2s {
namespace {

void build_codec(const DuplexOptions& options, const Config& model, const ModelContext& context,
                 DuplexParts& parts) {
  if (options.codec.find("name") == nullptr && options.codec.find("num_codebooks") != nullptr) {
    parts.num_codebooks = options.codec.find("num_codebooks")->as_int("model.codec.num_codebooks");
    parts.codebook_size = options.codec.find("codebook_size")->as_int("model.codec.codebook_size");
    return;  // batches contain the codes
  }
  parts.codec =
      group_frames(build_part<Codec>(options.codec, model, "codec", context), options.codec_frames);
  const CodecShape shape = parts.codec->shape();
  parts.num_codebooks = shape.num_codebooks;
  parts.codebook_size = shape.codebook_size;
  check_sample_rate("model.codec", shape.sample_rate_hz, context.data, "target_sample_rate");
  check_frame_rate("model.codec", shape.frame_rate_hz(), parts.frame_length_s, "model.codec_frames",
                   options.codec_frames);
}

/// Refuses options of the user-text head that have no effect, and warns about weak combinations.
void check_user_text(const UserTextOptions& asked, const BackboneShape& llm,
                     const BuildContext& context) {
  if (!asked.enabled) return;
  if (!asked.feed_back && asked.copy) throw not_fed_back_error("copy");
  if (!asked.feed_back && asked.truth_share > 0) throw not_fed_back_error("truth_share");
  if (asked.copy && !llm.tied_head && context.warn) {
    context.warn(
        "[model/user-text] model.user_text.copy adds the embedding of the word to repeat, but this "
        "language model's head is not tied to its embedding, so it must learn each word; expected "
        "model.llm.tie_word_embeddings: true, which makes copying work from the start");
  }
}

/// Builds the configured parts and checks that they are compatible. Errors: those of the parts,
/// [model/part-missing], [model/vocabulary], [model/token-id], [model/frame-rate],
/// [model/sample-rate].
DuplexParts build_parts(const DuplexOptions& options, const Config& model,
                        const ModelContext& context) {
  DuplexParts parts;
  parts.frame_length_s = frame_length_of(context.data);
  parts.tokenizer = context.tokenizer;
  parts.llm = build_part<Backbone>(options.llm, model, "llm", context);
  parts.encoder = build_part<Encoder>(options.encoder, model, "encoder", context);
  check_sample_rate("model.encoder", parts.encoder->sample_rate_hz(), context.data,
                    "source_sample_rate");
  build_codec(options, model, context, parts);
  check_user_text(options.user_text, parts.llm->shape(), context);
  const int64_t vocab_size = parts.llm->shape().vocab_size;
  check_vocabulary(parts.tokenizer, vocab_size);
  parts.ids = special_ids_of(options.tokens, parts.tokenizer, vocab_size);
  return parts;
}

/// Requires equal frames of user and agent. A Q-Former's are not frames of time.
void check_user_frames(const Perception& perception, double frame_length_s) {
  const double rate_hz = perception.frame_rate_hz();
  if (rate_hz > 0) check_frame_rate("model.encoder", rate_hz, frame_length_s);
}

std::unique_ptr<Model> assemble(DuplexOptions options, DuplexParts parts) {
  auto model = std::make_unique<DuplexModel>(std::move(options), std::move(parts));
  check_user_frames(model->perception(), model->frame_length_s());
  return model;
}

std::unique_ptr<Model> create(const Config& model, const ModelContext& context) {
  auto options = read_options<DuplexOptions>(model, context.path);
  DuplexParts parts = build_parts(options, model, context);
  return assemble(std::move(options), std::move(parts));
}

std::unique_ptr<Model> create_with_decoder(const Config& model, const ModelContext& context) {
  auto options = read_options<SpeechDecoderModelOptions>(model, context.path);
  options.speech_decoder.check();
  DuplexParts parts = build_parts(options, model, context);
  parts.speech_decoder = std::make_unique<SpeechDecoder>(
      options.speech_decoder, parts.llm->shape().hidden_size, parts.num_codebooks,
      parts.codebook_size + SpeechIds::kCount, options.embed_audio_tokens_std);
  return assemble(std::move(options), std::move(parts));
}

Component<Model> component() {
  return {.name = "duplex_s2s",
          .summary = "duplex model: one backbone, a text head and a flat audio head",
          .create = create,
          .options = list_options<DuplexOptions>,
          .translate = translate_nemo,
          .foreign = foreign_classes};
}

Component<Model> component_with_decoder() {
  return {.name = "duplex_s2s_speech_decoder",
          .summary = "duplex model: one backbone, a text head and a speech decoder",
          .create = create_with_decoder,
          .options = list_options<SpeechDecoderModelOptions>,
          .translate = translate_nemo_speech_decoder,
          .foreign = foreign_classes_with_decoder};
}

}  // namespace
}  // namespace s2s::duplex_s2s

S2S_PLUGIN("duplex_s2s", "0.1.0", "Apache-2.0",
           "model:duplex_s2s\nmodel:duplex_s2s_speech_decoder") {
  registrar.add(s2s::duplex_s2s::component());
  registrar.add(s2s::duplex_s2s::component_with_decoder());
}
