#include "asr_errors.h"

namespace s2s::asr {

Error durations_error(const std::string& place, const std::vector<int64_t>& durations) {
  std::string list;
  for (const int64_t duration : durations) {
    list += (list.empty() ? "" : ", ") + std::to_string(duration);
  }
  return config_error("asr/durations", place + ".transducer.durations = [" + list +
                                           "]\n  expected: different numbers of which one is above "
                                           "0, such as [0, 1, 2, 3, 4], or [] for an RNN-T");
}

Error ctc_weight_error(const std::string& place, double weight) {
  return config_error("asr/ctc-weight", place + ".ctc_loss_weight = " + std::to_string(weight) +
                                            " together with decoder: ctc\n  expected: decoder: "
                                            "transducer, or no ctc_loss_weight: CTC's loss is then "
                                            "all of the loss");
}

Error no_labels_error(const std::string& place) {
  return config_error("asr/labels",
                      place + " has neither a tokenizer nor num_labels\n  expected: " + place +
                          ".tokenizer, which turns texts to labels");
}

Error too_few_labels_error(const std::string& place, int64_t num_labels, int64_t num_ids) {
  return config_error("asr/labels", place + ".num_labels = " + std::to_string(num_labels) +
                                        ", but the tokenizer has " + std::to_string(num_ids) +
                                        " ids\n  expected: num_labels: null, or a tokenizer with "
                                        "at most so many ids");
}

Error no_audio_error() {
  return config_error("asr/batch",
                      "the batch has no recordings (source_audio)\n  expected: data sets of "
                      "recordings with texts (name: transcribed_cuts)");
}

}  // namespace s2s::asr
