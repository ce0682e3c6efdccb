#pragma once
// What the keys of Hugging Face's config.json mean for the results of a decoder.

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace s2s {

/// Returns true for keys that change no result: names, versions, storage dtypes, settings of
/// generation, notes of training programs.
bool is_key_without_effect(const std::string& key);

/// Returns true for keys that change the results of some family in transformers: known ones, and
/// those whose name has a word of the arithmetic ("scale", "norm", "rope", "expert", ...).
bool is_key_of_arithmetic(const std::string& key);

/// Collects the unknown keys that translations of this thread meet, while it exists. Without a
/// collector an unknown key is an error, because it could not be reported.
class UnknownKeys {
 public:
  UnknownKeys();
  ~UnknownKeys();
  UnknownKeys(const UnknownKeys&) = delete;
  UnknownKeys& operator=(const UnknownKeys&) = delete;

  const std::vector<std::string>& names() const { return names_; }
  /// Returns false when there is no collector.
  static bool add(const std::string& key);

 private:
  std::vector<std::string> names_;
  UnknownKeys* outer_;
};

}  // namespace s2s
