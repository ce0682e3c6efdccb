#include "vocabulary.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "unicode.h"

namespace s2s::hf {

Vocabulary::Vocabulary(Bpe bpe, const JsonLocation& tokens, const Normalizer& normalizer)
    : bpe_(std::move(bpe)), next_id_(static_cast<int32_t>(bpe_.num_pieces())) {
  MatchState state;
  std::vector<AddedToken> read = read_added_tokens(tokens);
  for (AddedToken& token : read) add(std::move(token), tokens, normalizer, state);
  for (size_t i = 0; i < added_.size(); ++i) {
    if (added_[i].normalized) {
      normalized_finder_.add(normalized_[i], added_[i]);
    } else {
      raw_finder_.add(added_[i].content, added_[i]);
    }
  }
  index_decoded();
}

std::optional<int32_t> Vocabulary::find(std::string_view token) const {
  const auto found = added_ids_.find(std::string(token));
  if (found != added_ids_.end()) return found->second;
  return bpe_.find(token);
}

void Vocabulary::add(AddedToken token, const JsonLocation& location, const Normalizer& normalizer,
                     MatchState& state) {
  // The tokenizers library numbers new tokens after the model's pieces and ignores the file's ids.
  const std::optional<int32_t> known = find(token.content);
  const int32_t id = known ? *known : next_id_++;
  if (token.id != id) {
    const nlohmann::json said = token.id;
    JsonLocation(said,
                 location.where() + ": the id of '" + valid_utf8(token.content.substr(0, 80)) + "'")
        .damaged("the id " + std::to_string(id) + ", which the tokenizers library gives it");
  }
  NormalizedText normal{token.content, 0};
  state.begin(token.content.size());
  if (token.normalized) normalizer.apply(normal, state);
  added_ids_[token.content] = id;
  const auto [same, is_new] = added_by_id_.emplace(id, added_.size());
  if (!is_new) {
    normalized_[same->second] = std::move(normal.text);
    added_[same->second] = std::move(token);
    return;
  }
  added_.push_back(std::move(token));
  normalized_.push_back(std::move(normal.text));
}

void Vocabulary::index_decoded() {
  int32_t last = bpe_.num_ids() - 1;
  for (const AddedToken& token : added_) last = std::max(last, token.id);
  decoded_.resize(static_cast<size_t>(last) + 1);
  special_.resize(decoded_.size());
  for (int32_t id = 0; id < bpe_.num_ids(); ++id) {
    if (const std::string* piece = bpe_.piece(id)) decoded_[static_cast<size_t>(id)] = *piece;
  }
  std::unordered_set<std::string> special_texts;
  for (size_t i = 0; i < added_.size(); ++i) {
    decoded_[static_cast<size_t>(added_[i].id)] = normalized_[i];
    if (added_[i].special) special_texts.insert(added_[i].content);
  }
  for (size_t id = 0; id < decoded_.size(); ++id) {
    special_[id] = decoded_[id] && special_texts.count(*decoded_[id]) > 0;
  }
}

const std::string* Vocabulary::piece(int64_t id) const {
  const bool fits = id >= 0 && id < num_ids();
  const auto found = fits ? added_by_id_.find(static_cast<int32_t>(id)) : added_by_id_.end();
  return found != added_by_id_.end() ? &added_[found->second].content : decoded(id);
}

const std::string* Vocabulary::decoded(int64_t id) const {
  if (id < 0 || id >= num_ids()) return nullptr;
  const auto& text = decoded_[static_cast<size_t>(id)];
  return text ? &*text : nullptr;
}

bool Vocabulary::is_special(int64_t id) const {
  return id >= 0 && id < num_ids() && special_[static_cast<size_t>(id)];
}

}  // namespace s2s::hf
