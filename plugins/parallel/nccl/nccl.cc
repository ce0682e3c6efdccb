// Collectives between GPUs, with LibTorch's NCCL. Each group has its own stream. A collective
// starts when the current stream reaches the call, and `wait` makes the current stream wait for it.
// Run on one GPU, not yet on several.

#define USE_C10D_NCCL
#include <ATen/ATen.h>
#include <c10/cuda/CUDAFunctions.h>
#include <nccl.h>

#include <cstdlib>
#include <exception>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "s2s/kinds/communicator.h"
#include "s2s/plugin.h"

namespace s2s::nccl {
namespace {

using c10d::ProcessGroupNCCL;
using StorePointer = c10::intrusive_ptr<c10d::Store>;

struct NcclOptions {
  bool high_priority = true;
  void visit(OptionVisitor& v) {
    v("high_priority", high_priority,
      "give the streams of collectives a higher priority than compute streams");
  }
};

class NcclWork : public CollectiveWork {
 public:
  explicit NcclWork(c10::intrusive_ptr<c10d::Work> work) : work_(std::move(work)) {}
  void wait() override {
    work_->wait();
    let_go_of_outputs();
  }
  bool is_done() override { return work_->isCompleted(); }

 private:
  /// A copy of LibTorch's object has its events, but not the outputs: their memory is needed before
  /// the device has come to the collective.
  void let_go_of_outputs() {
    const auto* const whole = dynamic_cast<ProcessGroupNCCL::WorkNCCL*>(work_.get());
    if (whole != nullptr) work_ = c10::make_intrusive<ProcessGroupNCCL::WorkNCCL>(*whole);
  }

  c10::intrusive_ptr<c10d::Work> work_;
};

c10d::ReduceOp reduce_op(Reduction reduction) {
  switch (reduction) {
    case Reduction::kAverage:
      return c10d::ReduceOp::AVG;
    case Reduction::kMax:
      return c10d::ReduceOp::MAX;
    case Reduction::kMin:
      return c10d::ReduceOp::MIN;
    default:
      return c10d::ReduceOp::SUM;
  }
}

class NcclCommunicator : public Communicator {
 public:
  /// Connects the group. parent: a group of the same ranks, or null.
  NcclCommunicator(GroupPlace where, StorePointer store, c10::DeviceIndex device,
                   bool high_priority, c10::intrusive_ptr<ProcessGroupNCCL> parent = {})
      : Communicator(std::move(where)),
        store_(std::move(store)),
        device_(device),
        high_priority_(high_priority),
        timeout_(place().timeout) {
    auto options = ProcessGroupNCCL::Options::create(high_priority);
    options->timeout = timeout_;
    options->group_name = place().name;
    for (const int64_t member : place().ranks) {
      options->global_ranks_in_group.push_back(static_cast<uint64_t>(member));
    }
    // Only a group of all ranks of its parent is split from it: all ranks of a parent have to take
    // part, and ranks outside of a group do not. Resources are not shared, because NCCL would then
    // run the collectives of both groups in one order.
    if (parent) {
      options->split_from = std::move(parent);
      options->split_color = 0;
    }
    group_ = c10::make_intrusive<ProcessGroupNCCL>(store_, static_cast<int>(rank()),
                                                   static_cast<int>(size()), options);
    // Otherwise the first collective connects, perhaps in a hook of the backward pass.
    group_->eagerConnectSingleDevice(at::Device(at::kCUDA, device_));
  }
  /// A group whose run ends by an error may have collectives that never end. Otherwise they end
  /// first: without shutdown, LibTorch's destructor aborts what is still on the device.
  ~NcclCommunicator() override {
    try {
      if (std::uncaught_exceptions() == 0) {
        group_->shutdown();
        return;
      }
    } catch (const std::exception&) {  // nothing uses the group any more
    }
    group_->abort();
  }
  at::DeviceType device_type() const override { return at::DeviceType::CUDA; }

 protected:
  Work start_all_reduce(at::Tensor tensor, Reduction reduction) override {
    std::vector<at::Tensor> tensors = {std::move(tensor)};
    c10d::AllreduceOptions options;
    options.reduceOp = reduce_op(reduction);
    return work(group().allreduce(tensors, options));
  }
  Work start_all_gather(at::Tensor output, at::Tensor input) override {
    return work(group()._allgather_base(output, input));
  }
  Work start_reduce_scatter(at::Tensor output, at::Tensor input, Reduction reduction) override {
    c10d::ReduceScatterOptions options;
    options.reduceOp = reduce_op(reduction);
    return work(group()._reduce_scatter_base(output, input, options));
  }
  Work start_broadcast(at::Tensor tensor, int64_t root) override {
    std::vector<at::Tensor> tensors = {std::move(tensor)};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    return work(group().broadcast(tensors, options));
  }
  Work start_all_to_all(at::Tensor output, at::Tensor input) override {
    std::vector<int64_t> equal_parts;
    return work(group().alltoall_base(output, input, equal_parts, equal_parts));
  }
  Work start_send(at::Tensor tensor, int64_t to) override {
    std::vector<at::Tensor> tensors = {std::move(tensor)};
    return work(group().send(tensors, static_cast<int>(to), 0));
  }
  Work start_recv(at::Tensor tensor, int64_t from) override {
    std::vector<at::Tensor> tensors = {std::move(tensor)};
    return work(group().recv(tensors, static_cast<int>(from), 0));
  }
  Work start_barrier() override {
    c10d::BarrierOptions options;
    options.device_ids = {device_};
    return work(group().barrier(options));
  }
  std::unique_ptr<Communicator> make_subgroup(GroupPlace where, const std::string& key) override {
    auto store = c10::make_intrusive<c10d::PrefixStore>(key, store_);
    const bool has_all_ranks = where.ranks == place().ranks;
    return std::make_unique<NcclCommunicator>(
        std::move(where), std::move(store), device_, high_priority_,
        has_all_ranks ? group_ : c10::intrusive_ptr<ProcessGroupNCCL>());
  }

 private:
  static Work work(c10::intrusive_ptr<c10d::Work> started) {
    return std::make_unique<NcclWork>(std::move(started));
  }

  /// The run's timeout may change between collectives.
  ProcessGroupNCCL& group() {
    if (timeout_ != place().timeout) group_->setTimeout(timeout_ = place().timeout);
    return *group_;
  }

  StorePointer store_;
  c10::DeviceIndex device_;
  bool high_priority_;
  std::chrono::milliseconds timeout_;  // the timeout of NCCL's watchdog
  c10::intrusive_ptr<ProcessGroupNCCL> group_;
};

Error no_gpu_error(const ProcessPlace& process, int num_gpus) {
  return {ExitCode::kCommunication, "comm/no-gpu",
          "local rank " + std::to_string(process.local_rank) + " has no GPU: this machine has " +
              std::to_string(num_gpus) +
              "\n  next:      start one process for each GPU, or choose the communicator 'gloo'"};
}

/// LibTorch's structures contain NCCL's by value, so versions must be equal.
Error version_error(int version) {
  return {ExitCode::kCommunication, "comm/nccl-version",
          "the plugin was built with NCCL " + std::to_string(NCCL_VERSION_CODE) +
              " and runs with " + std::to_string(version) +
              "\n  next:      build again with this LibTorch"};
}

/// SLURM's --gpus-per-task and many containers show each process its own GPU only.
int64_t gpu_of(const ProcessPlace& process, int num_gpus) {
  const bool is_bound = num_gpus == 1 && std::getenv("CUDA_VISIBLE_DEVICES") != nullptr;
  return is_bound ? 0 : process.local_rank;
}

std::unique_ptr<Communicator> create(const Config& node, const ProcessContext& context) {
  const auto options = read_options<NcclOptions>(node, context.path);
  const ProcessPlace process = context.process == nullptr ? ProcessPlace() : *context.process;
  const int num_gpus = c10::cuda::device_count();
  if (gpu_of(process, num_gpus) >= num_gpus) throw no_gpu_error(process, num_gpus);
  int version = 0;
  ncclGetVersion(&version);
  if (version != NCCL_VERSION_CODE) throw version_error(version);
  if (process.store == nullptr) return make_solo_communicator({}, at::DeviceType::CUDA);
  const auto device = static_cast<c10::DeviceIndex>(gpu_of(process, num_gpus));
  c10::cuda::set_device(device);
  auto store =
      c10::make_intrusive<c10d::PrefixStore>("nccl", StorePointer::reclaim_copy(process.store));
  return std::make_unique<NcclCommunicator>(world_place(process), std::move(store), device,
                                            options.high_priority);
}

Component<Communicator> component() {
  return {.name = "nccl",
          .summary = "processes with one GPU each",
          .create = create,
          .options = list_options<NcclOptions>};
}

}  // namespace
}  // namespace s2s::nccl

S2S_PLUGIN("nccl", "0.1.0", "Apache-2.0", "communicator:nccl") {
  registrar.add(s2s::nccl::component());
}
