#include "byte_alphabet.h"

#include <array>

#include "unicode.h"

namespace s2s::hf {
namespace {

constexpr char32_t kFirstShifted = 0x100;
constexpr size_t kNumShifted = 68;

constexpr bool is_printed(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct ByteAlphabet {
  std::array<char32_t, 256> character{};
  std::array<int16_t, kFirstShifted + kNumShifted> byte{};
};

constexpr ByteAlphabet make_byte_alphabet() {
  ByteAlphabet alphabet;
  for (auto& byte : alphabet.byte) byte = -1;
  char32_t shifted = kFirstShifted;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char32_t c = is_printed(byte) ? char32_t{byte} : shifted++;
    alphabet.character[byte] = c;
    alphabet.byte[c] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr ByteAlphabet kByteAlphabet = make_byte_alphabet();

}  // namespace

char32_t byte_character(uint8_t byte) { return kByteAlphabet.character[byte]; }

std::string to_byte_characters(std::string_view text) {
  std::string out;
  out.reserve(text.size() * 2);
  for (const char c : text) append_utf8(byte_character(static_cast<uint8_t>(c)), out);
  return out;
}

std::optional<std::string> from_byte_characters(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    if (c.value >= kByteAlphabet.byte.size() || kByteAlphabet.byte[c.value] < 0)
      return std::nullopt;
    out += static_cast<char>(kByteAlphabet.byte[c.value]);
    i += c.size;
  }
  return out;
}

}  // namespace s2s::hf
