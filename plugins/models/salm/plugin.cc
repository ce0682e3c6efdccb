#include "s2s/plugin.h"

#include "s2s/model_parts.h"
#include "salm_errors.h"
#include "salm_model.h"

namespace s2s::salm {
namespace {

/// The id of the tag. NeMo adds the tag to the tokenizer, so its id may exceed the embedding; it is
/// never embedded. Without a tokenizer: the first id after the vocabulary.
int64_t tag_id(const SalmOptions& options, const Tokenizer* tokenizer, int64_t vocab_size) {
  if (options.tokens.audio_locator_tag) return *options.tokens.audio_locator_tag;
  if (tokenizer == nullptr) return vocab_size;
  const std::vector<int64_t> ids = tokenizer->encode(options.audio_locator_tag);
  if (ids.empty()) return vocab_size;  // a placeholder: this is a meta model
  if (ids.size() != 1)
    throw tag_error(options.audio_locator_tag, std::to_string(ids.size()) + " tokens");
  return ids.front();
}

int64_t chosen_id(const std::optional<int64_t>& asked, int64_t known, const std::string& name,
                  int64_t vocab_size) {
  const int64_t id = asked.value_or(known);
  if (id >= 0 && id < vocab_size) return id;
  throw_token_ids(name + " = " + std::to_string(id) + " is not an id of a vocabulary of " +
                  std::to_string(vocab_size));
}

/// The tokenizer's ids. SALM has no text channel: it needs PAD and EOS, and BOS only for some
/// prompt formats. Errors: [tokenizer/special-ids] for missing ids.
SpecialIds known_ids(const SalmTokenOptions& asked, const Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return {};
  const SpecialIds known = tokenizer->known_special_ids();
  const bool has_all = (asked.eos || known.eos >= 0) && known.pad >= 0;  // data also use PAD
  if (has_all) return known;
  if (known.bos >= 0) tokenizer->special_ids();  // throws, and suggests an id
  const bool has_eos = known.eos >= 0;
  throw no_id_error(has_eos ? "pad" : "eos", has_eos
                                                 ? "prompts of different lengths are padded with it"
                                                 : "answers end with it");
}

/// Builds the configured parts and checks that they are compatible. Errors: those of the parts,
/// [model/part-missing], [model/token-id], [model/vocabulary], [model/sample-rate], [salm/tag].
SalmParts build_parts(const SalmOptions& options, const Config& model,
                      const ModelContext& context) {
  SalmParts parts;
  parts.tokenizer = context.tokenizer;
  parts.llm = build_part<Backbone>(options.llm, model, "llm", context);
  parts.encoder = build_part<Encoder>(options.encoder, model, "encoder", context);
  if (options.asr_decoder.is_there()) {
    if (options.encoder_chunk_size_seconds) throw decoder_of_chunks_error();
    parts.asr_decoder = std::make_unique<TransducerDecoder>(
        options.asr_decoder, parts.encoder->output_dim(), context.base_dir);
  }
  check_sample_rate("model.encoder", parts.encoder->sample_rate_hz(), context.data,
                    "source_sample_rate");
  const int64_t vocab_size = parts.llm->shape().vocab_size;
  const SpecialIds known = known_ids(options.tokens, context.tokenizer);
  parts.eos = chosen_id(options.tokens.eos, known.eos, "eos", vocab_size);
  parts.ids.pad = chosen_id(options.tokens.pad, known.pad, "pad", vocab_size);
  parts.ids.tag = tag_id(options, context.tokenizer, vocab_size);
  parts.ids.tag_text = options.audio_locator_tag;
  const bool has_tag_after = parts.ids.tag == vocab_size && context.tokenizer != nullptr &&
                             context.tokenizer->vocab_size() == vocab_size + 1;
  if (!has_tag_after) check_vocabulary(context.tokenizer, vocab_size);
  return parts;
}

std::unique_ptr<Model> create(const Config& model, const ModelContext& context) {
  auto options = read_options<SalmOptions>(model, context.path);
  SalmParts parts = build_parts(options, model, context);
  return std::make_unique<SalmModel>(std::move(options), std::move(parts));
}

Component<Model> component() {
  return {.name = "salm",
          .summary = "speech-augmented language model: audio in a prompt, text out",
          .create = create,
          .options = list_options<SalmOptions>,
          .translate = translate_nemo,
          .data = "conversations",
          .foreign = foreign_classes};
}

}  // namespace
}  // namespace s2s::salm

S2S_PLUGIN("salm", "0.1.0", "Apache-2.0", "model:salm") { registrar.add(s2s::salm::component()); }
