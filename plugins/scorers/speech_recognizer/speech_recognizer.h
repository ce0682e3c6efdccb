#pragma once
// A recognizer of NeMo or transformers: a FastConformer with a CTC or a transducer decoder. Shape
// letters: A audios, S samples, T frames, H width of the encoder, V labels and the blank, U labels
// of a text.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "beam_search.h"
#include "s2s/kinds/encoder.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s/kinds/scorer.h"
#include "s2s/kinds/tokenizer.h"
#include "s2s/nn/transducer.h"
#include "s2s/recognizer_config.h"
#include "speech_recognizer_options.h"

namespace s2s::speech_recognizer {

enum class DecoderKind { kCtc, kTransducer };

class SpeechRecognizer : public Scorer, public Block, public RunsReferences {
 public:
  struct Parts {
    RecognizerConfig config;
    std::unique_ptr<Encoder> encoder;
    std::unique_ptr<Tokenizer> tokenizer;  // null: the configuration has the labels' texts
    std::string weights_path;              // "": random weights
    int64_t batch_size = 1;
    DecodingOptions decoding = {};
  };
  SpeechRecognizer(Parts parts, DecoderKind kind);
  ~SpeechRecognizer() override;

  void prepare(const std::vector<std::string>&) override {}
  /// Clips of similar lengths are recognized side by side. Silence and clips shorter than a frame
  /// of the encoder have no words.
  std::vector<std::string> transcribe(const std::vector<AudioClip>& clips) override;
  /// A word begins with the frame of its first label, and ends after that of its last one. Words
  /// and texts that a greedy search found have a confidence.
  std::vector<Transcript> transcripts(const std::vector<AudioClip>& clips) override;
  /// Inputs: audio [A, S], lengths, labels [A, U], label_lengths or joint_labels; the weights by
  /// their names, below "weights/". Outputs: features, lengths, ctc_logits or logits, prediction,
  /// projected, joint, ids, id_lengths, id_frames, frame_ids, loss, loss_rows, confidences of
  /// labels and words; with the input beam_size, what each beam search finds. What peers give in
  /// several forms has more than one name ("joint", "joint.log_softmax").
  std::map<std::string, at::Tensor> reference_outputs(
      const std::map<std::string, at::Tensor>& inputs, bool training) override;

 protected:
  std::unique_ptr<WeightSource> initial_values() override;

 private:
  NameMap checkpoint_names() const;
  /// The hypotheses of each clip, best first.
  std::vector<std::vector<Hypothesis>> hypotheses(const EncoderOutput& heard,
                                                  const std::string& strategy,
                                                  const BeamOptions& options) const;
  /// What the greedy search finds, with the confidences of labels.
  std::vector<Hypothesis> greedy(const EncoderOutput& heard,
                                 const ConfidenceOptions& options) const;
  /// The best hypothesis of each clip.
  std::vector<Hypothesis> search(const EncoderOutput& heard) const;
  std::string text_of(const std::vector<int64_t>& labels) const;
  void transcribe_some(const std::vector<at::Tensor>& clips_S, const std::vector<size_t>& chosen,
                       std::vector<Transcript>& transcripts);
  std::vector<RecognizedWord> words_of(const FoundLabels& found) const;
  /// The confidences of words.
  std::vector<double> word_confidences(const Hypothesis& found,
                                       const ConfidenceOptions& options) const;
  void add_confidences(const Hypothesis& found, Transcript& transcript) const;
  void add_ctc(const EncoderOutput& heard, const TensorMap& inputs, TensorMap& outputs) const;
  void add_transducer(const EncoderOutput& heard, const TensorMap& inputs,
                      TensorMap& outputs) const;
  void add_confidences(const EncoderOutput& heard, TensorMap& outputs) const;
  /// What each beam search finds.
  void add_beams(const EncoderOutput& heard, int64_t beam_size, TensorMap& outputs) const;

  Parts parts_;
  DecoderKind kind_;
  std::unique_ptr<CtcHead> ctc_;
  std::unique_ptr<TransducerDecoder> transducer_;
};

}  // namespace s2s::speech_recognizer
