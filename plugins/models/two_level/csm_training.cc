// CSM's training step: rows of a batch, losses.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "csm_model.h"
#include "s2s/nn/losses.h"
#include "s2s/nn/rows.h"
#include "streams.h"
#include "two_level_errors.h"

namespace s2s::two_level {
namespace {

void check_texts(const Batch& batch, int64_t rows) {
  if (static_cast<int64_t>(batch.target_texts.size()) == rows) return;
  throw streams_error("target_texts", at::empty({static_cast<int64_t>(batch.target_texts.size())}),
                      "[" + std::to_string(rows) + "], the agent's text of every row");
}

/// True for "[0]Good morning.", the form of texts in CSM's conversations.
bool names_speaker(const std::string& text) {
  const size_t end = text.find_first_not_of("0123456789", 1);
  return text.starts_with('[') && end != std::string::npos && end > 1 && text[end] == ']';
}

/// The text of a turn, after its speaker.
std::string marked_text(const SpokenTurn& turn, const std::optional<int64_t>& default_speaker) {
  const bool is_marked = !turn.speaker && names_speaker(turn.text);
  const std::optional<int64_t> speaker = turn.speaker ? turn.speaker : default_speaker;
  if (is_marked || !speaker) return turn.text;
  return "[" + std::to_string(*speaker) + "]" + turn.text;
}

}  // namespace

CsmRows CsmModel::rows_from(const std::map<std::string, at::Tensor>& inputs,
                            const std::string& prefix) const {
  CsmRows rows;
  rows.frames_BTK = inputs.at(prefix + "frames").to(at::kLong);
  const auto text = inputs.find(prefix + "text");
  const auto mask = inputs.find(prefix + "mask");
  const auto labels = inputs.find(prefix + "labels");
  const at::Tensor every_BT = at::ones_like(rows.frames_BTK.select(2, 0), at::kBool);
  rows.mask_BT = mask == inputs.end() ? every_BT : mask->second.to(at::kBool);
  rows.text_BT = text == inputs.end() ? at::zeros_like(rows.frames_BTK.select(2, 0))
                                      : text->second.to(at::kLong);
  if (labels != inputs.end()) rows.labels_BTK = labels->second.to(at::kLong);
  return rows;
}

CsmRows CsmModel::turn_row(const SpokenTurn& turn, const at::Tensor& codes_TK) const {
  std::vector<int64_t> ids =
      required_tokenizer(parts_.tokenizer).encode(marked_text(turn, options_.speaker_id));
  if (parts_.text_bos >= 0) ids.insert(ids.begin(), parts_.text_bos);
  if (parts_.text_eos >= 0) ids.push_back(parts_.text_eos);
  const auto num_text = static_cast<int64_t>(ids.size());
  const int64_t spoken = codes_TK.defined() ? codes_TK.size(0) + 1 : 0;
  const auto integers =
      at::TensorOptions(at::kLong).device(spoken > 0 ? codes_TK.device() : device());
  at::Tensor text_T = at::full({num_text + spoken}, options_.audio_token_id, at::kLong);
  text_T.narrow(0, 0, num_text).copy_(at::tensor(ids, at::kLong));
  const at::Tensor no_codes = at::zeros({num_text, options_.num_codebooks}, integers);
  CsmRows row;
  row.mask_BT = at::arange(num_text + spoken, integers).ge(num_text);
  row.frames_BTK = no_codes;
  row.labels_BTK = at::full_like(no_codes, -100);
  if (spoken > 0) {
    text_T[num_text + spoken - 1].fill_(options_.audio_eos_token_id);
    const at::Tensor end_1K =
        at::full({1, options_.num_codebooks}, options_.codebook_eos_token_id, integers);
    row.frames_BTK = at::cat({row.frames_BTK, codes_TK, end_1K});
    row.labels_BTK = at::cat({row.labels_BTK, codes_TK, end_1K});
  }
  row.text_BT = text_T.to(integers.device());
  return row;
}

CsmRows CsmModel::spoken_rows(const Batch& batch) {
  required_tokenizer(parts_.tokenizer);
  const auto [codes_BKT, lengths_B] = agent_codes(batch, parts_.codec.get());
  check_books("codes", codes_BKT, options_.num_codebooks);
  check_texts(batch, codes_BKT.size(0));
  std::vector<at::Tensor> text, frames, mask, labels;
  int64_t width = 0;
  const std::vector<int64_t> lengths = to_vector(lengths_B);
  for (size_t b = 0; b < lengths.size(); ++b) {
    const at::Tensor codes_TK = codes_BKT[static_cast<int64_t>(b)].narrow(1, 0, lengths[b]).t();
    const CsmRows row = turn_row({std::nullopt, batch.target_texts.at(b), {}}, codes_TK);
    text.push_back(row.text_BT);
    frames.push_back(row.frames_BTK);
    mask.push_back(row.mask_BT);
    labels.push_back(row.labels_BTK);
    width = std::max(width, row.text_BT.size(0));
  }
  const auto padded = [width](const std::vector<at::Tensor>& rows, double fill) {
    std::vector<at::Tensor> equal;
    for (const at::Tensor& row : rows) {
      std::vector<int64_t> pad(static_cast<size_t>(2 * row.dim()), 0);
      pad.back() = width - row.size(0);
      equal.push_back(at::constant_pad_nd(row, pad, fill));
    }
    return at::stack(equal);
  };
  return {padded(text, 0), padded(frames, 0), padded(mask, 0), padded(labels, -100)};
}

void CsmModel::check_rows(const CsmRows& rows) const {
  const at::IntArrayRef sizes = rows.frames_BTK.sizes();
  if (sizes.size() != 3 || sizes[1] < 2 || sizes[2] != options_.num_codebooks) {
    throw streams_error("frames", rows.frames_BTK,
                        "[rows, positions, " + std::to_string(options_.num_codebooks) +
                            "], at least two positions");
  }
  check_sizes("text", rows.text_BT, sizes.slice(0, 2), "the rows and positions of 'frames'");
  check_sizes("mask", rows.mask_BT, sizes.slice(0, 2), "the rows and positions of 'frames'");
  if (rows.labels_BTK.defined()) {
    check_sizes("labels", rows.labels_BTK, sizes, "the sizes of 'frames'");
  }
}

CsmRows CsmModel::rows_of(const Batch& batch) {
  if (batch.others.count("frames") == 0) return spoken_rows(batch);
  CsmRows rows = rows_from(batch.others, "");
  check_rows(rows);
  if (!rows.labels_BTK.defined()) {
    rows.labels_BTK = rows.frames_BTK.masked_fill(rows.mask_BT.logical_not().unsqueeze(-1), -100);
  }
  return rows;
}

CsmModel::Divisors CsmModel::class_divisors(const CsmRows& rows) const {
  const at::Tensor counted = rows.labels_BTK.narrow(1, 1, rows.labels_BTK.size(1) - 1).ne(-100);
  const double all = counted.sum().item<double>();
  const double first = counted.select(2, 0).sum().item<double>();
  // All counted labels except those of book 0 train the depth decoder.
  return {first, all - first};
}

LossTerms CsmModel::losses(const CsmRows& rows, const at::Tensor& hidden_BTH,
                           const DepthBatch& depth, const at::Tensor& states_NKC,
                           const Divisors& divisors) {
  const at::Tensor backbone_loss =
      book_loss_sum(first_labels(rows, hidden_BTH), {lm_head_.head()}) /
      std::max(divisors.first, 1.0);
  const at::Tensor depth_loss =
      book_loss_sum(later_labels(depth, states_NKC), codebooks_head_.heads()) /
      std::max(divisors.later, 1.0);
  LossTerms terms;
  terms.parts = {{"backbone_loss", backbone_loss.detach()}, {"depth_loss", depth_loss.detach()}};
  terms.total =
      backbone_loss * options_.backbone_loss_weight + depth_loss * options_.depth_loss_weight;
  return terms;
}

LossTerms CsmModel::training_loss(const Batch& batch, const StepContext& context) {
  const CsmRows rows = rows_of(batch);
  Divisors divisors{context.loss_frames,
                    context.loss_frames * static_cast<double>(options_.num_codebooks - 1)};
  if (options_.as_transformers()) {
    const auto micro_batches = static_cast<double>(context.micro_batches);
    divisors = class_divisors(rows);
    divisors = {divisors.first * micro_batches, divisors.later * micro_batches};
  } else if (context.loss_frames <= 0) {
    const auto frames = static_cast<double>(weigh(batch).frames * context.micro_batches);
    divisors = {frames, frames * static_cast<double>(options_.num_codebooks - 1)};
  }
  const at::Tensor hidden_BTH = backbone_(embed(rows), SequenceInfo{});
  const DepthBatch depth = depth_batch(rows, hidden_BTH);
  return losses(rows, hidden_BTH, depth, depth_states(depth), divisors);
}

MetricSums CsmModel::evaluate(const Batch& batch) {
  const at::NoGradGuard no_grad;
  const CsmRows rows = rows_of(batch);
  const at::Tensor hidden_BTH = backbone_(embed(rows), SequenceInfo{});
  const DepthBatch depth = depth_batch(rows, hidden_BTH);
  MetricSums sums;
  const BookLabels first = first_labels(rows, hidden_BTH);
  add_head_metrics(first.states_NKH.select(1, 0), lm_head_.head(), first.labels_NK.select(1, 0),
                   first.weights_NK.select(1, 0), "backbone", sums);
  add_book_metrics(later_labels(depth, depth_states(depth)), codebooks_head_.heads(), "depth", 1,
                   sums);
  return sums;
}

std::vector<std::string> CsmModel::metric_names() const {
  std::vector<std::string> names = {"backbone_loss", "backbone_accuracy"};
  add_book_names("depth", 1, options_.num_codebooks - 1, names);
  return names;
}

BatchWeight CsmModel::weigh(const Batch& batch) {
  BatchWeight weight;
  if (batch.others.count("frames") != 0) {
    const at::Tensor labels_BTK = rows_of(batch).labels_BTK;
    weight.padded_frames = labels_BTK.size(0) * labels_BTK.size(1);
    weight.frames =
        labels_BTK.select(2, 0).narrow(1, 1, labels_BTK.size(1) - 1).ne(-100).sum().item<int64_t>();
  } else {
    const CodeCount codes =
        count_agent_codes(batch, parts_.codec ? parts_.codec->shape() : CodecShape{});
    weight.padded_frames = batch_rows(batch) * (codes.width + 1);
    for (const int64_t length : codes.lengths) weight.frames += length + 1;  // plus the end frame
  }
  weight.tokens = weight.frames * options_.num_codebooks;
  weight.audio_s = static_cast<double>(weight.frames) * parts_.frame_length_s;
  return weight;
}

Batch CsmModel::probe_batch(const ProbeBatch& shape) {
  const auto frames =
      std::max<int64_t>(1, std::llround(std::ceil(shape.duration_s / parts_.frame_length_s)));
  const int64_t num_text = std::max<int64_t>(1, shape.tokens);
  Batch batch;
  batch.others["text"] =
      at::randint(options_.text_vocab_size, {shape.rows, num_text + frames}, at::kLong);
  batch.others["frames"] = at::randint(
      options_.vocab_size, {shape.rows, num_text + frames, options_.num_codebooks}, at::kLong);
  batch.others["mask"] =
      at::arange(num_text + frames).ge(num_text).expand({shape.rows, -1}).contiguous();
  batch.ids.assign(static_cast<size_t>(shape.rows), "random");
  return batch;
}

}  // namespace s2s::two_level
