#include "sentencepiece_tokenizer.h"

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "model_proto.h"
#include "s2s/foreign_text.h"
#include "sentencepiece_errors.h"
#include "transformers_files.h"

namespace s2s::sentencepiece_plugin {
namespace {

// Errors of the library on valid input are bugs, not user errors.
void must(const sentencepiece::util::Status& status) {
  if (!status.ok()) throw std::runtime_error("sentencepiece: " + status.ToString());
}

/// The model's id for the option "bos_id", "eos_id" or "pad_id". Negative if it has none.
int special_id_of(const sentencepiece::SentencePieceProcessor& processor,
                  const std::string& option) {
  if (option == "bos_id") return processor.bos_id();
  if (option == "eos_id") return processor.eos_id();
  return processor.pad_id() >= 0 ? processor.pad_id() : processor.unk_id();
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(const SentencePieceOptions& options,
                                               const std::string& model_path,
                                               const std::string& place) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(model_path, ignored)) {
    throw errors::missing_file(place, model_path);
  }
  std::string model;
  try {
    model = read_small_file(model_path);
  } catch (const std::system_error& error) {
    const int code = error.code().value();
    const bool is_no_file = code == EINVAL || code == EISDIR || code == EFBIG;
    if (!is_no_file) throw errors::cannot_read_now(model_path, error.code().message());
    throw errors::unreadable(place, model_path, error.code().message());
  }
  std::string problem;
  try {
    const auto status = processor_.LoadFromSerializedProto(model);
    if (!status.ok()) problem = status.ToString();
  } catch (const std::exception& error) {  // its trie throws for a piece that starts with NUL
    problem = error.what();
  }
  if (!problem.empty()) throw errors::unreadable(place, model_path, problem);
  file_ = model_path;
  place_ = place;
  const auto of_model = [&](const std::string& option, const std::vector<int64_t>&) -> int64_t {
    const int id = special_id_of(processor_, option);
    if (id >= 0) return id;
    throw no_special_id(place, option,
                        "the model '" + model_path + "' has no " + option + " of its own");
  };
  special_ = FoundSpecialIds(options, of_model, vocab_size(), place, "the model");
}

std::vector<int64_t> SentencePieceTokenizer::encode(std::string_view text) const {
  require_short_text(text);
  std::vector<int> ids;
  must(processor_.Encode(text, &ids));
  return {ids.begin(), ids.end()};
}

// A model may have more output rows than the tokenizer has pieces. Those ids have no text. The
// unknown piece has one, also where it is the PAD of a file without PAD.
std::string SentencePieceTokenizer::decode(const std::vector<int64_t>& ids) const {
  std::vector<int> known;
  for (const int64_t id : ids) {
    const bool is_skipped = special_.contains(id) && id != processor_.unk_id();
    if (!is_skipped && id >= 0 && id < vocab_size()) known.push_back(static_cast<int>(id));
  }
  std::string text;
  must(processor_.Decode(known, &text));
  return text;
}

std::map<std::string, std::string> SentencePieceTokenizer::transformers_files() const {
  const ModelProto model = read_model_proto(processor_.serialized_model_proto());
  return sentencepiece_plugin::transformers_files(model, special_ids(), place_);
}

std::string SentencePieceTokenizer::piece(int64_t id) const {
  if (id < 0 || id >= vocab_size()) return "<" + std::to_string(id) + ">";
  return processor_.IdToPiece(static_cast<int>(id));
}

}  // namespace s2s::sentencepiece_plugin
