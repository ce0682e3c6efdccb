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
/// [scorer/fallback]: the option temperature is an empty list.
Error no_temperature(const std::string& place);
/// [scorer/fallback]: a threshold that asks for another temperature, and there is none.
Error no_fallback(const std::string& place, const std::string& key, double value);
/// [scorer/prompt]: prompt_condition_type all-segments without condition_on_prev_tokens.
Error prompt_condition_error(const std::string& place);
/// [scorer/prompt]: an id of prompt_ids that the model does not have.
Error prompt_id_error(const std::string& place, int64_t id, int64_t vocab_size);
/// [scorer/prompt]: earlier texts of `size` ids, where the model has room for `room`.
Error prompt_length_error(const std::string& place, int64_t size, int64_t room);

}  // namespace s2s::whisper
