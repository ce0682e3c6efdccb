#pragma once
// The final messages of ranks. They are delayed briefly so that equal messages are printed once.

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace s2s::launch {

/// True for a message that only refers to the failure of rank 0.
bool points_at_rank_0(const std::string& message);

class RankMessages {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RankMessages(int num_ranks) : num_ranks_(num_ranks) {}

  void hold(int rank, std::string message);
  bool holds_any() const { return !held_.empty(); }
  /// Prints the delayed messages on standard error when all ranks have ended or sent a message, or
  /// the oldest message has waited long enough. Prefixes messages with their ranks: "[ranks 1-3] ".
  /// Omits messages that only refer to rank 0 when rank 0's own message is known.
  void show(bool all_ended);
  /// True when there was only one distinct message, from this rank and from rank 0. everybody: it
  /// must come from all ranks.
  bool is_one(int rank, bool everybody) const;

 private:
  struct Message {
    std::vector<int64_t> ranks;
    std::string text;
  };
  bool has_rank_0() const;
  void print(const Message& message) const;

  int num_ranks_;
  std::vector<std::pair<int64_t, std::string>> held_;
  Clock::time_point held_since_;
  std::vector<Message> shown_;
};

}  // namespace s2s::launch
