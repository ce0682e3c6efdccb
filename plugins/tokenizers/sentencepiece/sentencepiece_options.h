#pragma once

#include <cstdint>
#include <string>

#include "s2s/config.h"
#include "s2s/kinds/special_ids.h"

namespace s2s::sentencepiece_plugin {

/// How to train a model if its file does not exist yet.
struct TrainOptions {
  Config input;
  std::string model_type = "word";
  int64_t vocab_size = 8000;
  double character_coverage = 1.0;
  std::string normalization = "nmt_nfkc";
  bool overwrite = false;

  void visit(OptionVisitor& v) {
    v("input", input,
      "training texts, one per line, or Lhotse cuts (.jsonl, .jsonl.gz): a file or a list");
    v("model_type", model_type, "model type: whole words (word) or parts of words",
      one_of({"word", "unigram", "bpe", "char"}));
    v("vocab_size", vocab_size, "maximum vocabulary size, including the four special tokens",
      at_least(5));
    v("character_coverage", character_coverage, "fraction of characters covered by the vocabulary",
      between(0.9, 1));
    v("normalization", normalization, "normalization rule for texts",
      one_of({"identity", "nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf"}));
    v("overwrite", overwrite, "train again even if the file exists");
  }
};

struct SentencePieceOptions : SpecialIdOptions {
  std::string path;
  TrainOptions train;

  void visit(OptionVisitor& v) {
    v("path", path, "model file (.model), or a folder that contains one");
    SpecialIdOptions::visit(v, "the model's",
                            "default: PAD of the model, or else its unknown token");
    v("train", train, "train the model at its first use");
  }
};

}  // namespace s2s::sentencepiece_plugin
