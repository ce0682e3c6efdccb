#pragma once
// The member `pre_tokenizer` of tokenizer.json: splits a text into the pieces that the model
// encodes.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json_location.h"
#include "pattern.h"

namespace s2s::hf {

/// A text and its pieces: in order, not empty. Bytes between pieces are dropped.
struct Pieces {
  std::string text;
  std::vector<Span> spans;
  /// As in NormalizedText.
  size_t num_first_bytes = 0;

  std::string_view piece(const Span& span) const {
    return std::string_view(text).substr(span.begin, span.end - span.begin);
  }
};

class PreTokenizerStep {
 public:
  virtual ~PreTokenizerStep() = default;
  virtual void apply(Pieces& pieces, MatchState& state) const = 0;
};

/// How a Split handles matches of its pattern.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Applies a behavior to matches and the parts between them. `matches` is moved from.
void merge_matches(std::vector<Span>& matches, SplitBehavior behavior);

class PreTokenizer {
 public:
  /// Null: each text is one piece.
  /// Errors: [tokenizer/unsupported], [tokenizer/definition].
  explicit PreTokenizer(const JsonLocation& location);

  /// True if the last step is ByteLevel. The model then maps the bytes of a piece to the byte-level
  /// alphabet; `apply` does not.
  bool ends_in_bytes() const { return ends_in_bytes_; }
  void apply(Pieces& pieces, MatchState& state) const;

 private:
  void add(const JsonLocation& location, bool last);
  void add_byte_level(const JsonLocation& location, bool last);
  void add_metaspace(const JsonLocation& location);

  std::vector<std::unique_ptr<PreTokenizerStep>> steps_;
  bool ends_in_bytes_ = false;
};

}  // namespace s2s::hf
