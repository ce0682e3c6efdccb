#include "sentencepiece_errors.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "s2s/foreign_text.h"

namespace s2s::sentencepiece_plugin::errors {

Error no_path(const std::string& place) {
  return config_error("tokenizer/no-path",
                      fmt::format("{}.path is missing; expected a SentencePiece model "
                                  "(.model); 's2s-run tokenizer train' creates one",
                                  place));
}

Error missing_file(const std::string& place, const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::path(path) / "tokenizer.json", ignored)) {
    return config_error("tokenizer/missing-file",
                        fmt::format("{}.path: the folder '{}' has no SentencePiece model, but a "
                                    "tokenizer.json; to read it, write name: hf",
                                    place, printable_name(path)));
  }
  return config_error(
      "tokenizer/missing-file",
      fmt::format("{}.path: there is no SentencePiece model at '{}'; expected a "
                  ".model file or a folder with one; check the path, create it with "
                  "'s2s-run tokenizer train', or set train.input to texts",
                  place, path));
}

Error unreadable(const std::string& place, const std::string& path, const std::string& reason) {
  const std::string pointer = lfs_pointer_text(path);
  if (!pointer.empty()) {
    return config_error("tokenizer/unreadable",
                        fmt::format("{}.path: '{}': {}", place, path, pointer));
  }
  return config_error("tokenizer/unreadable",
                      fmt::format("{}.path: '{}' is not a SentencePiece model: {}; expected a file "
                                  "written by spm_train or 's2s-run tokenizer train'",
                                  place, path, reason));
}

Error cannot_read_now(const std::string& path, const std::string& reason) {
  return data_error("io/read",
                    fmt::format("{}: cannot be read: {}; run again after the disk is repaired or "
                                "the limit is raised",
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
  return data_error(
      "tokenizer/training",
      fmt::format("{}.train: SentencePiece cannot train a model: {}; expected enough text "
                  "for this vocab_size; lower vocab_size, use more text, or set "
                  "model_type: word",
                  place, reason));
}

}  // namespace s2s::sentencepiece_plugin::errors
