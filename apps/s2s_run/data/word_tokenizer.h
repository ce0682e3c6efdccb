#pragma once
// A tokenizer with one id per word. `data inspect` uses it when there is no other tokenizer.

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "s2s/kinds/tokenizer.h"

namespace s2s::run {

/// Adds each new word to its vocabulary. Thread-safe.
class WordTokenizer : public Tokenizer {
 public:
  std::vector<int64_t> encode(std::string_view text) const override;
  std::string decode(const std::vector<int64_t>& ids) const override;
  int64_t vocab_size() const override;
  const SpecialIds& special_ids() const override { return special_; }
  std::string piece(int64_t id) const override;

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::string> words_ = {"<pad>", "<s>", "</s>"};
  mutable std::map<std::string, int64_t> ids_;
  SpecialIds special_{1, 2, 0};
};

}  // namespace s2s::run
