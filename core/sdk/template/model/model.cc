#include "model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "s2s/nn/losses.h"
#include "s2s/nn/rows.h"

namespace PLUGIN_NAME {

FrameModel::FrameModel(const Options&, std::unique_ptr<s2s::Encoder> encoder,
                       const s2s::Tokenizer* tokenizer)
    : encoder_(std::move(encoder)),
      head_(encoder_->output_dim(), tokenizer == nullptr ? 256 : tokenizer->vocab_size()) {
  register_block("encoder", *encoder_);
  register_block("head", head_);
}

FrameModel::~FrameModel() = default;

// The counts by which the loss of a step is divided, whatever the number of ranks.
s2s::BatchWeight FrameModel::weigh(const s2s::Batch& batch) {
  const at::Tensor lengths_B = batch.source_audio_lens_B.cpu();
  const int64_t width = std::min(encoder_->output_width(batch.source_audio_BS.size(1)),
                                 batch.target_tokens_BT.size(1));
  s2s::BatchWeight weight;
  for (int64_t b = 0; b < batch.size(); ++b) {
    weight.frames += std::min(encoder_->output_frames(lengths_B[b].item<int64_t>()), width);
  }
  weight.padded_frames = batch.size() * width;
  weight.tokens = weight.frames;
  return weight;
}

FrameModel::Frames FrameModel::frames_of(const s2s::Batch& batch) {
  const s2s::EncoderOutput heard =
      encoder_->forward(batch.source_audio_BS, batch.source_audio_lens_B);
  const int64_t width = std::min(heard.features_BTH.size(1), batch.target_tokens_BT.size(1));
  const at::Tensor valid_BT = s2s::length_mask(heard.lengths_B, width);
  return {heard.features_BTH.narrow(1, 0, width).flatten(0, 1),
          batch.target_tokens_BT.narrow(1, 0, width).reshape({-1, 1}),
          valid_BT.reshape({-1, 1}).to(at::kFloat)};
}

s2s::LossTerms FrameModel::training_loss(const s2s::Batch& batch, const s2s::StepContext& context) {
  const Frames frames = frames_of(batch);
  s2s::LossTerms terms;
  terms.total = s2s::linear_cross_entropy(frames.features_NH, head_.head(), frames.labels_N1,
                                          frames.valid_N1) /
                context.loss_frames;
  terms.parts["text_loss"] = terms.total.detach();
  return terms;
}

s2s::MetricSums FrameModel::evaluate(const s2s::Batch& batch) {
  const at::NoGradGuard no_grad;
  const Frames frames = frames_of(batch);
  const s2s::CrossEntropyRows rows =
      s2s::linear_cross_entropy_rows(frames.features_NH, head_.head(), frames.labels_N1);
  const auto count = frames.valid_N1.sum().item<double>();
  const at::Tensor right_N1 = rows.predicted_NK.eq(frames.labels_N1);
  return {{"text_loss", {(rows.loss_NK * frames.valid_N1).sum().item<double>(), count}},
          {"text_accuracy", {(right_N1 * frames.valid_N1).sum().item<double>(), count}}};
}

std::vector<std::string> FrameModel::metric_names() const { return {"text_loss", "text_accuracy"}; }

// A row for each part (how the tensor axis splits it) and a unit for what is unsharded together.
s2s::ShardPlan FrameModel::configure_model(const s2s::MeshShape& mesh) const {
  s2s::ShardPlan plan = encoder_->configure_model(mesh).nested_under("encoder");
  plan.rows.push_back({"head", s2s::Style::kVocab, s2s::Layout::kFull, s2s::Layout::kLast});
  plan.heads.push_back({"head"});
  plan.units.push_back({"head"});
  return plan;
}

s2s::NameMap FrameModel::checkpoint_names() const {
  s2s::NameMap names;
  names.rules.push_back({"**", "**"});
  return names;
}

}  // namespace PLUGIN_NAME
