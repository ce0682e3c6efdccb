#include "whisper_errors.h"

#include <fmt/format.h>

namespace s2s::whisper {

Error window_error(int64_t num_frames, int64_t window_frames) {
  return data_error("encoder/window", "whisper was given " + std::to_string(num_frames) +
                                          " mel frames\n  expected: windows of " +
                                          std::to_string(window_frames) +
                                          " frames; pad the audio with zeros to whole windows");
}

Error no_whisper(const std::string& path) {
  return config_error("scorer/no-model",
                      fmt::format("{}.path: not set; expected a folder of Whisper in Hugging "
                                  "Face's format, with config.json and generation_config.json",
                                  path));
}

Error unknown_language(const std::string& place, const std::string& language,
                       const std::string& known) {
  return config_error("scorer/language",
                      fmt::format("{}: language '{}': the model has no token for it; expected one "
                                  "of {}, or no language, to detect it in each clip",
                                  place, language, known.empty() ? "none" : known));
}

Error only_english(const std::string& place, const std::string& key, const std::string& value) {
  return config_error("scorer/language",
                      fmt::format("{}: {} '{}': the model knows English alone; remove the key, or "
                                  "take a multilingual model",
                                  place, key, value));
}

Error unknown_task(const std::string& place, const std::string& task, const std::string& known) {
  return config_error("scorer/task",
                      fmt::format("{}: task '{}': the model has no token for it; expected one of "
                                  "{}, or no task",
                                  place, task, known.empty() ? "none" : known));
}

Error other_token(const std::string& place, const std::string& key, int64_t id,
                  const std::string& piece, const std::string& expected) {
  return config_error("scorer/special-token",
                      fmt::format("{}/tokenizer.json: id {}, the {} of generation_config.json, is "
                                  "'{}'; expected '{}'; take both files from the model's folder",
                                  place, id, key, piece, expected));
}

Error no_temperature(const std::string& place) {
  return config_error("scorer/fallback",
                      fmt::format("{}: temperature []: no temperature; expected a list such as "
                                  "[0.0, 0.2, 0.4, 0.6, 0.8, 1.0], or remove the key",
                                  place));
}

Error no_fallback(const std::string& place, const std::string& key, double value) {
  return config_error("scorer/fallback",
                      fmt::format("{}: {} {}: asks for the next temperature, and there is one; "
                                  "expected several in the scorer's option temperature, such as "
                                  "[0.0, 0.2, 0.4, 0.6, 0.8, 1.0], or remove the key",
                                  place, key, value));
}

Error prompt_condition_error(const std::string& place) {
  return config_error("scorer/prompt",
                      fmt::format("{}: prompt_condition_type 'all-segments': windows are not "
                                  "conditioned on earlier ones; set condition_on_prev_tokens: "
                                  "true, or take first-segment",
                                  place));
}

Error prompt_id_error(const std::string& place, int64_t id, int64_t vocab_size) {
  return config_error("scorer/prompt",
                      fmt::format("{}: prompt_ids: id {} is not in the vocabulary; expected ids "
                                  "from 0 to {}, as this model's processor.get_prompt_ids gives "
                                  "them",
                                  place, id, vocab_size - 1));
}

Error prompt_length_error(const std::string& place, int64_t size, int64_t room) {
  return config_error("scorer/prompt",
                      fmt::format("{}: prompt_ids and earlier texts have up to {} ids, and "
                                  "max_target_positions leaves {} for them; take shorter "
                                  "prompt_ids, a smaller max_new_tokens, or no "
                                  "condition_on_prev_tokens",
                                  place, size, room));
}

}  // namespace s2s::whisper
