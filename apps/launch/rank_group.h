#pragma once
// The processes of one start of a run, until all have ended.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launch/rank_messages.h"
#include "launch/rank_output.h"
#include "launch/rank_process.h"

namespace s2s::launch {

class SignalQueue;

class RankGroup {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts them: each gets RANK and LOCAL_RANK beside what `command` has.
  RankGroup(const RankCommand& command, int num_ranks, const std::string& log_folder);
  /// Kills what still runs.
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  /// Waits until all have ended. Signals are handed on.
  void run(SignalQueue& signals, double grace_s);

  /// The rank whose failure came first, if any.
  std::optional<int> first_failure() const { return first_failure_; }
  const RankEnd& end_of(int rank) const { return ranks_[static_cast<size_t>(rank)].end; }
  const RankOutput& output_of(int rank) const { return ranks_[static_cast<size_t>(rank)].output; }
  /// Ranks that were halted (SIGSTOP, a debugger) when the first failure came: what the others
  /// may have waited for.
  const std::vector<int>& halted() const { return halted_; }
  /// The errors that ranks told before they ended.
  const RankMessages& messages() const { return messages_; }
  /// A rank stopped on request, with a checkpoint.
  bool was_stopped() const;

 private:
  struct Rank {
    pid_t process = 0;
    int pipe = -1;  // read end; -1: it prints where the launcher does
    int line = -1;  // read end of what it tells before it ends
    std::string message;
    bool has_ended = false;
    bool is_halted = false;
    bool points_at_rank_0 = false;  // by its message
    RankEnd end;
    RankOutput output{0, ""};
  };

  void start(const RankCommand& command, int rank, const std::string& log_folder);
  bool all_ended() const;
  void signal_all(int signal);
  void reap();
  void read_lines();
  void read_outputs();
  void take_messages();
  void poll(const SignalQueue& signals);
  bool waits_for_rank_0() const;
  void judge(double grace_s);

  std::vector<Rank> ranks_;
  RankMessages messages_;
  std::vector<int> halted_;
  std::vector<int> failures_;  // in the order in which they were seen
  std::optional<int> first_failure_;
  bool is_start_ = false;  // the first failure is a mistake that all ranks are about to make
  Clock::time_point settle_until_, kill_at_;
  bool is_killing_ = false;
};

}  // namespace s2s::launch
