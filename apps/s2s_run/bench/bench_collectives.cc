// s2s-run bench collectives: are the processes of a run there, do they understand each other, and
// how fast? Rank 0 prints.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "run/run_processes.h"
#include "s2s_run/bench/bench.h"
#include "s2s_run/bench/collective_case.h"
#include "s2s_run/bench/command_ranks.h"
#include "s2s_run/bench/median.h"
#include "s2s_run/columns.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

using nlohmann::ordered_json;

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

/// A number that every rank has; waits for the device.
double everywhere(Communicator& world, double value, Reduction reduction) {
  const at::Tensor tensor =
      at::full({1}, value, at::TensorOptions(world.device_type()).dtype(at::kDouble));
  world.all_reduce(tensor, reduction, "bench").wait();
  return tensor.item<double>();
}

Measurement measure(CollectiveCase& measured, Communicator& world, int64_t repeats) {
  using Clock = std::chrono::steady_clock;
  Measurement out{measured.name(), measured.num_bytes(), 0, measured.bus_factor(), false};
  measured.fill();
  measured.run();
  out.is_right = everywhere(world, measured.is_right() ? 1 : 0, Reduction::kMin) > 0;
  std::vector<double> times;
  for (int64_t i = 0; i < kWarmUps + repeats; ++i) {
    measured.fill();
    everywhere(world, 0, Reduction::kMax);  // all begin together
    const Clock::time_point begin = Clock::now();
    measured.run();
    if (world.device_type() != at::kCPU) everywhere(world, 0, Reduction::kMax);
    const double taken = std::chrono::duration<double>(Clock::now() - begin).count();
    if (i >= kWarmUps) times.push_back(taken);
  }
  out.median_s = everywhere(world, median(times), Reduction::kMax);
  return out;
}

std::vector<Measurement> measure_all(Communicator& world,
                                     const BenchCollectivesArguments& arguments) {
  std::vector<Measurement> out;
  for (const CollectiveKind kind : kKinds) {
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
  return {{"launcher", to_string(processes.place().launcher)},
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
  fmt::print("launcher:      {}\ncommunicator:  {}\n\n", to_string(processes.place().launcher),
             communicator);
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

/// What has to be the same on all ranks so that their collectives match.
std::vector<AgreedFact> spec_of(const BenchCollectivesArguments& arguments) {
  std::string sizes;
  for (const uint64_t bytes : arguments.sizes) sizes += std::to_string(bytes) + " ";
  return {{"--communicator", arguments.communicator},
          {"--size", sizes},
          {"--repeats", std::to_string(arguments.repeats)}};
}

}  // namespace

int bench_collectives(const BenchCollectivesArguments& arguments, const Invocation& invocation) {
  const RendezvousSettings settings = {milliseconds(arguments.start_timeout_s),
                                       milliseconds(arguments.timeout_s)};
  const CommandRanks ranks(invocation, arguments.communicator, spec_of(arguments), settings,
                           {.folder = arguments.record_folder});
  const RunProcesses& processes = ranks.processes();
  Communicator& world = processes.world();
  const std::vector<Measurement> measurements =
      processes.watched([&] { return measure_all(world, arguments); });
  const bool all_right = std::all_of(measurements.begin(), measurements.end(),
                                     [](const Measurement& m) { return m.is_right; });
  if (processes.is_first()) {
    if (invocation.json) {
      std::cout << to_json(processes, arguments.communicator, measurements).dump(2) << '\n';
    } else {
      print_tables(processes, arguments.communicator, measurements);
    }
    if (processes.place().launcher == Launcher::kNone) {
      std::cerr << "one process, which nothing launched; for several: s2s-run launch local -n 2 -- "
                   "bench collectives\n";
    }
  }
  return static_cast<int>(all_right ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace s2s::run
