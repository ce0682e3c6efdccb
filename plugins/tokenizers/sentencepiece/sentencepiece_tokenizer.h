#pragma once

#include <sentencepiece_processor.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "s2s/kinds/special_ids.h"
#include "s2s/kinds/tokenizer.h"
#include "sentencepiece_options.h"

namespace s2s::sentencepiece_plugin {

/// A SentencePiece model. Thread-safe.
class SentencePieceTokenizer : public Tokenizer {
 public:
  /// Errors: [tokenizer/missing-file], [tokenizer/unreadable], [tokenizer/special-ids] of options.
  /// Source of the choice of PAD: NeMo get_pad_id (pad, else unknown), but never silently 0.
  SentencePieceTokenizer(const SentencePieceOptions& options, const std::string& model_path,
                         const std::string& place);

  std::vector<int64_t> encode(std::string_view text) const override;
  std::string decode(const std::vector<int64_t>& ids) const override;
  int64_t vocab_size() const override { return processor_.GetPieceSize(); }
  /// Errors: [tokenizer/special-ids] when the model does not define them: a text alone needs none.
  const SpecialIds& special_ids() const override { return special_.all(); }
  SpecialIds known_special_ids() const override { return special_.known(); }
  int64_t unknown_id() const override { return processor_.unk_id(); }
  std::string piece(int64_t id) const override;
  std::vector<std::string> files() const override { return {file_}; }
  /// Errors: [tokenizer/transformers].
  std::map<std::string, std::string> transformers_files() const override;

 private:
  sentencepiece::SentencePieceProcessor processor_;
  FoundSpecialIds special_;
  std::string file_, place_;
};

}  // namespace s2s::sentencepiece_plugin
