#include "eval/validator.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <tuple>
#include <utility>

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
  const SpecialIds ids = tokenizer.known_special_ids();
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

/// Returns the texts of the user's turns, joined with one space.
std::string user_words(const std::vector<Turn>& turns) {
  std::string words;
  for (const Turn& turn : turns) {
    if (!turn.is_agent) words += (words.empty() ? "" : " ") + turn.text;
  }
  return words;
}

/// Pads the user's audio, and what else the answers depend on, so that all ranks of a sharded model
/// run the same number of frames.
Batch as_wide_as_all(Batch batch, const std::vector<PaddedTensor>& others, SharedSets& sets) {
  at::Tensor& user_BS = batch.source_audio_BS;
  if (!user_BS.defined()) return batch;
  const int64_t samples = sets.common_width(user_BS.size(1));
  user_BS = at::constant_pad_nd(user_BS, {0, samples - user_BS.size(1)});
  for (const PaddedTensor& tensor : others) {
    const auto found = batch.others.find(tensor.rows);
    const int64_t own = found == batch.others.end() ? 0 : found->second.size(1);
    const int64_t length = sets.common_width(own);
    if (length == own) continue;
    if (own == 0) {
      const auto options = at::TensorOptions(at::kLong).device(user_BS.device());
      batch.others[tensor.rows] = at::zeros({batch.size(), 0}, options);
      batch.others[tensor.lengths] = at::zeros({batch.size()}, options);
    }
    at::Tensor& rows_BN = batch.others.at(tensor.rows);
    rows_BN = at::constant_pad_nd(rows_BN, {0, length - own});
  }
  return batch;
}

/// A codec that trains is all that its model has to show. Other codecs are frozen: the round trip
/// says nothing of their models.
bool trains_codec(Model& model) {
  bool trains = false;
  model.for_each_block([&](const std::string&, Block& block) {
    trains |= dynamic_cast<Codec*>(&block) != nullptr && !block.named_parameters().empty();
  });
  return trains;
}

}  // namespace

Validator::Validator(Model& model, const Sets& sets, ValidationSettings settings)
    : model_(model),
      speech_(find_capability<AnswersSpeech>(model)),
      speaker_(speech_ == nullptr ? find_capability<SpeaksText>(model) : nullptr),
      teller_(speech_ == nullptr ? find_capability<SpeaksTurns>(model) : nullptr),
      writer_(speech_ == nullptr ? find_capability<TextGenerator>(model) : nullptr),
      codec_(trains_codec(model) ? find_capability<HasCodec>(model) : nullptr),
      sets_(sets),
      settings_(std::move(settings)) {
  const auto* const shares = find_capability<SharesWidths>(model);
  if (shares == nullptr) return;
  answers_in_evaluate_ = shares->answers_in_evaluate();
  padded_ = shares->padded_tensors();
}

void Validator::run_batch(SharedSets& sets, const SharedSets::Turn& turn, MetricSums& sums) {
  const Batch on_device = turn.batch.to(settings_.device);
  const AutocastScope autocast(settings_.precision, settings_.device.type());
  const MetricSums more =
      model_.evaluate(answers_in_evaluate_ ? as_wide_as_all(on_device, padded_, sets) : on_device);
  if (turn.counts) add_sums(sums, more);
  // Ranks of a sharded model answer together, even when the batch of one of them does not count.
  if (!is_answered(turn.first)) return;
  if (writer_ != nullptr) return write(sets, turn, on_device);
  if (speaker_ != nullptr) return answer(turn, on_device, speak(sets, on_device));
  if (teller_ != nullptr) {
    // A batch may have rows in a form of the model's own.
    if (on_device.target_texts.empty()) return;
    return answer(turn, on_device, speak_turns(sets, on_device));
  }
  if (codec_ != nullptr) {
    if (turn.counts) answer(turn, on_device, round_trip(on_device));
    return;
  }
  if (!on_device.source_audio_BS.defined()) return;
  const Batch wide = as_wide_as_all(on_device, padded_, sets);
  answer(turn, wide, speech_->answer(wide, /*decode_audio=*/true));
}

/// The speech of the reference's text channel. Source: NeMo's DuplexEARTTS.validation_step.
Generation Validator::speak(SharedSets& sets, const Batch& batch) {
  const at::Tensor& text_BT = batch.target_tokens_BT;
  const int64_t missing = sets.common_width(text_BT.size(1)) - text_BT.size(1);
  const int64_t pad = speaker_->tokenizer().special_ids().pad;
  const auto [voices_BS, lengths_B] = speaker_->voices_of(batch);
  Generation out;
  out.tokens_text_BT = text_BT;
  out.token_lens_B = batch.target_token_lens_B;
  out.tokens_audio_BTK = speaker_->open_speech(voices_BS, lengths_B)
                             ->push(at::constant_pad_nd(text_BT, {0, missing}, pad))
                             .slice(1, 0, text_BT.size(1));
  const FullPrecision full_precision;
  out.audio_BS = speaker_->codec().decode(out.tokens_audio_BTK.transpose(1, 2));
  out.audio_lens_B = out.token_lens_B * speaker_->codec().shape().samples_per_frame;
  return out;
}

/// The agent's texts as the model speaks them, at most twice as long as the reference.
Generation Validator::speak_turns(SharedSets& sets, const Batch& batch) {
  const CodecShape shape = teller_->codec().shape();
  const int64_t frames = batch.codes_BKT.defined()
                             ? batch.codes_BKT.size(2)
                             : batch.target_audio_BS.size(1) / shape.samples_per_frame + 1;
  SpeechOptions options;
  options.max_frames = 2 * frames;
  options.largest = [&sets](int64_t own) { return sets.common_width(own); };
  std::vector<std::vector<SpokenTurn>> turns;
  for (const std::string& text : batch.target_texts) turns.push_back({{std::nullopt, text, {}}});
  std::vector<at::Tensor> rows, lengths;
  for (const SpokenAnswer& answer : teller_->speak(turns, options)) {
    // Scorers and metrics listen to no less than a frame.
    rows.push_back(answer.audio_S.size(0) > 0 ? answer.audio_S
                                              : at::zeros({shape.samples_per_frame}));
    lengths.push_back(at::scalar_tensor(rows.back().size(0), at::kLong));
  }
  Generation out;
  out.audio_BS = at::pad_sequence(rows, /*batch_first=*/true);
  out.audio_lens_B = at::stack(lengths);
  return out;
}

/// What the codec makes of the agent's audio.
Generation Validator::round_trip(const Batch& batch) const {
  Codec& codec = codec_->codec();
  const FullPrecision full_precision;
  const auto [codes_BKT, code_lens_B] =
      codec.encode(batch.target_audio_BS, batch.target_audio_lens_B);
  Generation out;
  out.audio_BS = codec.decode(codes_BKT);
  out.audio_lens_B = code_lens_B * codec.shape().samples_per_frame;
  return out;
}

bool Validator::is_answered(int64_t number) const {
  if (settings_.answers == Answers::kNone) return false;
  if (speech_ == nullptr && speaker_ == nullptr && teller_ == nullptr && writer_ == nullptr &&
      codec_ == nullptr) {
    return false;
  }
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
    board.add(example, speech_of(example));
  }
  for (const auto& [set, board] : boards) report.sets[set].merge(board.numbers());
  examples_.clear();
}

void Validator::answer(const SharedSets::Turn& turn, const Batch& batch,
                       const Generation& generated) {
  if (!turn.counts || !is_answered(turn.number)) return;
  const size_t first = examples_.size();
  for (int64_t b = 0; b < batch.size(); ++b) {
    examples_.push_back(example_of(turn, batch, generated, b));
  }
  if (settings_.answers == Answers::kExamples) return add_best_case(batch, first);
  listen(first);
  for (size_t i = first; i < examples_.size(); ++i) {
    keep(examples_[i]);
    keep_speech(examples_[i], keeps_audio());
  }
}

/// Whether the clips stay until the metrics of a training run are computed.
bool Validator::keeps_audio() const {
  return std::any_of(settings_.metrics.begin(), settings_.metrics.end(),
                     [](const NamedMetric& metric) { return metric.needs_audio; });
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
      if (!keeps_audio()) example.user = {};
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
  if (texts.user_channel) kept.texts.emplace_back("user's words", *texts.user_channel);
  if (texts.heard_model) kept.texts.emplace_back("transcript", *texts.heard_model);
  kept_.push_back(std::move(kept));
}

ReportExample Validator::example_of(const SharedSets::Turn& turn, const Batch& batch,
                                    const Generation& generated, int64_t b) const {
  const auto row_number = static_cast<size_t>(b);
  ReportExample example;
  example.id = batch.ids[row_number];
  example.data_set = turn.set;
  example.batch = turn.number;
  example.turns = batch.turns[row_number];
  example.texts.reference = batch.target_texts[row_number];
  example.texts.user_reference = user_words(example.turns);
  if (speech_ != nullptr) {
    example.texts.text_channel = generated.text[row_number];
    example.user = {row(batch.source_audio_BS, batch.source_audio_lens_B, b),
                    speech_->source_sample_rate_hz()};
  }
  if (!generated.user_text.empty()) example.texts.user_channel = generated.user_text[row_number];
  if (generated.audio_BS.defined()) {
    example.answer = {row(generated.audio_BS, generated.audio_lens_B, b), answer_rate_hz()};
  }
  add_tokens(example, batch, generated, b);
  return example;
}

/// The part with the codec of the answers, of a model that does not answer speech.
HasCodec& Validator::voice() const {
  if (speaker_ != nullptr) return *speaker_;
  return teller_ != nullptr ? static_cast<HasCodec&>(*teller_) : *codec_;
}

int64_t Validator::answer_rate_hz() const {
  if (speech_ != nullptr) return speech_->answer_sample_rate_hz();
  return voice().codec().shape().sample_rate_hz;
}

/// Adds the text channels.
void Validator::add_tokens(ReportExample& example, const Batch& batch, const Generation& generated,
                           int64_t b) const {
  if (speech_ == nullptr) example.frame_s = 1 / voice().codec().shape().frame_rate_hz();
  if (speech_ == nullptr && speaker_ == nullptr) return;  // no text channel
  const Tokenizer& tokenizer = speech_ != nullptr ? speech_->tokenizer() : speaker_->tokenizer();
  if (speech_ != nullptr) example.frame_s = speech_->frame_length_s();
  // Token t of an answer belongs to frame t + 1: the text channel leads by one frame.
  example.answer_tokens =
      marks(generated.tokens_text_BT[b], generated.token_lens_B[b].item<int64_t>(),
            speech_ != nullptr ? 1 : 0, tokenizer);
  example.reference_tokens =
      marks(batch.target_tokens_BT[b], batch.target_token_lens_B[b].item<int64_t>(), 0, tokenizer);
}

/// Adds the reference audio and its codec round trip to the examples from `first` on. A codec's own
/// examples have the round trip as their answer.
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
  std::vector<std::function<void(Transcript)>> take;
  for (size_t i = first; i < examples_.size(); ++i) {
    ReportExample& example = examples_[i];
    SpokenTexts& heard = example.texts;
    for (const auto& [clip, text, source] :
         {std::tuple(&example.answer, &heard.heard_model, TextSource::kModelAudio),
          std::tuple(&example.reference, &heard.heard_reference, TextSource::kReferenceAudio),
          std::tuple(&example.round_trip, &heard.heard_round_trip, TextSource::kRoundTripAudio)}) {
      if (!clip->samples_S.defined()) continue;
      clips.push_back(*clip);
      take.emplace_back([&example, text = text, source = source](Transcript found) {
        const bool has_times = !found.words.empty() || found.text.empty();
        if (has_times) example.heard_words[source] = std::move(found.words);
        *text = std::move(found.text);
      });
    }
  }
  if (settings_.progress)
    settings_.progress("clips to listen to", static_cast<int64_t>(clips.size()));
  std::vector<Transcript> found = settings_.scorer->transcripts(clips);
  for (size_t i = 0; i < found.size(); ++i) take[i](std::move(found[i]));
}

}  // namespace s2s
