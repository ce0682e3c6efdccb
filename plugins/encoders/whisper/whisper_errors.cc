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

}  // namespace s2s::whisper
