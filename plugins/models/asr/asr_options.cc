#include "asr_options.h"

#include <set>

#include "asr_errors.h"
#include "s2s/model_parts.h"
#include "s2s/recognizer_config.h"

namespace s2s::asr {

void AsrOptions::check(const std::string& place) const {
  Findings findings;
  const std::vector<int64_t>& durations = transducer.durations;
  const std::set<int64_t> distinct(durations.begin(), durations.end());
  const bool goes_on = durations.empty() || *distinct.rbegin() > 0;
  if (!goes_on || distinct.size() != durations.size()) {
    findings.add(durations_error(place, durations));
  }
  if (decoder == "ctc" && ctc_loss_weight != 0) {
    findings.add(ctc_weight_error(place, ctc_loss_weight));
  }
  findings.throw_if_any();
}

namespace {

TrainedTransducerOptions transducer_of(const RecognizerConfig& read) {
  const bool is_tdt = !read.transducer.durations.empty();
  return {read.transducer, is_tdt ? read.sigma : 0, is_tdt ? read.omega : 0};
}

}  // namespace

Config translate_nemo(const Config& foreign) {
  const Config& model = required_key(foreign, "model", "options");
  const RecognizerConfig read = read_recognizer(model, "model");
  const bool has_transducer = read.transducer.is_there();
  Config out = Config::map();
  out["encoder"] = Config::map();
  out["encoder"]["name"] = Config::scalar("fastconformer", true);
  out["encoder"]["translate_from"] = model;
  out["decoder"] = Config::scalar(has_transducer ? "transducer" : "ctc", true);
  if (has_transducer) out["transducer"] = write_options(transducer_of(read));
  if (has_transducer && read.ctc.num_labels > 0) {
    if (read.ctc.reduction != read.reduction) {
      throw_not_translated("model.aux_ctc.ctc_reduction", Config::scalar(read.ctc.reduction, true),
                           "that of the transducer, " + read.reduction);
    }
    out["ctc_loss_weight"] = Config::scalar(std::to_string(read.ctc_weight));
  }
  out["reduction"] = Config::scalar(has_transducer ? read.reduction : read.ctc.reduction, true);
  const int64_t labels = has_transducer ? read.transducer.num_labels() : read.ctc.num_labels;
  out["num_labels"] = Config::scalar(std::to_string(labels - 1));
  return out;
}

}  // namespace s2s::asr
