#pragma once
// The ranks of a run publish their progress for each other as keys of the run's store. When the
// process with the store hangs, the store does not answer. Therefore a thread does all requests,
// and it can be abandoned.

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace s2s {

class ProgressBoard {
 public:
  using Clock = std::chrono::steady_clock;
  struct Heard {
    std::string text;
    Clock::time_point at;  // when it was first seen here
  };

  /// beat: interval at which `say`'s text is published and the other reports are read.
  ProgressBoard(c10d::Store& store, int64_t rank, int64_t size, std::chrono::milliseconds beat);
  /// Publishes the last report, unless the store does not answer.
  ~ProgressBoard();
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  /// now: publish at once instead of at the next beat.
  void say(std::string text, bool now = false);
  /// From now on, every round reads all ranks. (In large runs, rounds read only rank 0 until then.)
  void watch_all();
  /// Returns the last reports by rank, for ranks that have reported.
  std::map<int64_t, Heard> heard() const;
  /// Waits until a round that began after this call is complete. Returns false after `limit`.
  bool wait_for_round(std::chrono::milliseconds limit);

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);
  static void make_round(Shared& shared, const std::string& text, bool reads_all);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace s2s
