#pragma once
// What rank 0 of a run does alone, before the others go on: folders, data, tokenizers.

#include <chrono>
#include <functional>
#include <string>

#include "s2s/kinds/communicator.h"

namespace s2s {

/// How long rank 0 waits for the others to have read what it said, or why it failed.
constexpr std::chrono::milliseconds kPartingTimeout{5000};

class Rank0 {
 public:
  /// `process`: has a store unless it is alone; has to live on.
  explicit Rank0(const ProcessPlace& process) : process_(process) {}

  /// True on rank 0.
  bool is_here() const { return process_.rank == 0; }
  /// Rank 0 does `work`; the others wait for its end, however long it takes, as long as rank 0
  /// lives. Returns what `work` returned on all ranks. Every rank calls it, in the same order.
  /// `what`: names the work in messages.
  /// Errors: on rank 0 those of `work`; on the others [comm/rank-0-failed] with the first line of
  /// rank 0's message, [comm/lost] when rank 0 is gone, [comm/timeout] when it stands still.
  std::string run(const std::string& what, const std::function<std::string()>& work);

 private:
  std::string tell(const std::string& key, const std::function<std::string()>& work) const;
  std::string hear(const std::string& key, const std::string& what) const;

  const ProcessPlace& process_;
  int64_t num_works_ = 0;
};

}  // namespace s2s
