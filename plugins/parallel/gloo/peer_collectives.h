#pragma once
// Collectives of ranks that read each other's memory.

#include <ATen/core/Tensor.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "peer_memory.h"
#include "s2s/kinds/communicator.h"

namespace s2s::gloo {

/// Where a rank's memory of a collective is.
struct PeerPart {
  int64_t address = 0;
  int64_t num_bytes = 0;
};

/// Sends `own` to all other ranks of the group and returns what each rank has sent, in rank order.
/// Errors: as the group's messages.
using PeerExchange =
    std::function<std::vector<PeerPart>(PeerPart own, std::chrono::milliseconds timeout)>;

/// Combines `part` into `sum`, which has its own dtype. kAverage adds.
void combine(at::Tensor& sum, const at::Tensor& part, Reduction reduction);

/// A group's large collectives, in order, on a thread of their own. Tensors are flat and
/// contiguous. Each rank pulls what it needs. Parts are added in rank order, at least in float32.
class PeerCollectives {
 public:
  /// group: its ranks are joined by `memory`. exchange: is called on the thread.
  PeerCollectives(std::shared_ptr<const PeerMemory> memory, GroupPlace group,
                  PeerExchange exchange);
  /// Ends when the collectives that were started have ended.
  ~PeerCollectives();
  PeerCollectives(const PeerCollectives&) = delete;
  PeerCollectives& operator=(const PeerCollectives&) = delete;

  using Work = std::unique_ptr<CollectiveWork>;
  using Timeout = std::chrono::milliseconds;
  /// As Communicator's. Errors: [run/threads] of the first call.
  Work all_reduce(at::Tensor tensor, Reduction reduction, Timeout timeout);
  Work all_gather(at::Tensor output, at::Tensor input, Timeout timeout);
  Work reduce_scatter(at::Tensor output, at::Tensor input, Reduction reduction, Timeout timeout);

 private:
  Work start(std::function<void()> body);
  void run();
  int64_t size() const { return static_cast<int64_t>(group_.ranks.size()); }
  std::vector<PeerPart> exchange(const at::Tensor& tensor, Timeout timeout) const;
  void reduce(const at::Tensor& output, int64_t offset, const std::vector<PeerPart>& inputs,
              Reduction reduction) const;

  std::shared_ptr<const PeerMemory> memory_;
  GroupPlace group_;
  PeerExchange exchange_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> tasks_;  // guarded by mutex_
  bool ends_ = false;                             // guarded by mutex_
  std::exception_ptr failure_;                    // the first one; used on the thread
  std::thread thread_;                            // started by the first collective
};

}  // namespace s2s::gloo
