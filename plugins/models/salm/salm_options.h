#pragma once
// Options of SALM, the speech-augmented language model: the `model` block without the keys of the
// trainer. Names follow NeMo's speechlm2 where it has the option.

#include <optional>
#include <string>
#include <vector>

#include "s2s/foreign_class.h"
#include "s2s/model_parts.h"
#include "s2s/nn/perception.h"
#include "s2s/nn/transducer.h"
#include "s2s/options.h"

namespace s2s::salm {

struct SalmTokenOptions {
  std::optional<int64_t> bos, eos, pad, audio_locator_tag;
  void visit(OptionVisitor& v) {
    v("bos", bos, "text id that starts a prompt; null: from the tokenizer", at_least(0));
    v("eos", eos, "text id that ends an answer; null: from the tokenizer", at_least(0));
    v("pad", pad, "text id of padding; null: from the tokenizer", at_least(0));
    v("audio_locator_tag", audio_locator_tag,
      "id of the place of an audio; null: the tokenizer's id of model.audio_locator_tag",
      at_least(0));
  }
};

struct SalmOptions {
  Config llm, encoder;
  ModalityAdapterOptions modality_adapter;
  SalmTokenOptions tokens;
  std::string audio_locator_tag = "<|audioplaceholder|>";
  std::optional<std::string> prompt_format;
  std::optional<double> encoder_chunk_size_seconds;
  double encoder_min_chunk_seconds = 0.02;
  std::string loss_normalization = "global";
  TransducerOptions asr_decoder;
  double asr_transcript_drop_prob = 0;

  void visit(OptionVisitor& v) {
    v("llm", llm, "language model: its name and options");
    v("encoder", encoder, "speech encoder: its name and options");
    v("modality_adapter", modality_adapter, "module between encoder and language model");
    v("tokens", tokens, "special token ids");
    v("audio_locator_tag", audio_locator_tag, "text that marks the place of an audio in a prompt");
    v("prompt_format", prompt_format,
      "of data sets that refer to it (prompt_format: ${model.prompt_format}); no effect by itself");
    v("encoder_chunk_size_seconds", encoder_chunk_size_seconds,
      "longer audio is encoded in chunks of this duration (s); null: whole", at_least(1e-6));
    v("encoder_min_chunk_seconds", encoder_min_chunk_seconds,
      "a shorter last chunk joins the one before it (s); two mel frames, as in NeMo", at_least(0));
    v("loss_normalization", loss_normalization,
      "divide by the labels of the whole optimizer step (global) or of the micro-batch (local, as "
      "NeMo)",
      one_of({"global", "local"}));
    v("asr_decoder", asr_decoder,
      "ASR decoder whose text follows each audio (NeMo's SALMWithAsrDecoder)");
    v("asr_transcript_drop_prob", asr_transcript_drop_prob,
      "share of these texts that a training step leaves empty", between(0, 1));
  }
};

/// Converts a NeMo speechlm2 configuration, {model, llm_config, tokens}, to options of the
/// reference mode. Errors: [model/translate] for unsupported keys that change the result.
Config translate_nemo(const Config& foreign);
/// NeMo's SALM and its variants.
std::vector<ForeignClass> foreign_classes();

}  // namespace s2s::salm
