#pragma once
// One id for each word of a set of cuts: what `data inspect` uses when it is given no tokenizer.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "s2s/cuts.h"
#include "s2s/tokenizer.h"

namespace s2s::run {

class WordTokenizer : public Tokenizer {
 public:
  explicit WordTokenizer(const std::vector<Cut>& cuts);
  std::vector<int64_t> encode(std::string_view text) const override;
  std::string decode(const std::vector<int64_t>& ids) const override;
  int64_t vocab_size() const override { return static_cast<int64_t>(words_.size()); }
  const SpecialIds& special_ids() const override { return special_; }
  std::string piece(int64_t id) const override { return words_.at(static_cast<size_t>(id)); }

 private:
  std::vector<std::string> words_ = {"<pad>", "<s>", "</s>"};
  std::map<std::string, int64_t> ids_;
  SpecialIds special_{1, 2, 0};
};

}  // namespace s2s::run
