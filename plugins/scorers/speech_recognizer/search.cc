// How a recognizer finds texts, and how sure it is of them.

#include <ATen/ATen.h>

#include "confidence.h"
#include "s2s/nn/rows.h"
#include "speech_recognizer.h"

namespace s2s::speech_recognizer {

std::vector<Hypothesis> SpeechRecognizer::greedy(const EncoderOutput& heard,
                                                 const ConfidenceOptions& options) const {
  const std::vector<int64_t> lengths = to_vector(heard.lengths_B);
  std::vector<FoundLabels> found;
  std::vector<std::vector<double>> confidences;
  if (transducer_) {
    found = transducer_->search(heard.features_BTH, heard.lengths_B);
    if (options.preserve_word_confidence) {
      const SearchedTransducer searched{*transducer_, parts_.config.transducer,
                                        transducer_->project_frames(heard.features_BTH), lengths};
      confidences = transducer_confidences(searched, found, options);
    }
  } else {
    const at::Tensor logits_ATV = (*ctc_)(heard.features_BTH);
    found = ctc_search(logits_ATV, heard.lengths_B, parts_.config.ctc.blank);
    if (options.preserve_word_confidence) {
      confidences = ctc_confidences(at::log_softmax(logits_ATV, 2), found, lengths, options);
    }
  }
  std::vector<Hypothesis> hypotheses(found.size());
  for (size_t a = 0; a < found.size(); ++a) {
    static_cast<FoundLabels&>(hypotheses[a]) = std::move(found[a]);
    if (!confidences.empty()) hypotheses[a].confidences = std::move(confidences[a]);
  }
  return hypotheses;
}

std::vector<std::vector<Hypothesis>> SpeechRecognizer::hypotheses(
    const EncoderOutput& heard, const std::string& strategy, const BeamOptions& options) const {
  const std::vector<int64_t> lengths = to_vector(heard.lengths_B);
  if (strategy == "beam_batch") {
    return ctc_beam_batch(at::log_softmax((*ctc_)(heard.features_BTH), 2), lengths,
                          parts_.config.ctc.blank, options);
  }
  const SearchedTransducer searched{*transducer_, parts_.config.transducer,
                                    transducer_->project_frames(heard.features_BTH), lengths};
  if (strategy == "malsd_batch") return malsd_batch(searched, options);
  // With one text, every search of an RNN-T that goes clip by clip is NeMo's greedy one.
  const bool is_single = options.beam_size == 1 && searched.options.durations.empty();
  if (strategy == "maes" && !is_single) return maes(searched, options);
  return default_beam(searched, options);
}

std::vector<Hypothesis> SpeechRecognizer::search(const EncoderOutput& heard) const {
  const DecodingOptions& decoding = parts_.decoding;
  if (decoding.strategy.starts_with("greedy")) return greedy(heard, decoding.confidence_cfg);
  std::vector<Hypothesis> best;
  for (auto& of_clip : hypotheses(heard, decoding.strategy, decoding.beam)) {
    best.push_back(std::move(of_clip.front()));
  }
  return best;
}

std::vector<double> SpeechRecognizer::word_confidences(const Hypothesis& found,
                                                       const ConfidenceOptions& options) const {
  // Reference files of transformers have neither a tokenizer nor the texts of labels.
  const bool has_texts = parts_.tokenizer != nullptr || !parts_.config.vocabulary.empty();
  if (found.confidences.empty() || !has_texts) return {};
  const auto piece_of = [&](int64_t label) {
    return parts_.tokenizer ? parts_.tokenizer->piece(label)
                            : parts_.config.vocabulary[static_cast<size_t>(label)];
  };
  std::vector<std::string> pieces;
  for (const int64_t label : found.labels) pieces.push_back(piece_of(label));
  const int64_t unknown = parts_.tokenizer ? parts_.tokenizer->unknown_id() : -1;
  std::vector<double> words;
  for (const auto& [first, last] : word_labels(pieces, unknown < 0 ? "" : piece_of(unknown))) {
    const auto begin = found.confidences.begin();
    words.push_back(aggregated(
        {begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last)},
        options.aggregation));
  }
  return words;
}

void SpeechRecognizer::add_confidences(const Hypothesis& found, Transcript& transcript) const {
  const ConfidenceOptions& options = parts_.decoding.confidence_cfg;
  const std::vector<double> words = word_confidences(found, options);
  // A tokenizer may write words that its pieces do not show.
  if (words.empty() || words.size() != transcript.words.size()) return;
  for (size_t i = 0; i < words.size(); ++i) transcript.words[i].confidence = words[i];
  transcript.confidence = aggregated(words, options.aggregation);
}

}  // namespace s2s::speech_recognizer
