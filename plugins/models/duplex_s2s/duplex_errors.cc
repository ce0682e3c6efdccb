#include "duplex_errors.h"

namespace s2s::duplex {

void throw_no_codec() {
  throw Error(ExitCode::kConfig, "model/no-codec",
              "this model was built without a codec and can neither encode nor decode audio\n"
              "  expected: model.codec.name\n  see: s2s-run plugin list --kind codec");
}

void throw_no_tokenizer() {
  throw Error(ExitCode::kConfig, "model/no-tokenizer",
              "this model was built without a tokenizer and cannot write text\n"
              "  expected: model.tokenizer.name and .path\n"
              "  see: s2s-run plugin list --kind tokenizer");
}

void throw_no_loss() {
  throw Error(
      ExitCode::kConfig, "model/no-loss",
      "no loss has a weight above 0 in the current stage (model.stages, model.*_loss_weight)"
      "\n  expected: at least one of text_loss_weight, audio_loss_weight, "
      "user_text_loss_weight; the last one needs data.user_text");
}

void throw_part_missing(const std::string& path, const Config& model) {
  throw Error(ExitCode::kConfig, "model/part-missing",
              path + " has no name (" + model.origin().text() + ")\n  expected: " + path +
                  ": { name: ... }\n  see: s2s-run plugin list");
}

void throw_token_ids(const std::string& problem) {
  throw Error(ExitCode::kConfig, "model/token-id",
              problem +
                  "\n  expected: model.tokens: { bos: ..., eos: ..., pad: ... }, three "
                  "different ids of the vocabulary");
}

void throw_vocabulary(int64_t tokenizer_size, int64_t backbone_size) {
  throw Error(ExitCode::kConfig, "model/vocabulary",
              "the tokenizer has " + std::to_string(tokenizer_size) +
                  " ids, but the language model embeds only " + std::to_string(backbone_size) +
                  "\n  expected: model.llm.vocab_size of at least " +
                  std::to_string(tokenizer_size));
}

void throw_frame_rate(const std::string& part, double rate_hz, double frame_length_s) {
  throw Error(ExitCode::kConfig, "model/frame-rate",
              part + " has " + std::to_string(rate_hz) + " frames per second, but " +
                  "data.frame_length is " + std::to_string(frame_length_s) + " s (" +
                  std::to_string(1 / frame_length_s) +
                  " frames per second)\n  expected: equal rates");
}

void throw_sample_rate(const std::string& part, int64_t rate_hz, const std::string& key,
                       int64_t data_rate_hz) {
  throw Error(ExitCode::kConfig, "model/sample-rate",
              part + " uses " + std::to_string(rate_hz) + " Hz, but " + key + " is " +
                  std::to_string(data_rate_hz) + " Hz\n  expected: equal rates; set " + key + ": " +
                  std::to_string(rate_hz));
}

void throw_not_fed_back(const std::string& key) {
  throw Error(ExitCode::kConfig, "model/user-text",
              "model.user_text." + key +
                  " needs the predicted words, but model.user_text.feed_back is false"
                  "\n  expected: feed_back: true, or no " +
                  key);
}

void throw_not_translated(const std::string& path, const Config& value,
                          const std::string& expected) {
  throw Error(ExitCode::kConfig, "model/translate",
              path + " = '" + value.text() + "' is not supported\n  expected: " + expected);
}

}  // namespace s2s::duplex
