#pragma once
// A line of NeMo's JSON manifests.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "s2s/data/cuts.h"

namespace s2s::data {

/// Sampling rate of an entry without `sampling_rate`.
constexpr int64_t kAssumedRateHz = 16000;

struct NemoFields {
  std::string text = "text";
  std::string lang = "lang";
};

struct NemoEntry {
  nlohmann::ordered_json json;  // an object
  std::string file;
  int64_t line = 0;

  /// "file:line".
  std::string place() const;
  std::string audio_filepath() const;
  /// Nothing when the key is absent or null. Errors: [data/nemo-manifest] when it is not a number.
  std::optional<double> number(const char* key) const;
  std::optional<std::string> text(const std::string& key) const;
  /// Whether `_skipme` is true in Python's sense.
  bool is_skipped() const;
};

/// Errors: [data/nemo-manifest].
NemoEntry parse_nemo_entry(const std::string& text, const std::string& file, int64_t line);

/// Converts members of an object to custom fields, except those that `is_left_out` names.
CustomFields custom_fields(const nlohmann::ordered_json& object,
                           const std::vector<std::string>& left_out);

/// Python's f"{round(seconds * 1e2):06d}".
std::string centiseconds(double seconds);

/// Path of a manifest's audio file. A relative path is taken from the manifest's folder if that
/// file exists.
/// Source: nemo get_full_path.
std::string nemo_audio_path(const std::string& audio, const std::string& manifest);

/// A turn that spans `cut`, with the entry's text and language.
Supervision whole_turn(const Cut& cut, const NemoEntry& entry, const NemoFields& fields);

}  // namespace s2s::data
