#include "tokenizer_errors.h"

#include <fmt/format.h>

#include <algorithm>

namespace s2s::sentencepiece_plugin::errors {
namespace {

Error config_error(const char* id, std::string message) {
  return Error(ExitCode::kConfig, id, std::move(message));
}

/// "bos_id" as the command line spells it.
std::string flag(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

}  // namespace

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
  return Error(ExitCode::kData, "io/read",
               fmt::format("{}: cannot be read: {}; run again when the disk or the limit that "
                           "stops it is in order",
                           path, reason));
}

Error no_special_id(const std::string& place, const std::string& path, const std::string& name) {
  return config_error("tokenizer/special-ids",
                      fmt::format("{0}: the model '{1}' has no {2} of its own; expected one, for "
                                  "the text channel needs it; set {0}.{2} to an id that no text "
                                  "uses ('s2s-run tokenizer' has --{3})",
                                  place, path, name, flag(name)));
}

Error special_id_range(const std::string& place, const std::string& name, int64_t id,
                       int64_t vocab_size) {
  return config_error("tokenizer/special-ids",
                      fmt::format("{}.{} is {}; expected an id of the model, 0 to "
                                  "{}; set another one",
                                  place, name, id, vocab_size - 1));
}

Error equal_special_ids(const std::string& place, const SpecialIds& ids) {
  return config_error("tokenizer/special-ids",
                      fmt::format("{}: bos_id is {}, eos_id {}, pad_id {}; expected three "
                                  "different ids, for they mean different things in the text "
                                  "channel; set the one that is wrong",
                                  place, ids.bos, ids.eos, ids.pad));
}

Error no_transformers(const std::string& place, const std::string& reason) {
  return config_error("tokenizer/transformers",
                      fmt::format("{}: the SentencePiece model {}, which the tokenizer.json of "
                                  "transformers cannot express; use the .model file with the "
                                  "sentencepiece package",
                                  place, reason));
}

Error training(const std::string& place, const std::string& reason) {
  return Error(ExitCode::kData, "tokenizer/training",
               fmt::format("{}.train: SentencePiece made no model: {}; expected enough text "
                           "for the asked vocab_size; lower vocab_size, give more text, or "
                           "use model_type: word",
                           place, reason));
}

}  // namespace s2s::sentencepiece_plugin::errors
