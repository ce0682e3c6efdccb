#include <ATen/ATen.h>

#include "s2s/error.h"
#include "s2s/kinds/communicator.h"

namespace s2s {
namespace {

/// A group of one: what goes in comes out.
class SoloCommunicator : public Communicator {
 public:
  SoloCommunicator(GroupPlace place, at::DeviceType device_type)
      : Communicator(std::move(place)), device_type_(device_type) {
    S2S_ASSERT(size() == 1, "a group of one");
  }
  at::DeviceType device_type() const override { return device_type_; }

 protected:
  Work start_all_reduce(at::Tensor, Reduction) override { return nullptr; }
  Work start_all_gather(at::Tensor output, at::Tensor input) override {
    return copy(output, input);
  }
  Work start_reduce_scatter(at::Tensor output, at::Tensor input, Reduction) override {
    return copy(output, input);
  }
  Work start_broadcast(at::Tensor, int64_t) override { return nullptr; }
  Work start_all_to_all(at::Tensor output, at::Tensor input) override {
    return copy(output, input);
  }
  Work start_send(at::Tensor, int64_t) override { return nullptr; }  // there is nobody
  Work start_recv(at::Tensor, int64_t) override { return nullptr; }
  Work start_barrier() override { return nullptr; }
  std::unique_ptr<Communicator> make_subgroup(GroupPlace place, const std::string&) override {
    return make_solo_communicator(std::move(place), device_type_);
  }

 private:
  static Work copy(at::Tensor& output, const at::Tensor& input) {
    if (output.data_ptr() != input.data_ptr()) output.copy_(input);
    return nullptr;
  }

  at::DeviceType device_type_;
};

}  // namespace

std::unique_ptr<Communicator> make_solo_communicator(GroupPlace place, at::DeviceType device_type) {
  return std::make_unique<SoloCommunicator>(std::move(place), device_type);
}

}  // namespace s2s
