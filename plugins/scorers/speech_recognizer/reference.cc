// What reference files compare.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "confidence.h"
#include "s2s/nn/rows.h"
#include "s2s/nn/transducer_loss.h"
#include "s2s/nn/weights.h"
#include "speech_recognizer.h"

namespace s2s::speech_recognizer {
namespace {

constexpr const char* kWeights = "weights/";

/// Rows of different lengths, with -1 after each: integers, or numbers as float32.
template <class T>
at::Tensor rows_of(const std::vector<std::vector<T>>& rows) {
  size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.size());
  const at::Tensor all = at::full({static_cast<int64_t>(rows.size()), static_cast<int64_t>(width)},
                                  -1, std::is_integral_v<T> ? at::kLong : at::kFloat);
  for (size_t i = 0; i < rows.size(); ++i) {
    all[static_cast<int64_t>(i)]
        .narrow(0, 0, static_cast<int64_t>(rows[i].size()))
        .copy_(at::tensor(rows[i]));
  }
  return all;
}

/// Adds ids, id_frames and id_lengths, with what their names end with.
void add_ids(const std::vector<Hypothesis>& found, const std::string& end, TensorMap& outputs) {
  std::vector<std::vector<int64_t>> labels, frames;
  for (const Hypothesis& one : found) {
    labels.push_back(one.labels);
    frames.push_back(one.frames);
  }
  outputs["ids" + end] = rows_of(labels);
  outputs["id_frames" + end] = rows_of(frames);
  outputs["id_lengths" + end] = outputs["ids" + end].ge(0).sum(1);
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
  std::vector<int64_t> counts;
  for (const auto& text : texts) counts.push_back(static_cast<int64_t>(text.size()));
  const at::Device device = frames_A.device();
  return {rows_of(texts).to(device), frames_A, at::tensor(counts, at::kLong).to(device), blank};
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

void SpeechRecognizer::add_confidences(const EncoderOutput& heard, TensorMap& outputs) const {
  ConfidenceOptions options = parts_.decoding.confidence_cfg;
  for (const bool exclude_blank : {true, false}) {
    options.exclude_blank = exclude_blank;
    const std::string end = exclude_blank ? "" : "_with_blanks";
    std::vector<std::vector<double>> labels, words;
    for (const Hypothesis& found : greedy(heard, options)) {
      labels.push_back(found.confidences);
      words.push_back(word_confidences(found, options));
    }
    outputs["id_confidence" + end] = rows_of(labels);
    outputs["word_confidence" + end] = rows_of(words);
  }
  if (transducer_) return;
  const at::Tensor log_probs_ATV = at::log_softmax((*ctc_)(heard.features_BTH), 2);
  ConfidenceMethodOptions method = options.method_cfg;
  for (const auto& [end, alpha] : {std::pair{"", method.alpha}, {"_1", 1.0}}) {
    method.alpha = alpha;
    const auto add = [&, end = std::string(end)](const std::string& name) {
      outputs["frame_confidence_" + name + end] =
          confidence_of(log_probs_ATV, method, log_probs_ATV.size(2));
    };
    method.name = "max_prob";
    add(method.name);
    method.name = "entropy";
    for (const char* type : {"gibbs", "tsallis", "renyi"}) {
      for (const char* norm : {"lin", "exp"}) {
        method.entropy_type = type;
        method.entropy_norm = norm;
        add(std::string("entropy_") + type + "_" + norm);
      }
    }
  }
}

void SpeechRecognizer::add_beams(const EncoderOutput& heard, int64_t beam_size,
                                 TensorMap& outputs) const {
  BeamOptions options = parts_.decoding.beam;
  options.beam_size = beam_size;
  const std::vector<std::string> searches =
      transducer_ ? std::vector<std::string>{"beam", "malsd_batch", "maes"}
                  : std::vector<std::string>{"beam_batch"};
  for (const std::string& search : searches) {
    std::vector<Hypothesis> best, all;
    std::vector<std::vector<double>> scores;
    for (const std::vector<Hypothesis>& found : hypotheses(heard, search, options)) {
      best.push_back(found.front());
      all.insert(all.end(), found.begin(), found.end());
      scores.emplace_back();
      for (const Hypothesis& one : found) scores.back().push_back(one.score);
    }
    add_ids(best, "_" + search, outputs);
    outputs["scores_" + search] = rows_of(scores);
    std::vector<std::vector<int64_t>> labels;
    for (const Hypothesis& one : all) labels.push_back(one.labels);
    outputs["hypotheses_" + search] = rows_of(labels);
  }
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
  add_ids(search(heard), "", outputs);
  add_confidences(heard, outputs);
  const auto beam_size = inputs.find("beam_size");
  if (beam_size != inputs.end()) add_beams(heard, beam_size->second.item<int64_t>(), outputs);
  return outputs;
}

}  // namespace s2s::speech_recognizer
