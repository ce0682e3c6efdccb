#include "text/token_spans.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/utf8_reader.h"

namespace s2s::data {
namespace {

constexpr std::string_view kWordMark = "\xE2\x96\x81";

/// Returns the byte of a character of the byte-level alphabet, or -1.
/// Source: GPT-2's bytes_to_unicode.
int byte_of(uint32_t code) {
  static const std::array<int16_t, 0x144> table = [] {
    std::array<int16_t, 0x144> bytes{};
    bytes.fill(-1);
    uint32_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool is_itself = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
                             (byte >= 0xAE && byte <= 0xFF);
      bytes[is_itself ? static_cast<uint32_t>(byte) : next++] = static_cast<int16_t>(byte);
    }
    return bytes;
  }();
  return code < table.size() ? table[code] : -1;
}

/// Returns the bytes of a piece of the byte-level alphabet, or nothing for other pieces.
std::optional<std::string> byte_level_text(std::string_view piece) {
  std::string bytes;
  while (!piece.empty()) {
    const Utf8Character character = first_character(piece);
    const int byte = character.kind == Utf8Character::kValid ? byte_of(character.code) : -1;
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
    piece.remove_prefix(character.num_bytes);
  }
  return bytes;
}

/// Returns the byte of a piece such as <0x0A>.
std::optional<char> byte_token(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return std::nullopt;
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const size_t high = kDigits.find(piece[3]), low = kDigits.find(piece[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
  return static_cast<char>(high * 16 + low);
}

size_t num_spaces(std::string_view text) {
  const size_t end = text.find_first_not_of(" \t\r\n");
  return end == std::string_view::npos ? text.size() : end;
}

/// Returns the number of bytes at the front of `rest` that a piece with word marks matches. A mark
/// matches a space or a mark, and at the front of the piece also nothing.
std::optional<size_t> match_marked(std::string_view piece, std::string_view rest) {
  size_t at = 0;
  bool is_first = true;
  while (!piece.empty()) {
    if (piece.starts_with(kWordMark)) {
      const std::string_view here = rest.substr(at);
      if (here.starts_with(' ')) {
        ++at;
      } else if (here.starts_with(kWordMark)) {
        at += kWordMark.size();
      } else if (!is_first) {
        return std::nullopt;
      }
      piece.remove_prefix(kWordMark.size());
    } else {
      if (at >= rest.size() || rest[at] != piece.front()) return std::nullopt;
      ++at;
      piece.remove_prefix(1);
    }
    is_first = false;
  }
  return at;
}

class SpanFinder {
 public:
  SpanFinder(const std::vector<int64_t>& ids, std::string_view text, const Tokenizer& tokenizer)
      : ids_(ids), text_(text), tokenizer_(tokenizer) {}

  std::vector<TokenSpan> run() {
    size_t at = 0;
    while (spans_.size() < ids_.size()) {
      if (const auto size = match(spans_.size(), at)) {
        spans_.push_back({at, at + *size});
        at += *size;
      } else if (!step_over(at)) {
        break;
      }
    }
    return spans_;
  }

 private:
  /// Returns the number of bytes at `at` that a token matches.
  std::optional<size_t> match(size_t index, size_t at) const {
    if (at > text_.size()) return std::nullopt;
    const std::string piece = tokenizer_.piece(ids_[index]);
    const std::string_view rest = text_.substr(at);
    if (const auto size = match_piece(piece, rest)) return size;
    const size_t spaces = num_spaces(rest);
    if (spaces == 0) return std::nullopt;
    const auto size = match_piece(piece, rest.substr(spaces));
    return size ? std::optional(*size + spaces) : std::nullopt;
  }

  static std::optional<size_t> match_piece(std::string_view piece, std::string_view rest) {
    if (piece.empty()) return std::nullopt;
    const std::optional<std::string> bytes = byte_level_text(piece);
    if (bytes && rest.starts_with(*bytes)) return bytes->size();
    if (rest.starts_with(piece)) return piece.size();
    const std::optional<char> byte = byte_token(piece);
    if (byte && rest.starts_with(*byte)) return 1;
    return piece.find(kWordMark) == std::string_view::npos ? std::nullopt
                                                           : match_marked(piece, rest);
  }

  bool fits_after(size_t index, size_t at) const {
    const auto size = match(index, at);
    if (!size || *size == 0) return false;
    return index + 1 == ids_.size() || match(index + 1, at + *size).has_value();
  }

  /// Gives tokens that are not in the text the bytes up to the next token that is.
  bool step_over(size_t& at) {
    constexpr size_t kMostTokens = 16, kMostBytes = 128;
    const size_t begin = spans_.size();
    for (size_t next = begin + 1; next < std::min(begin + kMostTokens, ids_.size()); ++next) {
      for (size_t place = at; place < std::min(at + kMostBytes, text_.size()); ++place) {
        if (!fits_after(next, place)) continue;
        spans_.insert(spans_.end(), next - begin, TokenSpan{at, place});
        at = place;
        return true;
      }
    }
    const bool is_end = ids_.size() - begin <= kMostTokens && text_.size() - at <= kMostBytes;
    if (is_end) spans_.insert(spans_.end(), ids_.size() - begin, TokenSpan{at, text_.size()});
    return is_end;
  }

  const std::vector<int64_t>& ids_;
  std::string_view text_;
  const Tokenizer& tokenizer_;
  std::vector<TokenSpan> spans_;
};

}  // namespace

std::vector<TokenSpan> find_token_spans(const std::vector<int64_t>& ids, std::string_view text,
                                        const Tokenizer& tokenizer) {
  return SpanFinder(ids, text, tokenizer).run();
}

}  // namespace s2s::data
