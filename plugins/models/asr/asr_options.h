#pragma once
// Options of a speech recognizer: the `model` block without the keys of the trainer. Names follow
// NeMo's ASR models where they have the option.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s2s/nn/transducer_loss.h"
#include "s2s/options.h"
#include "s2s/recognizer_config.h"

namespace s2s::asr {

struct AsrOptions {
  Config encoder;
  std::string decoder = "transducer";
  TrainedTransducerOptions transducer;
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
  TransducerSteps steps() const {
    return {transducer.durations, transducer.durations.empty() ? 0 : transducer.sigma};
  }
};

/// Converts {model}, the configuration of an ASR model of NeMo, to options. Errors:
/// [weights/config].
Config translate_nemo(const Config& foreign);

}  // namespace s2s::asr
