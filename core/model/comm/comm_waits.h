#pragma once
// How long a rank waits for its collectives.

#include <ATen/record_function.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/moment.h"
#include "s2s/kinds/communicator.h"

namespace s2s {

/// Measures the time inside `Collective::wait`: on a CPU the time of the host, on a GPU that of the
/// stream that waits. Collectives that are over by then took no time of their own. Passes all
/// events on to another observer.
class CommWaits : public CollectiveObserver {
 public:
  /// `next`: receives all events too; not owned; may be null.
  explicit CommWaits(CollectiveObserver* next) : next_(next) {}

  struct Wait {
    Moment begin, end;
  };
  /// Returns the waits that ended since the last call.
  std::vector<Wait> take();
  /// The device whose streams wait. Default: a CPU.
  void set_device(at::Device device) { device_ = device; }
  /// While on, each wait is a range of the profiler ("wait for all_gather layers.3").
  void annotate(bool on) { annotates_ = on; }

  void started(const CollectiveRecord& record, const GroupPlace& place) override;
  void waiting(const CollectiveRecord& record) override;
  void finished(const CollectiveRecord& record, bool failed) override;
  void enqueued(const CollectiveRecord& record, std::unique_ptr<CollectiveWork> work) override;
  std::chrono::milliseconds time_limit(std::chrono::milliseconds usual) const override;
  std::string explain_failure(const CollectiveRecord& record, const GroupPlace& place,
                              const std::string& reason) override;

 private:
  struct Open {
    Moment begin;
    std::unique_ptr<at::RecordFunction> range;  // null unless the profiler runs
  };
  void end(const CollectiveRecord& record);

  CollectiveObserver* next_;
  at::Device device_ = at::kCPU;
  std::atomic<bool> annotates_ = false;
  std::mutex mutex_;                                      // guards the members below
  std::map<std::pair<std::string, int64_t>, Open> open_;  // by group and sequence
  std::vector<Wait> waits_;
};

}  // namespace s2s
