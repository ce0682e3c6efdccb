#pragma once
// The benchmarks for developers, which s2s-bench has beside those of `s2s-run bench`. Each prints
// one JSON object.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "benchmark/commands/device.h"
#include "s2s_run/bench/bench.h"
#include "s2s_run/data/data_inspect_source.h"

namespace s2s::run {

/// bench model: times a duplex model from a NeMo options file on random data.
struct BenchModelArguments {
  std::string options_path;
  DeviceArguments device = {.name = "cpu"};
  std::string precision = "32";
  int64_t steps = 10;
  int threads = 2;
  int64_t batch_size = 4;
  double seconds = 10;
  int64_t ops = 0;
  bool processor_time = false;
  std::string profile_file;  // "": none
  bool force = false;
};
int bench_model(const BenchModelArguments& arguments, const Invocation& invocation);

/// bench llm: times a language model on one fixed batch of random tokens, on one device.
struct BenchLlmArguments {
  std::string preset = "tiny";  // or a Hugging Face folder
  DeviceArguments device;
  std::string precision = "32-true";
  int64_t positions = 512;
  int64_t batch_size = 1;
  int64_t steps = 20;
  int64_t warm_up = 5;  // steps before these; the first one's loss and gradient are printed
  std::string recompute = "none";
  double clip = 0;  // 0: no clipping
  std::string init = "seeded";
  double peak_teraflops = 0;  // 0: of the fastest measured product
  bool no_ceilings = false;
  std::string export_folder;  // "": none
  std::string profile_file;   // "": none
  bool force = false;
};
int bench_llm(const BenchLlmArguments& arguments, const Invocation& invocation);

/// bench fault: makes a rank of a run fail on purpose.
struct BenchFaultArguments {
  std::string fault;
  RankArguments ranks = {.timeout_s = 20};
  int64_t rank = 1;
  int64_t step = 3;   // 1-based step of the failure
  int64_t steps = 6;  // number of steps of the run
};
/// The names of faults, in the order of the documentation.
std::vector<std::string> fault_names();
int bench_fault(const BenchFaultArguments& arguments, const Invocation& invocation);

/// bench parallel: times the steps of a layout on random tokens.
struct BenchParallelArguments {
  std::string layout = "ddp";
  std::string model = "tiny";
  int64_t steps = 10;
  int64_t warm_up = 3;
  int64_t batch_size = 2;  // rows per data rank
  int64_t positions = 128;
  std::string trace_folder;  // "": none
  bool whole_first = false;  // allocate the whole model before it is sharded
};
int bench_parallel(const BenchParallelArguments& arguments, const Invocation& invocation);

/// bench data: times the data loader. Prints one JSON object, or text.
struct BenchDataArguments {
  SourceArguments source;
  std::string tokenizer;
  double seconds = 20;  // measured
  double warm_up_s = 3;
  double step_ms = 0;  // simulated time of a training step
  // Values that override the CONFIG.
  std::optional<int64_t> workers;
  std::optional<double> batch_duration;
  std::optional<int64_t> batch_size;
  std::optional<int64_t> num_buckets;
  std::optional<int64_t> source_rate_hz;
  std::optional<int64_t> target_rate_hz;
};
int bench_data(const BenchDataArguments& arguments, const Invocation& invocation);

/// Adds them to the group `bench`.
void add_benchmarks(const Command& bench);

}  // namespace s2s::run
