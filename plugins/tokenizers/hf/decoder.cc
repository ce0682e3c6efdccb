#include "decoder.h"

#include <optional>
#include <utility>

#include "byte_alphabet.h"
#include "normalizer.h"
#include "unicode.h"

namespace s2s::hf {
namespace {

constexpr const char* kKnownDecoders =
    "Sequence, ByteLevel, Replace, ByteFallback, Fuse, Strip, Metaspace or BPEDecoder";

std::string joined(const std::vector<std::string>& pieces, const char* between) {
  std::string text;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0) text += between;
    text += pieces[i];
  }
  return text;
}

class FuseStep final : public DecoderStep {
 public:
  void apply(std::vector<std::string>& pieces, MatchState&) const override {
    pieces = {joined(pieces, "")};
  }
};

/// A piece with a character that represents no byte is used as its UTF-8 bytes.
class ByteLevelStep final : public DecoderStep {
 public:
  void apply(std::vector<std::string>& pieces, MatchState&) const override {
    std::string bytes;
    for (const std::string& piece : pieces) {
      const std::optional<std::string> spelled = from_byte_characters(piece);
      bytes += spelled ? *spelled : piece;
    }
    pieces = {valid_utf8(bytes)};
  }
};

class ReplaceDecoder final : public DecoderStep {
 public:
  ReplaceDecoder(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(std::vector<std::string>& pieces, MatchState& state) const override {
    std::vector<Span> spans;
    size_t num_bytes = 0;
    for (std::string& piece : pieces) {
      piece = replace_matches(piece, pattern_, content_, state, spans);
      state.check(num_bytes += piece.size());
    }
  }

 private:
  Pattern pattern_;
  std::string content_;
};

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

/// Replaces each run of pieces like <0xE2> by its text, or by one U+FFFD per piece if the bytes are
/// not valid UTF-8.
class ByteFallbackStep final : public DecoderStep {
 public:
  void apply(std::vector<std::string>& pieces, MatchState&) const override {
    std::vector<std::string> out;
    std::string bytes;
    for (std::string& piece : pieces) {
      if (const auto byte = byte_of(piece)) {
        bytes += *byte;
        continue;
      }
      flush(bytes, out);
      out.push_back(std::move(piece));
    }
    flush(bytes, out);
    pieces.swap(out);
  }

 private:
  static std::optional<char> byte_of(const std::string& piece) {
    if (piece.size() != 6 || piece.compare(0, 3, "<0x") != 0 || piece[5] != '>') {
      return std::nullopt;
    }
    const auto high = hex_digit(piece[3]);
    const auto low = hex_digit(piece[4]);
    // The tokenizers library also accepts a sign here.
    if (piece[3] == '+' && low) return static_cast<char>(*low);
    if (!high || !low) return std::nullopt;
    return static_cast<char>(*high * 16 + *low);
  }

  static void flush(std::string& bytes, std::vector<std::string>& out) {
    if (bytes.empty()) return;
    if (is_valid_utf8(bytes)) {
      out.push_back(bytes);
    } else {
      out.insert(out.end(), bytes.size(), "\xEF\xBF\xBD");
    }
    bytes.clear();
  }
};

/// Removes up to `start` copies of `content` from the front of each piece and up to `stop` from its
/// end.
class StripDecoder final : public DecoderStep {
 public:
  StripDecoder(std::string content, int64_t start, int64_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  void apply(std::vector<std::string>& pieces, MatchState&) const override {
    for (std::string& piece : pieces) {
      size_t begin = 0;
      size_t end = piece.size();
      for (int64_t i = 0; i < start_ && piece.compare(begin, content_.size(), content_) == 0; ++i) {
        begin += content_.size();
      }
      for (int64_t i = 0; i < stop_ && end - begin >= content_.size() &&
                          piece.compare(end - content_.size(), content_.size(), content_) == 0;
           ++i) {
        end -= content_.size();
      }
      piece = piece.substr(begin, end - begin);
    }
  }

 private:
  std::string content_;
  int64_t start_;
  int64_t stop_;
};

/// Word marks become spaces. In the first piece they are removed if the encoder put one before the
/// text.
class MetaspaceDecoder final : public DecoderStep {
 public:
  MetaspaceDecoder(std::string mark, bool prepended)
      : mark_(Pattern::literal(std::move(mark))), prepended_(prepended) {}
  void apply(std::vector<std::string>& pieces, MatchState& state) const override {
    std::vector<Span> spans;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const char* content = i == 0 && prepended_ ? "" : " ";
      pieces[i] = replace_matches(pieces[i], mark_, content, state, spans);
    }
  }

 private:
  Pattern mark_;
  bool prepended_;
};

/// The suffix of a word's last piece becomes a space, or nothing after the last word.
class SuffixStep final : public DecoderStep {
 public:
  explicit SuffixStep(std::string suffix) : suffix_(Pattern::literal(std::move(suffix))) {}
  void apply(std::vector<std::string>& pieces, MatchState& state) const override {
    std::vector<Span> spans;
    for (size_t i = 0; i < pieces.size(); ++i) {
      const char* content = i + 1 == pieces.size() ? "" : " ";
      pieces[i] = replace_matches(pieces[i], suffix_, content, state, spans);
    }
  }

 private:
  Pattern suffix_;
};

std::unique_ptr<DecoderStep> read_metaspace(const JsonLocation& location) {
  location.expect_only({"replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"});
  const JsonLocation scheme = location["prepend_scheme"];
  const bool prepended =
      scheme.is_null() ? location["add_prefix_space"].flag(true) : scheme.text() != "never";
  return std::make_unique<MetaspaceDecoder>(location["replacement"].character(), prepended);
}

std::unique_ptr<DecoderStep> read_decoder_step(const JsonLocation& location) {
  const std::string type = location.type();
  if (type == "ByteLevel") {
    location.expect_only({"add_prefix_space", "trim_offsets", "use_regex"});
    return std::make_unique<ByteLevelStep>();
  }
  if (type == "Fuse" || type == "ByteFallback") {
    location.expect_only({});
    if (type == "Fuse") return std::make_unique<FuseStep>();
    return std::make_unique<ByteFallbackStep>();
  }
  if (type == "Replace") {
    location.expect_only({"pattern", "content"});
    return std::make_unique<ReplaceDecoder>(read_pattern(location["pattern"]),
                                            location["content"].text());
  }
  if (type == "Strip") {
    location.expect_only({"content", "start", "stop"});
    return std::make_unique<StripDecoder>(location["content"].character(),
                                          location["start"].count(), location["stop"].count());
  }
  if (type == "Metaspace") return read_metaspace(location);
  if (type == "BPEDecoder") {
    location.expect_only({"suffix"});
    if (location["suffix"].text().empty()) location["suffix"].damaged("a suffix");
    return std::make_unique<SuffixStep>(location["suffix"].text());
  }
  location.refuse_type(kKnownDecoders);
}

}  // namespace

Decoder::Decoder(const JsonLocation& location) : joins_with_space_(location.is_null()) {
  for_each_part(location, "decoders",
                [&](const JsonLocation& part) { steps_.push_back(read_decoder_step(part)); });
}

std::string Decoder::decode(std::vector<std::string> pieces, MatchState& state) const {
  size_t num_bytes = 0;
  for (const std::string& piece : pieces) num_bytes += piece.size();
  state.begin(num_bytes);
  for (const auto& step : steps_) step->apply(pieces, state);
  return joined(pieces, joins_with_space_ ? " " : "");
}

}  // namespace s2s::hf
