#include "s2s_run/bench/collective_case.h"

#include <ATen/ATen.h>

namespace s2s::run {
namespace {

/// Small whole numbers: sums of them are exact.
at::Tensor pattern(int64_t count, at::DeviceType device) {
  return at::arange(count, at::TensorOptions(device).dtype(at::kLong)).remainder(13).to(at::kFloat);
}

}  // namespace

CollectiveCase::CollectiveCase(CollectiveKind kind, Communicator& group, int64_t num_bytes)
    : kind_(kind), group_(group) {
  const int64_t per_rank = std::max<int64_t>(1, num_bytes / 4 / group.size());
  num_bytes_ = kind == CollectiveKind::kBarrier ? 0 : 4 * per_rank * group.size();
  pattern_ = pattern(per_rank * group.size(), group.device_type());
  whole_ = at::empty_like(pattern_);
  part_ = at::empty({per_rank}, pattern_.options());
  received_ = at::empty_like(pattern_);
}

const char* CollectiveCase::name() const {
  return kind_ == CollectiveKind::kSend ? "send and recv" : to_string(kind_);
}

double CollectiveCase::bus_factor() const {
  const auto size = static_cast<double>(group_.size());
  switch (kind_) {
    case CollectiveKind::kAllReduce:
      return 2 * (size - 1) / size;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return (size - 1) / size;
    default:
      return 1;
  }
}

at::Tensor CollectiveCase::whole_of(int64_t rank) const { return pattern_ + rank; }

at::Tensor CollectiveCase::part_of(const at::Tensor& whole, int64_t index) const {
  return whole.narrow(0, index * part_.numel(), part_.numel());
}

void CollectiveCase::fill() {
  const int64_t rank = group_.rank();
  whole_.copy_(whole_of(rank));
  part_.copy_(part_of(whole_of(rank), rank));
  received_.zero_();
  if (kind_ == CollectiveKind::kAllGather) whole_.zero_();
  if (kind_ == CollectiveKind::kReduceScatter) part_.zero_();
}

void CollectiveCase::run() {
  const int64_t size = group_.size(), rank = group_.rank();
  switch (kind_) {
    case CollectiveKind::kAllReduce:
      return group_.all_reduce(whole_).wait();
    case CollectiveKind::kAllGather:
      return group_.all_gather(whole_, part_).wait();
    case CollectiveKind::kReduceScatter:
      return group_.reduce_scatter(part_, whole_).wait();
    case CollectiveKind::kBroadcast:
      return group_.broadcast(whole_, size - 1).wait();
    case CollectiveKind::kAllToAll:
      return group_.all_to_all(received_, whole_).wait();
    case CollectiveKind::kBarrier:
      return group_.barrier().wait();
    default:
      break;
  }
  if (size == 1) return;
  const int64_t next = (rank + 1) % size, before = (rank + size - 1) % size;
  // The even ones send first: NCCL carries out one after the other.
  if (rank % 2 == 0) {
    Collective sending = group_.send(whole_, next);
    group_.recv(received_, before).wait();
    sending.wait();
  } else {
    Collective receiving = group_.recv(received_, before);
    group_.send(whole_, next).wait();
    receiving.wait();
  }
}

at::Tensor CollectiveCase::expected() const {
  const int64_t size = group_.size(), rank = group_.rank();
  const at::Tensor sum = pattern_ * size + size * (size - 1) / 2;
  std::vector<at::Tensor> parts;
  switch (kind_) {
    case CollectiveKind::kAllReduce:
      return sum;
    case CollectiveKind::kReduceScatter:
      return part_of(sum, rank);
    case CollectiveKind::kBroadcast:
      return whole_of(size - 1);
    case CollectiveKind::kAllGather:
      for (int64_t from = 0; from < size; ++from) parts.push_back(part_of(whole_of(from), from));
      return at::cat(parts);
    case CollectiveKind::kAllToAll:
      for (int64_t from = 0; from < size; ++from) parts.push_back(part_of(whole_of(from), rank));
      return at::cat(parts);
    case CollectiveKind::kSend:
      return size == 1 ? at::zeros_like(pattern_) : whole_of((rank + size - 1) % size);
    default:
      return whole_of(rank);
  }
}

const at::Tensor& CollectiveCase::result() const {
  if (kind_ == CollectiveKind::kReduceScatter) return part_;
  const bool receives = kind_ == CollectiveKind::kAllToAll || kind_ == CollectiveKind::kSend;
  return receives ? received_ : whole_;
}

bool CollectiveCase::is_right() const { return at::equal(result(), expected()); }

}  // namespace s2s::run
