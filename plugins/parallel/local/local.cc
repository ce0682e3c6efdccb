// Ranks as threads of one process: layouts of many ranks in a test, without a network.

#include <ATen/ATen.h>
#include <unistd.h>

#include <exception>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "exchange.h"
#include "s2s/plugin.h"

namespace s2s::local {
namespace {

struct LocalOptions {
  void visit(OptionVisitor&) {}
};

at::Tensor part_of(const at::Tensor& whole, size_t index, size_t count) {
  const auto size = whole.numel() / static_cast<int64_t>(count);
  return whole.narrow(0, static_cast<int64_t>(index) * size, size);
}

/// Reduces in rank order, at least in float32.
at::Tensor reduce(const std::vector<at::Tensor>& tensors, Reduction reduction) {
  const bool is_half = tensors[0].is_floating_point() && tensors[0].element_size() < 4;
  const at::ScalarType dtype = is_half ? at::kFloat : tensors[0].scalar_type();
  at::Tensor out = tensors[0].to(dtype, /*non_blocking=*/false, /*copy=*/true);
  for (size_t i = 1; i < tensors.size(); ++i) {
    const at::Tensor next = tensors[i].to(dtype);
    switch (reduction) {
      case Reduction::kMax:
        at::maximum_out(out, out, next);
        break;
      case Reduction::kMin:
        at::minimum_out(out, out, next);
        break;
      default:
        out.add_(next);
    }
  }
  if (reduction == Reduction::kAverage) out.div_(static_cast<double>(tensors.size()));
  return out;
}

void carry_all_reduce(std::vector<Call>& calls, Reduction reduction) {
  std::vector<at::Tensor> tensors;
  for (const Call& call : calls) tensors.push_back(call.input);
  const at::Tensor result = reduce(tensors, reduction);
  for (Call& call : calls) call.output.copy_(result);
}

void carry_all_gather(std::vector<Call>& calls) {
  for (Call& to : calls) {
    for (size_t from = 0; from < calls.size(); ++from) {
      const at::Tensor part = part_of(to.output, from, calls.size());
      if (part.data_ptr() != calls[from].input.data_ptr()) part.copy_(calls[from].input);
    }
  }
}

void carry_reduce_scatter(std::vector<Call>& calls, Reduction reduction) {
  std::vector<at::Tensor> results;  // an output may alias an input
  for (size_t to = 0; to < calls.size(); ++to) {
    std::vector<at::Tensor> parts;
    for (const Call& call : calls) parts.push_back(part_of(call.input, to, calls.size()));
    results.push_back(reduce(parts, reduction));
  }
  for (size_t to = 0; to < calls.size(); ++to) calls[to].output.copy_(results[to]);
}

void carry_broadcast(std::vector<Call>& calls, size_t root) {
  for (size_t to = 0; to < calls.size(); ++to) {
    if (to != root) calls[to].output.copy_(calls[root].input);
  }
}

void carry_all_to_all(std::vector<Call>& calls) {
  for (size_t to = 0; to < calls.size(); ++to) {
    for (size_t from = 0; from < calls.size(); ++from) {
      part_of(calls[to].output, from, calls.size())
          .copy_(part_of(calls[from].input, to, calls.size()));
    }
  }
}

/// A rank's handle of a Step or a Transfer.
template <class Shared>
class LocalWork : public CollectiveWork {
 public:
  LocalWork(std::shared_ptr<Group> group, std::shared_ptr<Shared> shared,
            std::chrono::milliseconds timeout)
      : group_(std::move(group)), shared_(std::move(shared)), timeout_(timeout) {}
  void wait() override { group_->wait(*shared_, timeout_); }
  bool is_done() override { return group_->is_done(shared_->is_done); }

 private:
  std::shared_ptr<Group> group_;
  std::shared_ptr<Shared> shared_;
  std::chrono::milliseconds timeout_;
};

class LocalCommunicator : public Communicator {
 public:
  LocalCommunicator(GroupPlace where, std::shared_ptr<Exchange> exchange, std::string key)
      : Communicator(std::move(where)), exchange_(std::move(exchange)), key_(std::move(key)) {
    group_ = exchange_->group(key_, place().ranks);
  }
  ~LocalCommunicator() override {
    if (std::uncaught_exceptions() > 0) group_->leave(rank());
  }
  at::DeviceType device_type() const override { return at::DeviceType::CPU; }

 protected:
  Work start_all_reduce(at::Tensor tensor, Reduction reduction) override {
    return join("all_reduce", reduction, tensor, tensor,
                [reduction](auto& calls) { carry_all_reduce(calls, reduction); });
  }
  Work start_all_gather(at::Tensor output, at::Tensor input) override {
    return join("all_gather", {}, output, input, carry_all_gather);
  }
  Work start_reduce_scatter(at::Tensor output, at::Tensor input, Reduction reduction) override {
    return join("reduce_scatter", reduction, output, input,
                [reduction](auto& calls) { carry_reduce_scatter(calls, reduction); });
  }
  Work start_broadcast(at::Tensor tensor, int64_t root) override {
    return join("broadcast from " + std::to_string(root), {}, tensor, tensor,
                [root](auto& calls) { carry_broadcast(calls, static_cast<size_t>(root)); });
  }
  Work start_all_to_all(at::Tensor output, at::Tensor input) override {
    return join("all_to_all", {}, output, input, carry_all_to_all);
  }
  Work start_barrier() override {
    const at::Tensor none = at::empty({0}, at::kByte);
    return join("barrier", {}, none, none, [](auto&) {});
  }
  Work start_send(at::Tensor tensor, int64_t to) override {
    return work(group_->send(rank(), to, std::move(tensor)));
  }
  Work start_recv(at::Tensor tensor, int64_t from) override {
    return work(group_->recv(from, rank(), std::move(tensor)));
  }
  std::unique_ptr<Communicator> make_subgroup(GroupPlace where, const std::string& key) override {
    return std::make_unique<LocalCommunicator>(std::move(where), exchange_, key_ + "/" + key);
  }

 private:
  template <class Shared>
  Work work(std::shared_ptr<Shared> shared) {
    return std::make_unique<LocalWork<Shared>>(group_, std::move(shared), place().timeout);
  }
  Work join(const std::string& kind, Reduction reduction, const at::Tensor& output,
            const at::Tensor& input, const Carry& carry) {
    const std::string what = kind + " " + to_string(reduction) + " of " +
                             std::to_string(input.numel()) + " " +
                             c10::toString(input.scalar_type());
    return work(group_->join(sequence_++, rank(), {what, output, input}, carry));
  }

  std::shared_ptr<Exchange> exchange_;
  std::string key_;
  std::shared_ptr<Group> group_;
  int64_t sequence_ = 0;
};

Error other_process_error(int64_t rank) {
  return {
      ExitCode::kCommunication, "comm/one-process",
      "rank " + std::to_string(rank) +
          " is a separate process, but the communicator 'local' connects threads of one process\n"
          "  next:      choose 'gloo' or 'nccl'"};
}

/// Exchanges the address of the shared state through the store. The last rank that reads it frees
/// rank 0's reference.
std::shared_ptr<Exchange> meet(const ProcessPlace& process) {
  c10d::Store& store = *process.store;
  const std::string self = std::to_string(::getpid());
  if (process.rank == 0) {
    auto* const left = new std::shared_ptr<Exchange>(std::make_shared<Exchange>());
    store.set("local/process", self);
    store.set("local/exchange", std::to_string(reinterpret_cast<uintptr_t>(left)));
  }
  store.wait({"local/process", "local/exchange"}, process.timeout);
  if (store.get_to_str("local/process") != self) throw other_process_error(process.rank);
  auto* const left =
      reinterpret_cast<std::shared_ptr<Exchange>*>(std::stoull(store.get_to_str("local/exchange")));
  const std::shared_ptr<Exchange> exchange = *left;
  if (store.add("local/taken", 1) == process.size) delete left;
  return exchange;
}

std::unique_ptr<Communicator> create(const Config& node, const ProcessContext& context) {
  read_options<LocalOptions>(node, context.path);
  if (context.process == nullptr || context.process->size == 1) return make_solo_communicator({});
  return std::make_unique<LocalCommunicator>(world_place(*context.process), meet(*context.process),
                                             "world");
}

Component<Communicator> component() {
  return {.name = "local",
          .summary = "threads of one process, for tests",
          .create = create,
          .options = list_options<LocalOptions>};
}

}  // namespace
}  // namespace s2s::local

S2S_PLUGIN("local", "0.1.0", "Apache-2.0", "communicator:local") {
  registrar.add(s2s::local::component());
}
