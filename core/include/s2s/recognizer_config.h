#pragma once
// What the configurations of NeMo's ASR models and of transformers' Parakeet say about a
// recognizer, and the options of one that is trained.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/nn/transducer.h"
#include "s2s/options.h"

namespace s2s {

/// A CTC decoder: one linear layer.
struct CtcConfig {
  int64_t num_labels = 0;  // with the blank; 0: there is none
  int64_t blank = 0;
  std::string prefix;                    // of its weights
  std::string reduction = "mean_batch";  // of the loss, by NeMo's names
  bool has_zero_infinity = true;
};

/// The networks of a recognizer, and what its loss and its texts need.
struct RecognizerConfig {
  bool is_nemo = true;
  Config encoder;  // for Component<Encoder>::translate
  CtcConfig ctc;
  TransducerOptions transducer;         // is_there(): there is one
  std::vector<std::string> vocabulary;  // texts of the labels; empty: the tokenizer has them
  std::string tokenizer_file;           // NeMo: a tokenizer's model in the archive
  // Of the transducer's loss.
  std::string reduction = "mean_batch";
  std::vector<int64_t> loss_durations;
  double sigma = 0, omega = 0;
  double ctc_weight = 0;  // of a hybrid model
  int64_t pad = -1;       // a label that is none
};

/// The networks of a transducer that a run trains, and their loss (model.transducer).
struct TrainedTransducerOptions : TransducerOptions {
  double sigma = 0, omega = 0;
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
  /// For so many labels, whose texts a tokenizer has.
  TransducerOptions networks(int64_t num_labels) const;
};

/// `place` names the file in messages. Errors: [weights/config].
RecognizerConfig read_recognizer(const Config& foreign, const std::string& place);

}  // namespace s2s
