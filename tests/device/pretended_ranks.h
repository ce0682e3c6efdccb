#pragma once
// One rank of a run whose other ranks are not there. Each group has its own stream, as NCCL's
// groups have: a collective starts when the current stream reaches the call, `wait` makes the
// current stream wait for it, and the host waits for neither. All ranks are taken to have what this
// one has. On a CPU, everything happens at once.

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/side_stream.h"
#include "s2s/kinds/communicator.h"

namespace s2s::test {

/// The groups of several ranks that a rank made, in order: "shard[0,1]".
using OpenedGroups = std::vector<std::string>;

class PretendedRanks : public Communicator {
 public:
  struct Settings {
    at::Device device = at::kCPU;
    OpenedGroups* opened = nullptr;
    std::string forgotten;  // a group whose `wait` does nothing, as if nobody called it
  };
  PretendedRanks(GroupPlace place, const Settings& settings)
      : Communicator(std::move(place)), settings_(settings), stream_(settings.device) {}
  /// What nobody waited for ends here, before its memory and its stream are used again.
  ~PretendedRanks() override { stream_.synchronize(); }
  at::DeviceType device_type() const override { return settings_.device.type(); }

 protected:
  Work start_all_reduce(at::Tensor tensor, Reduction reduction) override {
    return bring(of_all(tensor, reduction), tensor);
  }
  Work start_all_gather(at::Tensor output, at::Tensor input) override {
    return bring(input.repeat({size()}), output);
  }
  Work start_reduce_scatter(at::Tensor output, at::Tensor input, Reduction reduction) override {
    return bring(of_all(input.narrow(0, rank() * output.numel(), output.numel()), reduction),
                 output);
  }
  Work start_broadcast(at::Tensor tensor, int64_t) override { return bring(tensor, tensor); }
  Work start_all_to_all(at::Tensor output, at::Tensor input) override {
    return bring(input, output);
  }
  Work start_send(at::Tensor, int64_t) override { return nullptr; }
  Work start_recv(at::Tensor, int64_t) override { return nullptr; }
  Work start_barrier() override { return nullptr; }
  std::unique_ptr<Communicator> make_subgroup(GroupPlace place, const std::string&) override {
    if (settings_.opened != nullptr) settings_.opened->push_back(text(place));
    return std::make_unique<PretendedRanks>(std::move(place), settings_);
  }

 private:
  class Copy : public CollectiveWork {
   public:
    Copy(const PretendedRanks& group, StreamMark mark) : group_(group), mark_(std::move(mark)) {}
    void wait() override {
      if (group_.place().name != group_.settings_.forgotten) group_.stream_.wait_for(mark_);
    }
    bool is_done() override { return !mark_ || mark_->query(); }

   private:
    const PretendedRanks& group_;
    StreamMark mark_;
  };

  static std::string text(const GroupPlace& place) {
    std::string out = place.name + "[";
    for (const int64_t rank : place.ranks) {
      out += (out.back() == '[' ? "" : ",") + std::to_string(rank);
    }
    return out + "]";
  }

  at::Tensor of_all(const at::Tensor& values, Reduction reduction) const {
    return reduction == Reduction::kSum ? values * size() : values;
  }

  /// What is sent is read at once; what is received arrives late, on the group's stream. The test
  /// device hurries when memory that a late copy reads is freed, so nothing is freed.
  Work bring(const at::Tensor& values, const at::Tensor& output) {
    sent_.push_back(values.clone());
    return std::make_unique<Copy>(
        *this, stream_.run([&] { output.copy_(sent_.back(), /*non_blocking=*/true); }));
  }

  Settings settings_;
  SideStream stream_;
  std::vector<at::Tensor> sent_;
};

/// `rank` of `size` ranks.
inline std::unique_ptr<Communicator> pretended_world(int64_t rank, int64_t size,
                                                     const PretendedRanks::Settings& settings) {
  ProcessPlace process;
  process.rank = rank;
  process.size = size;
  return std::make_unique<PretendedRanks>(world_place(process), settings);
}

}  // namespace s2s::test
