#include "s2s_run/word_tokenizer.h"

#include <sstream>

namespace s2s::run {

WordTokenizer::WordTokenizer(const std::vector<Cut>& cuts) {
  const auto add = [this](const std::string& text) {
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      if (ids_.emplace(word, vocab_size()).second) words_.push_back(word);
    }
  };
  for (const Cut& cut : cuts) {
    for (const Supervision& turn : cut.supervisions) {
      add(turn.text.value_or(""));
      for (const AlignedWord& word : turn.words()) add(word.text);
    }
  }
}

std::vector<int64_t> WordTokenizer::encode(std::string_view text) const {
  std::istringstream words{std::string(text)};
  std::vector<int64_t> ids;
  for (std::string word; words >> word;) {
    const auto it = ids_.find(word);
    ids.push_back(it == ids_.end() ? special_.pad : it->second);
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

}  // namespace s2s::run
