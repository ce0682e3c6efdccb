#pragma once

#include <cstdint>
#include <string>

#include "s2s/config.h"
#include "s2s/kinds/special_ids.h"

namespace s2s::sentencepiece_plugin {

/// How a model is made when its file does not exist yet.
struct TrainOptions {
  Config input;
  std::string model_type = "word";
  int64_t vocab_size = 8000;
  double character_coverage = 1.0;
  std::string normalization = "nmt_nfkc";
  bool overwrite = false;

  void visit(OptionVisitor& v) {
    v("input", input, "texts, one a line, or Lhotse cuts (.jsonl, .jsonl.gz): a file or a list");
    v("model_type", model_type, "pieces: whole words, or parts of words",
      one_of({"word", "unigram", "bpe", "char"}));
    v("vocab_size", vocab_size, "most pieces, the four special ones among them", at_least(5));
    v("character_coverage", character_coverage, "share of the characters that get a piece",
      between(0.9, 1));
    v("normalization", normalization, "rule that texts pass through first",
      one_of({"identity", "nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"}));
    v("overwrite", overwrite, "make the model anew although its file exists");
  }
};

struct SentencePieceOptions : SpecialIdOptions {
  std::string path;
  TrainOptions train;

  void visit(OptionVisitor& v) {
    v("path", path, "model file (.model), or a folder that holds one");
    SpecialIdOptions::visit(v, "the model's", "the model's pad, else its unknown");
    v("train", train, "makes the model at its first use");
  }
};

}  // namespace s2s::sentencepiece_plugin
