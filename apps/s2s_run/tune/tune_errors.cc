#include "s2s_run/tune/tune_errors.h"

#include <fmt/format.h>

#include "base/machine.h"

namespace s2s::run::tune_errors {

Error no_cuts() {
  return {ExitCode::kData, "tune/no-cuts",
          "data.train_ds has no cuts to estimate buckets from; give them: --buckets '[5,10,20]'"};
}

Error no_batch(const std::string& length, double limit_bytes) {
  return {
      ExitCode::kCheckFailed, "tune/no-batch",
      fmt::format("one row of {} does not fit in {} per rank; expected memory for one row; "
                  "use fewer seconds in --buckets (of text: a smaller max_seq_len), more memory, "
                  "trainer.strategy.activation_checkpointing=full or a layout with smaller "
                  "shards (s2s-run plan CONFIG --layouts)",
                  length, gigabytes_text(limit_bytes))};
}

Error probe_failed(int64_t rows, const std::string& length, const std::string& how,
                   const std::string& said) {
  return {ExitCode::kCheckFailed, "tune/probe",
          fmt::format("the trial with {} rows of {} {}; expected two training steps, or an "
                      "allocation that fails; its output ends with\n{}\n  next:      s2s-run train "
                      "with the same configuration shows whether it trains at all",
                      rows, length, how, said)};
}

Error not_here(const std::string& flag, const std::string& instead) {
  return {ExitCode::kUsage, "usage/arguments",
          fmt::format("s2s-run tune-batch: {}: {}\n  see:       s2s-run tune-batch --help", flag,
                      instead)};
}

}  // namespace s2s::run::tune_errors
