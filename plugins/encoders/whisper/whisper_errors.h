#pragma once
// Errors of this encoder and of the recognizer.

#include <cstdint>
#include <string>

#include "s2s/error.h"

namespace s2s::whisper {

/// [encoder/window]: mel features that are no whole windows.
Error window_error(int64_t num_frames, int64_t window_frames);

/// [scorer/no-model]: neither a folder nor a configuration. `path`: of the options.
Error no_whisper(const std::string& path);
/// [scorer/language]: a language that the model has no token for. `known`: those that it has.
Error unknown_language(const std::string& place, const std::string& language,
                       const std::string& known);
/// [scorer/language]: `key` (language or task) for a model of English alone.
Error only_english(const std::string& place, const std::string& key, const std::string& value);
/// [scorer/task]: a task that the model does not know.
Error unknown_task(const std::string& place, const std::string& task, const std::string& known);
/// [scorer/special-token]: the tokenizer's text of an id of generation_config.json.
Error other_token(const std::string& place, const std::string& key, int64_t id,
                  const std::string& piece, const std::string& expected);

}  // namespace s2s::whisper
