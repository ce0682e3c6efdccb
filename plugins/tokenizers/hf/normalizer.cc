#include "normalizer.h"

#include <algorithm>
#include <utility>

#include "pattern_syntax.h"
#include "unicode.h"

namespace s2s::hf {
namespace {

constexpr const char* kKnownNormalizers =
    "Sequence, NFC, NFD, NFKC, NFKD, Lowercase, Replace, Prepend or Strip";

/// Size of the part of `whole` that comes from its first bytes, after a rewrite of all of a text:
/// the longest common prefix of the rewritten first bytes and the rewritten text.
size_t common_prefix(const std::string& first, const std::string& whole) {
  const auto ends = std::mismatch(first.begin(), first.end(), whole.begin(), whole.end());
  auto size = static_cast<size_t>(ends.second - whole.begin());
  // Ends at a whole character.
  const auto continues = [](char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; };
  while (size > 0 && size < whole.size() && continues(whole[size])) --size;
  return size;
}

class FormStep final : public NormalizerStep {
 public:
  explicit FormStep(NormalForm form) : form_(form) {}
  void apply(NormalizedText& text, MatchState&) const override {
    const std::string first = text.text.substr(0, text.num_first_bytes);
    text.text = normalize(text.text, form_);
    const size_t kept = common_prefix(normalize(first, form_), text.text);
    // A composed character counts as its first part.
    const bool composed = kept == 0 && !first.empty() && !text.text.empty();
    text.num_first_bytes = composed ? code_point_at(text.text, 0).size : kept;
  }

 private:
  NormalForm form_;
};

class LowercaseStep final : public NormalizerStep {
 public:
  void apply(NormalizedText& text, MatchState&) const override {
    text.num_first_bytes = lowercase(text.text.substr(0, text.num_first_bytes)).size();
    text.text = lowercase(text.text);
  }
};

class PrependStep final : public NormalizerStep {
 public:
  explicit PrependStep(std::string content) : content_(std::move(content)) {}
  void apply(NormalizedText& text, MatchState& state) const override {
    if (text.text.empty()) return;
    state.check(text.text.size() + content_.size());
    text.text.insert(0, content_);
    if (text.num_first_bytes > 0) text.num_first_bytes += content_.size();
  }

 private:
  std::string content_;
};

class StripStep final : public NormalizerStep {
 public:
  StripStep(bool left, bool right) : left_(left), right_(right) {}
  void apply(NormalizedText& text, MatchState&) const override {
    size_t begin = 0;
    size_t end = text.text.size();
    while (left_ && begin < end) {
      const CodePoint c = code_point_at(text.text, begin);
      if (!is_white_space(c.value)) break;
      begin += c.size;
    }
    while (right_ && begin < end) {
      const CodePoint c = code_point_before(text.text, end);
      if (!is_white_space(c.value)) break;
      end -= c.size;
    }
    text.text = text.text.substr(begin, end - begin);
    text.num_first_bytes -= std::min(begin, text.num_first_bytes);
    text.num_first_bytes = std::min(text.num_first_bytes, text.text.size());
  }

 private:
  bool left_;
  bool right_;
};

class ReplaceStep final : public NormalizerStep {
 public:
  ReplaceStep(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(NormalizedText& text, MatchState& state) const override {
    std::vector<Span> spans;
    std::string replaced = replace_matches(text.text, pattern_, content_, state, spans);
    // A replacement of several characters counts as the last of them.
    size_t num_first = 0;
    for (const Span& span : spans) {
      const size_t last = !span.matched || span.end == span.begin
                              ? span.begin
                              : span.end - code_point_before(text.text, span.end).size;
      if (last >= text.num_first_bytes) break;
      num_first +=
          span.matched ? content_.size() : std::min(span.end, text.num_first_bytes) - span.begin;
    }
    text.num_first_bytes = num_first;
    text.text = std::move(replaced);
  }

 private:
  Pattern pattern_;
  std::string content_;
};

std::unique_ptr<NormalizerStep> read_normalizer_step(const JsonLocation& location) {
  const std::string type = location.type();
  const auto form = [&](NormalForm which) {
    location.expect_only({});
    return std::make_unique<FormStep>(which);
  };
  if (type == "NFC") return form(NormalForm::kNfc);
  if (type == "NFD") return form(NormalForm::kNfd);
  if (type == "NFKC") return form(NormalForm::kNfkc);
  if (type == "NFKD") return form(NormalForm::kNfkd);
  if (type == "Lowercase") {
    location.expect_only({});
    return std::make_unique<LowercaseStep>();
  }
  if (type == "Prepend") {
    location.expect_only({"prepend"});
    return std::make_unique<PrependStep>(location["prepend"].text());
  }
  if (type == "Strip") {
    location.expect_only({"strip_left", "strip_right"});
    return std::make_unique<StripStep>(location["strip_left"].flag(true),
                                       location["strip_right"].flag(true));
  }
  if (type == "Replace") {
    location.expect_only({"pattern", "content"});
    return std::make_unique<ReplaceStep>(read_pattern(location["pattern"]),
                                         location["content"].text());
  }
  location.refuse_type(kKnownNormalizers);
}

}  // namespace

Normalizer::Normalizer(const JsonLocation& location) {
  for_each_part(location, "normalizers",
                [&](const JsonLocation& part) { steps_.push_back(read_normalizer_step(part)); });
}

void Normalizer::apply(NormalizedText& text, MatchState& state) const {
  for (const auto& step : steps_) step->apply(text, state);
}

Pattern read_pattern(const JsonLocation& location) {
  location.expect_only({"String", "Regex"});
  const JsonLocation literal = location["String"];
  const JsonLocation regex = location["Regex"];
  if (literal.is_null() == regex.is_null()) location.damaged("either String or Regex");
  if (regex.is_null()) {
    if (literal.text().empty()) literal.refuse("a pattern of at least one character");
    return Pattern::literal(literal.text());
  }
  try {
    return Pattern::regex(regex.text());
  } catch (const UnsupportedSyntax& error) {
    regex.refuse("a pattern without " + std::string(error.what()));
  }
}

std::string replace_matches(std::string_view text, const Pattern& pattern,
                            const std::string& content, MatchState& state,
                            std::vector<Span>& spans) {
  pattern.split(text, state, spans);
  size_t num_bytes = 0;
  for (const Span& span : spans) num_bytes += span.matched ? content.size() : span.end - span.begin;
  state.check(num_bytes);
  std::string out;
  out.reserve(num_bytes);
  for (const Span& span : spans) {
    out +=
        span.matched ? std::string_view(content) : text.substr(span.begin, span.end - span.begin);
  }
  return out;
}

}  // namespace s2s::hf
