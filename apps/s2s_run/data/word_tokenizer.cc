#include "s2s_run/data/word_tokenizer.h"

#include <sstream>

namespace s2s::run {

std::vector<int64_t> WordTokenizer::encode(std::string_view text) const {
  std::istringstream words{std::string(text)};
  std::vector<int64_t> ids;
  const std::lock_guard lock(mutex_);
  for (std::string word; words >> word;) {
    const auto [it, is_new] = ids_.emplace(word, static_cast<int64_t>(words_.size()));
    if (is_new) words_.push_back(word);
    ids.push_back(it->second);
  }
  return ids;
}

std::string WordTokenizer::decode(const std::vector<int64_t>& ids) const {
  std::string text;
  for (const int64_t id : ids) {
    if (id > special_.eos && id < vocab_size()) text += (text.empty() ? "" : " ") + piece(id);
  }
  return text;
}

int64_t WordTokenizer::vocab_size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(words_.size());
}

std::string WordTokenizer::piece(int64_t id) const {
  const std::lock_guard lock(mutex_);
  return words_.at(static_cast<size_t>(id));
}

}  // namespace s2s::run
