#pragma once

#include <cstdint>
#include <string>

#include "s2s/config.h"
#include "s2s/kinds/special_ids.h"

namespace s2s::hf_plugin {

/// How a tokenizer.json is made when it does not exist yet.
struct TrainOptions {
  Config input;
  int64_t vocab_size = 8000;
  int64_t min_count = 2;
  bool overwrite = false;

  void visit(OptionVisitor& v) {
    v("input", input, "texts, one a line, or Lhotse cuts (.jsonl, .jsonl.gz): a file or a list");
    v("vocab_size", vocab_size, "most ids: 256 bytes, 3 special tokens and what is merged",
      at_least(259));
    v("min_count", min_count, "how often a pair must occur to be merged", at_least(1));
    v("overwrite", overwrite, "make the file anew although it exists");
  }
};

struct HfOptions : SpecialIdOptions {
  std::string path;
  TrainOptions train;

  void visit(OptionVisitor& v) {
    v("path", path, "tokenizer.json, or a folder that holds one");
    SpecialIdOptions::visit(v, "what the files beside it or its template say",
                            "the files' pad, else the unknown token");
    v("train", train, "makes a byte-level file at its first use");
  }
};

}  // namespace s2s::hf_plugin
