// What reference files compare.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "s2s/nn/rows.h"
#include "s2s/nn/transducer_loss.h"
#include "s2s/nn/weights.h"
#include "speech_recognizer.h"

namespace s2s::speech_recognizer {
namespace {

constexpr const char* kWeights = "weights/";

/// Rows of different lengths, with -1 after each.
at::Tensor rows_of(const std::vector<FoundLabels>& found, bool frames) {
  size_t width = 0;
  for (const FoundLabels& one : found) width = std::max(width, one.labels.size());
  const at::Tensor rows =
      at::full({static_cast<int64_t>(found.size()), static_cast<int64_t>(width)}, -1, at::kLong);
  for (size_t i = 0; i < found.size(); ++i) {
    const std::vector<int64_t>& row = frames ? found[i].frames : found[i].labels;
    rows[static_cast<int64_t>(i)]
        .narrow(0, 0, static_cast<int64_t>(row.size()))
        .copy_(at::tensor(row, at::kLong));
  }
  return rows;
}

/// The labels of each row: so many as label_lengths says, or those that are labels.
std::vector<std::vector<int64_t>> texts_of(const TensorMap& inputs, int64_t blank, int64_t pad) {
  const at::Tensor labels_AU = inputs.at("labels").to(at::kCPU, at::kLong).contiguous();
  const auto labels = labels_AU.accessor<int64_t, 2>();
  const auto counted = inputs.find("label_lengths");
  const std::vector<int64_t> lengths =
      counted == inputs.end() ? std::vector<int64_t>() : to_vector(counted->second);
  std::vector<std::vector<int64_t>> texts(static_cast<size_t>(labels_AU.size(0)));
  for (int64_t a = 0; a < labels_AU.size(0); ++a) {
    for (int64_t u = 0; u < labels_AU.size(1); ++u) {
      const bool is_label = lengths.empty()
                                ? labels[a][u] >= 0 && labels[a][u] != blank && labels[a][u] != pad
                                : u < lengths[static_cast<size_t>(a)];
      if (is_label) texts[static_cast<size_t>(a)].push_back(labels[a][u]);
    }
  }
  return texts;
}

/// The losses of rows, and the one that NeMo makes of them.
void add_losses(const at::Tensor& rows_A, const std::vector<std::vector<int64_t>>& texts,
                const std::string& reduction, TensorMap& outputs) {
  std::vector<float> counts;
  for (const auto& text : texts) counts.push_back(static_cast<float>(text.size()));
  const at::Tensor count_A = at::tensor(counts, at::kFloat);
  outputs["loss_rows"] = rows_A;
  if (reduction == "sum") {
    outputs["loss"] = rows_A.sum();
  } else if (reduction == "mean_volume") {
    outputs["loss"] = rows_A.sum() / count_A.sum();
  } else {
    outputs["loss"] = (reduction == "mean" ? rows_A / count_A.clamp_min(1) : rows_A).mean();
  }
}

/// Texts as a loss reads them.
RecognitionTargets targets_of(const std::vector<std::vector<int64_t>>& texts,
                              const at::Tensor& frames_A, int64_t blank) {
  std::vector<FoundLabels> rows;
  std::vector<int64_t> counts;
  for (const auto& text : texts) {
    rows.push_back({text, {}});
    counts.push_back(static_cast<int64_t>(text.size()));
  }
  const at::Device device = frames_A.device();
  return {rows_of(rows, false).to(device), frames_A, at::tensor(counts, at::kLong).to(device),
          blank};
}

void add_ctc_loss(const CtcConfig& ctc, const at::Tensor& logits_ATV, const at::Tensor& lengths_A,
                  const TensorMap& inputs, TensorMap& outputs) {
  const auto texts = texts_of(inputs, ctc.blank, -1);
  add_losses(
      ctc_loss(logits_ATV, targets_of(texts, lengths_A, ctc.blank), ctc.has_zero_infinity).cpu(),
      texts, ctc.reduction, outputs);
}

}  // namespace

void SpeechRecognizer::add_ctc(const EncoderOutput& heard, const TensorMap& inputs,
                               TensorMap& outputs) const {
  const at::Tensor logits_ATV = (*ctc_)(heard.features_BTH);
  for (const char* name : {"logits", "ctc_logits"}) {
    outputs[name] = logits_ATV;
    outputs[std::string(name) + ".log_softmax"] = at::log_softmax(logits_ATV, 2);
  }
  outputs["frame_ids"] = logits_ATV.argmax(2);
  outputs["sequences"] = at::where(length_mask(heard.lengths_B, logits_ATV.size(1)),
                                   outputs["frame_ids"], parts_.config.ctc.blank);
  if (inputs.count("labels") != 0) {
    add_ctc_loss(parts_.config.ctc, logits_ATV, heard.lengths_B, inputs, outputs);
    outputs["ctc_loss"] = outputs["loss"];
  }
}

void SpeechRecognizer::add_transducer(const EncoderOutput& heard, const TensorMap& inputs,
                                      TensorMap& outputs) const {
  const TransducerOptions& options = parts_.config.transducer;
  const at::Tensor frames_ATJ = transducer_->project_frames(heard.features_BTH);
  outputs["projected"] = frames_ATJ;
  const auto given = inputs.find("joint_labels");
  if (given == inputs.end() && inputs.count("labels") == 0) return;
  at::Tensor labels_AU =
      (given == inputs.end() ? inputs.at("labels") : given->second).to(at::kLong);
  labels_AU = at::where(labels_AU.lt(0), options.blank_label(), labels_AU);
  const bool has_start = given != inputs.end() && labels_AU.size(1) > 0 &&
                         labels_AU.select(1, 0).eq(options.blank_label()).all().item<bool>();
  if (has_start) labels_AU = labels_AU.slice(1, 1);
  const at::Tensor predictions_AUP = transducer_->predictions(labels_AU);
  const at::Tensor projected_AUJ = transducer_->project_predictions(predictions_AUP);
  outputs["prediction"] = predictions_AUP;
  outputs["prediction.projected"] = outputs["projected.prediction"] = projected_AUJ;
  const at::Tensor joint_ATUV = transducer_->joint(frames_ATJ, projected_AUJ);
  outputs["joint"] = joint_ATUV;
  outputs["joint.log_softmax"] = at::log_softmax(joint_ATUV, 3);
  if (inputs.count("labels") == 0) return;
  const auto texts = texts_of(inputs, options.blank_label(), parts_.config.pad);
  const RecognitionTargets targets = targets_of(texts, heard.lengths_B, options.blank_label());
  const at::Tensor texts_AUJ =
      transducer_->project_predictions(transducer_->predictions(targets.labels_AU.clamp_min(0)));
  const TransducerSteps steps{parts_.config.loss_durations,
                              parts_.config.loss_durations.empty() ? 0.0 : parts_.config.sigma};
  const at::Tensor rows_A =
      transducer_loss(transducer_->joint(frames_ATJ, texts_AUJ), targets, steps).cpu();
  const auto of_ctc = outputs.find("ctc_loss");
  const at::Tensor ctc_loss = of_ctc == outputs.end() ? at::Tensor() : of_ctc->second;
  add_losses(rows_A, texts, parts_.config.reduction, outputs);
  if (!ctc_loss.defined()) return;
  const double weight = parts_.config.ctc_weight;
  outputs["loss.hybrid"] = (1 - weight) * outputs["loss"] + weight * ctc_loss;
}

std::map<std::string, at::Tensor> SpeechRecognizer::reference_outputs(
    const std::map<std::string, at::Tensor>& inputs, bool) {
  const at::NoGradGuard no_grad;
  TensorMap weights;
  const std::string prefix = kWeights;
  for (const auto& [name, tensor] : inputs) {
    if (name.starts_with(prefix)) weights[name.substr(prefix.size())] = tensor;
  }
  load_weights(*this, checkpoint_names(), weights, "the reference file");
  const EncoderOutput heard = parts_.encoder->forward(inputs.at("audio"), inputs.at("lengths"));
  TensorMap outputs = {{"features", heard.features_BTH}, {"lengths", heard.lengths_B}};
  if (ctc_) add_ctc(heard, inputs, outputs);
  if (transducer_) add_transducer(heard, inputs, outputs);
  const std::vector<FoundLabels> found = search(heard);
  outputs["ids"] = rows_of(found, false);
  outputs["id_frames"] = rows_of(found, true);
  outputs["id_lengths"] = outputs["ids"].ge(0).sum(1);
  return outputs;
}

}  // namespace s2s::speech_recognizer
