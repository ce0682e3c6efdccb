#pragma once
// The commands of `s2s-run bench`. Each prints one JSON object.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/run.h"
#include "s2s_run/data/data_inspect_source.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

/// bench model: times a duplex model from a NeMo options file on random data.
struct BenchModelArguments {
  std::string options_path;
  std::string device = "cpu";
  int64_t steps = 10;
  int threads = 2;
  std::string precision = "32";
  int64_t batch_size = 4;
  double seconds = 10;
  std::string attention = "auto";
  int64_t ops = 0;
  bool processor_time = false;
};
int bench_model(const BenchModelArguments& arguments, const Invocation& invocation);

/// bench llm: times a language model on one fixed batch of random tokens, on one device.
struct BenchLlmArguments {
  std::string preset = "tiny";  // or a Hugging Face folder
  std::string device = "auto";
  std::string precision = "32-true";
  int64_t positions = 512;
  int64_t batch_size = 1;
  int64_t steps = 20;
  int64_t warm_up = 5;  // steps before these; the first one's loss and gradient are printed
  std::string attention = "auto";
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

/// bench train: times training steps of a configuration on its own data. Writes nothing.
struct BenchTrainArguments {
  ConfigArguments config;
  int64_t steps = 20;
  int64_t from_step = 0;
  int64_t ops = 0;
  bool processor_time = false;
};
int bench_train(const BenchTrainArguments& arguments, const Invocation& invocation);

/// bench collectives: checks and times the communicator of a run's processes.
struct BenchCollectivesArguments {
  std::string communicator = "gloo";
  std::vector<uint64_t> sizes = {4, 65536, 4194304};  // bytes
  int64_t repeats = 10;
  double timeout_s = 60;
  double start_timeout_s = 60;
  std::string record_folder;  // for flight records; "": none
};
int bench_collectives(const BenchCollectivesArguments& arguments, const Invocation& invocation);

/// bench fault: makes a rank of a run fail on purpose.
struct BenchFaultArguments {
  std::string fault;
  std::string communicator = "gloo";
  int64_t rank = 1;
  int64_t step = 3;   // 1-based step of the failure
  int64_t steps = 6;  // number of steps of the run
  double timeout_s = 20;
  double first_step_timeout_s = 0;  // 0: timeout_s
  double start_timeout_s = 60;
  std::string record_folder;
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

/// bench data: times the data loader. Prints one JSON object, or text.
int bench_data(const BenchDataArguments& arguments, const Invocation& invocation);

void add_bench_data(const Command& bench);

}  // namespace s2s::run
