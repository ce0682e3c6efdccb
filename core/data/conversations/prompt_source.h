#pragma once
// Conversations that are to be answered, from the files of data sets.

#include <memory>
#include <optional>
#include <string>

#include "conversations/conversation.h"
#include "s2s/build_context.h"
#include "s2s/config.h"
#include "s2s/kinds/data_source.h"

namespace s2s::data {

/// The entry of `input_cfg` for a file of cuts, of NeMo's manifests or of conversations (JSONL,
/// also compressed), by the keys of its first line; for a .yaml file the entry that refers to it.
/// For a folder, Shar's if it has files of cuts. Nothing for anything else.
/// Errors: [data/missing-file], [data/gzip].
std::optional<Config> input_of(const std::string& path);

/// The source `conversations` (open_conversation_source) with `added` turns, in which cuts need no
/// answer and batches have prompt_ids.
std::unique_ptr<DataSource> open_prompt_source(const Config& block,
                                               const std::vector<PromptFormat>& formats,
                                               const AddedTurns& added, const DataContext& context);

}  // namespace s2s::data
