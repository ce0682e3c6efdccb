#pragma once
// The member `normalizer` of tokenizer.json: what texts pass through before they are split.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json_place.h"
#include "pattern.h"

namespace s2s::hf_plugin {

/// A text on its way.
struct NormalizedText {
  std::string text;
  /// So many bytes at its front stand for the first character of the text that was given to encode.
  size_t num_first_bytes = 0;
};

class NormalizerStep {
 public:
  virtual ~NormalizerStep() = default;
  virtual void apply(NormalizedText& text, MatchState& state) const = 0;
};

class Normalizer {
 public:
  /// Null is none. Errors: [tokenizer/unsupported], [tokenizer/definition].
  explicit Normalizer(const JsonPlace& place);

  bool changes_nothing() const { return steps_.empty(); }
  void apply(NormalizedText& text, MatchState& state) const;

 private:
  std::vector<std::unique_ptr<NormalizerStep>> steps_;
};

/// The member `pattern` of Split and Replace: {"String": ...} or {"Regex": ...}.
/// Errors: [tokenizer/unsupported], [tokenizer/definition].
Pattern read_pattern(const JsonPlace& place);

/// `text` with `content` in place of each match; `spans`: the matches and what lies between.
/// Errors: [tokenizer/pattern-limit], [tokenizer/text-growth].
std::string replace_matches(std::string_view text, const Pattern& pattern,
                            const std::string& content, MatchState& state,
                            std::vector<Span>& spans);

}  // namespace s2s::hf_plugin
