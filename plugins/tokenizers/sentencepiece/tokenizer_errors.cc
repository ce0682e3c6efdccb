#include "tokenizer_errors.h"

#include <fmt/format.h>

namespace s2s::sentencepiece_plugin::errors {

Error no_path(const std::string& place) {
  return config_error("tokenizer/no-path",
                      fmt::format("{}.path is missing; expected a SentencePiece model "
                                  "(.model); 's2s-run tokenizer train' makes one",
                                  place));
}

Error missing_file(const std::string& place, const std::string& path) {
  return config_error("tokenizer/missing-file",
                      fmt::format("{}.path: there is no SentencePiece model at '{}'; expected a "
                                  ".model file or a folder with one; check the path, make it with "
                                  "'s2s-run tokenizer train', or name texts under train.input",
                                  place, path));
}

Error unreadable(const std::string& place, const std::string& path, const std::string& reason) {
  return config_error("tokenizer/unreadable",
                      fmt::format("{}.path: '{}' is no SentencePiece model: {}; expected what "
                                  "spm_train or 's2s-run tokenizer train' writes",
                                  place, path, reason));
}

Error cannot_read_now(const std::string& path, const std::string& reason) {
  return data_error("io/read",
                    fmt::format("{}: cannot be read: {}; run again when the disk or the limit that "
                                "stops it is in order",
                                path, reason));
}

Error no_transformers(const std::string& place, const std::string& reason) {
  return config_error("tokenizer/transformers",
                      fmt::format("{}: the SentencePiece model {}, which the tokenizer.json of "
                                  "transformers cannot express; use the .model file with the "
                                  "sentencepiece package",
                                  place, reason));
}

Error training(const std::string& place, const std::string& reason) {
  return data_error("tokenizer/training",
                    fmt::format("{}.train: SentencePiece made no model: {}; expected enough text "
                                "for the asked vocab_size; lower vocab_size, give more text, or "
                                "use model_type: word",
                                place, reason));
}

}  // namespace s2s::sentencepiece_plugin::errors
