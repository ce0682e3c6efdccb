#include "eartts_errors.h"

#include <fmt/format.h>

namespace s2s::eartts {

Error bad_subword_encoder_error(const std::string& place, const std::string& value,
                                const std::string& expected) {
  return config_error(
      "eartts/subword-encoder",
      fmt::format("{}: {}; expected {}, because only the encoder of T5Gemma without "
                  "dropout is there; change the key or remove cas_config",
                  place, value, expected));
}

Error no_backbone_error(const std::string& path) {
  return config_error("eartts/backbone",
                      fmt::format("{}.backbone_type: not set; expected the model_type of the "
                                  "backbone, such as gemma3_text, or the option {}.llm",
                                  path, path));
}

Error bad_sizes_error(const std::string& place, int64_t value, const std::string& expected) {
  return config_error("eartts/sizes", fmt::format("{}: {}; expected {}", place, value, expected));
}

Error no_pieces_error(const std::string& path) {
  return config_error(
      "eartts/tokenizer",
      fmt::format("{}.cas_config: the subword encoder reads the characters of each token, but "
                  "there is no tokenizer; set model.tokenizer or {}.pieces",
                  path, path));
}

Error no_tokenizer_error() {
  return config_error("eartts/tokenizer",
                      "a text is to be spoken, but there is no tokenizer; set model.tokenizer");
}

Error no_input_error(const std::string& name) {
  return data_error("eartts/batch",
                    fmt::format("a batch has no tensor {}; expected a batch as NeMo's data set for "
                                "this model makes it; check data.train_ds (with codes_field "
                                "the agent's audio is not loaded)",
                                name));
}

Error no_books_error(const std::string& place) {
  return config_error(
      "eartts/codec",
      fmt::format("{}: the codec has no residual books of latents, which the speech model "
                  "predicts; expected name: rvq_vae",
                  place));
}

Error bad_top_error(const std::string& place, const std::string& value) {
  return config_error("eartts/top",
                      fmt::format("{}: {}; expected a whole number of at least 1 (the "
                                  "most probable components), or a share of the "
                                  "probability above 0 and up to 1, such as 0.8",
                                  place, value));
}

}  // namespace s2s::eartts
