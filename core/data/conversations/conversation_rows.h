#pragma once
// Makes rows of conversations, and batches with the tensor names of NeMo's SALMDataset.

#include "conversations/conversation.h"
#include "loader/row_kind.h"
#include "s2s/kinds/tokenizer.h"

namespace s2s::data {

/// Batch::others has audios [A, S] float32, audio_lens [A] int64, input_ids [B, T] int64 and
/// loss_mask [B, T] bool. Ids are padded on the left with PAD. A counts the audios of all rows, in
/// order. With ConversationRules::has_prompts there is also prompt_ids [B, P]: each row without the
/// answer at its end, followed by the text that begins an answer. Batch::ids has the cuts' ids, and
/// Batch::target_texts the last answers.
/// Source: NeMo salm_dataset.py.
class ConversationRows : public RowKind {
 public:
  /// The tokenizer must outlive the object.
  ConversationRows(ConversationRules rules, const Tokenizer& tokenizer);

  std::unique_ptr<RowContent> load(const Cut& cut, AudioLoader& audio) const override;
  Batch collate(const std::vector<const RowContent*>& rows) const override;
  Batch first_row(const Batch& batch) const override;

 private:
  ConversationRules rules_;
  const Tokenizer& tokenizer_;
};

}  // namespace s2s::data
