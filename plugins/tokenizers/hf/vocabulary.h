#pragma once
// Maps between ids and tokens of the model and the added tokens.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "added_tokens.h"
#include "bpe.h"
#include "normalizer.h"

namespace s2s::hf {

class Vocabulary {
 public:
  /// `tokens`: the member added_tokens of the file. A token gets the id of the piece with the same
  /// text, else the next free id. The file must contain the same id.
  /// Errors: [tokenizer/definition].
  Vocabulary(Bpe bpe, const JsonLocation& tokens, const Normalizer& normalizer);

  const Bpe& bpe() const { return bpe_; }
  int64_t num_ids() const { return static_cast<int64_t>(decoded_.size()); }
  std::optional<int32_t> find(std::string_view token) const;
  /// Null if the id has no piece.
  const std::string* piece(int64_t id) const;
  /// The decoder's input for an id: a normalized token in its normalized form. Null if there is
  /// none.
  const std::string* decoded(int64_t id) const;
  /// True for ids that decoding skips.
  bool is_special(int64_t id) const;
  const std::vector<AddedToken>& added() const { return added_; }

  /// Find the tokens that are matched before, and those that are matched after normalization.
  const TokenFinder& raw_finder() const { return raw_finder_; }
  const TokenFinder& normalized_finder() const { return normalized_finder_; }

 private:
  void add(AddedToken token, const JsonLocation& location, const Normalizer& normalizer,
           MatchState& state);
  void index_decoded();

  Bpe bpe_;
  int32_t next_id_;  // of the next token without a piece in the model
  std::vector<AddedToken> added_;
  std::vector<std::string> normalized_;  // parallel to added_
  std::unordered_map<int32_t, size_t> added_by_id_;
  std::unordered_map<std::string, int32_t> added_ids_;
  std::vector<std::optional<std::string>> decoded_;
  std::vector<bool> special_;
  TokenFinder raw_finder_;
  TokenFinder normalized_finder_;
};

}  // namespace s2s::hf
