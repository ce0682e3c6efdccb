#pragma once
// The processes of one start of a run.

#include <chrono>
#include <functional>
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

  /// Starts the processes. Each gets RANK and LOCAL_RANK in addition to the environment of
  /// `command`. `first_rank`: RANK of the first one; rank 0 shares the launcher's output.
  RankGroup(const RankCommand& command, int num_ranks, const std::string& log_folder,
            int first_rank = 0);
  /// Kills processes that are still running.
  ~RankGroup();
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  /// Forwards signals and waits until all processes have ended. `ends_with_input`: the end of
  /// standard input is a request to stop.
  void run(SignalQueue& signals, double grace_s, bool ends_with_input = false);
  /// Asks the ranks with SIGUSR1 to stop with a checkpoint after this time.
  void stop_after(double seconds);
  /// Tells this function of the ranks' error messages, instead of printing them.
  void tell(std::function<void(int rank, const std::string& message)> listener) {
    listener_ = std::move(listener);
  }

  /// The local rank of the first failure; so are the ranks of the functions below.
  std::optional<int> first_failure() const { return first_failure_; }
  const RankEnd& end_of(int rank) const { return ranks_[static_cast<size_t>(rank)].end; }
  const RankOutput& output_of(int rank) const { return ranks_[static_cast<size_t>(rank)].output; }
  /// Ranks that were halted (SIGSTOP, a debugger) at the time of the first failure. Other ranks may
  /// have waited for them.
  const std::vector<int>& halted() const { return halted_; }
  /// The error messages that ranks sent before they ended.
  const RankMessages& messages() const { return messages_; }
  /// True when stop_after() asked the ranks to stop.
  bool was_asked_to_stop() const { return was_asked_to_stop_; }
  /// True when a rank stopped on request and wrote a checkpoint.
  bool was_stopped() const;

 private:
  struct Rank {
    pid_t process = 0;
    int pipe = -1;  // read end of its output; -1: it shares the launcher's output
    int line = -1;  // read end of the pipe for its final message
    std::string message;
    bool has_ended = false;
    bool is_halted = false;
    bool points_at_rank_0 = false;  // its message blames rank 0
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
  void poll(const SignalQueue& signals, bool watches_input);
  bool input_ended();
  bool waits_for_rank_0() const;
  void judge(double grace_s);

  int first_rank_ = 0;
  std::function<void(int, const std::string&)> listener_;
  std::vector<Rank> ranks_;
  RankMessages messages_;
  std::vector<int> halted_;
  std::vector<int> failures_;  // in order of detection
  std::optional<int> first_failure_;
  bool is_start_ = false;  // the first failure is a mistake that all ranks will make
  Clock::time_point settle_until_, kill_at_;
  std::optional<Clock::time_point> stop_at_;
  bool was_asked_to_stop_ = false;
  bool is_killing_ = false;
  bool must_end_ = false;  // the input ended; ranks are killed at kill_at_
};

}  // namespace s2s::launch
