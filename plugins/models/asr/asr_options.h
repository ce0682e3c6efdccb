#pragma once
// Options of a speech recognizer: the `model` block without the keys of the trainer. Names follow
// NeMo's ASR models where they have the option.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/nn/transducer.h"
#include "s2s/nn/transducer_loss.h"
#include "s2s/options.h"

namespace s2s::asr {

/// The prediction network, the joint network and their loss.
struct AsrTransducerOptions {
  std::vector<int64_t> durations;
  double sigma = 0, omega = 0;
  int64_t pred_hidden = 640, pred_rnn_layers = 1, joint_hidden = 640, max_symbols = 10;
  std::string activation = "relu";
  double pred_dropout = 0, joint_dropout = 0;
  void visit(OptionVisitor& v) {
    v("durations", durations, "frames that a TDT model can go on by; []: an RNN-T model",
      at_least(0));
    v("sigma", sigma, "TDT: every step is less likely by this (logit under-normalization)",
      at_least(0));
    v("omega", omega, "TDT: share of the training steps with the loss of an RNN-T", between(0, 1));
    v("pred_hidden", pred_hidden, "width of the prediction network", at_least(1));
    v("pred_rnn_layers", pred_rnn_layers, "layers of the prediction network", at_least(1));
    v("joint_hidden", joint_hidden, "width of the joint network", at_least(1));
    v("max_symbols", max_symbols, "most labels of one frame in greedy decoding", at_least(1));
    v("activation", activation, "of the joint network",
      one_of({"relu", "sigmoid", "tanh", "silu", "gelu"}));
    v("pred_dropout", pred_dropout, "dropout after each layer of the prediction network",
      between(0, 1));
    v("joint_dropout", joint_dropout, "dropout of the joint network", between(0, 1));
  }
};

struct AsrOptions {
  Config encoder;
  std::string decoder = "transducer";
  AsrTransducerOptions transducer;
  double ctc_loss_weight = 0;
  std::string reduction = "mean_batch";
  std::optional<int64_t> num_labels;
  std::optional<std::string> path;

  void visit(OptionVisitor& v) {
    v("encoder", encoder, "speech encoder: its name and options");
    v("decoder", decoder, "what reads the encoder's frames", one_of({"transducer", "ctc"}));
    v("transducer", transducer, "the prediction and the joint network (decoder: transducer)");
    v("ctc_loss_weight", ctc_loss_weight,
      "share of CTC's loss beside that of a transducer (NeMo's aux_ctc); 0: no CTC decoder",
      between(0, 1));
    v("reduction", reduction,
      "the loss of a step is a mean over texts (mean_batch), over texts of their mean over labels "
      "(mean), or over labels (mean_volume)",
      one_of({"mean_batch", "mean", "mean_volume"}));
    v("num_labels", num_labels, "labels without the blank; null: the ids of the tokenizer",
      at_least(1));
    v("path", path,
      "weights to start from: the .nemo archive of an ASR model with the same networks, or a file "
      "of its weights; null: random");
  }

  bool has_transducer() const { return decoder == "transducer"; }
  bool has_ctc() const { return !has_transducer() || ctc_loss_weight > 0; }
  /// Reports options that do not fit together: [asr/durations], [asr/ctc-weight]. `place`: of the
  /// options in the config.
  void check(const std::string& place) const;
  /// For a vocabulary of so many labels, whose texts the tokenizer has.
  TransducerOptions networks(int64_t labels) const;
  TransducerSteps steps() const { return {transducer.durations, transducer.sigma}; }
};

/// Converts {model}, the configuration of an ASR model of NeMo, to options. Errors:
/// [weights/config].
Config translate_nemo(const Config& foreign);

}  // namespace s2s::asr
