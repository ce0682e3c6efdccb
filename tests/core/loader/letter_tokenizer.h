#pragma once
// A tokenizer for tests: one id for each byte.

#include <string>
#include <vector>

#include "s2s/kinds/tokenizer.h"

namespace s2s::test {

class LetterTokenizer : public Tokenizer {
 public:
  std::vector<int64_t> encode(std::string_view text) const override {
    return {text.begin(), text.end()};
  }
  std::string decode(const std::vector<int64_t>& ids) const override {
    return {ids.begin(), ids.end()};
  }
  int64_t vocab_size() const override { return 256; }
  const SpecialIds& special_ids() const override { return special_; }
  std::string piece(int64_t id) const override { return decode({id}); }

 private:
  SpecialIds special_{1, 2, 0};
};

}  // namespace s2s::test
