#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "decoder.h"
#include "hf_options.h"
#include "normalizer.h"
#include "pre_tokenizer.h"
#include "s2s/error.h"
#include "s2s/kinds/tokenizer.h"
#include "special_tokens.h"
#include "vocabulary.h"

namespace s2s::hf {

/// Buffers and library state of one call.
struct Workspace {
  MatchState match;
  BpeWorkspace bpe;
  std::vector<TokenSpan> raw_spans;
  std::vector<TokenSpan> normalized_spans;
  Pieces pieces;
};

/// A tokenizer.json with a BPE model. Thread-safe.
class HfTokenizer : public Tokenizer {
 public:
  /// The file's `truncation` and `padding` are ignored: they are settings of a call.
  HfTokenizer(const HfOptions& options, const std::string& path, const std::string& place);
  ~HfTokenizer() override;

  /// Ids of `text`. Bytes that are not valid UTF-8 count as U+FFFD.
  /// Errors: [tokenizer/pattern-limit], [tokenizer/text-growth].
  /// Source: ids of the tokenizers package 0.23 (tests/reference/hf_tokenizers.py).
  std::vector<int64_t> encode(std::string_view text) const override;
  /// Skips tokens marked as special in the file, BOS, EOS, PAD and ids without a token.
  std::string decode(const std::vector<int64_t>& ids) const override;
  int64_t vocab_size() const override { return parts_->vocabulary.num_ids(); }
  /// Errors: [tokenizer/special-ids] when the files do not define them: a text alone needs none.
  const SpecialIds& special_ids() const override { return special_.all(); }
  SpecialIds known_special_ids() const override { return special_.known(); }
  int64_t unknown_id() const override { return parts_->vocabulary.bpe().unknown().value_or(-1); }
  std::string piece(int64_t id) const override;
  std::vector<std::string> files() const override { return files_.all(); }

 private:
  struct Parts {
    explicit Parts(const JsonLocation& root);
    Normalizer normalizer;
    PreTokenizer pre_tokenizer;
    Vocabulary vocabulary;
    Decoder decoder;
  };
  class Lease;

  void encode_between(std::string_view text, size_t num_first_bytes, Workspace& work,
                      std::vector<int64_t>& ids) const;
  void encode_plain(std::string_view text, size_t num_first_bytes, Workspace& work,
                    std::vector<int64_t>& ids) const;

  TokenizerFiles files_;
  std::unique_ptr<Parts> parts_;
  FoundSpecialIds special_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace s2s::hf
