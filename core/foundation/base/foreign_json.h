#pragma once
// JSON that somebody else wrote, through a parser that calls itself for each level.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "s2s/foreign_text.h"

namespace s2s {

/// An object that keeps the order of its members compares each new name with all before. All
/// objects of a text may take as many comparisons as one object of this many members.
inline constexpr size_t kOrderedMembers = 10000;

/// How many values (numbers, texts, lists, objects, ...) a text may have. A value of two bytes
/// takes a hundred in memory, so that the bytes of a text say little.
struct JsonLimit {
  size_t any_values = 200'000;
  /// Longer texts may have one for each so many of their bytes; 0: no more.
  size_t bytes_per_value = 0;
  int depth = kJsonDepth;
};
/// config.json, state.json, manifests, one line of a file of lines.
inline constexpr JsonLimit kConfigurationJson{};
/// Tokenizers, Hugging Face indexes: a value is a token or a name and has 15 bytes or more.
inline constexpr JsonLimit kVocabularyJson{200'000, 8};
/// Headers of safetensors (a tensor has 7 to 10 values in 50 bytes or more), flight records,
/// transcripts with the times of words.
inline constexpr JsonLimit kListsJson{200'000, 4};
/// index.json of a checkpoint: a shard has 6 values in 12 bytes or more, as [0,[[0,8]]].
inline constexpr JsonLimit kShardsJson{200'000, 2};

/// Most bytes of a configuration. The largest known one (id2label of 21,841 classes) has 1 MB.
inline constexpr size_t kConfigurationBytes = size_t{4} << 20;
/// Of tokenizer_config.json, which has 200 bytes for each token that is added: speech models add
/// 65,536 tokens, which are 12 MB.
inline constexpr size_t kTokenizerConfigBytes = size_t{32} << 20;

/// True when the objects of a JSON text take more comparisons than one of `max_members` members.
bool has_wide_objects(std::string_view text, size_t max_members = kOrderedMembers);

/// Why a text is not parsed whatever it says: its parser or its value would run out of stack (here
/// or where the value is copied, printed or destroyed), out of memory or out of time. One pass over
/// the text before the first value is made; no memory. `is_ordered`: for an ordered_json.
std::optional<std::string> json_refusal(std::string_view text, const JsonLimit& limit,
                                        bool is_ordered);

/// What Json::parse gives. Errors: nlohmann::json::parse_error, also for what json_refusal says.
template <class Json = nlohmann::json>
Json parse_foreign_json(std::string_view text, const JsonLimit& limit = kConfigurationJson) {
  const auto refusal = json_refusal(text, limit, std::is_same_v<Json, nlohmann::ordered_json>);
  if (refusal) throw nlohmann::json::parse_error::create(101, size_t{0}, *refusal, nullptr);
  return Json::parse(text.begin(), text.end());
}

/// The same; a discarded value in place of an error.
template <class Json = nlohmann::json>
Json try_parse_foreign_json(std::string_view text, const JsonLimit& limit = kConfigurationJson) {
  if (json_refusal(text, limit, std::is_same_v<Json, nlohmann::ordered_json>)) {
    return Json(nlohmann::json::value_t::discarded);
  }
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

}  // namespace s2s
