#include "eartts_errors.h"

#include <fmt/format.h>

namespace s2s::eartts {

void throw_bad_subword_encoder(const std::string& place, const std::string& value,
                               const std::string& expected) {
  throw Error(ExitCode::kConfig, "eartts/subword-encoder",
              fmt::format("{}: {}; expected {}, because only the encoder of T5Gemma without "
                          "dropout is there; change the key or remove cas_config",
                          place, value, expected));
}

void throw_no_backbone(const std::string& path) {
  throw Error(ExitCode::kConfig, "eartts/backbone",
              fmt::format("{}.backbone_type: not set; expected the model_type of the "
                          "backbone, such as gemma3_text, or the option {}.llm",
                          path, path));
}

void throw_bad_sizes(const std::string& place, int64_t value, const std::string& expected) {
  throw Error(ExitCode::kConfig, "eartts/sizes",
              fmt::format("{}: {}; expected {}", place, value, expected));
}

void throw_no_pieces(const std::string& path) {
  throw Error(
      ExitCode::kConfig, "eartts/tokenizer",
      fmt::format("{}.cas_config: the subword encoder reads the characters of each token, but "
                  "there is no tokenizer; set model.tokenizer or {}.pieces",
                  path, path));
}

void throw_no_tokenizer() {
  throw Error(ExitCode::kConfig, "eartts/tokenizer",
              "a text is to be spoken, but there is no tokenizer; set model.tokenizer");
}

void throw_no_input(const std::string& name) {
  throw Error(ExitCode::kData, "eartts/batch",
              fmt::format("a batch has no tensor {}; expected a batch as NeMo's data set for "
                          "this model makes it; check data.train_ds",
                          name));
}

void throw_no_books(const std::string& place) {
  throw Error(ExitCode::kConfig, "eartts/codec",
              fmt::format("{}: the codec has no residual books of latents, which the speech model "
                          "predicts; expected name: rvq_vae",
                          place));
}

void throw_bad_top(const std::string& place, const std::string& value) {
  throw Error(ExitCode::kConfig, "eartts/top",
              fmt::format("{}: {}; expected a whole number of at least 1 (the "
                          "most probable components), or a share of the "
                          "probability above 0 and up to 1, such as 0.8",
                          place, value));
}

}  // namespace s2s::eartts
