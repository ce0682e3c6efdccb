#pragma once
// What the configurations of NeMo's ASR models and of transformers' Parakeet say about a
// recognizer.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s/config.h"
#include "s2s/nn/transducer.h"

namespace s2s {

/// A CTC decoder: one linear layer.
struct CtcConfig {
  int64_t num_labels = 0;  // with the blank; 0: there is none
  int64_t blank = 0;
  std::string prefix;                    // of its weights
  std::string reduction = "mean_batch";  // of the loss, by NeMo's names
  bool has_zero_infinity = true;
};

struct RecognizerConfig {
  bool is_nemo = true;
  Config encoder;  // for Component<Encoder>::translate
  CtcConfig ctc;
  TransducerOptions transducer;         // is_there(): there is one
  std::vector<std::string> vocabulary;  // texts of the labels; empty: the tokenizer has them
  std::string tokenizer_file;           // NeMo: a SentencePiece model in the archive
  // Of the transducer's loss.
  std::string reduction = "mean_batch";
  std::vector<int64_t> loss_durations;
  double sigma = 0, omega = 0;
  double ctc_weight = 0;  // of a hybrid model
  int64_t pad = -1;       // a label that is none
};

/// `place` names the file in messages. Errors: [weights/config].
RecognizerConfig read_recognizer(const Config& foreign, const std::string& place);

}  // namespace s2s
