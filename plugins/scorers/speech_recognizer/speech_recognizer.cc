#include "speech_recognizer.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "s2s/nn/weights.h"
#include "s2s/scores/transcripts.h"

namespace s2s::speech_recognizer {

SpeechRecognizer::SpeechRecognizer(Parts parts, DecoderKind kind)
    : parts_(std::move(parts)), kind_(kind) {
  register_block("", *parts_.encoder);
  const int64_t width = parts_.encoder->output_dim();
  if (parts_.config.ctc.num_labels > 0) {
    ctc_ = std::make_unique<CtcHead>(width, parts_.config.ctc.num_labels);
    register_block("ctc", *ctc_);
  }
  if (kind == DecoderKind::kTransducer) {
    transducer_ = std::make_unique<TransducerDecoder>(parts_.config.transducer, width, "");
    register_block("transducer", *transducer_);
  }
}

SpeechRecognizer::~SpeechRecognizer() = default;

namespace {

/// The names of transformers' ParakeetForRNNT and ParakeetForTDT.
void add_parakeet_names(int64_t num_layers, NameMap& names) {
  const auto add = [&](const std::string& ours, const std::string& theirs) {
    names.rules.push_back({"transducer." + ours, theirs});
  };
  add("embed.weight", "decoder.embedding.weight");
  for (int64_t i = 0; i < num_layers; ++i) {
    for (const char* tensor : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"}) {
      const std::string name = std::string("lstm.") + tensor + "_l" + std::to_string(i);
      add(name, "decoder." + name);
    }
  }
  for (const char* tensor : {".weight", ".bias"}) {
    add(std::string("pred") + tensor, std::string("decoder.decoder_projector") + tensor);
    add(std::string("enc") + tensor, std::string("encoder_projector") + tensor);
    add(std::string("out") + tensor, std::string("joint.head") + tensor);
  }
}

}  // namespace

NameMap SpeechRecognizer::checkpoint_names() const {
  NameMap names = parts_.encoder->checkpoint_names();
  const std::string& ctc = parts_.config.ctc.prefix;
  names.rules.insert(names.rules.begin(),
                     {{"ctc.weight", ctc + "weight"}, {"ctc.bias", ctc + "bias"}});
  if (!transducer_) return names;
  const int64_t layers = parts_.config.transducer.pred_rnn_layers;
  if (!parts_.config.is_nemo) {
    add_parakeet_names(layers, names);
    return names;
  }
  const NameMap own = TransducerDecoder::names("transducer.", "", layers);
  names.rules.insert(names.rules.end(), own.rules.begin(), own.rules.end());
  names.other_spellings.insert(names.other_spellings.end(), own.other_spellings.begin(),
                               own.other_spellings.end());
  return names;
}

std::unique_ptr<WeightSource> SpeechRecognizer::initial_values() {
  if (parts_.weights_path.empty()) return nullptr;
  return weight_source(*this, checkpoint_names(), WeightFiles::open(parts_.weights_path));
}

std::string SpeechRecognizer::text_of(const std::vector<int64_t>& labels) const {
  if (parts_.tokenizer) return parts_.tokenizer->decode(labels);
  return text_of_labels(parts_.config.vocabulary, labels);
}

void SpeechRecognizer::transcribe_some(const std::vector<at::Tensor>& clips_S,
                                       const std::vector<size_t>& chosen,
                                       std::vector<Transcript>& transcripts) {
  int64_t longest = 0;
  std::vector<int64_t> lengths;
  for (const size_t i : chosen) {
    lengths.push_back(clips_S[i].numel());
    longest = std::max(longest, lengths.back());
  }
  std::vector<at::Tensor> rows;
  for (const size_t i : chosen) {
    rows.push_back(at::constant_pad_nd(clips_S[i], {0, longest - clips_S[i].numel()}));
  }
  const at::Device device = named_buffers().front().tensor->device();
  const EncoderOutput heard = parts_.encoder->forward(at::stack(rows).to(device),
                                                      at::tensor(lengths, at::kLong).to(device));
  const std::vector<Hypothesis> found = search(heard);
  for (size_t i = 0; i < chosen.size(); ++i) {
    Transcript& transcript = transcripts[chosen[i]];
    transcript = {text_of(found[i].labels), words_of(found[i]), std::nullopt};
    add_confidences(found[i], transcript);
  }
}

std::vector<std::string> SpeechRecognizer::transcribe(const std::vector<AudioClip>& clips) {
  std::vector<std::string> texts;
  for (Transcript& transcript : transcripts(clips)) texts.push_back(std::move(transcript.text));
  return texts;
}

std::vector<RecognizedWord> SpeechRecognizer::words_of(const FoundLabels& found) const {
  const double frame_s = 1 / parts_.encoder->frame_rate_hz();
  std::vector<TimedLabel> labels;
  for (size_t i = 0; i < found.labels.size(); ++i) {
    const auto frame = static_cast<double>(found.frames[i]);
    labels.push_back({found.labels[i], frame * frame_s, (frame + 1) * frame_s, {}});
  }
  return words_of_labels(labels, [this](const auto& ids) { return text_of(ids); });
}

std::vector<Transcript> SpeechRecognizer::transcripts(const std::vector<AudioClip>& clips) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> clips_S = heard_samples(clips, parts_.encoder->sample_rate_hz());
  std::vector<size_t> order;
  for (size_t i = 0; i < clips_S.size(); ++i) {
    if (clips_S[i].defined() && parts_.encoder->output_frames(clips_S[i].numel()) > 0) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return clips_S[a].numel() < clips_S[b].numel(); });
  std::vector<Transcript> found(clips.size());
  const auto most = static_cast<size_t>(parts_.batch_size);
  for (size_t begin = 0; begin < order.size(); begin += most) {
    const size_t end = std::min(order.size(), begin + most);
    transcribe_some(clips_S,
                    {order.begin() + static_cast<std::ptrdiff_t>(begin),
                     order.begin() + static_cast<std::ptrdiff_t>(end)},
                    found);
  }
  return found;
}

}  // namespace s2s::speech_recognizer
