#include "s2s/plugin.h"

#include <cmath>

#include "duplex_errors.h"
#include "duplex_model.h"

namespace s2s::duplex {
namespace {

/// Builds one part. The option `translate_from` contains a foreign config (a Hugging Face
/// config.json, a NeMo block), which the component converts to options.
template <class T>
std::unique_ptr<T> build(const Config& node, const Config& model, const std::string& key,
                         ContextOf<T> context) {
  const Registries& registries = *context.registries;
  context.path += "." + key;
  const Config* name = node.find("name");
  if (name == nullptr) throw_part_missing(context.path, model);
  const Config* foreign = node.find("translate_from");
  if (foreign == nullptr) return registries.create<T>(node, context);
  const Component<T>& component =
      registries.get<T>(name->as_string(context.path + ".name"), node, context.path);
  if (component.translate == nullptr) {
    throw_not_translated(context.path + ".translate_from", *name,
                         "a component that reads foreign configs");
  }
  return component.create(component.translate(*foreign), context);
}

int64_t pick(const std::optional<int64_t>& asked, int64_t from_tokenizer) {
  return asked.value_or(from_tokenizer);
}

SpecialIds special_ids(const TokenIdOptions& asked, const Tokenizer* tokenizer,
                       int64_t vocab_size) {
  const SpecialIds known = tokenizer != nullptr ? tokenizer->special_ids() : SpecialIds{};
  const SpecialIds ids{pick(asked.bos, known.bos), pick(asked.eos, known.eos),
                       pick(asked.pad, known.pad)};
  for (const auto& [name, id] : {std::pair{"bos", ids.bos}, {"eos", ids.eos}, {"pad", ids.pad}}) {
    if (id >= 0 && id < vocab_size) continue;
    throw_token_ids(std::string(name) + " = " + std::to_string(id) +
                    " is not an id of a vocabulary of " + std::to_string(vocab_size));
  }
  if (ids.bos == ids.eos || ids.bos == ids.pad || ids.eos == ids.pad) {
    throw_token_ids("bos = " + std::to_string(ids.bos) + ", eos = " + std::to_string(ids.eos) +
                    " and pad = " + std::to_string(ids.pad) + " are not distinct");
  }
  return ids;
}

void check_rate(const std::string& part, int64_t rate_hz, const Config* data,
                const std::string& key) {
  const Config* asked = data != nullptr ? data->find(key) : nullptr;
  if (asked == nullptr || asked->is_null()) return;
  const int64_t data_rate_hz = asked->as_int("data." + key);
  if (data_rate_hz != rate_hz) throw_sample_rate(part, rate_hz, "data." + key, data_rate_hz);
}

void check_frames(const std::string& part, double rate_hz, double frame_length_s) {
  if (std::abs(rate_hz * frame_length_s - 1) > 1e-6) {
    throw_frame_rate(part, rate_hz, frame_length_s);
  }
}

void build_codec(const DuplexOptions& options, const Config& model, const ModelContext& context,
                 DuplexParts& parts) {
  if (options.codec.find("name") == nullptr && options.codec.find("num_codebooks") != nullptr) {
    parts.num_codebooks = options.codec.find("num_codebooks")->as_int("model.codec.num_codebooks");
    parts.codebook_size = options.codec.find("codebook_size")->as_int("model.codec.codebook_size");
    return;  // batches contain the codes
  }
  parts.codec = build<Codec>(options.codec, model, "codec", context);
  const CodecShape shape = parts.codec->shape();
  parts.num_codebooks = shape.num_codebooks;
  parts.codebook_size = shape.codebook_size;
  check_rate("model.codec", shape.sample_rate_hz, context.data, "target_sample_rate");
  check_frames("model.codec", shape.frame_rate_hz(), parts.frame_length_s);
}

/// Refuses options of the user-text head that have no effect, and warns about weak combinations.
void check_user_text(const UserTextOptions& asked, const BackboneShape& llm,
                     const BuildContext& context) {
  if (!asked.enabled) return;
  if (!asked.feed_back && asked.copy) throw_not_fed_back("copy");
  if (!asked.feed_back && asked.truth_share > 0) throw_not_fed_back("truth_share");
  if (asked.copy && !llm.tied_head && context.warn) {
    context.warn(
        "[model/user-text] model.user_text.copy adds the embedding of the word to repeat, but this "
        "language model's head is not tied to its embedding, so it must learn each word; expected "
        "model.llm.tie_word_embeddings: true, which makes copying work from the start");
  }
}

/// Builds the parts that the options name and checks that they are compatible.
/// Errors: those of the parts, and [model/part-missing], [model/vocabulary], [model/token-id],
/// [model/frame-rate], [model/sample-rate].
DuplexParts build_parts(const DuplexOptions& options, const Config& model,
                        const ModelContext& context) {
  DuplexParts parts;
  if (context.data != nullptr && context.data->find("frame_length") != nullptr) {
    parts.frame_length_s = context.data->find("frame_length")->as_double("data.frame_length");
  }
  parts.tokenizer = context.tokenizer;
  parts.llm = build<Backbone>(options.llm, model, "llm", context);
  parts.encoder = build<Encoder>(options.encoder, model, "encoder", context);
  check_rate("model.encoder", parts.encoder->sample_rate_hz(), context.data, "source_sample_rate");
  check_frames("model.encoder", parts.encoder->frame_rate_hz(), parts.frame_length_s);
  build_codec(options, model, context, parts);
  check_user_text(options.user_text, parts.llm->shape(), context);
  const int64_t vocab_size = parts.llm->shape().vocab_size;
  if (parts.tokenizer != nullptr && parts.tokenizer->vocab_size() > vocab_size) {
    throw_vocabulary(parts.tokenizer->vocab_size(), vocab_size);
  }
  parts.ids = special_ids(options.tokens, parts.tokenizer, vocab_size);
  return parts;
}

std::unique_ptr<SpeechModel> create(const Config& model, const ModelContext& context) {
  auto options = read_options<DuplexOptions>(model, context.path);
  DuplexParts parts = build_parts(options, model, context);
  return std::make_unique<DuplexModel>(std::move(options), std::move(parts));
}

Component<SpeechModel> component() {
  return {.name = "duplex_s2s",
          .summary = "duplex model: one backbone, a text head and a flat audio head",
          .create = create,
          .options = list_options<DuplexOptions>,
          .translate = translate_nemo};
}

}  // namespace
}  // namespace s2s::duplex

S2S_PLUGIN("duplex_s2s", "0.1.0", "Apache-2.0", "model:duplex_s2s") {
  registrar.add(s2s::duplex::component());
}
