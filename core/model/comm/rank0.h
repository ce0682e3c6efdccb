#pragma once
// Runs work on rank 0 alone before the other ranks continue: folders, data, tokenizers.

#include <chrono>
#include <functional>
#include <string>

#include "s2s/kinds/communicator.h"

namespace s2s {

/// How long rank 0 waits at its end for the other ranks to read its result or its error.
constexpr std::chrono::milliseconds kPartingTimeout{5000};

class Rank0 {
 public:
  /// `process` must have a store unless it is the only process. It must outlive this object.
  explicit Rank0(const ProcessPlace& process) : process_(process) {}

  bool is_here() const { return process_.rank == 0; }
  /// Runs `work` on rank 0. The other ranks wait for it without a time limit, as long as rank 0 is
  /// alive. Returns the result of `work` on all ranks. Every rank must call it, in the same order.
  /// `what`: name of the work in messages.
  /// Errors: on rank 0 those of `work`. On the others: [comm/rank-0-failed] with the first line of
  /// rank 0's message, [comm/lost] if rank 0 is gone, [comm/timeout] if rank 0 does not respond.
  std::string run(const std::string& what, const std::function<std::string()>& work);

 private:
  std::string tell(const std::string& key, const std::function<std::string()>& work) const;
  std::string receive(const std::string& key, const std::string& what) const;

  const ProcessPlace& process_;
  int64_t num_works_ = 0;
};

}  // namespace s2s
