#include "duplex_errors.h"

namespace s2s::duplex_s2s {

Error no_codec_error() {
  return config_error(
      "model/no-codec",
      "this model was built without a codec and can neither encode nor decode audio\n"
      "  expected: model.codec.name\n  see: s2s-run plugin list --kind codec");
}

Error no_loss_error() {
  return config_error(
      "model/no-loss",
      "no loss has a weight above 0 in the current stage (model.stages, model.*_loss_weight)"
      "\n  expected: at least one of text_loss_weight, audio_loss_weight, "
      "user_text_loss_weight; the last one needs data.user_text");
}

Error not_fed_back_error(const std::string& key) {
  return config_error("model/user-text",
                      "model.user_text." + key +
                          " needs the predicted words, but model.user_text.feed_back is false"
                          "\n  expected: feed_back: true, or no " +
                          key);
}

Error speech_decoder_error(const std::string& problem, const std::string& expected) {
  return config_error("model/speech-decoder",
                      "model.speech_decoder." + problem + "\n  expected: " + expected);
}

Error speech_too_long_error(int64_t frames, int64_t longest) {
  return config_error(
      "model/speech-decoder-length",
      "a conversation of " + std::to_string(frames) +
          " frames is longer than model.speech_decoder.max_length_causal_mask = " +
          std::to_string(longest) +
          "\n  expected: shorter audio (data.train_ds.max_duration), or a larger value, which "
          "with use_learnable_pos_emb must be trained");
}

}  // namespace s2s::duplex_s2s
