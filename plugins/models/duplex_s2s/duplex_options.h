#pragma once
// Options of the duplex speech-to-speech model: the `model` block without the keys of the trainer.
// Names follow NeMo's speechlm2 where it has the option.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/data/label_prep.h"
#include "s2s/foreign_class.h"
#include "s2s/model_parts.h"
#include "s2s/nn/perception.h"
#include "s2s/options.h"
#include "speech_decoder_options.h"

namespace s2s::duplex_s2s {

/// An auxiliary head on the encoder that predicts the user's words. Off in the reference mode.
struct UserTextOptions {
  bool enabled = false;
  double loss_weight = 0.5;
  double non_pad_weight = 10;
  bool feed_back = true;
  double features_weight = 1;
  double truth_share = 0;
  bool copy = false;
  int64_t copy_key_size = 64;
  void visit(OptionVisitor& v) {
    v("enabled", enabled, "add a head on the encoder that predicts the user's words");
    v("loss_weight", loss_weight, "weight of its loss", at_least(0));
    v("non_pad_weight", non_pad_weight, "weight of labels that are not PAD", at_least(0));
    v("feed_back", feed_back,
      "add its word probabilities to the encoder's output through the text embedding");
    v("features_weight", features_weight,
      "weight of the encoder output when predicted words are fed back", at_least(0));
    v("truth_share", truth_share,
      "fraction of training sequences that receive the true words instead of the predicted ones",
      between(0, 1));
    v("copy", copy, "let the text head attend to the predicted user words and copy them");
    v("copy_key_size", copy_key_size, "key width of this attention", at_least(1));
  }
};

/// Noise on the history in training (teacher forcing inputs), so that the model relies on the
/// user's audio.
struct HistoryNoiseOptions {
  double text_dropout = 0;
  double audio_corruption = 0;
  double audio_hidden_sequences = 0;
  double audio_hidden_min = 0.5;
  double audio_hidden_max = 1.0;
  bool any() const {
    return text_dropout > 0 || audio_corruption > 0 || audio_hidden_sequences > 0;
  }
  void visit(OptionVisitor& v) {
    v("text_dropout", text_dropout, "fraction of text inputs replaced by PAD", between(0, 1));
    v("audio_corruption", audio_corruption, "fraction of audio frames replaced by random codes",
      between(0, 1));
    v("audio_hidden_sequences", audio_hidden_sequences,
      "fraction of sequences whose audio inputs are masked with the delay code", between(0, 1));
    v("audio_hidden_min", audio_hidden_min, "minimum fraction of masked frames in such a sequence",
      between(0, 1));
    v("audio_hidden_max", audio_hidden_max, "maximum fraction of masked frames", between(0, 1));
  }
};

/// Loss weights from a step on. The last stage whose `from_step` has been reached applies.
struct StageOptions {
  int64_t from_step = 0;
  std::optional<double> text_loss_weight, audio_loss_weight, user_text_loss_weight;
  bool train_encoder = true;
  void visit(OptionVisitor& v) {
    v("from_step", from_step, "first optimizer step of the stage", at_least(0));
    v("text_loss_weight", text_loss_weight, "null: the value of the model", at_least(0));
    v("audio_loss_weight", audio_loss_weight, "null: the value of the model", at_least(0));
    v("user_text_loss_weight", user_text_loss_weight, "null: the value of the model", at_least(0));
    v("train_encoder", train_encoder, "false: run the encoder without gradients");
  }
};

struct DuplexOptions {
  Config llm, encoder, codec;
  int64_t codec_frames = 1;
  ModalityAdapterOptions modality_adapter;
  TokenIdOptions tokens;
  double text_loss_weight = 3;
  double audio_loss_weight = 4;
  double duplex_user_channel_weight = 1;
  std::string loss_normalization = "global";
  bool mask_padding = true;
  TokenLossWeights token_loss_weight;
  TextShiftOptions text_shifts;
  double silence_keep = 1;
  double embed_audio_tokens_std = 1;
  double text_embedding_scale = 1;
  bool text_hold = false;
  UserTextOptions user_text;
  HistoryNoiseOptions history_noise;
  std::vector<StageOptions> stages;

  void visit(OptionVisitor& v) {
    v("llm", llm, "language model: its name and options");
    v("encoder", encoder, "speech encoder: its name and options");
    v("codec", codec, "audio codec: its name and options");
    v("codec_frames", codec_frames,
      "frames of the codec that make one frame of the model, with as many times its codebooks",
      at_least(1));
    v("modality_adapter", modality_adapter, "module between encoder and language model");
    v("tokens", tokens, "special token ids");
    v("text_loss_weight", text_loss_weight, "loss weight of the text channel", at_least(0));
    v("audio_loss_weight", audio_loss_weight, "loss weight of the audio channel", at_least(0));
    v("duplex_user_channel_weight", duplex_user_channel_weight, "factor on the encoder output");
    v("loss_normalization", loss_normalization,
      "divide by the valid frames of the whole optimizer step (global) or of the micro-batch "
      "(local, as NeMo)",
      one_of({"global", "local"}));
    v("mask_padding", mask_padding, "exclude padded frames from the loss (NeMo: false)");
    v("token_loss_weight", token_loss_weight, "weights of the text labels");
    text_shifts.visit(v);
    v("silence_keep", silence_keep,
      "fraction of frames outside the agent's turns that count in the audio loss", between(0, 1));
    v("embed_audio_tokens_std", embed_audio_tokens_std,
      "standard deviation of new audio embeddings", at_least(0));
    v("text_embedding_scale", text_embedding_scale, "factor on text embeddings");
    v("text_hold", text_hold,
      "add a separate embedding of the last written text token to every input frame");
    v("user_text", user_text, "auxiliary user-text channel");
    v("history_noise", history_noise, "noise on the model's own history during training");
    v("stages", stages, "stages of the run with their own loss weights");
  }
};

/// Converts a NeMo speechlm2 configuration, {model, llm_config, codec, tokens}, to options of the
/// reference mode. Errors: [model/translate] for unsupported keys that change the result.
Config translate_nemo(const Config& foreign);
/// NeMo's DuplexS2SModel.
std::vector<ForeignClass> foreign_classes();

/// The model with a speech decoder instead of the audio head.
struct SpeechDecoderModelOptions : DuplexOptions {
  SpeechDecoderOptions speech_decoder;
  void visit(OptionVisitor& v) {
    DuplexOptions::visit(v);
    v("speech_decoder", speech_decoder, "transformer that predicts the codes");
  }
};
/// translate_nemo plus the block `speech_decoder`.
Config translate_nemo_speech_decoder(const Config& foreign);
/// NeMo's DuplexS2SSpeechDecoderModel.
std::vector<ForeignClass> foreign_classes_with_decoder();

}  // namespace s2s::duplex_s2s
