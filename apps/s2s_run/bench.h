#pragma once
// What `s2s-run bench` measures. Each prints one JSON object.

#include <cstdint>
#include <string>
#include <vector>

#include "s2s_run/run_setup.h"

namespace s2s::run {

/// bench model: a duplex model of a NeMo options file on random data.
struct BenchModelArguments {
  std::string options_path;
  int64_t steps = 10;
  int threads = 2;
  std::string precision = "32";
  int64_t batch_size = 4;
  double seconds = 10;
  int64_t ops = 0;
  bool processor_time = false;
};
int bench_model(const BenchModelArguments& arguments, const Invocation& invocation);

/// bench train: steps of a configuration's training on its own data, nothing written.
struct BenchTrainArguments {
  ConfigArguments config;
  int64_t steps = 20;
  int64_t from_step = 0;
  int64_t ops = 0;
  bool processor_time = false;
};
int bench_train(const BenchTrainArguments& arguments, const Invocation& invocation);

/// bench collectives: the processes of a run, and their communicator.
struct BenchCollectivesArguments {
  std::string communicator = "gloo";
  std::vector<uint64_t> sizes = {4, 65536, 4194304};  // bytes
  int64_t repeats = 10;
  double timeout_s = 60;
  double start_timeout_s = 60;
};
int bench_collectives(const BenchCollectivesArguments& arguments, const Invocation& invocation);

}  // namespace s2s::run
