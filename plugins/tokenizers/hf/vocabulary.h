#pragma once
// Model and added tokens together: what an id is, and which id a token has.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "added_tokens.h"
#include "bpe.h"
#include "normalizer.h"

namespace s2s::hf_plugin {

class Vocabulary {
 public:
  /// `tokens`: as the file has them; they get their ids here: of the piece with that text, else the
  /// next free one, which must be what the file says.
  /// Errors: [tokenizer/definition].
  Vocabulary(Bpe bpe, const JsonPlace& tokens, const Normalizer& normalizer);

  const Bpe& bpe() const { return bpe_; }
  int64_t num_ids() const { return static_cast<int64_t>(decoded_.size()); }
  std::optional<int32_t> find(std::string_view token) const;
  /// Null: the id has none.
  const std::string* piece(int64_t id) const;
  /// What the decoder gets for an id, a normalized token in that form. Null: nothing.
  const std::string* decoded(int64_t id) const;
  /// Ids that decoding leaves out.
  bool is_special(int64_t id) const;
  const std::vector<AddedToken>& added() const { return added_; }

  /// Finds the tokens that are looked for before, and those after normalization.
  const TokenFinder& raw_finder() const { return raw_finder_; }
  const TokenFinder& normalized_finder() const { return normalized_finder_; }

 private:
  void add(AddedToken token, const JsonPlace& place, const Normalizer& normalizer,
           MatchState& state);
  void index_decoded();

  Bpe bpe_;
  int32_t next_id_;  // of the next token that the model does not have
  std::vector<AddedToken> added_;
  std::vector<std::string> normalized_;  // beside added_
  std::unordered_map<int32_t, size_t> added_by_id_;
  std::unordered_map<std::string, int32_t> added_ids_;
  std::vector<std::optional<std::string>> decoded_;
  std::vector<bool> special_;
  TokenFinder raw_finder_;
  TokenFinder normalized_finder_;
};

}  // namespace s2s::hf_plugin
