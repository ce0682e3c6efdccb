#pragma once
// Creates a text data set: prompts with responses and chats of a small grammar, train.jsonl,
// dev.jsonl, chat.jsonl, chat_dev.jsonl, texts.txt and synth.json.

#include <filesystem>

#include "s2s_run/synth/synth.h"

namespace s2s::synth {

/// Creates the set unless it exists. Errors: [synth/...], [io/write].
SetSummary make_text_set(const std::filesystem::path& folder, const SetOptions& options);

}  // namespace s2s::synth
