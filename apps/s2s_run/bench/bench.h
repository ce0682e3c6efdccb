#pragma once
// The commands of `s2s-run bench`. Each prints one JSON object.

#include <cstdint>
#include <string>
#include <vector>

#include "run/run_config.h"
#include "s2s_run/command_line.h"

namespace s2s::run {

constexpr const char* kProcessorTimeDoc =
    "measure CPU time of the main thread instead of wall time; for one thread on a busy machine";

/// bench train: times training steps of a configuration on its own data. Writes nothing.
struct BenchTrainArguments {
  ConfigArguments config;
  int64_t steps = 20;
  int64_t from_step = 0;
  int64_t ops = 0;
  bool processor_time = false;
};
int bench_train(const BenchTrainArguments& arguments, const Invocation& invocation);

/// The processes of a bench of communication.
struct RankArguments {
  std::string communicator = "gloo";
  double timeout_s = 60;
  double start_timeout_s = 60, first_step_timeout_s = 0;  // 0: timeout_s
  std::string record_folder;                              // for flight records; "": none
};
/// Without the timeouts of the start and of the first step.
void add_rank_options(const Command& command, RankArguments& arguments);

/// bench collectives: checks and times the communicator of a run's processes.
struct BenchCollectivesArguments {
  RankArguments ranks;
  std::vector<uint64_t> sizes = {4, 65536, 4194304};  // bytes
  int64_t repeats = 10;
};
int bench_collectives(const BenchCollectivesArguments& arguments, const Invocation& invocation);

}  // namespace s2s::run
