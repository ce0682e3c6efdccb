#include "pre_tokenizer.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "byte_alphabet.h"
#include "normalizer.h"
#include "unicode.h"

namespace s2s::hf {
namespace {

constexpr const char* kKnownPreTokenizers =
    "Sequence, ByteLevel, Split, Metaspace, Digits, Whitespace, WhitespaceSplit or "
    "CharDelimiterSplit";

// GPT-2's split pattern. ByteLevel uses it unless use_regex is false.
constexpr const char* kGpt2Pattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

class SplitStep final : public PreTokenizerStep {
 public:
  SplitStep(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void apply(Pieces& pieces, MatchState& state) const override {
    std::vector<Span> cut;
    std::vector<Span> matches;
    cut.reserve(pieces.text.size() / 4 + 1);
    for (const Span& span : pieces.spans) {
      pattern_.split(pieces.piece(span), state, matches);
      if (invert_) {
        for (Span& match : matches) match.matched = !match.matched;
      }
      merge_matches(matches, behavior_);
      for (const Span& match : matches) {
        if (match.begin < match.end) {
          cut.push_back({span.begin + match.begin, span.begin + match.end, false});
        }
      }
    }
    pieces.spans.swap(cut);
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class RewriteStep : public PreTokenizerStep {
 public:
  void apply(Pieces& pieces, MatchState& state) const final {
    std::string text;
    text.reserve(pieces.text.size() * 2);
    size_t num_first = 0;
    for (Span& span : pieces.spans) {
      const std::string_view piece = pieces.piece(span);
      const bool first = span.begin < pieces.num_first_bytes;
      const size_t begin = text.size();
      if (first && span.end > pieces.num_first_bytes) {
        std::string front;
        append(piece.substr(0, pieces.num_first_bytes - span.begin), first, front);
        num_first = begin + front.size();
      }
      append(piece, first, text);
      state.check(text.size());
      if (first && span.end <= pieces.num_first_bytes) num_first = text.size();
      span = {begin, text.size(), false};
    }
    pieces.text.swap(text);
    pieces.num_first_bytes = num_first;
  }

 private:
  /// `first`: the piece starts with the first character of the given text.
  virtual void append(std::string_view piece, bool first, std::string& out) const = 0;
};

class PrefixSpaceStep final : public RewriteStep {
 private:
  void append(std::string_view piece, bool, std::string& out) const override {
    if (piece.front() != ' ') out += ' ';
    out += piece;
  }
};

class ByteCharactersStep final : public RewriteStep {
 private:
  void append(std::string_view piece, bool, std::string& out) const override {
    out += to_byte_characters(piece);
  }
};

enum class PrependScheme { kFirst, kNever, kAlways };

class MetaspaceStep final : public RewriteStep {
 public:
  MetaspaceStep(std::string mark, PrependScheme scheme) : mark_(std::move(mark)), scheme_(scheme) {}

 private:
  void append(std::string_view piece, bool first, std::string& out) const override {
    const bool wanted =
        scheme_ == PrependScheme::kAlways || (scheme_ == PrependScheme::kFirst && first);
    const bool there = piece.front() == ' ' || piece.substr(0, mark_.size()) == mark_;
    if (wanted && !there) out += mark_;
    for (const char c : piece) {
      if (c == ' ') {
        out += mark_;
      } else {
        out += c;
      }
    }
  }

  std::string mark_;
  PrependScheme scheme_;
};

SplitBehavior read_behavior(const JsonLocation& location) {
  const std::string name = location.text();
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  location.refuse("Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

PrependScheme read_scheme(const JsonLocation& location) {
  // Older files use add_prefix_space.
  const bool prefix = location["add_prefix_space"].flag(true);
  const JsonLocation scheme = location["prepend_scheme"];
  if (scheme.is_null()) return prefix ? PrependScheme::kAlways : PrependScheme::kNever;
  const std::string name = scheme.text();
  if (!prefix && name != "never") scheme.damaged("never, as add_prefix_space is false");
  if (name == "first") return PrependScheme::kFirst;
  if (name == "never") return PrependScheme::kNever;
  if (name == "always") return PrependScheme::kAlways;
  scheme.refuse("first, never or always");
}

std::unique_ptr<SplitStep> make_split(Pattern pattern, SplitBehavior behavior,
                                      bool invert = false) {
  return std::make_unique<SplitStep>(std::move(pattern), behavior, invert);
}

/// Joins a part with the previous one if `joins(part, previous_matched)` returns true.
template <class Joins>
void join_parts(std::vector<Span>& parts, const Joins& joins) {
  bool previous_matched = false;
  size_t count = 0;
  for (const Span part : parts) {
    const bool joined = count > 0 && joins(part, previous_matched);
    previous_matched = part.matched;
    if (joined) {
      Span& last = parts[count - 1];
      last.begin = std::min(last.begin, part.begin);
      last.end = std::max(last.end, part.end);
    } else {
      parts[count++] = part;
    }
  }
  parts.resize(count);
}

/// Joins a delimiter with the previous part, unless that is a delimiter, too.
void attach_to_previous(std::vector<Span>& parts) {
  join_parts(parts, [](const Span& part, bool previous_matched) {
    return part.matched && !previous_matched;
  });
}

}  // namespace

void merge_matches(std::vector<Span>& matches, SplitBehavior behavior) {
  switch (behavior) {
    case SplitBehavior::kIsolated:
      return;
    case SplitBehavior::kRemoved:
      matches.erase(std::remove_if(matches.begin(), matches.end(),
                                   [](const Span& match) { return match.matched; }),
                    matches.end());
      return;
    case SplitBehavior::kMergedWithPrevious:
      return attach_to_previous(matches);
    case SplitBehavior::kMergedWithNext:
      std::reverse(matches.begin(), matches.end());
      attach_to_previous(matches);
      std::reverse(matches.begin(), matches.end());
      return;
    case SplitBehavior::kContiguous:
      return join_parts(matches, [](const Span& part, bool previous_matched) {
        return part.matched == previous_matched;
      });
  }
}

PreTokenizer::PreTokenizer(const JsonLocation& location) {
  std::vector<JsonLocation> parts;
  for_each_part(location, "pretokenizers",
                [&](const JsonLocation& part) { parts.push_back(part); });
  for (size_t i = 0; i < parts.size(); ++i) add(parts[i], i + 1 == parts.size());
}

void PreTokenizer::add(const JsonLocation& location, bool last) {
  const std::string type = location.type();
  if (type == "ByteLevel") return add_byte_level(location, last);
  if (type == "Metaspace") return add_metaspace(location);
  if (type == "Split") {
    location.expect_only({"pattern", "behavior", "invert"});
    steps_.push_back(make_split(read_pattern(location["pattern"]),
                                read_behavior(location["behavior"]),
                                location["invert"].flag(false)));
  } else if (type == "Digits") {
    location.expect_only({"individual_digits"});
    // Numbers of Unicode 17, which the package uses here; its patterns use an older version.
    const char* numbers = "[\\p{N}\\x{11de0}-\\x{11de9}\\x{16ff4}-\\x{16ff6}]";
    steps_.push_back(make_split(Pattern::regex(numbers), location["individual_digits"].flag(false)
                                                             ? SplitBehavior::kIsolated
                                                             : SplitBehavior::kContiguous));
  } else if (type == "WhitespaceSplit") {
    location.expect_only({});
    steps_.push_back(make_split(Pattern::regex("\\s"), SplitBehavior::kRemoved));
  } else if (type == "Whitespace") {
    location.expect_only({});
    // Of the numbers, words contain only decimal digits and letter numbers here.
    const std::string word =
        "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}"
        "\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}\\x{200c}\\x{200d}";
    steps_.push_back(make_split(Pattern::regex("[" + word + "]+|[^\\s" + word + "]+"),
                                SplitBehavior::kRemoved, /*invert=*/true));
  } else if (type == "CharDelimiterSplit") {
    location.expect_only({"delimiter"});
    steps_.push_back(
        make_split(Pattern::literal(location["delimiter"].character()), SplitBehavior::kRemoved));
  } else {
    location.refuse_type(kKnownPreTokenizers);
  }
}

void PreTokenizer::add_byte_level(const JsonLocation& location, bool last) {
  location.expect_only({"add_prefix_space", "trim_offsets", "use_regex"});
  if (location["add_prefix_space"].flag(true))
    steps_.push_back(std::make_unique<PrefixSpaceStep>());
  if (location["use_regex"].flag(true)) {
    steps_.push_back(make_split(Pattern::regex(kGpt2Pattern), SplitBehavior::kIsolated));
  }
  ends_in_bytes_ = last;
  if (!last) steps_.push_back(std::make_unique<ByteCharactersStep>());
}

void PreTokenizer::add_metaspace(const JsonLocation& location) {
  location.expect_only({"replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"});
  const std::string mark = location["replacement"].character();
  steps_.push_back(std::make_unique<MetaspaceStep>(mark, read_scheme(location)));
  if (location["split"].flag(true)) {
    steps_.push_back(make_split(Pattern::literal(mark), SplitBehavior::kMergedWithNext));
  }
}

void PreTokenizer::apply(Pieces& pieces, MatchState& state) const {
  for (const auto& step : steps_) step->apply(pieces, state);
}

}  // namespace s2s::hf
