// s2s-run bench fault: runs small steps in which one rank fails on purpose. It shows what users of
// a cluster see in that case, and that every other rank ends.

#include <ATen/ATen.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <map>
#include <thread>

#include "base/interrupt.h"
#include "benchmark/commands/commands.h"
#include "s2s_run/bench/command_ranks.h"

namespace s2s::run {
namespace {

/// Long enough for the ranks to notice each other's state.
constexpr std::chrono::milliseconds kStepTime{700};

Error injected_error() {
  return {ExitCode::kData, "launch/injected", "this rank was asked to fail (bench fault throw)"};
}

Error nan_error(int64_t rank, int64_t step) {
  return {ExitCode::kNumerics, "numerics/not-finite",
          "the loss of rank " + std::to_string(rank) + " is NaN at step " + std::to_string(step)};
}

Error fault_rank_error(int64_t rank, int64_t size) {
  return {ExitCode::kUsage, "usage/arguments",
          "s2s-run bench fault: --rank is " + std::to_string(rank) + ", but the run has " +
              std::to_string(size) +
              "\n"
              "  next:      start several ranks, for example s2s-run launch local -n 2 -- bench "
              "fault kill"};
}

/// Simulates running out of memory: limits the address space and allocates beyond it.
void use_up_memory() {
  const rlimit limit = {size_t{1} << 33, size_t{1} << 33};
  ::setrlimit(RLIMIT_AS, &limit);
  std::vector<at::Tensor> taken;
  while (true) taken.push_back(at::empty({int64_t{1} << 28}, at::kByte));
}

void sleep_for_ever() {
  while (true) std::this_thread::sleep_for(std::chrono::seconds(1));
}

/// Faults that happen in the forward pass. The other faults change the collectives of the step.
const std::map<std::string, std::function<void()>>& sudden_faults() {
  static const std::map<std::string, std::function<void()>> kFaults = {
      {"kill", [] { ::raise(SIGKILL); }},
      {"stop", [] { ::raise(SIGSTOP); }},
      {"abort", [] { ::raise(SIGABRT); }},
      {"exit", [] { ::_exit(0); }},
      {"throw", [] { throw injected_error(); }},
      {"memory", use_up_memory},
      {"hang", sleep_for_ever},
  };
  return kFaults;
}

/// The collectives of a training step of a sharded model, with small tensors.
class FaultyRun {
 public:
  FaultyRun(const RunProcesses& processes, const BenchFaultArguments& arguments)
      : world_(processes.world()), recorder_(*processes.recorder()), arguments_(arguments) {
    std::vector<int64_t> all;
    for (int64_t rank = 0; rank < world_.size(); ++rank) all.push_back(rank);
    shard_ = world_.subgroup(all, "shard");
    const at::TensorOptions options = at::TensorOptions(world_.device_type()).dtype(at::kFloat);
    part_ = at::ones({256}, options);
    whole_ = at::ones({256 * world_.size()}, options);
  }

  void run() {
    for (int64_t step = 1; step <= arguments_.steps; ++step) {
      if (is_hit("fewer-batches", step)) return;
      one_step(step);
    }
    world_.barrier("end").wait();
  }

 private:
  bool is_hit(const char* fault, int64_t step) const {
    return arguments_.fault == fault && arguments_.rank == world_.rank() && arguments_.step == step;
  }

  void one_step(int64_t step) {
    if (step > 1) recorder_.first_step_has_ended();
    recorder_.set_step(step);
    recorder_.set_phase("forward");
    std::this_thread::sleep_for(kStepTime);
    const auto sudden = sudden_faults().find(arguments_.fault);
    if (sudden != sudden_faults().end() && is_hit(sudden->first.c_str(), step)) sudden->second();
    if (is_hit("other-order", step)) {
      shard_->reduce_scatter(part_, whole_, Reduction::kSum, "layers.0").wait();
      shard_->all_gather(whole_, part_, "layers.0").wait();
    } else {
      shard_->all_gather(whole_, part_, "layers.0").wait();
      recorder_.set_phase("backward");
      shard_->reduce_scatter(part_, whole_, Reduction::kSum, "layers.0").wait();
    }
    part_.fill_(1);
    recorder_.set_phase("update");
    const int64_t count = is_hit("other-size", step) ? 1024 : 2;
    const at::Tensor loss = at::ones({count}, part_.options().dtype(at::kDouble));
    if (is_hit("nan", step)) throw nan_error(world_.rank(), step);
    world_.all_reduce(loss, Reduction::kSum, "loss").wait();
  }

  Communicator& world_;
  FlightRecorder& recorder_;
  const BenchFaultArguments& arguments_;
  std::unique_ptr<Communicator> shard_;
  at::Tensor part_, whole_;
};

}  // namespace

std::vector<std::string> fault_names() {
  std::vector<std::string> names = {"none", "nan", "fewer-batches", "other-order", "other-size"};
  for (const auto& [name, fault] : sudden_faults()) names.push_back(name);
  return names;
}

int bench_fault(const BenchFaultArguments& arguments, const Invocation& invocation) {
  const LaunchEnvironment launch = read_launch_environment();
  if (launch.size < 2 || arguments.rank >= launch.size) {
    throw fault_rank_error(arguments.rank, launch.size);
  }
  const CommandRanks ranks(invocation, arguments.ranks, {{"fault", arguments.fault}});
  const RunProcesses& processes = ranks.processes();
  const InterruptWatch interrupt;  // as in training: the first SIGTERM only requests a stop
  processes.recorder()->set_stop_probe([&interrupt] { return interrupt.requested(); });
  return processes.watched([&] {
    FaultyRun(processes, arguments).run();
    return static_cast<int>(ExitCode::kOk);
  });
}

}  // namespace s2s::run
