// Collectives between processes on CPUs, over TCP, with LibTorch's Gloo.

#define USE_C10D_GLOO
#include <ATen/ATen.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "peer_collectives.h"
#include "peer_memory.h"
#include "s2s/kinds/communicator.h"
#include "s2s/plugin.h"
#include "s2s/threads.h"

namespace s2s::gloo {
namespace {

using c10d::ProcessGroupGloo;
using WorkPointer = c10::intrusive_ptr<c10d::Work>;
using StorePointer = c10::intrusive_ptr<c10d::Store>;

struct GlooOptions {
  std::optional<std::string> interface;
  int64_t threads = 2;
  bool peer_memory = true;
  void visit(OptionVisitor& v) {
    v("interface", interface,
      "network interface, as listed by `ip link`; null: GLOO_SOCKET_IFNAME, or the interface of "
      "this machine's host name");
    v("threads", threads, "number of concurrent collectives per group", between(1, 64));
    v("peer_memory", peer_memory,
      "ranks of one machine read large tensors from each other's memory where the system lets "
      "them; "
      "false: over TCP, as ranks of several machines");
  }
};

/// A collective of Gloo. Computes averages from sums, because Gloo has no average.
class GlooWork : public CollectiveWork {
 public:
  /// `average`: the tensor to divide by `size` in the end; may be undefined.
  explicit GlooWork(WorkPointer work, at::Tensor average = {}, int64_t size = 1)
      : work_(std::move(work)), average_(std::move(average)), size_(size) {}
  void wait() override {
    work_->wait();
    if (average_.defined()) average_.div_(static_cast<double>(size_));
  }
  bool is_done() override { return work_->isCompleted(); }

 private:
  WorkPointer work_;
  at::Tensor average_;
  int64_t size_;
};

/// A group of messages. Each wait gets the current timeout, because Gloo only knows the one from
/// the time of the connection.
class MessagesWork : public CollectiveWork {
 public:
  MessagesWork(std::vector<WorkPointer> messages, std::chrono::milliseconds timeout)
      : messages_(std::move(messages)), timeout_(timeout) {}
  void wait() override {
    for (const WorkPointer& message : messages_) message->wait(timeout_);
    messages_.clear();
  }
  /// Gloo only knows that a message has arrived after waiting for it.
  bool is_done() override { return messages_.empty(); }

 private:
  std::vector<WorkPointer> messages_;
  std::chrono::milliseconds timeout_;
};

/// Gloo's own reduce_scatter reduces the whole tensor on every rank. Here, every rank receives only
/// its part from the other ranks and adds the parts in rank order, at least in float32.
class ReduceScatterWork : public MessagesWork {
 public:
  /// parts: this rank's part of each rank's input; complete after the messages.
  ReduceScatterWork(MessagesWork messages, std::vector<at::Tensor> parts, at::Tensor output,
                    Reduction reduction)
      : MessagesWork(std::move(messages)),
        parts_(std::move(parts)),
        output_(std::move(output)),
        reduction_(reduction) {}

  void wait() override {
    MessagesWork::wait();
    const bool is_half = output_.is_floating_point() && output_.element_size() < 4;
    at::Tensor sum = is_half ? parts_[0].to(at::kFloat) : output_.copy_(parts_[0]);
    for (size_t rank = 1; rank < parts_.size(); ++rank) combine(sum, parts_[rank], reduction_);
    if (reduction_ == Reduction::kAverage) sum.div_(static_cast<double>(parts_.size()));
    if (is_half) output_.copy_(sum);
    parts_.clear();
  }

 private:
  std::vector<at::Tensor> parts_;
  at::Tensor output_;
  Reduction reduction_;
};

c10d::ReduceOp reduce_op(Reduction reduction) {
  switch (reduction) {
    case Reduction::kMax:
      return c10d::ReduceOp::MAX;
    case Reduction::kMin:
      return c10d::ReduceOp::MIN;
    default:
      return c10d::ReduceOp::SUM;
  }
}

struct Network {
  std::shared_ptr<::gloo::transport::Device> device;
  int threads = 2;
  std::shared_ptr<const PeerMemory> memory;
};

/// LibTorch's group, but with threads that are started one by one. Its own constructor hangs, or
/// ends the process, if the second thread cannot be started.
class ThreadedGroup : public ProcessGroupGloo {
 public:
  /// options: must have one thread. Errors: [run/threads]; std::system_error of the first thread.
  ThreadedGroup(const StorePointer& store, int rank, int size,
                const c10::intrusive_ptr<Options>& options, int num_threads)
      : ProcessGroupGloo(store, rank, size, options) {
    {
      const std::lock_guard lock(workMutex_);
      workInProgress_.resize(static_cast<size_t>(num_threads));  // each thread's
    }
    for (int i = 1; i < num_threads; ++i) {
      threads_.push_back(start_thread([this, i] { runLoop(i); }));
    }
  }
};

class GlooCommunicator : public Communicator {
 public:
  GlooCommunicator(GroupPlace group, StorePointer store, const Network& network)
      : Communicator(std::move(group)),
        store_(std::move(store)),
        network_(network),
        timeout_(place().timeout) {
    auto options = ProcessGroupGloo::Options::create(timeout_);
    options->devices.push_back(network.device);
    options->threads = 1;
    group_ = c10::make_intrusive<ThreadedGroup>(store_, static_cast<int>(rank()),
                                                static_cast<int>(size()), options, network.threads);
    if (!network.memory->joins(place().ranks)) return;
    peers_ = std::make_unique<PeerCollectives>(
        network.memory, place(),
        [this](PeerPart own, std::chrono::milliseconds timeout) { return exchange(own, timeout); });
  }
  /// After an error, collectives may never end, so the group is leaked.
  ~GlooCommunicator() override {
    if (std::uncaught_exceptions() == 0) return;
    peers_.release();  // NOLINT
    group_.release();
  }
  at::DeviceType device_type() const override { return at::DeviceType::CPU; }

 protected:
  Work start_all_reduce(at::Tensor tensor, Reduction reduction) override {
    if (is_for_peers(tensor)) return peers_->all_reduce(tensor, reduction, place().timeout);
    std::vector<at::Tensor> tensors = {tensor};
    c10d::AllreduceOptions options;
    options.reduceOp = reduce_op(reduction);
    const bool divides = reduction == Reduction::kAverage;
    return std::make_unique<GlooWork>(group().allreduce(tensors, options),
                                      divides ? tensor : at::Tensor(), size());
  }
  /// c10d's all-gather copies from a buffer; here, messages arrive directly in the output.
  Work start_all_gather(at::Tensor output, at::Tensor input) override {
    if (is_for_peers(input)) return peers_->all_gather(output, input, place().timeout);
    std::vector<WorkPointer> messages;
    for (const int64_t other : others()) {
      at::Tensor place = part_of(output, other);
      messages.push_back(message(place, other, kGather, /*sends=*/false));
    }
    for (const int64_t other : others()) {
      messages.push_back(message(input, other, kGather, /*sends=*/true));
    }
    at::Tensor own = part_of(output, rank());
    if (own.data_ptr() != input.data_ptr()) own.copy_(input);
    return std::make_unique<MessagesWork>(std::move(messages), place().timeout);
  }
  Work start_reduce_scatter(at::Tensor output, at::Tensor input, Reduction reduction) override {
    // Elsewhere in the input, the output would overwrite what others have not read.
    const bool fits =
        !output.is_alias_of(input) || output.data_ptr() == part_of(input, rank()).data_ptr();
    if (fits && is_for_peers(output)) {
      return peers_->reduce_scatter(output, input, reduction, place().timeout);
    }
    at::Tensor own = part_of(input, rank());
    if (output.is_alias_of(input)) own = own.clone();
    std::vector<at::Tensor> parts(static_cast<size_t>(size()), own);
    std::vector<WorkPointer> messages;
    for (const int64_t other : others()) {
      at::Tensor& part = parts[static_cast<size_t>(other)] = received(own);
      messages.push_back(message(part, other, kScatter, /*sends=*/false));
    }
    for (const int64_t other : others()) {
      at::Tensor part = part_of(input, other);
      messages.push_back(message(part, other, kScatter, /*sends=*/true));
    }
    return std::make_unique<ReduceScatterWork>(MessagesWork(std::move(messages), place().timeout),
                                               std::move(parts), std::move(output), reduction);
  }
  Work start_broadcast(at::Tensor tensor, int64_t root) override {
    std::vector<at::Tensor> tensors = {std::move(tensor)};
    c10d::BroadcastOptions options;
    options.rootRank = root;
    return std::make_unique<GlooWork>(group().broadcast(tensors, options));
  }
  Work start_all_to_all(at::Tensor output, at::Tensor input) override {
    std::vector<int64_t> equal_parts;
    return std::make_unique<GlooWork>(
        group().alltoall_base(output, input, equal_parts, equal_parts));
  }
  Work start_send(at::Tensor tensor, int64_t to) override {
    return one_message(message(tensor, to, kMessage, /*sends=*/true));
  }
  Work start_recv(at::Tensor tensor, int64_t from) override {
    return one_message(message(tensor, from, kMessage, /*sends=*/false));
  }
  Work start_barrier() override { return std::make_unique<GlooWork>(group().barrier()); }

  std::unique_ptr<Communicator> make_subgroup(GroupPlace group, const std::string& key) override {
    auto store = c10::make_intrusive<c10d::PrefixStore>(key, store_);
    return std::make_unique<GlooCommunicator>(std::move(group), std::move(store), network_);
  }

 private:
  /// Messages of one kind between two ranks arrive in the order in which they were sent.
  enum Tag { kMessage, kGather, kScatter, kPeer };

  /// Below, the messages that say where memory is take longer than TCP.
  bool is_for_peers(const at::Tensor& tensor) const {
    constexpr size_t kLeastBytes = 64 << 10;
    return peers_ && tensor.nbytes() >= kLeastBytes;
  }
  std::vector<PeerPart> exchange(PeerPart own, std::chrono::milliseconds timeout) {
    const at::Tensor sent = at::empty({2}, at::kLong);
    std::memcpy(sent.mutable_data_ptr(), &own, sizeof own);
    std::vector<at::Tensor> received(static_cast<size_t>(size()), sent);
    std::vector<WorkPointer> messages;
    for (const int64_t other : others()) {
      at::Tensor& place = received[static_cast<size_t>(other)] = at::empty_like(sent);
      std::vector<at::Tensor> tensors = {place};
      messages.push_back(group_->recv(tensors, static_cast<int>(other), kPeer));
    }
    for (const int64_t other : others()) {
      std::vector<at::Tensor> tensors = {sent};
      messages.push_back(group_->send(tensors, static_cast<int>(other), kPeer));
    }
    for (const WorkPointer& message : messages) message->wait(timeout);
    std::vector<PeerPart> parts(received.size());
    for (size_t rank = 0; rank < parts.size(); ++rank) {
      std::memcpy(&parts[rank], received[rank].const_data_ptr(), sizeof(PeerPart));
    }
    return parts;
  }

  /// The run's timeout may change between collectives.
  ProcessGroupGloo& group() {
    if (timeout_ != place().timeout) group_->setTimeout(timeout_ = place().timeout);
    return *group_;
  }
  /// The other ranks, starting with the next one, so that not all ranks send to the same rank at
  /// once.
  std::vector<int64_t> others() const {
    std::vector<int64_t> out;
    for (int64_t i = 1; i < size(); ++i) out.push_back((rank() + i) % size());
    return out;
  }
  at::Tensor part_of(const at::Tensor& whole, int64_t index) const {
    const int64_t numel = whole.numel() / size();
    return whole.narrow(0, index * numel, numel);
  }
  /// A buffer like `part`, reused if one is free. (Allocating it each time takes about as long as
  /// the sum.)
  at::Tensor received(const at::Tensor& part) {
    constexpr size_t kMostKept = 4;
    for (const at::Tensor& kept : kept_) {
      const bool fits = kept.numel() == part.numel() && kept.scalar_type() == part.scalar_type();
      if (fits && kept.use_count() == 1) return kept;
    }
    if (kept_.size() == kMostKept) kept_.erase(kept_.begin());
    kept_.push_back(at::empty_like(part));
    return kept_.back();
  }
  Work one_message(WorkPointer started) const {
    return std::make_unique<MessagesWork>(std::vector<WorkPointer>{std::move(started)},
                                          place().timeout);
  }
  WorkPointer message(at::Tensor& tensor, int64_t other, Tag tag, bool sends) {
    std::vector<at::Tensor> tensors = {tensor};
    return sends ? group().send(tensors, static_cast<int>(other), tag)
                 : group().recv(tensors, static_cast<int>(other), tag);
  }

  StorePointer store_;
  std::vector<at::Tensor> kept_;
  Network network_;
  std::chrono::milliseconds timeout_;  // the timeout that Gloo has
  c10::intrusive_ptr<ProcessGroupGloo> group_;
  std::unique_ptr<PeerCollectives> peers_;  // null: not all ranks can read each other's memory
};

Error network_error(const std::string& reason) {
  return {ExitCode::kCommunication, "comm/network",
          "this machine's network cannot be used: " + reason +
              "\n  next:      name an interface that `ip link` shows, in GLOO_SOCKET_IFNAME"};
}

std::shared_ptr<::gloo::transport::Device> open_device(const GlooOptions& options,
                                                       const ProcessPlace& process) {
  const char* const named = std::getenv("GLOO_SOCKET_IFNAME");
  try {
    if (options.interface || named != nullptr) {
      return ProcessGroupGloo::createDeviceForInterface(
          options.interface ? *options.interface : named);
    }
    if (process.local_size == process.size) {
      return ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
    }
    return ProcessGroupGloo::createDefaultDevice();
  } catch (const std::system_error&) {
    throw;  // from starting a thread
  } catch (const c10::Error& error) {
    throw network_error(error.what_without_backtrace());
  } catch (const std::runtime_error& error) {
    throw network_error(error.what());
  }
}

std::unique_ptr<Communicator> create(const Config& node, const ProcessContext& context) {
  const auto options = read_options<GlooOptions>(node, context.path);
  if (context.process == nullptr || context.process->store == nullptr) {
    return make_solo_communicator({});
  }
  const ProcessPlace& process = *context.process;
  auto store =
      c10::make_intrusive<c10d::PrefixStore>("gloo", StorePointer::reclaim_copy(process.store));
  const Network network = {
      open_device(options, process), static_cast<int>(options.threads),
      std::make_shared<const PeerMemory>(process, *store, options.peer_memory)};
  return std::make_unique<GlooCommunicator>(world_place(process), std::move(store), network);
}

Component<Communicator> component() {
  return {.name = "gloo",
          .summary = "processes on CPUs, over TCP",
          .create = create,
          .options = list_options<GlooOptions>};
}

}  // namespace
}  // namespace s2s::gloo

S2S_PLUGIN("gloo", "0.1.0", "Apache-2.0", "communicator:gloo") {
  registrar.add(s2s::gloo::component());
}
