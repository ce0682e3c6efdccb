#pragma once
// The byte-level alphabet: every byte as a printable character. Source: GPT-2's encoder.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace s2s::hf_plugin {

/// The character for a byte: itself where Latin-1 prints it, U+0100 and on for the other 68.
char32_t byte_character(uint8_t byte);
/// All bytes of `text` as their characters, in UTF-8.
std::string to_byte_characters(std::string_view text);
/// The bytes that `text` (UTF-8) spells; none when a character stands for no byte.
std::optional<std::string> from_byte_characters(std::string_view text);

}  // namespace s2s::hf_plugin
