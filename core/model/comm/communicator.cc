#include "s2s/kinds/communicator.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "comm/comm_errors.h"
#include "comm/group_connection.h"
#include "comm/rank_list.h"
#include "s2s/error.h"

namespace s2s {
namespace {

/// Throws the error of a failed collective, with the observer's explanation.
[[noreturn]] void fail(const CollectiveRecord& record, const GroupPlace& place,
                       CollectiveObserver* observer, const std::string& reason) {
  throw comm_errors::collective(
      record, place, reason,
      observer == nullptr ? std::string() : observer->explain_failure(record, place, reason));
}

/// Back ends throw various exception types. Uses the text of a c10::Error without its stack trace.
[[noreturn]] void rethrow(const CollectiveRecord& record, const GroupPlace& place,
                          CollectiveObserver* observer) {
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    fail(record, place, observer, error.what_without_backtrace());
  } catch (const std::logic_error&) {
    throw;  // an assertion
  } catch (const std::exception& error) {
    fail(record, place, observer, error.what());
  }
}

/// Notifies the observer, and takes over the time limit for the following collectives.
void tell_started(CollectiveObserver* observer, const CollectiveRecord& record, GroupPlace& place) {
  if (observer == nullptr) return;
  place.timeout = observer->time_limit(place.timeout);
  observer->started(record, place);
}

void check_tensor(const at::Tensor& tensor, const Communicator& group) {
  S2S_ASSERT(tensor.defined() && tensor.is_contiguous(), "collectives take contiguous tensors");
  if (group.size() == 1 || tensor.device().type() == group.device_type()) return;
  throw comm_errors::tensor_device(group.place(), group.device_type(), tensor.device());
}

void check_pair(const at::Tensor& whole, const at::Tensor& part, const Communicator& group) {
  check_tensor(whole, group);
  check_tensor(part, group);
  S2S_ASSERT(whole.scalar_type() == part.scalar_type(), "one type on both sides");
  S2S_ASSERT(whole.numel() == part.numel() * group.size(), "a part for each rank");
}

void check_peer(int64_t peer, const Communicator& group) {
  S2S_ASSERT(peer >= 0 && peer < group.size(), "a rank of the group");
}

at::Tensor flat(const at::Tensor& tensor) { return tensor.detach().view({-1}); }

CollectiveRecord record_of(CollectiveKind kind, std::string_view name, const at::Tensor& tensor) {
  CollectiveRecord record;
  record.kind = kind;
  record.name = name;
  record.num_bytes = static_cast<int64_t>(tensor.nbytes());
  record.dtype = tensor.scalar_type();
  return record;
}

/// A group of one rank: outputs equal inputs.
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
  Work start_send(at::Tensor, int64_t) override { return nullptr; }  // there is no other rank
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

const char* to_string(Reduction reduction) {
  constexpr const char* kNames[] = {"sum", "average", "max", "min"};
  return kNames[static_cast<size_t>(reduction)];
}

const char* to_string(CollectiveKind kind) {
  constexpr const char* kNames[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                    "all_to_all", "send",       "recv",           "barrier"};
  return kNames[static_cast<size_t>(kind)];
}

GroupPlace world_place(const ProcessPlace& process) {
  GroupPlace place;
  place.ranks.resize(static_cast<size_t>(process.size));
  for (size_t i = 0; i < place.ranks.size(); ++i) place.ranks[i] = static_cast<int64_t>(i);
  place.rank = process.rank;
  place.timeout = process.timeout;
  return place;
}

Collective::Collective(Communicator& communicator, CollectiveRecord record,
                       std::unique_ptr<CollectiveWork> work)
    : communicator_(&communicator), record_(std::move(record)), work_(std::move(work)) {}

void Collective::wait() {
  if (!work_) return;
  std::unique_ptr<CollectiveWork> work = std::move(work_);
  CollectiveObserver* const observer = communicator_->observer_;
  if (observer != nullptr) observer->waiting(record_);
  bool is_over = true;
  try {
    work->wait();
    is_over = observer == nullptr || communicator_->device_type() == at::kCPU || work->is_done();
  } catch (...) {
    communicator_->finish(record_, /*failed=*/true);
    rethrow(record_, communicator_->place(), observer);
  }
  if (is_over) {
    communicator_->finish(record_, /*failed=*/false);
  } else {
    observer->enqueued(record_, std::move(work));
  }
}

bool Collective::is_done() { return !work_ || work_->is_done(); }

Communicator::Communicator(GroupPlace place) : place_(std::move(place)) {
  S2S_ASSERT(place_.rank >= 0 && place_.rank < size(), "the rank is one of the group's");
}

void Communicator::finish(const CollectiveRecord& record, bool failed) {
  if (observer_ != nullptr) observer_->finished(record, failed);
}

template <class Start>
Collective Communicator::run(CollectiveRecord record, bool has_elements, const Start& start) {
  record.group = place_.name;
  record.sequence = next_sequence_++;
  tell_started(observer_, record, place_);
  std::unique_ptr<CollectiveWork> work;
  if (has_elements) {
    try {
      work = start();
    } catch (...) {
      finish(record, /*failed=*/true);
      rethrow(record, place_, observer_);
    }
  }
  if (!work) finish(record, /*failed=*/false);
  return {*this, std::move(record), std::move(work)};
}

Collective Communicator::all_reduce(const at::Tensor& tensor, Reduction reduction,
                                    std::string_view name) {
  check_tensor(tensor, *this);
  CollectiveRecord record = record_of(CollectiveKind::kAllReduce, name, tensor);
  record.reduction = reduction;
  return run(std::move(record), tensor.numel() > 0,
             [&] { return start_all_reduce(flat(tensor), reduction); });
}

Collective Communicator::all_gather(const at::Tensor& output, const at::Tensor& input,
                                    std::string_view name) {
  check_pair(output, input, *this);
  return run(record_of(CollectiveKind::kAllGather, name, output), input.numel() > 0,
             [&] { return start_all_gather(flat(output), flat(input)); });
}

Collective Communicator::reduce_scatter(const at::Tensor& output, const at::Tensor& input,
                                        Reduction reduction, std::string_view name) {
  check_pair(input, output, *this);
  CollectiveRecord record = record_of(CollectiveKind::kReduceScatter, name, input);
  record.reduction = reduction;
  return run(std::move(record), output.numel() > 0,
             [&] { return start_reduce_scatter(flat(output), flat(input), reduction); });
}

Collective Communicator::broadcast(const at::Tensor& tensor, int64_t root, std::string_view name) {
  check_tensor(tensor, *this);
  check_peer(root, *this);
  CollectiveRecord record = record_of(CollectiveKind::kBroadcast, name, tensor);
  record.peer = root;
  return run(std::move(record), tensor.numel() > 0,
             [&] { return start_broadcast(flat(tensor), root); });
}

Collective Communicator::all_to_all(const at::Tensor& output, const at::Tensor& input,
                                    std::string_view name) {
  check_tensor(output, *this);
  check_tensor(input, *this);
  S2S_ASSERT(output.numel() == input.numel() && input.numel() % size() == 0,
             "as many elements in as out, an equal part for each rank");
  S2S_ASSERT(output.scalar_type() == input.scalar_type(), "one type on both sides");
  return run(record_of(CollectiveKind::kAllToAll, name, input), input.numel() > 0,
             [&] { return start_all_to_all(flat(output), flat(input)); });
}

Collective Communicator::send(const at::Tensor& tensor, int64_t to, std::string_view name) {
  check_tensor(tensor, *this);
  check_peer(to, *this);
  S2S_ASSERT(to != rank(), "a message to oneself");
  CollectiveRecord record = record_of(CollectiveKind::kSend, name, tensor);
  record.peer = to;
  return run(std::move(record), tensor.numel() > 0, [&] { return start_send(flat(tensor), to); });
}

Collective Communicator::recv(const at::Tensor& tensor, int64_t from, std::string_view name) {
  check_tensor(tensor, *this);
  check_peer(from, *this);
  S2S_ASSERT(from != rank(), "a message from oneself");
  CollectiveRecord record = record_of(CollectiveKind::kRecv, name, tensor);
  record.peer = from;
  return run(std::move(record), tensor.numel() > 0, [&] { return start_recv(flat(tensor), from); });
}

Collective Communicator::barrier(std::string_view name) {
  CollectiveRecord record;
  record.name = name;
  return run(std::move(record), true, [&] { return start_barrier(); });
}

std::unique_ptr<Communicator> Communicator::subgroup(const std::vector<int64_t>& ranks,
                                                     const std::string& name) {
  S2S_ASSERT(!ranks.empty() && std::is_sorted(ranks.begin(), ranks.end()), "ascending");
  const auto self = std::lower_bound(ranks.begin(), ranks.end(), rank());
  S2S_ASSERT(self != ranks.end() && *self == rank(), "only members make a group");
  GroupPlace place;
  place.name = name;
  place.timeout = place_.timeout;
  place.rank = self - ranks.begin();
  place.ranks.clear();
  for (int64_t member : ranks) {
    check_peer(member, *this);
    place.ranks.push_back(place_.ranks[static_cast<size_t>(member)]);
  }
  std::unique_ptr<Communicator> group;
  const std::string members = name + "[" + rank_list(place.ranks) + "]";
  const std::string key = members + "#" + std::to_string(num_subgroups_[members]++);
  if (place.ranks.size() == 1 && size() > 1) {
    group = make_solo_communicator(std::move(place), device_type());
  } else {
    const int64_t self_in_run = place_.ranks[static_cast<size_t>(rank())];
    group = connect_group(name, self_in_run, [&] { return make_subgroup(std::move(place), key); });
  }
  group->observer_ = observer_;
  return group;
}

std::unique_ptr<Communicator> make_solo_communicator(GroupPlace place, at::DeviceType device_type) {
  return std::make_unique<SoloCommunicator>(std::move(place), device_type);
}

}  // namespace s2s
