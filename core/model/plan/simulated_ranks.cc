#include "plan/simulated_ranks.h"

#include <numeric>

#include "s2s/error.h"

namespace s2s {
namespace {

class SimulatedRanks : public Communicator {
 public:
  explicit SimulatedRanks(GroupPlace place) : Communicator(std::move(place)) {}
  at::DeviceType device_type() const override { return at::kCPU; }

 protected:
  Work start_all_reduce(at::Tensor, Reduction) override { return refuse(); }
  Work start_all_gather(at::Tensor, at::Tensor) override { return refuse(); }
  Work start_reduce_scatter(at::Tensor, at::Tensor, Reduction) override { return refuse(); }
  Work start_broadcast(at::Tensor, int64_t) override { return refuse(); }
  Work start_all_to_all(at::Tensor, at::Tensor) override { return refuse(); }
  Work start_send(at::Tensor, int64_t) override { return refuse(); }
  Work start_recv(at::Tensor, int64_t) override { return refuse(); }
  Work start_barrier() override { return refuse(); }
  std::unique_ptr<Communicator> make_subgroup(GroupPlace place, const std::string&) override {
    return std::make_unique<SimulatedRanks>(std::move(place));
  }

 private:
  static Work refuse() {
    S2S_ASSERT(false, "nobody is there to answer");
    return nullptr;
  }
};

}  // namespace

std::unique_ptr<Communicator> make_simulated_ranks(int64_t size) {
  GroupPlace place;
  place.ranks.resize(static_cast<size_t>(size));
  std::iota(place.ranks.begin(), place.ranks.end(), int64_t{0});
  return std::make_unique<SimulatedRanks>(std::move(place));
}

}  // namespace s2s
