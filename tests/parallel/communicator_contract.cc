#include "parallel/communicator_contract.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <thread>

#include "common/collective_log.h"
#include "plan/mesh.h"
#include "s2s/error.h"

namespace s2s::test {
namespace {

at::TensorOptions options_of(Communicator& group, at::ScalarType dtype) {
  return at::TensorOptions(group.device_type()).dtype(dtype);
}

/// Whole numbers that bfloat16 holds, other ones on each rank.
at::Tensor elements(Communicator& group, int64_t count, int64_t rank, at::ScalarType dtype) {
  const at::Tensor base = at::arange(count, options_of(group, at::kLong)).remainder(5);
  return (base * (rank % 2 == 0 ? 1 : -1) + rank).to(dtype);
}

at::Tensor part_of(const at::Tensor& whole, int64_t index, int64_t count) {
  return whole.chunk(count).at(static_cast<size_t>(index));
}

/// All ranks' elements, reduced in the plain way.
at::Tensor reduced(Communicator& group, int64_t count, at::ScalarType dtype, Reduction reduction) {
  std::vector<at::Tensor> all;
  for (int64_t rank = 0; rank < group.size(); ++rank) {
    all.push_back(elements(group, count, rank, dtype).to(at::kDouble));
  }
  const at::Tensor stacked = at::stack(all);
  switch (reduction) {
    case Reduction::kAverage:
      return stacked.mean(0).to(dtype);
    case Reduction::kMax:
      return stacked.amax(0).to(dtype);
    case Reduction::kMin:
      return stacked.amin(0).to(dtype);
    default:
      return stacked.sum(0).to(dtype);
  }
}

std::vector<Reduction> reductions_of(at::ScalarType dtype) {
  std::vector<Reduction> out = {Reduction::kSum, Reduction::kMax, Reduction::kMin};
  if (c10::isFloatingType(dtype)) out.push_back(Reduction::kAverage);
  return out;
}

void check_close(const at::Tensor& got, const at::Tensor& expected) {
  CHECK(at::allclose(got.to(at::kDouble), expected.to(at::kDouble), 1e-2, 1e-3));
}

/// part: the elements that each rank gets.
void check_reductions(Communicator& group, at::ScalarType dtype, int64_t part_size) {
  const int64_t size = group.size(), count = part_size * size;
  for (const Reduction reduction : reductions_of(dtype)) {
    CAPTURE(to_string(reduction));
    const at::Tensor expected = reduced(group, count, dtype, reduction);
    const at::Tensor whole = elements(group, count, group.rank(), dtype).view({2, -1});
    const at::Tensor part = at::empty({part_size}, whole.options());
    group.reduce_scatter(part, whole, reduction).wait();
    check_close(part, part_of(expected, group.rank(), size));
    group.all_reduce(whole, reduction).wait();
    check_close(whole.flatten(), expected);
  }
}

/// part: the elements of each rank.
void check_moves(Communicator& group, at::ScalarType dtype, int64_t part_size) {
  const int64_t size = group.size(), rank = group.rank();
  const at::Tensor own = elements(group, part_size, rank, dtype);
  at::Tensor whole = at::zeros({part_size * size}, own.options());
  group.all_gather(whole, own).wait();
  for (int64_t from = 0; from < size; ++from) {
    CHECK(at::equal(part_of(whole, from, size), elements(group, part_size, from, dtype)));
  }
  whole.zero_();  // the input may be this rank's part of the output
  part_of(whole, rank, size).copy_(own);
  group.all_gather(whole, part_of(whole, rank, size)).wait();
  CHECK(at::equal(part_of(whole, size - 1, size), elements(group, part_size, size - 1, dtype)));

  for (int64_t root = 0; root < size; ++root) {
    const at::Tensor copy = own.clone();
    group.broadcast(copy, root).wait();
    CHECK(at::equal(copy, elements(group, part_size, root, dtype)));
  }
  const at::Tensor sent = elements(group, 3 * size, rank, dtype), got = at::empty_like(sent);
  group.all_to_all(got, sent).wait();
  for (int64_t from = 0; from < size; ++from) {
    const at::Tensor theirs = elements(group, 3 * size, from, dtype);
    CHECK(at::equal(part_of(got, from, size), part_of(theirs, rank, size)));
  }
}

/// Fractions add up to the same bits on every rank.
void check_same_bits(Communicator& group, int64_t count) {
  const at::Tensor tensor = elements(group, count, group.rank(), at::kFloat).div_(7).sin_();
  group.all_reduce(tensor).wait();
  const at::Tensor all = at::empty({group.size() * count}, tensor.options());
  group.all_gather(all, tensor).wait();
  for (int64_t rank = 0; rank < group.size(); ++rank) {
    CHECK(at::equal(part_of(all, rank, group.size()), tensor));
  }
}

void check_messages(Communicator& group) {
  const int64_t size = group.size(), rank = group.rank();
  if (size == 1) return;
  const auto text = [&](int64_t from, int64_t number) {
    return at::full({3}, static_cast<double>(10 * from + number), options_of(group, at::kFloat));
  };
  const int64_t next = (rank + 1) % size, before = (rank + size - 1) % size;
  const at::Tensor first = at::zeros({3}, options_of(group, at::kFloat)), second = first.clone();
  if (rank % 2 == 0) {
    const at::Tensor a = text(rank, 1), b = text(rank, 2);
    Collective sending = group.send(a, next);
    group.send(b, next).wait();
    sending.wait();
  }
  group.recv(first, before).wait();
  group.recv(second, before).wait();
  if (rank % 2 == 1) {
    const at::Tensor a = text(rank, 1), b = text(rank, 2);
    Collective sending = group.send(a, next);
    group.send(b, next).wait();
    sending.wait();
  }
  CHECK(at::equal(first, text(before, 1)));
  CHECK(at::equal(second, text(before, 2)));
}

/// Several at once, waited for in another order than they were started.
void check_handles(Communicator& group) {
  std::vector<at::Tensor> tensors;
  std::vector<Collective> running;
  for (int64_t i = 0; i < 8; ++i) {
    tensors.push_back(elements(group, 64 << i, group.rank(), at::kFloat));
    running.push_back(group.all_reduce(tensors.back()));
  }
  for (size_t i = running.size(); i-- > 0;) {
    running[i].wait();
    running[i].wait();  // again: nothing
    CHECK(running[i].is_done());
  }
  for (int64_t i = 0; i < 8; ++i) {
    const at::Tensor expected = reduced(group, 64 << i, at::kFloat, Reduction::kSum);
    CHECK(at::equal(tensors[static_cast<size_t>(i)], expected));
  }
  const at::Tensor nothing = at::empty({0}, options_of(group, at::kFloat));
  group.all_reduce(nothing).wait();
  group.barrier().wait();
}

/// Rank r of a group of these ranks contributes its number in the run.
double sum_over(Communicator& group) {
  const auto own = static_cast<double>(group.place().ranks[static_cast<size_t>(group.rank())]);
  const at::Tensor tensor = at::full({5}, own, options_of(group, at::kFloat));
  group.all_reduce(tensor).wait();
  return tensor[4].item<double>();
}

void check_subgroups(Communicator& world) {
  const int64_t size = world.size(), parity = world.rank() % 2;
  if (size < 2) return;
  std::vector<int64_t> ranks;
  double sum = 0;
  for (int64_t rank = parity; rank < size; rank += 2) {
    ranks.push_back(rank);
    sum += static_cast<double>(rank);
  }
  const auto one = world.subgroup(ranks, "parity"), two = world.subgroup(ranks, "parity");
  CHECK(one->size() == static_cast<int64_t>(ranks.size()));
  CHECK(sum_over(*one) == sum);
  // Two groups of the same ranks: orders of their own.
  const at::Tensor a = at::ones({4}, options_of(world, at::kFloat)), b = a * 2;
  Collective first = parity == 0 ? one->all_reduce(a) : two->all_reduce(b);
  Collective second = parity == 0 ? two->all_reduce(b) : one->all_reduce(a);
  second.wait();
  first.wait();
  CHECK(a[0].item<double>() == static_cast<double>(one->size()));
  CHECK(b[0].item<double>() == static_cast<double>(2 * one->size()));
  std::vector<int64_t> all_of_group;
  for (int64_t rank = 0; rank < one->size(); ++rank) all_of_group.push_back(rank);
  CHECK(sum_over(*one->subgroup(all_of_group, "inner")) == sum);
  CHECK(sum_over(world) == static_cast<double>(size * (size - 1) / 2));
}

void check_mesh(Communicator& world) {
  if (world.size() % 2 != 0) return;
  MeshShape shape;
  shape.tensor = 2;
  shape.shard = world.size() / 2;
  const MeshGroups groups(world, shape);
  const auto rank = static_cast<double>(world.rank());
  const auto size = static_cast<double>(world.size());
  CHECK(sum_over(groups.tensor()) == 4 * std::floor(rank / 2) + 1);
  const double shard_sum = size / 2 * (size / 2 - 1) + size / 2 * std::fmod(rank, 2);
  CHECK(sum_over(groups.shard()) == shard_sum);
  CHECK(sum_over(groups.shard_gathers()) == shard_sum);
  CHECK(sum_over(groups.data()) == shard_sum);
  CHECK(groups.replicate().size() == 1);
}

/// The recorded sequence is the same on all ranks.
void check_records(Communicator& world) {
  CollectiveLog log;
  world.set_observer(&log);
  const at::Tensor tensor = at::zeros({4 * world.size()}, options_of(world, at::kFloat));
  world.all_reduce(tensor, Reduction::kSum, "loss").wait();
  world.all_gather(tensor, tensor.narrow(0, 0, 4).clone(), "layers.0").wait();
  world.set_observer(nullptr);
  size_t sum = 0;
  for (const std::string& line : log.lines()) sum = sum * 31 + std::hash<std::string>()(line);
  const auto number = static_cast<int64_t>(sum);
  const at::Tensor low = at::full({1}, number, options_of(world, at::kLong)), high = low.clone();
  world.all_reduce(low, Reduction::kMin).wait();
  world.all_reduce(high, Reduction::kMax).wait();
  CHECK(log.lines().size() == 2);
  CHECK(low.item<int64_t>() == high.item<int64_t>());
}

/// Knows nothing but how long a collective may take.
class LimitObserver : public CollectiveObserver {
 public:
  void started(const CollectiveRecord&, const GroupPlace&) override {}
  void finished(const CollectiveRecord&, bool) override {}
  std::chrono::milliseconds time_limit(std::chrono::milliseconds) const override { return limit; }
  std::string explain_failure(const CollectiveRecord&, const GroupPlace&,
                              const std::string&) override {
    return "\n  monitor:   heard";
  }
  std::chrono::milliseconds limit = std::chrono::minutes(2);
};

}  // namespace

void check_time_limit(Communicator& world, const std::function<void()>& stay_away) {
  LimitObserver monitor;
  world.set_observer(&monitor);
  world.barrier().wait();
  std::vector<int64_t> all;
  for (int64_t rank = 0; rank < world.size(); ++rank) all.push_back(rank);
  const auto group = world.subgroup(all, "limited");
  const bool is_late = world.rank() + 1 == world.size();
  const at::Tensor tensor = at::ones({4 * world.size()}, options_of(world, at::kFloat));
  if (is_late) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  group->all_reduce(tensor).wait();  // longer than the communicator's own limit
  monitor.limit = std::chrono::milliseconds(400);
  if (is_late) return stay_away();
  try {
    group->all_gather(tensor, tensor.narrow(0, 0, 4).clone(), "late").wait();
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.id() == "comm/timeout");
    CHECK(error.message().find("did not end within 0.4 s\n  monitor:   heard") !=
          std::string::npos);
  }
}

void check_communicator(Communicator& world) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kLong}) {
    CAPTURE(c10::toString(dtype));
    for (const int64_t part_size : {4, 33002}) {  // back ends move few and many bytes differently
      CAPTURE(part_size);
      check_reductions(world, dtype, part_size);
      check_moves(world, dtype, part_size);
    }
  }
  check_same_bits(world, 1001);
  check_same_bits(world, 100001);
  check_messages(world);
  check_handles(world);
  check_subgroups(world);
  check_mesh(world);
  check_records(world);
}

}  // namespace s2s::test
