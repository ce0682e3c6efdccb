#pragma once
// Tables of what the keys of another framework are here.

#include <span>
#include <string_view>

#include "s2s/config.h"

namespace s2s {
namespace interop {
class ForeignFile;
}

/// What becomes of a key.
enum class KeyUse {
  kRead,      // it sets a key of ours
  kNoEffect,  // it changes nothing here
  kOnlyOff,   // it is accepted only when it is off
  kAdvice,    // it is unknown here; the message says what to write
};

/// What one key of another framework is here.
struct ForeignKey {
  std::string_view key;  // dotted
  KeyUse use;
  /// kRead: the key that it sets, or what it does (for people, when `read` is given). Otherwise:
  /// why it has no effect, why it must be off, or what to write.
  const char* says;
  /// Reads the value from a file of an engine; null: `says` is set to it.
  void (*read)(interop::ForeignFile& file, const Config& value) = nullptr;
  /// The values that the row is about, "false" or "null|[]|0"; "": any.
  std::string_view value = "";
};
using ForeignKeys = std::span<const ForeignKey>;

/// A row of a key that changes nothing.
constexpr ForeignKey no_effect(std::string_view key, const char* why, std::string_view value = "") {
  return {key, KeyUse::kNoEffect, why, nullptr, value};
}
/// A row of a key that is read as `ours`.
constexpr ForeignKey read_as(std::string_view key, const char* ours, std::string_view value = "") {
  return {key, KeyUse::kRead, ours, nullptr, value};
}
/// A row of an unknown key: what to write instead.
constexpr ForeignKey advice(std::string_view key, const char* write) {
  return {key, KeyUse::kAdvice, write};
}
/// Whether the row is about this value: alternatives of texts, numbers by value, null and [].
bool is_about(const ForeignKey& row, const Config& value);

}  // namespace s2s
