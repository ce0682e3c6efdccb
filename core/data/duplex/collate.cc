// Converts cuts to padded tensors.

#include <ATen/Functions.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "duplex/kept_codes.h"
#include "s2s/data/duplex_data.h"
#include "s2s/data/frames.h"

namespace s2s {
namespace {

// NeMo's MCQ_VAL_PROMPT with the same letters, because its models are trained with this text.
constexpr const char* kQuestionPrompt =
    "Answer the following multiple choice question with an explanation for the answer.";

/// Returns the sequence's turns as one dialogue, with times of the sequence.
std::vector<Supervision> merged_turns(const CutSequence& sequence, double frame_length_s) {
  std::vector<Supervision> turns;
  for (const SequencePart& part : sequence.parts) {
    const double offset_s = static_cast<double>(part.first_frame) * frame_length_s;
    for (Supervision turn : part.cut->supervisions) {
      turn.start_s = round_time(turn.start_s + offset_s);
      for (auto& [kind, words] : turn.alignment) {
        for (AlignedWord& word : words) word.start_s += offset_s;
      }
      turns.push_back(std::move(turn));
    }
  }
  return turns;
}

double duration_of(const CutSequence& sequence, double frame_length_s) {
  if (sequence.num_frames == 0) return sequence.parts.front().cut->duration_s;
  return static_cast<double>(sequence.num_frames) * frame_length_s;
}

FrameGrid grid_of(const CutSequence& sequence, const BatchSpec& spec) {
  const Cut& first = *sequence.parts.front().cut;
  int64_t rate = spec.frames_rate_hz;
  if (rate == 0) {
    const bool own = sequence.num_frames == 0 && first.sample_rate_hz() > 0;
    rate = own ? first.sample_rate_hz() : spec.data.source_sample_rate;
  }
  return {duration_of(sequence, spec.data.frame_length), spec.data.frame_length, rate};
}

using Load = at::Tensor (AudioLoader::*)(const Cut&, int64_t);

/// Loads a row's audio [S].
at::Tensor load_audio(const CutSequence& row, const BatchSpec& spec, int64_t rate_hz, Load load,
                      AudioLoader& loader) {
  const double frame_s = spec.data.frame_length;
  const int64_t length = compute_num_samples(duration_of(row, frame_s), rate_hz);
  if (row.num_frames == 0) {
    at::Tensor samples_S = (loader.*load)(*row.parts.front().cut, rate_hz);
    if (samples_S.size(0) == length) return samples_S;
    return at::constant_pad_nd(samples_S, {0, length - samples_S.size(0)});
  }
  const at::Tensor audio_S = at::zeros({length}, at::kFloat);
  for (const SequencePart& part : row.parts) {
    const int64_t begin =
        compute_num_samples(static_cast<double>(part.first_frame) * frame_s, rate_hz);
    const at::Tensor samples_S = (loader.*load)(*part.cut, rate_hz);
    const int64_t count = std::min(samples_S.size(0), length - begin);
    audio_S.narrow(0, begin, count).copy_(samples_S.narrow(0, 0, count));
  }
  return audio_S;
}

/// Returns audio [B, S] padded on the right, and lengths [B].
std::pair<at::Tensor, at::Tensor> collate_audio(const std::vector<LoadedRow>& rows,
                                                at::Tensor LoadedRow::*audio) {
  std::vector<int64_t> lengths;
  for (const LoadedRow& row : rows) lengths.push_back((row.*audio).size(0));
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  const at::Tensor audio_BS = at::empty({static_cast<int64_t>(rows.size()), longest}, at::kFloat);
  for (size_t b = 0; b < rows.size(); ++b) {
    const at::Tensor row_S = audio_BS[static_cast<int64_t>(b)];
    row_S.narrow(0, 0, lengths[b]).copy_(rows[b].*audio);
    row_S.narrow(0, lengths[b], longest - lengths[b]).zero_();
  }
  return {audio_BS, at::tensor(lengths, at::kLong)};
}

/// Returns tokens [B, T] padded on the right, and lengths [B].
std::pair<at::Tensor, at::Tensor> collate_tokens(const std::vector<LoadedRow>& rows,
                                                 std::vector<int64_t> SequenceText::*tokens,
                                                 int64_t pad) {
  std::vector<int64_t> lengths;
  for (const LoadedRow& row : rows) {
    lengths.push_back(static_cast<int64_t>((row.text.*tokens).size()));
  }
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  const at::Tensor tokens_BT =
      at::full({static_cast<int64_t>(rows.size()), longest}, pad, at::kLong);
  for (size_t b = 0; b < rows.size(); ++b) {
    if (lengths[b] == 0) continue;
    tokens_BT[static_cast<int64_t>(b)]
        .narrow(0, 0, lengths[b])
        .copy_(at::tensor(rows[b].text.*tokens, at::kLong));
  }
  return {tokens_BT, at::tensor(lengths, at::kLong)};
}

std::vector<int64_t> agent_channel(const std::vector<Supervision>& turns,
                                   const DuplexDataOptions& data, const FrameGrid& grid,
                                   const Tokenizer& tokenizer, TokenChannelCounts& counts) {
  if (data.agent_text == "inner_monologue") {
    return build_monologue_channel(turns, data.output_roles, grid, data.end_of_padding_id,
                                   tokenizer, &counts);
  }
  const LongText long_text = data.long_text == "drop" ? LongText::kDrop : LongText::kKeep;
  if (data.agent_text == "word_start") {
    return build_spoken_channel(turns, data.output_roles, grid, data.agent_text_lead, tokenizer,
                                &counts, long_text);
  }
  return build_token_channel(turns, data.output_roles, grid, tokenizer, &counts, long_text);
}

std::vector<int64_t> user_channel(const std::vector<Supervision>& turns,
                                  const DuplexDataOptions& data, const FrameGrid& grid,
                                  const Tokenizer& tokenizer, TokenChannelCounts& counts) {
  if (data.user_text == "word_end") {
    return build_word_channel(turns, data.input_roles, grid, data.user_text_delay, tokenizer,
                              &counts);
  }
  if (data.user_text == "stamped") {
    const StampedWords words{data.word_align_position == "right", data.prepend_word_space};
    return build_stamped_channel(turns, data.input_roles, grid, words, tokenizer, &counts);
  }
  return build_token_channel(turns, data.input_roles, grid, tokenizer, &counts);
}

/// Returns the ids of a cut's system prompt between BOS and EOS.  Source: NeMo
/// collate_system_prompt.
std::vector<int64_t> prompt_of(const Cut& cut, const DuplexDataOptions& data,
                               const Tokenizer& tokenizer) {
  std::string text = cut.custom_text("system_prompt").value_or("");
  if (text.empty() && data.add_mcq_val_prompt) text = kQuestionPrompt;
  if (text.empty()) return {};
  std::vector<int64_t> ids{tokenizer.special_ids().bos};
  for (const int64_t id : tokenizer.encode(text)) ids.push_back(id);
  ids.push_back(tokenizer.special_ids().eos);
  return ids;
}

/// Adds the rows' codes [B, K, T], padded with zeros, their lengths and the fingerprints of their
/// codecs. Codecs with other numbers of codebooks differ, which is reported later.
void add_codes(const std::vector<LoadedRow>& rows, Batch& batch) {
  int64_t books = 0, frames = 0;
  std::vector<int64_t> lengths, codecs;
  for (const LoadedRow& row : rows) {
    books = std::max(books, row.codes_KT.size(0));
    frames = std::max(frames, row.codes_KT.size(1));
    lengths.push_back(row.codes_KT.size(1));
    codecs.push_back(static_cast<int64_t>(row.codec_id));
  }
  batch.codes_BKT = at::zeros({static_cast<int64_t>(rows.size()), books, frames}, at::kLong);
  for (size_t b = 0; b < rows.size(); ++b) {
    const at::Tensor& codes_KT = rows[b].codes_KT;
    batch.codes_BKT[static_cast<int64_t>(b)]
        .narrow(0, 0, codes_KT.size(0))
        .narrow(1, 0, codes_KT.size(1))
        .copy_(codes_KT);
  }
  batch.code_lens_B = at::tensor(lengths, at::kLong);
  batch.others[data::kCodecOfCodes] = at::tensor(codecs, at::kLong);
}

/// Adds tensors that only some batches have.
void add_others(const std::vector<LoadedRow>& rows, int64_t pad, Batch& batch) {
  const auto any = [&rows](const auto& has) { return std::any_of(rows.begin(), rows.end(), has); };
  if (any([](const LoadedRow& row) { return !row.text.prompt_tokens.empty(); })) {
    std::tie(batch.others["prompt_tokens"], batch.others["prompt_token_lens"]) =
        collate_tokens(rows, &SequenceText::prompt_tokens, pad);
  }
  if (any([](const LoadedRow& row) { return row.text.task == "asr"; })) {
    std::vector<int64_t> is_asr;
    for (const LoadedRow& row : rows) is_asr.push_back(row.text.task == "asr" ? 1 : 0);
    batch.others["task_is_asr"] = at::tensor(is_asr, at::kLong);
  }
}

}  // namespace

std::string CutSequence::id() const {
  if (num_frames == 0) return parts.front().cut->id;
  std::string text;
  for (const SequencePart& part : parts) {
    text += (text.empty() ? "" : "+") + part.cut->id + "@" + std::to_string(part.first_frame);
  }
  return text;
}

SequenceText make_sequence_text(const CutSequence& sequence, const BatchSpec& spec,
                                const Tokenizer& tokenizer) {
  const DuplexDataOptions& data = spec.data;
  const FrameGrid grid = grid_of(sequence, spec);
  const std::vector<Supervision> turns = merged_turns(sequence, data.frame_length);
  SequenceText text;
  text.target_tokens = agent_channel(turns, data, grid, tokenizer, text.target_counts);
  text.source_tokens = user_channel(turns, data, grid, tokenizer, text.source_counts);
  text.prompt_tokens = prompt_of(*sequence.parts.front().cut, data, tokenizer);
  text.task = sequence.parts.front().cut->custom_text("task").value_or("");
  bool first = true;
  for (const Supervision& turn : turns) {
    const bool is_agent = contains(data.output_roles, turn.speaker);
    if (!is_agent && !contains(data.input_roles, turn.speaker)) continue;
    const std::string cleaned = clean_text(turn.text.value_or(""));
    text.turns.push_back({is_agent, turn.start_s, turn.end_s(), cleaned});
    if (!is_agent) continue;
    text.target_text += (first ? "" : " ") + cleaned;
    first = false;
  }
  return text;
}

LoadedRow load_row(const CutSequence& sequence, const BatchSpec& spec, const Tokenizer& tokenizer,
                   AudioLoader& loader) {
  LoadedRow row{sequence.id(), make_sequence_text(sequence, spec, tokenizer), {}, {}};
  row.source_S =
      load_audio(sequence, spec, spec.data.source_sample_rate, &AudioLoader::source, loader);
  if (!spec.codes_field.empty()) {
    S2S_ASSERT(sequence.num_frames == 0, "options that join cuts are refused with codes_field");
    auto kept = data::load_kept_codes(*sequence.parts.front().cut, spec.codes_field);
    row.codes_KT = std::move(kept.codes_KT);
    row.codec_id = kept.codec_id;
  }
  if (!spec.data.agent_audio) return row;
  row.target_S =
      load_audio(sequence, spec, spec.data.target_sample_rate, &AudioLoader::target, loader);
  return row;
}

Batch collate_rows(std::vector<LoadedRow> rows, int64_t pad) {
  S2S_ASSERT(!rows.empty(), "a batch has at least one row");
  Batch batch;
  std::tie(batch.target_tokens_BT, batch.target_token_lens_B) =
      collate_tokens(rows, &SequenceText::target_tokens, pad);
  std::tie(batch.source_tokens_BT, batch.source_token_lens_B) =
      collate_tokens(rows, &SequenceText::source_tokens, pad);
  std::tie(batch.source_audio_BS, batch.source_audio_lens_B) =
      collate_audio(rows, &LoadedRow::source_S);
  if (rows.front().target_S.defined()) {
    std::tie(batch.target_audio_BS, batch.target_audio_lens_B) =
        collate_audio(rows, &LoadedRow::target_S);
  }
  if (rows.front().codes_KT.defined()) add_codes(rows, batch);
  add_others(rows, pad, batch);
  for (LoadedRow& row : rows) {
    batch.target_texts.push_back(std::move(row.text.target_text));
    batch.turns.push_back(std::move(row.text.turns));
    batch.ids.push_back(std::move(row.id));
  }
  return batch;
}

Batch make_batch(const std::vector<CutSequence>& rows, const BatchSpec& spec,
                 const Tokenizer& tokenizer, AudioLoader& loader) {
  std::vector<LoadedRow> loaded;
  for (const CutSequence& row : rows) loaded.push_back(load_row(row, spec, tokenizer, loader));
  return collate_rows(std::move(loaded), tokenizer.special_ids().pad);
}

}  // namespace s2s
