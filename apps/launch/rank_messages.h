#pragma once
// The messages with which ranks end, held for a moment so that equal ones are shown once.

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace s2s::launch {

/// A rank that ended only because rank 0 did says no more than that.
bool points_at_rank_0(const std::string& message);

class RankMessages {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RankMessages(int num_ranks) : num_ranks_(num_ranks) {}

  void hold(int rank, std::string message);
  bool holds_any() const { return !held_.empty(); }
  /// Prints what is held on standard error when all ranks have ended or spoken, or the first one
  /// has waited long enough. Of several ranks: behind "[ranks 1-3] ". What only points at the
  /// message of rank 0 is left out when that is there.
  void show(bool all_ended);
  /// Everything that was said was one message, of this rank and of rank 0. everybody: of all ranks.
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
