// s2s-run bench collectives: checks that the processes of a run connect and get correct results,
// and measures the communication speed. Rank 0 prints.

#include <ATen/ATen.h>
#include <ATen/core/Tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "s2s/kinds/communicator.h"
#include "s2s_run/bench/command_ranks.h"
#include "s2s_run/bench/step_profile.h"
#include "s2s_run/columns.h"

namespace s2s::run {
namespace {

using nlohmann::ordered_json;

class CollectiveCase {
 public:
  /// num_bytes: approximate tensor size (float32); rounded to a multiple of the group's size.
  /// kSend: every rank sends to the next one and receives from the previous one.
  CollectiveCase(CollectiveKind kind, Communicator& group, int64_t num_bytes);

  /// "all_reduce", ...; "send and recv"
  const char* name() const;
  int64_t num_bytes() const { return num_bytes_; }
  /// Bytes over the busiest link of a ring, per byte of the tensor.
  double bus_factor() const;

  void fill();
  /// Starts the collective and waits for it.
  void run();
  /// True when this rank's result is correct.
  bool is_right() const;

 private:
  at::Tensor whole_of(int64_t rank) const;
  at::Tensor part_of(const at::Tensor& whole, int64_t index) const;
  at::Tensor expected() const;
  const at::Tensor& result() const;

  CollectiveKind kind_;
  Communicator& group_;
  int64_t num_bytes_;
  at::Tensor pattern_;  // the same on all ranks
  at::Tensor whole_, part_;
  at::Tensor received_;  // all_to_all, recv
};

/// Small integers, so that sums are exact.
at::Tensor pattern(int64_t count, at::DeviceType device) {
  return at::arange(count, at::TensorOptions(device).dtype(at::kLong)).remainder(13).to(at::kFloat);
}

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
  const int64_t next = (rank + 1) % size, before = (rank + size - 1) % size;
  // Even ranks send first, because NCCL runs the operations one after another.
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
      return whole_of((rank + size - 1) % size);
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

constexpr int kWarmUps = 2;
constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllReduce,     CollectiveKind::kAllGather,
                                     CollectiveKind::kReduceScatter, CollectiveKind::kBroadcast,
                                     CollectiveKind::kAllToAll,      CollectiveKind::kSend};

struct Measurement {
  std::string name;
  int64_t num_bytes = 0;
  double median_s = 0;
  double bus_factor = 1;
  bool is_right = false;
  double gigabytes_per_s() const { return static_cast<double>(num_bytes) / median_s / 1e9; }
};

Measurement measure(CollectiveCase& measured, Communicator& world, int64_t repeats) {
  using Clock = std::chrono::steady_clock;
  Measurement out{measured.name(), measured.num_bytes(), 0, measured.bus_factor(), false};
  measured.fill();
  measured.run();
  out.is_right = over_ranks(world, measured.is_right() ? 1 : 0, Reduction::kMin) > 0;
  std::vector<double> times;
  for (int64_t i = 0; i < kWarmUps + repeats; ++i) {
    measured.fill();
    over_ranks(world, 0, Reduction::kMax);  // synchronizes the start
    const Clock::time_point begin = Clock::now();
    measured.run();
    if (world.device_type() != at::kCPU) over_ranks(world, 0, Reduction::kMax);
    const double taken = std::chrono::duration<double>(Clock::now() - begin).count();
    if (i >= kWarmUps) times.push_back(taken);
  }
  out.median_s = over_ranks(world, median(times), Reduction::kMax);
  return out;
}

std::vector<Measurement> measure_all(Communicator& world,
                                     const BenchCollectivesArguments& arguments) {
  std::vector<Measurement> out;
  for (const CollectiveKind kind : kKinds) {
    if (kind == CollectiveKind::kSend && world.size() == 1) continue;  // there is no other rank
    for (const uint64_t bytes : arguments.sizes) {
      CollectiveCase measured(kind, world, static_cast<int64_t>(bytes));
      out.push_back(measure(measured, world, arguments.repeats));
    }
  }
  return out;
}

ordered_json to_json(const RunProcesses& processes, const std::string& communicator,
                     const std::vector<Measurement>& measurements) {
  ordered_json ranks = ordered_json::array();
  for (const RankIdentity& one : processes.rendezvous().identities()) {
    ranks.push_back({{"rank", ranks.size()},
                     {"host", one.host},
                     {"local_rank", one.local_rank},
                     {"process", one.process_id}});
  }
  ordered_json results = ordered_json::array();
  for (const Measurement& m : measurements) {
    results.push_back({{"collective", m.name},
                       {"bytes", m.num_bytes},
                       {"median_ms", 1000 * m.median_s},
                       {"gigabytes_per_s", m.gigabytes_per_s()},
                       {"bus_gigabytes_per_s", m.gigabytes_per_s() * m.bus_factor},
                       {"right", m.is_right}});
  }
  return {{"launcher", to_string(processes.launch().launcher)},
          {"launcher_reason", processes.launch().reason},
          {"communicator", communicator},
          {"ranks", ranks},
          {"collectives", results}};
}

std::string bytes_text(int64_t bytes) {
  if (bytes >= 1 << 20) return fmt::format("{:g} MiB", static_cast<double>(bytes) / (1 << 20));
  if (bytes >= 1 << 10) return fmt::format("{:g} KiB", static_cast<double>(bytes) / (1 << 10));
  return fmt::format("{} B", bytes);
}

void print_tables(const RunProcesses& processes, const std::string& communicator,
                  const std::vector<Measurement>& measurements) {
  fmt::print("launcher:      {} ({})\ncommunicator:  {}\n\n",
             to_string(processes.launch().launcher), processes.launch().reason, communicator);
  std::vector<std::vector<std::string>> ranks = {{"rank", "host", "local rank", "process"}};
  for (const RankIdentity& one : processes.rendezvous().identities()) {
    ranks.push_back({std::to_string(ranks.size() - 1), one.host, std::to_string(one.local_rank),
                     std::to_string(one.process_id)});
  }
  std::fflush(stdout);
  print_columns(ranks);
  std::vector<std::vector<std::string>> rows = {
      {"collective", "size", "median", "GB/s", "bus GB/s", "result"}};
  for (const Measurement& m : measurements) {
    rows.push_back({m.name, bytes_text(m.num_bytes), fmt::format("{:.3f} ms", 1000 * m.median_s),
                    fmt::format("{:.3f}", m.gigabytes_per_s()),
                    fmt::format("{:.3f}", m.gigabytes_per_s() * m.bus_factor),
                    m.is_right ? "right" : "WRONG"});
  }
  std::cout << '\n' << std::flush;
  print_columns(rows);
}

/// Arguments that must be equal on all ranks so that their collectives match.
std::vector<AgreedFact> spec_of(const BenchCollectivesArguments& arguments) {
  std::string sizes;
  for (const uint64_t bytes : arguments.sizes) sizes += std::to_string(bytes) + " ";
  return {{"--communicator", arguments.ranks.communicator},
          {"--size", sizes},
          {"--repeats", std::to_string(arguments.repeats)}};
}

}  // namespace

double over_ranks(Communicator& world, double value, Reduction reduction) {
  const at::Tensor tensor =
      at::full({1}, value, at::TensorOptions(world.device_type()).dtype(at::kDouble));
  world.all_reduce(tensor, reduction, "bench").wait();
  return tensor.item<double>();
}

int bench_collectives(const BenchCollectivesArguments& arguments, const Invocation& invocation) {
  const CommandRanks ranks(invocation, arguments.ranks, spec_of(arguments));
  const RunProcesses& processes = ranks.processes();
  Communicator& world = processes.world();
  const std::vector<Measurement> measurements =
      processes.watched([&] { return measure_all(world, arguments); });
  const bool all_right = std::all_of(measurements.begin(), measurements.end(),
                                     [](const Measurement& m) { return m.is_right; });
  if (processes.is_first()) {
    if (invocation.json) {
      std::cout << to_json(processes, arguments.ranks.communicator, measurements).dump(2) << '\n';
    } else {
      print_tables(processes, arguments.ranks.communicator, measurements);
    }
    if (processes.launch().launcher == Launcher::kNone) {
      std::cerr << "one process without a launcher; to use several: s2s-run launch local -n 2 -- "
                   "bench collectives\n";
    }
  }
  return static_cast<int>(all_right ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace s2s::run
