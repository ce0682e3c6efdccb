#pragma once
// The member `normalizer` of tokenizer.json: changes a text before it is split.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json_location.h"
#include "pattern.h"

namespace s2s::hf {

struct NormalizedText {
  std::string text;
  /// Number of bytes at the front of `text` that come from the first character of the text given to
  /// encode.
  size_t num_first_bytes = 0;
};

class NormalizerStep {
 public:
  virtual ~NormalizerStep() = default;
  virtual void apply(NormalizedText& text, MatchState& state) const = 0;
};

class Normalizer {
 public:
  /// Null: no normalization. Errors: [tokenizer/unsupported], [tokenizer/definition].
  explicit Normalizer(const JsonLocation& location);

  bool changes_nothing() const { return steps_.empty(); }
  void apply(NormalizedText& text, MatchState& state) const;

 private:
  std::vector<std::unique_ptr<NormalizerStep>> steps_;
};

/// The member `pattern` of Split and Replace: {"String": ...} or {"Regex": ...}.
/// Errors: [tokenizer/unsupported], [tokenizer/definition].
Pattern read_pattern(const JsonLocation& location);

/// `text` with each match replaced by `content`. `spans` gets the matches and the parts between
/// them.
/// Errors: [tokenizer/pattern-limit], [tokenizer/text-growth].
std::string replace_matches(std::string_view text, const Pattern& pattern,
                            const std::string& content, MatchState& state,
                            std::vector<Span>& spans);

}  // namespace s2s::hf
