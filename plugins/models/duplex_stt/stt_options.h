#pragma once
// Options of the duplex speech-to-text model: the `model` block of a configuration, except for the
// keys that the trainer reads. Names are those of NeMo's DuplexSTTModel if it has the option.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/data/label_prep.h"
#include "s2s/foreign_class.h"
#include "s2s/model_parts.h"
#include "s2s/nn/perception.h"
#include "s2s/options.h"

namespace s2s::duplex_stt {

/// Changes of the agent's logits in decoding, and rules for turns.
struct DecodingOptions {
  double inference_pad_boost = 0, inference_bos_boost = 0, inference_eos_boost = 0;
  bool force_turn_taking = false;
  int64_t force_turn_taking_threshold = 40;
  int64_t force_turn_taking_pad_window = 25;
  std::optional<std::string> user_bos_token, user_eos_token;
  void visit(OptionVisitor& v) {
    v("inference_pad_boost", inference_pad_boost, "added to the logit of PAD while decoding");
    v("inference_bos_boost", inference_bos_boost, "added to the logit of BOS while decoding");
    v("inference_eos_boost", inference_eos_boost, "added to the logit of EOS while decoding");
    v("force_turn_taking", force_turn_taking,
      "begin the agent's turn when the user's channel ends one, and end it when the user begins "
      "(predict_user_text)");
    v("force_turn_taking_threshold", force_turn_taking_threshold,
      "frames of the agent's channel in which a BOS or EOS makes the forced one unnecessary",
      at_least(1));
    v("force_turn_taking_pad_window", force_turn_taking_pad_window,
      "frames of silence after the user's last token that end the user's turn", at_least(0));
    v("user_bos_token", user_bos_token,
      "text whose first token also begins a user turn (old checkpoints: ^)");
    v("user_eos_token", user_eos_token,
      "text whose first token also ends a user turn (old checkpoints: $)");
  }
};

struct SttOptions {
  Config llm, encoder;
  ModalityAdapterOptions modality_adapter;
  TokenIdOptions tokens;
  bool predict_user_text = false;
  double text_loss_weight = 1;
  double asr_loss_weight = 1;
  double text_to_text_loss_weight = 0;
  double duplex_text_channel_weight = 1;
  double duplex_user_channel_weight = 1;
  double duplex_asr_text_weight = 1;
  TokenLossWeights token_loss_weight;
  bool has_token_loss_weight = false;  // the configuration has the key, with any value
  bool mask_sequence_loss = true;
  std::string loss_normalization = "global";
  bool answer_metrics = false;
  std::string system_prompt;
  TextShiftOptions shifts;
  DecodingOptions decoding;

  void visit(OptionVisitor& v) {
    v("llm", llm, "language model: its name and options");
    v("encoder", encoder, "speech encoder: its name and options");
    v("modality_adapter", modality_adapter, "module between encoder and language model");
    v("tokens", tokens, "special token ids");
    v("predict_user_text", predict_user_text,
      "also predict the user's words, with a head and an embedding that begin as copies of the "
      "agent's");
    v("text_loss_weight", text_loss_weight, "loss weight of the agent's text", at_least(0));
    v("asr_loss_weight", asr_loss_weight, "loss weight of the user's text", at_least(0));
    v("text_to_text_loss_weight", text_to_text_loss_weight,
      "share of the loss of text data in the total; the loss of audio data has the rest",
      between(0, 1));
    v("duplex_text_channel_weight", duplex_text_channel_weight,
      "factor on the embeddings of the agent's text");
    v("duplex_user_channel_weight", duplex_user_channel_weight, "factor on the encoder output");
    v("duplex_asr_text_weight", duplex_asr_text_weight,
      "factor on the embeddings of the user's text");
    v("token_loss_weight", token_loss_weight, "weights of the labels of both channels");
    v("mask_sequence_loss", mask_sequence_loss,
      "exclude frames beyond a row's text channel from the loss");
    v("loss_normalization", loss_normalization,
      "divide by the valid frames of the whole optimizer step (global) or of the micro-batch "
      "(local, as NeMo)",
      one_of({"global", "local"}));
    v("answer_metrics", answer_metrics,
      "decode validation batches for turn_taking_acc, turn_taking_latency (s) and "
      "src_empty_text_rate; takes as long as answering them");
    v("system_prompt", system_prompt,
      "text in front of every recording that is answered; training reads the prompts of the data");
    shifts.visit(v);
    decoding.visit(v);
  }
};

/// Converts a NeMo speechlm2 configuration, {model, llm_config, tokens}, to options of the
/// reference mode. Errors: [model/translate].
Config translate_nemo(const Config& foreign);
/// NeMo's DuplexSTTModel.
std::vector<ForeignClass> foreign_classes();

}  // namespace s2s::duplex_stt
