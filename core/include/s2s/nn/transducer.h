#pragma once
// Greedy decoding of speech: text from an encoder's frames, with a transducer (RNN-T or TDT) or
// with CTC. Shape letters: A audios, T frames, D width of the encoder, V labels and the blank.

#include <ATen/core/Tensor.h>

#include <cstdint>
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

/// The labels that CTC reads greedily: the best of each frame, without repetitions and blanks.
/// scores [A, T, V]; lengths [A]; the blank is the last label, as in NeMo.
std::vector<std::vector<int64_t>> ctc_labels(const at::Tensor& scores_ATV,
                                             const at::Tensor& lengths_A);

/// The decoder of an ASR model of NeMo.
struct TransducerOptions {
  std::vector<std::string> vocabulary;
  std::vector<int64_t> durations;
  int64_t pred_hidden = 640, pred_rnn_layers = 1, joint_hidden = 640, max_symbols = 10;
  std::optional<std::string> path;
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

/// A prediction network, a joint network, and the search. It is not trained: its weights are
/// buffers, and labels have no gradient.
class TransducerDecoder : public Block {
 public:
  /// encoder_dim: D. base_dir: of options.path.
  TransducerDecoder(TransducerOptions options, int64_t encoder_dim, std::string base_dir);

  /// The labels of each audio. frames [A, T, >= D], of which the last D channels are read (the
  /// encoder's own output follows those of its layers); lengths [A].
  /// Source: NeMo collections/asr transducer_decoding/rnnt_label_looping.py, tdt_label_looping.py.
  std::vector<std::vector<int64_t>> labels(const at::Tensor& frames_ATD,
                                           const at::Tensor& lengths_A);
  std::string text(const std::vector<int64_t>& labels) const {
    return text_of_labels(options_.vocabulary, labels);
  }

  /// Names below `theirs`, a NeMo ASR model, for this block below `ours`.
  static NameMap names(const std::string& ours, const std::string& theirs, int64_t num_layers);

 protected:
  void reset_buffers() override;
  std::unique_ptr<WeightSource> initial_values() override;

 private:
  struct LstmLayer {
    at::Tensor weight_ih, weight_hh, bias_ih, bias_hh;
  };
  /// What the prediction network remembers.
  struct State {
    std::vector<at::Tensor> h, c;  // [1, P] for each layer
    at::Tensor joint_1J;           // its part of the joint's input
  };
  void feed(State& state, int64_t label) const;
  /// Frames to go on by; 0: it says none.
  int64_t duration(const at::Tensor& scores_V) const;
  std::vector<int64_t> decode(const at::Tensor& joint_TJ) const;

  TransducerOptions options_;
  int64_t encoder_dim_;
  std::string base_dir_;
  at::Tensor embed_, enc_weight_, enc_bias_, pred_weight_, pred_bias_, out_weight_, out_bias_;
  std::vector<LstmLayer> layers_;
};

}  // namespace s2s
