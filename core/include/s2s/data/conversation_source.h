#pragma once
// The data source `conversations`: batches of conversations with audio and text turns, from the
// same sets as the source `cuts`.

#include <memory>
#include <vector>

#include "s2s/build_context.h"
#include "s2s/config.h"
#include "s2s/data/fingerprint.h"
#include "s2s/data/prompt_format.h"
#include "s2s/kinds/data_source.h"
#include "s2s/options.h"

namespace s2s {

/// Opens the set that a data set's block names. `formats`: those that prompt_format may name
/// (known_prompt_formats). prompt_format and audio_locator_tag say how a
/// conversation becomes ids. Batches have the tensors audios, audio_lens, input_ids and loss_mask
/// of NeMo's SALMDataset; those of a finite set (repeat: false) also have prompt_ids, the ids
/// without the answers at their end. The tokenizer must outlive the source.
/// Errors: those of open_cut_source, [data/prompt-format], [data/token-duration]; of a conversation
/// [data/prompt-turns].
std::unique_ptr<DataSource> open_conversation_source(const Config& block,
                                                     const std::vector<PromptFormat>& formats,
                                                     const DataContext& context);
/// The options of a block.
OptionTable list_conversation_source_options();

}  // namespace s2s
