#pragma once
// The member `added_tokens` of tokenizer.json: texts that map to one id each. They are found before
// the text is split.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "json_location.h"

namespace s2s::hf {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool single_word = false;
  bool lstrip = false;
  bool rstrip = false;
  bool normalized = true;
  bool special = false;
};

/// Errors: [tokenizer/definition], [tokenizer/unsupported].
std::vector<AddedToken> read_added_tokens(const JsonLocation& location);

/// Makes each of `contents` a special token of a tokenizer.json. Those that are no token yet get
/// the ids after all others, in order. Source: transformers' add_special_tokens.
void add_special_tokens(nlohmann::json& root, const std::vector<std::string>& contents);

/// A part of a text: an added token with the white space that it consumes (`id`), or the text
/// between two added tokens (-1).
struct TokenSpan {
  size_t begin = 0;
  size_t end = 0;
  int32_t id = -1;
};

/// Finds added tokens in texts: the leftmost match, and the longest of several there. Matches do
/// not overlap.
class TokenFinder {
 public:
  /// `text` may differ from the token's content: it is the normalized form for normalized tokens.
  void add(std::string_view text, const AddedToken& token);
  bool empty() const { return tokens_.empty(); }

  /// Splits `text` (valid UTF-8) into `out`, which is cleared first.
  void split(std::string_view text, std::vector<TokenSpan>& out) const;

 private:
  struct Node {
    std::vector<std::pair<uint8_t, int32_t>> next;
    int32_t token = -1;
  };
  int32_t child(int32_t node, uint8_t byte) const;
  /// The next token at or after `from`. Returns false if there is none.
  bool find(std::string_view text, size_t from, TokenSpan& found, const AddedToken*& token) const;
  size_t next_candidate(std::string_view text, size_t from) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_ = {Node{}};
  std::array<bool, 256> starts_{};
  std::string first_bytes_;
};

}  // namespace s2s::hf
