#pragma once
// The byte-level alphabet: a printable character for every byte. Source: GPT-2's encoder.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace s2s::hf {

/// The character of a byte: the same code point if Latin-1 prints it, else one of the 68 from
/// U+0100.
char32_t byte_character(uint8_t byte);
/// The characters of all bytes of `text`, in UTF-8.
std::string to_byte_characters(std::string_view text);
/// The bytes that the characters of `text` (UTF-8) represent. Empty if a character represents no
/// byte.
std::optional<std::string> from_byte_characters(std::string_view text);

}  // namespace s2s::hf
