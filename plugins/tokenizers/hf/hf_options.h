#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "s2s/config.h"
#include "s2s/kinds/special_ids.h"

namespace s2s::hf {

/// How to train a tokenizer.json if it does not exist yet.
struct TrainOptions {
  Config input;
  int64_t vocab_size = 8000;
  int64_t min_count = 2;
  bool overwrite = false;

  void visit(OptionVisitor& v) {
    v("input", input,
      "training texts, one per line, or Lhotse cuts (.jsonl, .jsonl.gz): a file or a list");
    v("vocab_size", vocab_size,
      "maximum vocabulary size: 256 bytes, 3 special tokens and the merges", at_least(259));
    v("min_count", min_count, "minimum frequency of a pair to be merged", at_least(1));
    v("overwrite", overwrite, "train again even if the file exists");
  }
};

struct HfOptions : SpecialIdOptions {
  std::string path;
  std::optional<std::string> bos_token, eos_token, pad_token;
  std::vector<std::string> additional_special_tokens;
  TrainOptions train;

  void visit(OptionVisitor& v) {
    v("path", path, "tokenizer.json, or a folder that contains one");
    SpecialIdOptions::visit(v, "default: from the template or the files in the same folder",
                            "default: PAD from the files, or else the unknown token");
    v("bos_token", bos_token, "the token of bos_id, by its text");
    v("eos_token", eos_token, "the token of eos_id, by its text");
    v("pad_token", pad_token, "the token of pad_id, by its text");
    v("additional_special_tokens", additional_special_tokens,
      "special tokens to add; those that the files lack get the next free ids, in this order");
    v("train", train, "train a byte-level tokenizer at the first use");
  }
};

}  // namespace s2s::hf
