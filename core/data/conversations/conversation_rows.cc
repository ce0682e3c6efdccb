#include "conversations/conversation_rows.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <utility>

namespace s2s::data {
namespace {

struct ConversationRow : RowContent {
  std::string id, answer;
  EncodedPrompt prompt;
  std::vector<int64_t> question;  // without the answer at the end
  std::vector<at::Tensor> audios_S;
};

const ConversationRow& row_of(const RowContent& content) {
  return static_cast<const ConversationRow&>(content);
}

/// Pads rows on the left. `items` returns the items of a row.
template <class Value, class Items>
at::Tensor left_padded(const std::vector<const RowContent*>& rows, at::ScalarType type,
                       double padding, Items items) {
  size_t width = 0;
  for (const RowContent* row : rows) width = std::max(width, items(row_of(*row)).size());
  const at::Tensor out = at::full({static_cast<int64_t>(rows.size()), static_cast<int64_t>(width)},
                                  padding, at::TensorOptions(type));
  auto* const values = out.mutable_data_ptr<Value>();
  for (size_t b = 0; b < rows.size(); ++b) {
    const auto& row = items(row_of(*rows[b]));
    std::copy(row.begin(), row.end(), values + (b + 1) * width - row.size());
  }
  return out;
}

}  // namespace

ConversationRows::ConversationRows(ConversationRules rules, const Tokenizer& tokenizer)
    : rules_(std::move(rules)), tokenizer_(tokenizer) {}

std::unique_ptr<RowContent> ConversationRows::load(const Cut& cut, AudioLoader& audio) const {
  AudioConversation conversation = conversation_of(cut, rules_.needs_answer);
  add_turns(conversation, rules_.added, rules_.audio_locator_tag);
  auto row = std::make_unique<ConversationRow>();
  row->id = conversation.id;
  row->prompt = encode_conversation(conversation, rules_, tokenizer_);
  for (const SpokenOrWritten& turn : conversation.turns) {
    if (turn.audio) row->audios_S.push_back(audio.source(*turn.audio, rules_.sample_rate_hz));
    if (turn.role == "assistant" && !turn.audio) row->answer = turn.text;
  }
  if (!rules_.has_prompts) return row;
  const AudioConversation question = without_answer(std::move(conversation));
  if (question.turns.empty()) return row;
  row->question = encode_conversation(question, rules_, tokenizer_).ids;
  return row;
}

Batch ConversationRows::collate(const std::vector<const RowContent*>& rows) const {
  std::vector<at::Tensor> audios;
  std::vector<int64_t> lengths;
  Batch batch;
  for (const RowContent* content : rows) {
    const ConversationRow& row = row_of(*content);
    batch.ids.push_back(row.id);
    batch.target_texts.push_back(row.answer);
    for (const at::Tensor& audio_S : row.audios_S) {
      audios.push_back(audio_S);
      lengths.push_back(audio_S.numel());
    }
  }
  const int64_t width = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  const at::Tensor audios_AS = at::zeros({static_cast<int64_t>(audios.size()), width}, at::kFloat);
  for (size_t a = 0; a < audios.size(); ++a) {
    audios_AS[static_cast<int64_t>(a)].narrow(0, 0, lengths[a]).copy_(audios[a]);
  }
  const int64_t known = tokenizer_.known_special_ids().pad;
  const auto pad = static_cast<double>(known >= 0 ? known : tokenizer_.special_ids().pad);
  batch.others["audios"] = audios_AS;
  batch.others["audio_lens"] = at::tensor(lengths, at::kLong);
  batch.others["input_ids"] = left_padded<int64_t>(
      rows, at::kLong, pad, [](const ConversationRow& row) -> auto& { return row.prompt.ids; });
  batch.others["loss_mask"] = left_padded<bool>(
      rows, at::kBool, 0, [](const ConversationRow& row) -> auto& { return row.prompt.mask; });
  if (!rules_.has_prompts) return batch;
  batch.others["prompt_ids"] = left_padded<int64_t>(
      rows, at::kLong, pad, [](const ConversationRow& row) -> auto& { return row.question; });
  return batch;
}

Batch ConversationRows::first_row(const Batch& batch) const {
  const std::vector<int64_t> tag = tokenizer_.encode(rules_.audio_locator_tag);
  const at::Tensor ids_1T = batch.others.at("input_ids").narrow(0, 0, 1);
  const auto num_audios = tag.size() == 1 ? ids_1T.eq(tag.front()).sum().item<int64_t>() : 0;
  Batch row;
  row.ids = {batch.ids.front()};
  row.target_texts = {batch.target_texts.front()};
  row.others["input_ids"] = ids_1T.clone();
  if (rules_.has_prompts) {
    row.others["prompt_ids"] = batch.others.at("prompt_ids").narrow(0, 0, 1).clone();
  }
  row.others["loss_mask"] = batch.others.at("loss_mask").narrow(0, 0, 1).clone();
  row.others["audios"] = batch.others.at("audios").narrow(0, 0, num_audios).clone();
  row.others["audio_lens"] = batch.others.at("audio_lens").narrow(0, 0, num_audios).clone();
  return row;
}

}  // namespace s2s::data
