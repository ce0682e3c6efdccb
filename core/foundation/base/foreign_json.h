#pragma once
// Parses JSON from untrusted sources, with limits, because the parser recurses for each level.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "s2s/foreign_text.h"

namespace s2s {

/// An object that keeps the order of its members compares each new name with all earlier names. All
/// objects of a text together may take as many comparisons as one object with this many members.
inline constexpr size_t kOrderedMembers = 10000;

/// Limits the number of values (numbers, texts, lists, objects, ...) in a text. A value with two
/// bytes of text takes a hundred bytes of memory, so the size of a text is not a sufficient limit.
struct JsonLimit {
  size_t any_values = 200'000;
  /// Longer texts may have one value per this many bytes; 0: no more than `any_values`.
  size_t bytes_per_value = 0;
  int depth = kJsonDepth;
};
/// For config.json, state.json, manifests, and single lines of files of lines.
inline constexpr JsonLimit kConfigurationJson{};
/// For tokenizers and Hugging Face indexes, in which a value is a token or a name and has at least
/// 15 bytes.
inline constexpr JsonLimit kVocabularyJson{200'000, 8};
/// For headers of safetensors (a tensor has 7 to 10 values in at least 50 bytes), flight records,
/// and transcripts with the times of words.
inline constexpr JsonLimit kListsJson{200'000, 4};
/// For index.json of a checkpoint, in which a shard has 6 values in at least 12 bytes: [0,[[0,8]]].
inline constexpr JsonLimit kShardsJson{200'000, 2};

/// Maximum size of a configuration. The largest known one (id2label of 21,841 classes) has 1 MB.
inline constexpr size_t kConfigurationBytes = size_t{4} << 20;
/// Maximum size of tokenizer_config.json, which has 200 bytes for each added token. Speech models
/// add 65,536 tokens, which takes 12 MB.
inline constexpr size_t kTokenizerConfigBytes = size_t{32} << 20;

/// Returns why a text is refused before it is parsed: its parser or its value would exhaust the
/// stack (here, or when the value is copied, printed or destroyed), the memory or the time. Scans
/// the text once and allocates no memory. `is_ordered`: for an ordered_json.
std::optional<std::string> json_refusal(std::string_view text, const JsonLimit& limit,
                                        bool is_ordered);

/// Calls Json::parse. Errors: nlohmann::json::parse_error, also for texts that json_refusal
/// refuses.
template <class Json = nlohmann::json>
Json parse_foreign_json(std::string_view text, const JsonLimit& limit = kConfigurationJson) {
  const auto refusal = json_refusal(text, limit, std::is_same_v<Json, nlohmann::ordered_json>);
  if (refusal) throw nlohmann::json::parse_error::create(101, size_t{0}, *refusal, nullptr);
  return Json::parse(text.begin(), text.end());
}

/// Does the same, but returns a discarded value instead of an error.
template <class Json = nlohmann::json>
Json try_parse_foreign_json(std::string_view text, const JsonLimit& limit = kConfigurationJson) {
  if (json_refusal(text, limit, std::is_same_v<Json, nlohmann::ordered_json>)) {
    return Json(nlohmann::json::value_t::discarded);
  }
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

}  // namespace s2s
