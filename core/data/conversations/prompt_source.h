#pragma once
// Opens conversations that a model is asked to answer.

#include <memory>
#include <optional>
#include <string>

#include "conversations/conversation.h"
#include "s2s/build_context.h"
#include "s2s/config.h"
#include "s2s/kinds/data_source.h"

namespace s2s::data {

/// Returns the entry of `input_cfg` for a file. The keys of the first line say whether it has cuts,
/// NeMo's entries or conversations (JSONL, also compressed). A .yaml file is included, and a folder
/// with files of cuts is Shar. Returns nothing for anything else.
/// Errors: [data/missing-file], [data/gzip].
std::optional<Config> input_of(const std::string& path);

/// The source `conversations` (open_conversation_source) with `added` turns, in which cuts need no
/// answer and batches have prompt_ids.
std::unique_ptr<DataSource> open_prompt_source(const Config& block,
                                               const std::vector<PromptFormat>& formats,
                                               const AddedTurns& added, const DataContext& context);

}  // namespace s2s::data
