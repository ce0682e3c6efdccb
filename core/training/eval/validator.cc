#include "eval/validator.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "eval/metrics/data_set_board.h"
#include "eval/metrics/example_exchange.h"
#include "eval/metrics/example_measures.h"
#include "s2s/nn/full_precision.h"
#include "s2s/nn/token_sampling.h"

namespace s2s {
namespace {

at::Tensor row(const at::Tensor& audio_BS, const at::Tensor& lengths_B, int64_t b) {
  return audio_BS[b].narrow(0, 0, lengths_B[b].item<int64_t>()).to(at::kCPU).clone();
}

/// Returns the tokens of a channel that are not silence. `first_frame`: the frame of column 0.
std::vector<TokenMark> marks(const at::Tensor& tokens_T, int64_t length, int64_t first_frame,
                             const Tokenizer& tokenizer) {
  const SpecialIds& ids = tokenizer.special_ids();
  const at::Tensor on_host_T = tokens_T.to(at::kCPU, at::kLong).contiguous();
  std::vector<TokenMark> found;
  for (int64_t t = 0; t < length; ++t) {
    const int64_t id = on_host_T.const_data_ptr<int64_t>()[t];
    if (id == ids.pad) continue;
    TokenMark mark;
    mark.frame = t + first_frame;
    mark.kind = id == ids.bos   ? TokenMark::Kind::kBos
                : id == ids.eos ? TokenMark::Kind::kEos
                                : TokenMark::Kind::kText;
    if (mark.kind == TokenMark::Kind::kText) mark.text = tokenizer.decode({id});
    found.push_back(std::move(mark));
  }
  return found;
}

}  // namespace

Validator::Validator(Model& model, const Sets& sets, ValidationSettings settings)
    : model_(model),
      speech_(find_capability<AnswersSpeech>(model)),
      writer_(speech_ == nullptr ? find_capability<TextGenerator>(model) : nullptr),
      sets_(sets),
      settings_(std::move(settings)) {}

void Validator::run_batch(SharedSets& sets, const SharedSets::Turn& turn, MetricSums& sums) {
  const Batch on_device = turn.batch.to(settings_.device);
  const AutocastScope autocast(settings_.precision, settings_.device.type());
  const MetricSums more = model_.evaluate(on_device);
  if (turn.counts) add_sums(sums, more);
  // Ranks of a sharded model answer together, even when the batch of one of them does not count.
  if (!is_answered(turn.first)) return;
  if (writer_ != nullptr) return write(sets, turn, on_device);
  answer(turn, on_device, sets.common_width(on_device.source_audio_BS.size(1)));
}

bool Validator::is_answered(int64_t number) const {
  if (settings_.answers == Answers::kNone) return false;
  if (speech_ == nullptr && writer_ == nullptr) return false;
  return settings_.limit_answers == 0 || number < settings_.limit_answers;
}

ValidationReport Validator::run(int64_t steps_done) {
  const at::NoGradGuard no_grad;
  const bool was_training = model_.is_training();
  model_.train(false);
  SharedSets sets(sets_, settings_.strategy, settings_.limit_batches);
  std::map<std::string, MetricSums> sums;
  int64_t done = 0;
  while (sets.next_round()) {
    for (const SharedSets::Turn& turn : sets.turns()) {
      run_batch(sets, turn, sums[turn.set]);
      done += turn.num_ranks;
      if (settings_.progress) settings_.progress("batches", done);
    }
  }
  model_.train(was_training);
  if (settings_.answers == Answers::kExamples) listen(0);
  if (settings_.strategy != nullptr) sums = sums_of_all_ranks(*settings_.strategy, sums);
  ValidationReport report;
  report.step = steps_done;
  for (const auto& [name, value] : sums) report.sets[name] = model_.metrics_of(value);
  if (settings_.answers == Answers::kNumbers) add_numbers(report);
  report.examples = std::move(kept_);
  return report;
}

void Validator::add_numbers(ValidationReport& report) {
  if (settings_.strategy != nullptr) share_examples(*settings_.strategy, examples_);
  std::map<std::string, DataSetBoard> boards;
  for (const ReportExample& example : examples_) {
    DataSetBoard& board =
        boards.try_emplace(example.data_set, example.data_set, settings_.metrics).first->second;
    board.add(example, measure(example));
  }
  for (const auto& [set, board] : boards) report.sets[set].merge(board.numbers());
  examples_.clear();
}

/// `width`: number of samples that the user's audio is padded to.
void Validator::answer(const SharedSets::Turn& turn, const Batch& batch, int64_t width) {
  const at::Tensor& user_BS = batch.source_audio_BS;
  const Generation generated =
      speech_->generate(at::constant_pad_nd(user_BS, {0, width - user_BS.size(1)}),
                        batch.source_audio_lens_B, /*decode_audio=*/true);
  if (!turn.counts || !is_answered(turn.number)) return;
  const size_t first = examples_.size();
  for (int64_t b = 0; b < batch.size(); ++b) {
    examples_.push_back(example_of(turn, batch, generated, b));
  }
  if (settings_.answers == Answers::kExamples) return add_best_case(batch, first);
  listen(first);
  for (size_t i = first; i < examples_.size(); ++i) {
    keep(examples_[i]);
    keep_times_only(examples_[i]);
  }
}

/// Answers prompts greedily with text.
void Validator::write(SharedSets& sets, const SharedSets::Turn& turn, const Batch& batch) {
  const std::vector<TextPrompt> prompts = writer_->prompts_of(batch);
  if (prompts.empty()) return;
  TextGenerationOptions options;
  options.goes_on = [&sets](bool is_open) { return sets.common_width(is_open ? 1 : 0) > 0; };
  const std::vector<TextAnswer> answers = writer_->continue_prompts(prompts, options, {});
  if (!turn.counts || !is_answered(turn.number)) return;
  for (size_t b = 0; b < prompts.size(); ++b) {
    ReportExample example;
    example.id = batch.ids[b];
    example.data_set = turn.set;
    example.batch = turn.number;
    example.texts.reference = batch.target_texts[b];
    example.texts.text_channel = answers[b].text;
    if (!prompts[b].audios_S.empty()) {
      example.user = {at::cat(prompts[b].audios_S).cpu(), writer_->source_sample_rate_hz()};
    }
    if (settings_.answers == Answers::kNumbers) {
      keep(example);
      example.user = {};
    }
    examples_.push_back(std::move(example));
  }
}

/// Copies the example to the report, if it is one of the first of its set.
void Validator::keep(const ReportExample& example) {
  const int64_t num_kept =
      std::count_if(kept_.begin(), kept_.end(),
                    [&](const ValidationExample& kept) { return kept.set == example.data_set; });
  if (num_kept >= settings_.kept_examples) return;
  ValidationExample kept{example.data_set, example.id, {}, example.user, example.answer};
  kept.texts.emplace_back("reference", example.texts.reference);
  const SpokenTexts& texts = example.texts;
  if (texts.text_channel) kept.texts.emplace_back("text channel", *texts.text_channel);
  if (texts.heard_model) kept.texts.emplace_back("transcript", *texts.heard_model);
  kept_.push_back(std::move(kept));
}

ReportExample Validator::example_of(const SharedSets::Turn& turn, const Batch& batch,
                                    const Generation& generated, int64_t b) const {
  const auto row_number = static_cast<size_t>(b);
  const Tokenizer& tokenizer = speech_->tokenizer();
  ReportExample example;
  example.id = batch.ids[row_number];
  example.data_set = turn.set;
  example.batch = turn.number;
  example.turns = batch.turns[row_number];
  example.texts.reference = batch.target_texts[row_number];
  example.texts.text_channel = generated.text[row_number];
  example.user = {row(batch.source_audio_BS, batch.source_audio_lens_B, b),
                  speech_->source_sample_rate_hz()};
  if (generated.audio_BS.defined()) {
    example.answer = {row(generated.audio_BS, generated.audio_lens_B, b),
                      speech_->answer_sample_rate_hz()};
  }
  // Token t of the answer belongs to frame t + 1: the text channel leads by one frame.
  example.answer_tokens =
      marks(generated.tokens_text_BT[b], generated.token_lens_B[b].item<int64_t>(), 1, tokenizer);
  example.reference_tokens =
      marks(batch.target_tokens_BT[b], batch.target_token_lens_B[b].item<int64_t>(), 0, tokenizer);
  return example;
}

/// Adds the reference audio and its codec round trip to the examples from `first` on.
void Validator::add_best_case(const Batch& batch, size_t first) {
  auto* const speaking = find_capability<HasCodec>(model_);
  if (speaking == nullptr || !batch.target_audio_BS.defined()) return;
  const FullPrecision full_precision;
  Codec& codec = speaking->codec();
  const auto [codes_BKT, code_lens_B] =
      codec.encode(batch.target_audio_BS, batch.target_audio_lens_B);
  const at::Tensor round_trip_BS = codec.decode(codes_BKT);
  const int64_t rate_hz = codec.shape().sample_rate_hz;
  for (int64_t b = 0; b < batch.size(); ++b) {
    ReportExample& example = examples_[first + static_cast<size_t>(b)];
    example.reference = {row(batch.target_audio_BS, batch.target_audio_lens_B, b), rate_hz};
    example.round_trip = {row(round_trip_BS, code_lens_B * codec.shape().samples_per_frame, b),
                          rate_hz};
  }
}

/// Transcribes the clips of the examples from `first` on.
void Validator::listen(size_t first) {
  if (settings_.scorer == nullptr) return;
  std::vector<AudioClip> clips;
  std::vector<std::optional<std::string>*> texts;
  for (size_t i = first; i < examples_.size(); ++i) {
    ReportExample& example = examples_[i];
    SpokenTexts& heard = example.texts;
    for (const auto& [clip, text] : {std::pair(&example.answer, &heard.heard_model),
                                     std::pair(&example.reference, &heard.heard_reference),
                                     std::pair(&example.round_trip, &heard.heard_round_trip)}) {
      if (!clip->samples_S.defined()) continue;
      clips.push_back(*clip);
      texts.push_back(text);
    }
  }
  if (settings_.progress)
    settings_.progress("clips to listen to", static_cast<int64_t>(clips.size()));
  const std::vector<std::string> found = settings_.scorer->transcribe(clips);
  for (size_t i = 0; i < found.size(); ++i) *texts[i] = found[i];
}

}  // namespace s2s
