#include "duplex_errors.h"

namespace s2s::duplex {

void throw_no_codec() {
  throw Error(ExitCode::kConfig, "model/no-codec",
              "this model was built without a codec and can neither encode nor decode audio\n"
              "  expected: model.codec.name\n  see: s2s-run plugin list --kind codec");
}

void throw_no_loss() {
  throw Error(
      ExitCode::kConfig, "model/no-loss",
      "no loss has a weight above 0 in the current stage (model.stages, model.*_loss_weight)"
      "\n  expected: at least one of text_loss_weight, audio_loss_weight, "
      "user_text_loss_weight; the last one needs data.user_text");
}

void throw_not_fed_back(const std::string& key) {
  throw Error(ExitCode::kConfig, "model/user-text",
              "model.user_text." + key +
                  " needs the predicted words, but model.user_text.feed_back is false"
                  "\n  expected: feed_back: true, or no " +
                  key);
}

void throw_speech_decoder(const std::string& problem, const std::string& expected) {
  throw Error(ExitCode::kConfig, "model/speech-decoder",
              "model.speech_decoder." + problem + "\n  expected: " + expected);
}

void throw_speech_too_long(int64_t frames, int64_t longest) {
  throw Error(
      ExitCode::kConfig, "model/speech-decoder-length",
      "a conversation of " + std::to_string(frames) +
          " frames is longer than model.speech_decoder.max_length_causal_mask = " +
          std::to_string(longest) +
          "\n  expected: shorter audio (data.train_ds.max_duration), or a larger value, which "
          "with use_learnable_pos_emb must be trained");
}

}  // namespace s2s::duplex
