#pragma once
// Greedy decoding of speech: text from an encoder's frames, with a transducer (RNN-T or TDT) or
// with CTC. Shape letters: A audios or other rows, T frames, D width of the encoder, V labels and
// the blank.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"
#include "s2s/options.h"

namespace s2s {

/// The text of labels, joined; of pieces, "\u2581" is a blank, and none comes first.
std::string text_of_labels(const std::vector<std::string>& vocabulary,
                           const std::vector<int64_t>& labels);

/// What a search found in one audio: its labels, and the frame of each.
struct FoundLabels {
  std::vector<int64_t> labels, frames;
  std::vector<int64_t> blank_frames = {};  // of a transducer: the frames of steps without a label
};

/// What CTC reads greedily: the best label of each frame, without repetitions and blanks.
/// scores [A, T, V]; lengths [A].
std::vector<FoundLabels> ctc_search(const at::Tensor& scores_ATV, const at::Tensor& lengths_A,
                                    int64_t blank);
/// Its labels; the blank is the last label, as in NeMo.
std::vector<std::vector<int64_t>> ctc_labels(const at::Tensor& scores_ATV,
                                             const at::Tensor& lengths_A);

/// The decoder of an ASR model of NeMo.
struct TransducerOptions {
  std::vector<std::string> vocabulary;
  std::vector<int64_t> durations;
  int64_t pred_hidden = 640, pred_rnn_layers = 1, joint_hidden = 640, max_symbols = 10;
  std::optional<std::string> path;
  // What only other programs' files say.
  std::optional<int64_t> blank;     // null: the last label
  std::string activation = "relu";  // of the joint network: relu, sigmoid, tanh, silu, gelu
  /// transformers' limits: a TDT model may stay at a frame, and a text ends after max_symbols steps
  /// for each frame of the batch.
  bool limits_steps = false;
  bool begins_with_zeros = false;  // a text begins with zeros, not with the blank's embedding
  double pred_dropout = 0, joint_dropout = 0;  // of training

  int64_t num_labels() const { return static_cast<int64_t>(vocabulary.size()) + 1; }
  int64_t blank_label() const { return blank.value_or(num_labels() - 1); }
  bool is_there() const { return !vocabulary.empty(); }
  void visit(OptionVisitor& v) {
    v("vocabulary", vocabulary,
      "labels of the ASR model (NeMo's labels or decoder.vocabulary), without the blank; [] : "
      "there is no decoder");
    v("durations", durations, "frames that a TDT model can go on by; []: an RNN-T model",
      at_least(0));
    v("pred_hidden", pred_hidden, "width of the prediction network", at_least(1));
    v("pred_rnn_layers", pred_rnn_layers, "layers of the prediction network", at_least(1));
    v("joint_hidden", joint_hidden, "width of the joint network", at_least(1));
    v("max_symbols", max_symbols, "most labels of one frame", at_least(1));
    v("path", path,
      "file with its weights (.nemo, .ckpt, .safetensors); null: zeros, as a "
      "checkpoint fills them");
  }
};

/// Whether the weights of a decoder are trained, or buffers.
enum class DecoderWeights { kFixed, kTrained };

/// The CTC decoder: NeMo's ConvASRDecoder, transformers' ParakeetEncoderCTCHead.
class CtcHead : public Block {
 public:
  CtcHead(int64_t width, int64_t num_labels, DecoderWeights weights = DecoderWeights::kFixed);
  ~CtcHead() override;
  /// [A, T, H] -> [A, T, V], not normalized.
  at::Tensor operator()(const at::Tensor& x_ATH);

 protected:
  void reset_buffers() override;

 private:
  int64_t width_, num_labels_;
  DecoderWeights weights_;
  at::Tensor weight_, bias_;
};

/// A prediction network, a joint network, and the search. Labels have no gradient.
class TransducerDecoder : public Block {
 public:
  /// encoder_dim: D. base_dir: of options.path.
  TransducerDecoder(TransducerOptions options, int64_t encoder_dim, std::string base_dir,
                    DecoderWeights weights = DecoderWeights::kFixed);
  ~TransducerDecoder() override;

  /// The labels of each audio, found side by side. frames [A, T, >= D], of which the last D
  /// channels are read (the encoder's own output follows those of its layers); lengths [A]. Source:
  /// NeMo collections/asr transducer_decoding/rnnt_label_looping.py, tdt_label_looping.py;
  /// transformers generation_parakeet.py.
  std::vector<FoundLabels> search(const at::Tensor& frames_ATD, const at::Tensor& lengths_A);
  std::vector<std::vector<int64_t>> labels(const at::Tensor& frames_ATD,
                                           const at::Tensor& lengths_A);
  std::string text(const std::vector<int64_t>& labels) const {
    return text_of_labels(options_.vocabulary, labels);
  }

  // The networks alone, as training runs them, with dropout in train mode. U labels, P width of the
  // prediction network, J of the joint network.
  /// labels [A, U] -> [A, U + 1, P]; first comes the blank's embedding, or zeros.
  at::Tensor predictions(const at::Tensor& labels_AU);
  at::Tensor project_predictions(const at::Tensor& predictions_AUP) const;
  at::Tensor project_frames(const at::Tensor& frames_ATD);
  /// Both projections [A, T, J] and [A, U, J] -> scores [A, T, U, V], durations after the labels.
  at::Tensor joint(const at::Tensor& frames_ATJ, const at::Tensor& predictions_AUJ) const;

  // The prediction network label by label, as a search runs it.
  /// What the network remembers of texts, one in each row.
  struct State {
    std::vector<at::Tensor> h, c;  // [A, P] for each layer
    at::Tensor joint_AJ;           // its projection, for the joint network
  };
  /// Of texts without labels.
  State begin(int64_t rows) const;
  /// Each text goes on with a label [A]; those that are not `fed` [A] stay. Undefined: all go on.
  void feed(State& state, const at::Tensor& label_A, const at::Tensor& fed_A = {}) const;

  /// Names below `theirs`, a NeMo ASR model, for this block below `ours`.
  static NameMap names(const std::string& ours, const std::string& theirs, int64_t num_layers);

 protected:
  void reset_buffers() override;
  std::unique_ptr<WeightSource> initial_values() override;

 private:
  struct LstmLayer {
    at::Tensor weight_ih, weight_hh, bias_ih, bias_hh;
  };
  struct Step;
  using Sizes = std::vector<int64_t>;
  /// Calls add(name, member, sizes, width of the input) for each weight.
  void for_each_weight(
      const std::function<void(const std::string&, at::Tensor&, const Sizes&, int64_t)>& add);
  /// What the prediction network gives for embeddings [A, P], which change the state.
  at::Tensor recur(const at::Tensor& embedded_AP, const at::Tensor& fed_A, State& state) const;
  at::Tensor scores(const at::Tensor& sum) const;
  /// The best label of each audio at its frame, and where it goes on. durations: those of the
  /// options, on the device.
  Step step(const at::Tensor& scores_AV, const at::Tensor& durations,
            const at::Tensor& count_A) const;

  TransducerOptions options_;
  int64_t encoder_dim_;
  std::string base_dir_;
  DecoderWeights weights_;
  at::Tensor embed_, enc_weight_, enc_bias_, pred_weight_, pred_bias_, out_weight_, out_bias_;
  std::vector<LstmLayer> layers_;
};

}  // namespace s2s
