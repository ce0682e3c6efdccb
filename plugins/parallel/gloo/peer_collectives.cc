#include "peer_collectives.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "s2s/threads.h"

namespace s2s::gloo {
namespace {

/// Small enough for the second-level cache, and for one thread of LibTorch's operators.
constexpr int64_t kChunkElements = 32768;

class PeerWork : public CollectiveWork {
 public:
  explicit PeerWork(std::future<void> done) : done_(std::move(done)) {}
  void wait() override { done_.get(); }
  bool is_done() override {
    return !done_.valid() || done_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }

 private:
  std::future<void> done_;
};

int64_t address_of(const at::Tensor& tensor) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(tensor.const_data_ptr()));
}

/// Elements of a flat tensor as one of its own: writing to it leaves the version counter alone, as
/// a network does.
at::Tensor elements(const at::Tensor& tensor, int64_t begin, int64_t count) {
  auto* const data = static_cast<char*>(tensor.data_ptr()) + begin * tensor.element_size();
  return at::from_blob(data, {count}, tensor.options().requires_grad(false));
}

}  // namespace

void combine(at::Tensor& sum, const at::Tensor& part, Reduction reduction) {
  switch (reduction) {
    case Reduction::kMax:
      at::maximum_out(sum, sum, part.to(sum.scalar_type()));
      break;
    case Reduction::kMin:
      at::minimum_out(sum, sum, part.to(sum.scalar_type()));
      break;
    default:
      sum.add_(part);
  }
}

PeerCollectives::PeerCollectives(std::shared_ptr<const PeerMemory> memory, GroupPlace group,
                                 PeerExchange exchange)
    : memory_(std::move(memory)), group_(std::move(group)), exchange_(std::move(exchange)) {}

PeerCollectives::~PeerCollectives() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

PeerCollectives::Work PeerCollectives::start(std::function<void()> body) {
  std::packaged_task<void()> task([this, body = std::move(body)] {
    if (failure_) std::rethrow_exception(failure_);  // the others are somewhere else in the order
    try {
      body();
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
  });
  auto work = std::make_unique<PeerWork>(task.get_future());
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  if (!thread_.joinable()) thread_ = start_thread([this] { run(); });
  changed_.notify_one();
  return work;
}

void PeerCollectives::run() {
  run_operators_on_this_thread();
  const at::NoGradGuard no_grad;
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ends_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::packaged_task<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
  }
}

std::vector<PeerPart> PeerCollectives::exchange(const at::Tensor& tensor, Timeout timeout) const {
  const PeerPart own = {address_of(tensor), static_cast<int64_t>(tensor.nbytes())};
  std::vector<PeerPart> parts = exchange_(own, timeout);
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    if (parts[rank].num_bytes == own.num_bytes) continue;
    throw std::runtime_error(fmt::format(
        "rank {} calls it with {} bytes, rank {} with {}", group_.ranks[rank],
        parts[rank].num_bytes, group_.ranks[static_cast<size_t>(group_.rank)], own.num_bytes));
  }
  return parts;
}

/// Combines `output.numel()` elements of each rank's input, from byte `offset` on.
void PeerCollectives::reduce(const at::Tensor& output, int64_t offset,
                             const std::vector<PeerPart>& inputs, Reduction reduction) const {
  const bool is_half = output.is_floating_point() && output.element_size() < 4;
  const int64_t most = std::min(kChunkElements, output.numel());
  const auto options = output.options().requires_grad(false);
  const at::Tensor read = at::empty({most}, options);
  const at::Tensor sums = at::empty({most}, is_half ? options.dtype(at::kFloat) : options);
  for (int64_t begin = 0; begin < output.numel(); begin += most) {
    const int64_t count = std::min(most, output.numel() - begin);
    const at::Tensor part = read.narrow(0, 0, count);
    at::Tensor sum = sums.narrow(0, 0, count);
    for (size_t rank = 0; rank < inputs.size(); ++rank) {
      const auto from =
          static_cast<uint64_t>(inputs[rank].address + offset + begin * output.element_size());
      if (static_cast<int64_t>(rank) == group_.rank) {
        // NOLINTNEXTLINE: this rank's own memory
        std::memcpy(part.mutable_data_ptr(), reinterpret_cast<const void*>(from), part.nbytes());
      } else {
        memory_->read(group_.ranks[rank], from, part.mutable_data_ptr(), part.nbytes());
      }
      if (rank == 0)
        sum.copy_(part);
      else
        combine(sum, part, reduction);
    }
    if (reduction == Reduction::kAverage) sum.div_(static_cast<double>(size()));
    elements(output, begin, count).copy_(sum);
  }
}

PeerCollectives::Work PeerCollectives::all_reduce(at::Tensor tensor, Reduction reduction,
                                                  Timeout timeout) {
  return start([this, tensor = std::move(tensor), reduction, timeout] {
    const std::vector<PeerPart> inputs = exchange(tensor, timeout);
    const int64_t part = (tensor.numel() + size() - 1) / size();
    const auto begin_of = [&](int64_t rank) { return std::min(rank * part, tensor.numel()); };
    const auto count_of = [&](int64_t rank) { return begin_of(rank + 1) - begin_of(rank); };
    const int64_t own = begin_of(group_.rank);
    reduce(elements(tensor, own, count_of(group_.rank)), own * tensor.element_size(), inputs,
           reduction);
    exchange(tensor, timeout);  // all parts are combined
    for (int64_t i = 1; i < size(); ++i) {
      const int64_t other = (group_.rank + i) % size();
      const at::Tensor place = elements(tensor, begin_of(other), count_of(other));
      memory_->read(group_.ranks[static_cast<size_t>(other)],
                    static_cast<uint64_t>(inputs[static_cast<size_t>(other)].address +
                                          begin_of(other) * tensor.element_size()),
                    place.mutable_data_ptr(), place.nbytes());
    }
    exchange(tensor, timeout);  // all parts are read
  });
}

PeerCollectives::Work PeerCollectives::all_gather(at::Tensor output, at::Tensor input,
                                                  Timeout timeout) {
  return start([this, output = std::move(output), input = std::move(input), timeout] {
    const std::vector<PeerPart> inputs = exchange(input, timeout);
    for (int64_t i = 0; i < size(); ++i) {
      const int64_t other = (group_.rank + i) % size();
      const at::Tensor place = elements(output, other * input.numel(), input.numel());
      if (i == 0) {
        std::memmove(place.mutable_data_ptr(), input.const_data_ptr(), input.nbytes());
      } else {
        memory_->read(group_.ranks[static_cast<size_t>(other)],
                      static_cast<uint64_t>(inputs[static_cast<size_t>(other)].address),
                      place.mutable_data_ptr(), place.nbytes());
      }
    }
    exchange(input, timeout);  // all parts are read
  });
}

PeerCollectives::Work PeerCollectives::reduce_scatter(at::Tensor output, at::Tensor input,
                                                      Reduction reduction, Timeout timeout) {
  return start([this, output = std::move(output), input = std::move(input), reduction, timeout] {
    const std::vector<PeerPart> inputs = exchange(input, timeout);
    const auto num_bytes = static_cast<int64_t>(output.nbytes());
    const int64_t own = group_.rank * num_bytes;
    reduce(output, own, inputs, reduction);
    exchange(input, timeout);  // all parts are read
  });
}

}  // namespace s2s::gloo
