#pragma once
// Where the ranks of a run say how far they are, for each other: keys of the run's store. A store
// whose keeper hangs does not answer, so that everything is done by a thread that can be left
// behind.

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
  /// What another rank has said last.
  struct Heard {
    std::string text;
    Clock::time_point at;  // when it was new here
  };

  /// beat: how often `say`'s text is put up, and the others' are read.
  ProgressBoard(c10d::Store& store, int64_t rank, int64_t size, std::chrono::milliseconds beat);
  /// Puts up what was said last, unless the store does not answer.
  ~ProgressBoard();
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  /// now: without waiting for the next beat.
  void say(std::string text, bool now = false);
  /// From now on everybody is read in every round. (Large runs read rank 0 only, until then.)
  void watch_all();
  /// By rank; those that have said something.
  std::map<int64_t, Heard> heard() const;
  /// Waits until a round that began after this call is complete. False: not within `limit`.
  bool wait_for_round(std::chrono::milliseconds limit);

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);
  static void make_round(Shared& shared, const std::string& text, bool reads_all);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace s2s
