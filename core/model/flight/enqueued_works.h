#pragma once
// Collectives that still run on a device after their `wait`. A flight record counts one as finished
// when the device is done with it, so that a collective that hangs there is named.

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "flight/flight_record.h"

namespace s2s {

/// Asks such collectives in intervals whether they are done. A thread asks, because the driver of a
/// device that hangs may not answer. It is started at the first collective: runs on CPUs have none.
/// Not yet run on several GPUs.
class EnqueuedWorks {
 public:
  /// record: must outlive this object.
  explicit EnqueuedWorks(FlightRecord& record);
  /// Asks a last time. If the driver does not answer, the thread is detached.
  ~EnqueuedWorks();
  EnqueuedWorks(const EnqueuedWorks&) = delete;
  EnqueuedWorks& operator=(const EnqueuedWorks&) = delete;

  /// Tells the record when `work` is done. Errors: [run/threads].
  void add(const CollectiveRecord& record, std::unique_ptr<CollectiveWork> work);

 private:
  struct Work {
    CollectiveRecord record;
    std::unique_ptr<CollectiveWork> work;
    bool has_failed = false;
    /// A back end that cannot answer any more has failed.
    bool is_over();
  };
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace s2s
