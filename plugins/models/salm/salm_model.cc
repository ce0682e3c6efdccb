#include "salm_model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <numeric>

#include "s2s/nn/losses.h"
#include "s2s/nn/rows.h"
#include "salm_errors.h"

namespace s2s::salm {
namespace {

const at::Tensor& tensor_of(const Batch& batch, const char* name) {
  const auto found = batch.others.find(name);
  if (found == batch.others.end() || !found->second.defined()) throw no_batch_tensor_error(name);
  return found->second;
}

SalmBatch read_batch(const Batch& batch) {
  const auto texts = batch.others.find("transcripts");
  return {tensor_of(batch, "audios"), tensor_of(batch, "audio_lens"), tensor_of(batch, "input_ids"),
          tensor_of(batch, "loss_mask"),
          texts == batch.others.end() ? at::Tensor() : texts->second};
}

}  // namespace

at::Tensor text_ids(const SalmBatch& batch, const RowIds& ids) {
  const at::Tensor& ids_BT = batch.input_ids_BT;
  return at::where(ids_BT.eq(ids.tag), 0, ids_BT.to(at::kLong));
}

SalmModel::SalmModel(SalmOptions options, SalmParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      perception_(std::move(parts_.encoder), options_.modality_adapter,
                  parts_.llm->shape().hidden_size),
      chunks_(chunk_sizes(options_.encoder_chunk_size_seconds, options_.encoder_min_chunk_seconds,
                          perception_.encoder().sample_rate_hz())) {
  register_language_model(*this, *parts_.llm, /*with_head=*/false);
  register_block("perception", perception_);
  if (parts_.asr_decoder) register_block("asr_decoder", *parts_.asr_decoder);
}

SalmModel::~SalmModel() = default;

const Tokenizer& SalmModel::tokenizer() const { return required_tokenizer(parts_.tokenizer); }

int64_t SalmModel::source_sample_rate_hz() const { return perception_.encoder().sample_rate_hz(); }

at::Tensor SalmModel::frames(const SalmBatch& batch, const std::vector<int64_t>& audio_lens) {
  if (!audio_lens.empty()) return encode_audios(perception_, batch.audios_AS, audio_lens, chunks_);
  const bool was_training = perception_.is_training();
  perception_.train(false);  // silence must not change statistics
  const int64_t num_samples = source_sample_rate_hz() / 2;
  const at::Tensor silence = at::zeros(
      {1, num_samples}, at::TensorOptions(at::kFloat).device(batch.input_ids_BT.device()));
  const at::Tensor features_TH = encode_audios(perception_, silence, {num_samples}, {});
  perception_.train(was_training);
  return features_TH.narrow(0, 0, 0);
}

/// The rows of the table (MixedRows): text, then audio, then padding.
SalmModel::Prepared SalmModel::mixed(const SalmBatch& batch, MixedRows rows,
                                     const at::Tensor& text_NH, const at::Tensor& frames_TH) const {
  const int64_t width = text_NH.size(1);
  const at::Tensor table = at::cat(
      {text_NH, frames_TH.to(text_NH.scalar_type()), at::zeros({1, width}, text_NH.options())});
  const at::Tensor source = rows.source_BL.flatten().to(table.device());
  Prepared out;
  out.embeds_BLH =
      table.index_select(0, source).view({batch.input_ids_BT.size(0), rows.width(), width});
  out.rows = std::move(rows);
  return out;
}

SalmModel::Prepared SalmModel::prepare(const SalmBatch& batch, bool for_training) {
  const std::vector<int64_t> audio_lens = to_vector(batch.audio_lens_A);
  if (parts_.asr_decoder && !audio_lens.empty()) return prepare_with_text(batch, for_training);
  MixedRows rows =
      mix_rows(batch.input_ids_BT, batch.loss_mask_BT,
               audio_frames(perception_, audio_lens, chunks_), parts_.ids, for_training);
  const at::Tensor frames_TH = frames(batch, audio_lens);
  const at::Tensor text_BTH = parts_.llm->embed(text_ids(batch, parts_.ids));
  return mixed(batch, std::move(rows), text_BTH.flatten(0, 1), frames_TH);
}

SalmModel::Labeled SalmModel::labeled(const Prepared& prepared,
                                      const at::Tensor& hidden_BLH) const {
  const at::Tensor labels = prepared.rows.labels_BL.flatten();
  const at::Tensor kept_N = labels.ne(-100).nonzero().squeeze(-1);
  return {hidden_BLH.flatten(0, 1).index_select(0, kept_N.to(hidden_BLH.device())),
          labels.index_select(0, kept_N).unsqueeze(-1).to(hidden_BLH.device())};
}

HeadWeight SalmModel::head() {
  HeadWeight head = parts_.llm->head();
  head.soft_cap = parts_.llm->logit_soft_cap();
  return head;
}

at::Tensor SalmModel::loss_sum(const Labeled& labeled) {
  return linear_cross_entropy(labeled.hidden_NH, head(), labeled.labels_N1);
}

/// Does not run the ASR decoder, so positions of its texts are not counted.
BatchWeight SalmModel::weigh(const Batch& batch) {
  const SalmBatch read = read_batch(batch);
  const std::vector<int64_t> audio_lens = to_vector(read.audio_lens_A);
  const MixedRows rows = mix_rows(read.input_ids_BT, read.loss_mask_BT,
                                  audio_frames(perception_, audio_lens, chunks_), parts_.ids, true);
  BatchWeight weight;
  weight.frames = std::accumulate(rows.lengths.begin(), rows.lengths.end(), int64_t{0});
  weight.padded_frames = rows.source_BL.numel();
  weight.tokens = rows.num_labels;
  weight.loss_frames = rows.num_labels;
  const auto samples = std::accumulate(audio_lens.begin(), audio_lens.end(), int64_t{0});
  weight.audio_s = static_cast<double>(samples) / static_cast<double>(source_sample_rate_hz());
  add_flops(read, rows, weight);
  return weight;
}

LossTerms SalmModel::training_loss(const Batch& batch, const StepContext& context) {
  rest_frozen({&perception_.encoder(), parts_.llm.get()});
  const Prepared prepared = prepare(read_batch(batch), true);
  const at::Tensor hidden_BLH = (*parts_.llm)(prepared.embeds_BLH, SequenceInfo{});
  const bool local = options_.loss_normalization == "local" || context.loss_frames <= 0;
  const double count = local ? static_cast<double>(prepared.rows.num_labels) *
                                   static_cast<double>(context.micro_batches)
                             : context.loss_frames;
  LossTerms terms;
  terms.total = loss_sum(labeled(prepared, hidden_BLH)) / std::max(count, 1.0);
  return terms;
}

MetricSums SalmModel::evaluate(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const Prepared prepared = prepare(read_batch(batch), true);
  const Labeled rows = labeled(prepared, (*parts_.llm)(prepared.embeds_BLH, SequenceInfo{}));
  const CrossEntropyRows found = linear_cross_entropy_rows(rows.hidden_NH, head(), rows.labels_N1);
  const double right = found.predicted_NK.eq(rows.labels_N1).sum().item<double>();
  const double loss = found.loss_NK.sum().item<double>();
  const auto count = static_cast<double>(prepared.rows.num_labels);
  if (options_.loss_normalization == "local" && count > 0) {  // as NeMo: the mean of batches' means
    return {{"loss", {loss / count, 1}}, {"acc", {right / count, 1}}};
  }
  return {{"loss", {loss, count}}, {"acc", {right, count}}};
}

std::vector<std::string> SalmModel::metric_names() const { return {"loss", "acc"}; }

Batch SalmModel::probe_batch(const ProbeBatch& shape) {
  const auto rate_hz = static_cast<double>(source_sample_rate_hz());
  const int64_t num_samples = std::max<int64_t>(1, std::llround(shape.duration_s * rate_hz));
  // As NeMo's OOMptimizer: three audio frames per text token.
  const int64_t frames = perception_.output_frames(num_samples);
  const int64_t tokens = shape.tokens > 0 ? shape.tokens : std::max<int64_t>(2, frames / 3);
  const at::TensorOptions floats(at::kFloat);
  at::Tensor ids_BT = at::randint(parts_.llm->shape().vocab_size, {shape.rows, tokens + 1},
                                  at::TensorOptions(at::kLong));
  ids_BT.masked_fill_(ids_BT.eq(parts_.ids.pad).logical_or(ids_BT.eq(parts_.ids.tag)), parts_.eos);
  ids_BT.select(1, 0).fill_(parts_.ids.tag);
  Batch batch;
  batch.others = {{"audios", at::randn({shape.rows, num_samples}, floats) * 0.1},
                  {"audio_lens", at::full({shape.rows}, num_samples, at::TensorOptions(at::kLong))},
                  {"input_ids", ids_BT},
                  {"loss_mask", at::ones(ids_BT.sizes(), at::TensorOptions(at::kBool))}};
  for (int64_t b = 0; b < shape.rows; ++b) batch.ids.push_back("probe-" + std::to_string(b));
  return batch;
}

}  // namespace s2s::salm
