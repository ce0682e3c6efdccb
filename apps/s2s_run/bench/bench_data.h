#pragma once
// bench data: what the loader gives when nobody trains.

#include <cstdint>
#include <optional>
#include <string>

#include "s2s_run/data/data_inspect_source.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

struct BenchDataArguments {
  SourceArguments source;
  std::string tokenizer;
  double seconds = 20;  // measured
  double warm_up_s = 3;
  double step_ms = 0;  // what a step would take between two batches
  // In place of what a CONFIG says.
  std::optional<int64_t> workers;
  std::optional<double> batch_duration;
  std::optional<int64_t> batch_size;
  std::optional<int64_t> num_buckets;
  std::optional<int64_t> source_rate_hz;
  std::optional<int64_t> target_rate_hz;
};

/// Prints one JSON object, or a few lines.
int bench_data(const BenchDataArguments& arguments, const Invocation& invocation);

/// Adds `bench data`.
void add_bench_data(const Command& bench);

}  // namespace s2s::run
