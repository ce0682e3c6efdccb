#pragma once
// Starts the trials of tune-batch.

#include <string>
#include <vector>

#include "s2s_run/tune/batch_search.h"
#include "s2s_run/tune/tune_batch.h"

namespace s2s::run {

/// Runs trials as processes of their own: all ranks of one together.
class ProbeRunner {
 public:
  /// `limit_bytes`: memory of a rank. `log_folder`: for the outputs of the trials; "": none.
  ProbeRunner(const TuneArguments& arguments, uint64_t limit_bytes)
      : arguments_(arguments), limit_bytes_(limit_bytes) {}

  /// Errors: [tune/probe] when a trial ends otherwise than by training or by running out of memory.
  BatchTrial run(const ProbeBatch& batch);
  int64_t num_run() const { return num_run_; }

 private:
  std::vector<std::string> words(const ProbeBatch& batch) const;
  std::string output_file() const;

  const TuneArguments& arguments_;
  uint64_t limit_bytes_;
  int64_t num_run_ = 0;
};

}  // namespace s2s::run
