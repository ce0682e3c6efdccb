#pragma once
// A tokenizer for tests: one id for each word, or what a table says about a text.

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "s2s/kinds/tokenizer.h"

namespace s2s::test {

class TableTokenizer : public Tokenizer {
 public:
  explicit TableTokenizer(std::map<std::string, std::vector<int64_t>> table = {})
      : table_(std::move(table)) {}

  std::vector<int64_t> encode(std::string_view text) const override {
    const auto it = table_.find(std::string(text));
    if (it != table_.end()) return it->second;
    std::istringstream words{std::string(text)};
    std::vector<int64_t> ids;
    for (std::string word; words >> word;) {
      ids.push_back(10 + static_cast<int64_t>(word.size() * 7 + static_cast<size_t>(word[0])) % 80);
    }
    return ids;
  }
  std::string decode(const std::vector<int64_t>& ids) const override {
    std::string text;
    for (const int64_t id : ids) text += (text.empty() ? "" : " ") + piece(id);
    return text;
  }
  int64_t vocab_size() const override { return 200; }
  const SpecialIds& special_ids() const override { return special_; }
  std::string piece(int64_t id) const override { return std::to_string(id); }

 private:
  std::map<std::string, std::vector<int64_t>> table_;
  SpecialIds special_{1, 2, 0};
};

}  // namespace s2s::test
