#pragma once
// Ranks that have the test device: what they exchange goes through pinned memory and Gloo.

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "s2s/kinds/communicator.h"

namespace s2s::test {

class StagedCommunicator : public Communicator {
 public:
  /// over: of the same ranks, on CPUs.
  StagedCommunicator(std::unique_ptr<Communicator> over, at::DeviceType device)
      : Communicator(over->place()), over_(std::move(over)), device_(device) {}
  at::DeviceType device_type() const override { return device_; }

 protected:
  Work start_all_reduce(at::Tensor tensor, Reduction reduction) override {
    const at::Tensor here = on_host(tensor);
    return bring(over_->all_reduce(here, reduction), here, tensor);
  }
  Work start_all_gather(at::Tensor output, at::Tensor input) override {
    const at::Tensor whole = like(output), part = on_host(input);
    return bring(over_->all_gather(whole, part), whole, output, part);
  }
  Work start_reduce_scatter(at::Tensor output, at::Tensor input, Reduction reduction) override {
    const at::Tensor part = like(output), whole = on_host(input);
    return bring(over_->reduce_scatter(part, whole, reduction), part, output, whole);
  }
  Work start_broadcast(at::Tensor tensor, int64_t root) override {
    const at::Tensor here = on_host(tensor);
    return bring(over_->broadcast(here, root), here, tensor);
  }
  Work start_all_to_all(at::Tensor output, at::Tensor input) override {
    const at::Tensor received = like(output), sent = on_host(input);
    return bring(over_->all_to_all(received, sent), received, output, sent);
  }
  Work start_send(at::Tensor tensor, int64_t to) override {
    const at::Tensor here = on_host(tensor);
    return bring(over_->send(here, to), here, {});
  }
  Work start_recv(at::Tensor tensor, int64_t from) override {
    const at::Tensor here = like(tensor);
    return bring(over_->recv(here, from), here, tensor);
  }
  Work start_barrier() override { return bring(over_->barrier(), {}, {}); }
  std::unique_ptr<Communicator> make_subgroup(GroupPlace group, const std::string&) override {
    std::vector<int64_t> members;  // numbered within this group
    const std::vector<int64_t>& all = place().ranks;
    for (const int64_t rank : group.ranks) {
      members.push_back(std::find(all.begin(), all.end(), rank) - all.begin());
    }
    return std::make_unique<StagedCommunicator>(over_->subgroup(members, group.name), device_);
  }

 private:
  /// Ends with the result on its way to the device, on the stream that waits.
  class Staged : public CollectiveWork {
   public:
    Staged(Collective collective, at::Tensor here, at::Tensor there, at::Tensor kept)
        : collective_(std::move(collective)),
          here_(std::move(here)),
          there_(std::move(there)),
          kept_(std::move(kept)) {}
    void wait() override {
      collective_.wait();
      if (there_.defined()) there_.copy_(here_, /*non_blocking=*/true);
    }
    bool is_done() override { return collective_.is_done(); }

   private:
    Collective collective_;
    at::Tensor here_, there_, kept_;
  };

  static at::Tensor like(const at::Tensor& tensor) {
    return at::empty(tensor.sizes(), tensor.options().device(at::kCPU).pinned_memory(true));
  }
  static at::Tensor on_host(const at::Tensor& tensor) { return like(tensor).copy_(tensor); }
  static Work bring(Collective collective, at::Tensor here, at::Tensor there,
                    at::Tensor kept = {}) {
    return std::make_unique<Staged>(std::move(collective), std::move(here), std::move(there),
                                    std::move(kept));
  }

  std::unique_ptr<Communicator> over_;
  at::DeviceType device_;
};

}  // namespace s2s::test
