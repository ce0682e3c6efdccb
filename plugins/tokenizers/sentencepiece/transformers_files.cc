#include "transformers_files.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "sentencepiece_errors.h"
#include "transformers_pieces.h"
#include "transformers_text.h"

namespace s2s::sentencepiece_plugin {
namespace {

using nlohmann::json;
using Ids = std::map<std::string, size_t, std::less<>>;

constexpr size_t kLongestPieceBytes = 1024;

bool has_type(const ModelProto& model, PieceType type) {
  return std::any_of(model.pieces.begin(), model.pieces.end(),
                     [type](const Piece& piece) { return piece.type == type; });
}

/// The reason why transformers cannot express a model; "" if it can.
std::string obstacle(const ModelProto& model) {
  const bool is_word = model.model_type == ModelType::kWord;
  const bool is_unigram = model.model_type == ModelType::kUnigram;
  if (model.treat_whitespace_as_suffix) return "was made with treat_whitespace_as_suffix";
  if (model.has_denormalizer) return "has denormalization rules";
  if (is_word && !(model.add_dummy_prefix && model.escape_whitespaces)) {
    return "is a word model without add_dummy_prefix or escape_whitespaces";
  }
  if (is_word && model.byte_fallback) return "is a word model with byte_fallback";
  if (!is_unigram && has_type(model, PieceType::kUnused)) {
    return "has unused pieces and is not a unigram model";
  }
  const bool is_long =
      std::any_of(model.pieces.begin(), model.pieces.end(),
                  [](const Piece& piece) { return piece.text.size() > kLongestPieceBytes; });
  if (is_long) return "has a piece of more than 1024 bytes";
  const bool is_finite = std::all_of(model.pieces.begin(), model.pieces.end(),
                                     [](const Piece& piece) { return std::isfinite(piece.score); });
  return is_finite ? "" : "has a score that is not finite";
}

/// The unigram model. The package derives the score of unknown characters from the smallest of all
/// scores, SentencePiece from the smallest of normal pieces. Pieces that are never found in a text
/// must therefore not have a smaller score.
json unigram(const ModelProto& model, const PieceNames& pieces) {
  const bool is_word = model.model_type == ModelType::kWord;
  float smallest = 0;
  bool is_first = true;
  for (const Piece& piece : model.pieces) {
    if (piece.type != PieceType::kNormal) continue;
    smallest = is_first ? piece.score : std::min(smallest, piece.score);
    is_first = false;
  }
  json vocab = json::array();
  int64_t unk_id = 0;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const Piece& piece = model.pieces[id];
    if (piece.type == PieceType::kUnknown) unk_id = static_cast<int64_t>(id);
    const bool is_normal = piece.type == PieceType::kNormal;
    double score = is_normal ? piece.score : smallest;
    // A byte piece named like an escape has the score of an unknown character, which it replaces.
    if (piece.type == PieceType::kByte && pieces.names[id] != piece.text) score = smallest - 10.0;
    vocab.push_back({pieces.names[id], is_word ? 0.0 : score});
  }
  return {{"type", "Unigram"},
          {"unk_id", unk_id},
          {"vocab", std::move(vocab)},
          {"byte_fallback", model.byte_fallback}};
}

/// Every pair of pieces that forms a piece, by descending score of the formed piece.
json merges(const ModelProto& model, const Ids& ids) {
  if (model.model_type == ModelType::kChar) return json::array();
  const auto is_part = [&](std::string_view name) {
    const auto found = ids.find(name);
    if (found == ids.end()) return false;
    const PieceType type = model.pieces[found->second].type;
    // a byte piece may have a character as its name
    return type == PieceType::kNormal || type == PieceType::kByte;
  };
  std::vector<size_t> order;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    if (model.pieces[id].type == PieceType::kNormal) order.push_back(id);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return model.pieces[a].score > model.pieces[b].score;
  });
  json pairs = json::array();
  for (const size_t id : order) {
    const std::string_view whole = model.pieces[id].text;
    size_t at = 0;
    for (const std::string& character : characters(whole)) {
      at += character.size();
      const std::string_view left = whole.substr(0, at), right = whole.substr(at);
      if (is_part(left) && is_part(right)) pairs.push_back({left, right});
    }
  }
  return pairs;
}

json bpe(const ModelProto& model, const PieceNames& pieces) {
  Ids ids;
  std::string unknown;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    ids[pieces.names[id]] = id;
    if (model.pieces[id].type == PieceType::kUnknown) unknown = pieces.names[id];
  }
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", unknown},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", true},
          {"byte_fallback", model.byte_fallback},
          {"ignore_merges", false},
          {"vocab", ids},
          {"merges", merges(model, ids)}};
}

struct AddedTokens {
  json tokens = json::array();
  std::vector<std::string> user_defined;
};

AddedTokens added_tokens(const ModelProto& model, const PieceNames& pieces,
                         const SpecialIds& special) {
  const std::set<int64_t> ids = {special.bos, special.eos, special.pad};
  AddedTokens added;
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const PieceType type = model.pieces[id].type;
    const bool is_special = type == PieceType::kControl || ids.contains(static_cast<int64_t>(id));
    // Word models do not find user-defined symbols within a word.
    const bool is_symbol =
        !is_special && type == PieceType::kUserDefined && model.model_type != ModelType::kWord;
    if (!is_special && !is_symbol) continue;
    if (is_symbol) added.user_defined.push_back(pieces.names[id]);
    added.tokens.push_back({{"id", id},
                            {"content", pieces.names[id]},
                            {"single_word", false},
                            {"lstrip", false},
                            {"rstrip", false},
                            {"normalized", is_symbol},
                            {"special", is_special}});
  }
  return added;
}

json tokenizer_config(const ModelProto& model, const PieceNames& pieces,
                      const SpecialIds& special) {
  const auto name = [&](int64_t id) { return pieces.names.at(static_cast<size_t>(id)); };
  json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"bos_token", name(special.bos)},
                 {"eos_token", name(special.eos)},
                 {"pad_token", name(special.pad)},
                 {"clean_up_tokenization_spaces", false},
                 {"split_special_tokens", true},
                 {"s2s_tokenizer", "sentencepiece"}};
  // transformers drops an unk_token from decoded texts. SentencePiece prints it, unless it is also
  // the PAD token.
  const auto pad = static_cast<size_t>(special.pad);
  if (model.pieces[pad].type == PieceType::kUnknown) config["unk_token"] = name(special.pad);
  return config;
}

}  // namespace

std::map<std::string, std::string> transformers_files(const ModelProto& model,
                                                      const SpecialIds& special,
                                                      const std::string& place) {
  if (const std::string reason = obstacle(model); !reason.empty()) {
    throw errors::no_transformers(place, reason);
  }
  FreeCharacters free(model);
  const PieceNames pieces = name_pieces(model, free);
  const bool is_bpe = model.model_type == ModelType::kBpe || model.model_type == ModelType::kChar;
  const AddedTokens added = added_tokens(model, pieces, special);
  nlohmann::ordered_json tokenizer;
  tokenizer["version"] = "1.0";
  tokenizer["truncation"] = nullptr;
  tokenizer["padding"] = nullptr;
  tokenizer["added_tokens"] = added.tokens;
  tokenizer["normalizer"] = transformers_normalizer(model, pieces, added.user_defined, free);
  tokenizer["pre_tokenizer"] = nullptr;
  tokenizer["post_processor"] = nullptr;
  tokenizer["decoder"] = transformers_decoder(model, pieces, free);
  tokenizer["model"] = is_bpe ? bpe(model, pieces) : unigram(model, pieces);
  const json config = tokenizer_config(model, pieces, special);
  try {
    return {{"tokenizer.json", tokenizer.dump(1) + "\n"},
            {"tokenizer_config.json", config.dump(2) + "\n"}};
  } catch (const json::type_error&) {
    throw errors::no_transformers(place, "has a piece that is not UTF-8");
  }
}

}  // namespace s2s::sentencepiece_plugin
