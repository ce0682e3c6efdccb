#pragma once
// AsrDecoder: hears text in an encoder's frames with the transducer (RNN-T or TDT) of a NeMo ASR
// model, greedily. Shape letters: A audios, T frames, D width of the encoder, V labels.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "s2s/nn/block.h"
#include "s2s/nn/name_map.h"
#include "salm_options.h"

namespace s2s::salm {

/// It is not trained: its weights are buffers, and labels have no gradient.
class AsrDecoder : public Block {
 public:
  /// encoder_dim: D. base_dir: of options.path.
  AsrDecoder(AsrDecoderOptions options, int64_t encoder_dim, std::string base_dir);

  /// The labels of each audio. frames [A, T, >= D], of which the last D channels are read (the
  /// encoder's own output behind those of its layers); lengths [A].
  /// Source: NeMo collections/asr transducer_decoding/rnnt_label_looping.py, tdt_label_looping.py.
  std::vector<std::vector<int64_t>> labels(const at::Tensor& frames_ATD,
                                           const at::Tensor& lengths_A);
  /// Their text: labels joined; of pieces, "\u2581" is a blank, and none comes first.
  std::string text(const std::vector<int64_t>& labels) const;

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

  AsrDecoderOptions options_;
  int64_t encoder_dim_;
  std::string base_dir_;
  at::Tensor embed_, enc_weight_, enc_bias_, pred_weight_, pred_bias_, out_weight_, out_bias_;
  std::vector<LstmLayer> layers_;
};

}  // namespace s2s::salm
