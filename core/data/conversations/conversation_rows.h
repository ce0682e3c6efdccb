#pragma once
// Rows of conversations, and batches by the names of NeMo's SALMDataset.

#include "conversations/conversation.h"
#include "loader/row_kind.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s::data {

/// Batch::others: audios [A, S] float32, audio_lens [A] int64, input_ids [B, T] int64 and loss_mask
/// [B, T] bool, ids padded on the left with PAD; A audios of all rows, in order. With
/// ConversationRules::has_prompts also prompt_ids [B, P]: the rows without the answers at their
/// end, and what begins an answer. Batch::ids. Batch::target_texts: the last answers.
/// Source: NeMo salm_dataset.py.
class ConversationRows : public RowKind {
 public:
  /// The tokenizer must live on.
  ConversationRows(ConversationRules rules, const Tokenizer& tokenizer);

  std::unique_ptr<RowContent> load(const Cut& cut, AudioLoader& audio) const override;
  Batch collate(const std::vector<const RowContent*>& rows) const override;
  Batch first_row(const Batch& batch) const override;

 private:
  ConversationRules rules_;
  const Tokenizer& tokenizer_;
};

}  // namespace s2s::data
