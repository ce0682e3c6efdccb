// s2s-run bench parallel: times training steps of a small Llama under a layout, on random tokens.
// tests/benchmark/parallel_peer.py does the same with PyTorch's own layouts.

#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/atomic_file.h"
#include "base/machine.h"
#include "base/moment.h"
#include "benchmark/commands/collective_trace.h"
#include "benchmark/commands/llm_training.h"
#include "s2s_run/bench/command_ranks.h"
#include "s2s_run/bench/step_profile.h"

namespace s2s::run {
namespace {

using nlohmann::ordered_json;

/// The models of parallel_peer.py.
Config model_node(const std::string& name) {
  const bool is_tiny = name == "tiny";
  return node_of({{"name", "llama"},
                  {"hidden_size", is_tiny ? "64" : "768"},
                  {"intermediate_size", is_tiny ? "128" : "2048"},
                  {"num_hidden_layers", is_tiny ? "2" : "10"},
                  {"num_attention_heads", is_tiny ? "4" : "12"},
                  {"num_key_value_heads", is_tiny ? "2" : "12"},
                  {"vocab_size", is_tiny ? "256" : "16000"},
                  {"tie_word_embeddings", "false"}});
}

Config strategy_node(const std::string& layout) {
  if (layout != "tp" && layout != "tp-sp") return node_of({{"name", layout}});
  return node_of({{"name", "model_parallel"},
                  {"data_parallel_size", "1"},
                  {"tensor_parallel_size", "auto"},
                  {"sequence_parallel", layout == "tp-sp" ? "true" : "false"}});
}

/// Makes the memory that is resident now the peak.
void forget_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

double traced_step(LlmTraining& training, CollectiveTrace& trace) {
  trace.begin_part("forward");
  at::Tensor loss = training.forward();
  trace.begin_part("backward");
  loss = training.backward(std::move(loss));
  trace.begin_part("update");
  training.update();
  trace.end_parts();
  return loss.item<double>();
}

struct LayoutTimes {
  std::vector<double> steps_s;
  double first_loss = 0, last_loss = 0;
};

/// The warm-up steps are not timed.
LayoutTimes run_steps(const BenchParallelArguments& arguments, LlmTraining& training,
                      Communicator& world, CollectiveTrace& trace) {
  LayoutTimes times;
  for (int64_t i = 0; i < arguments.warm_up + arguments.steps; ++i) {
    world.barrier("bench").wait();
    if (i == arguments.warm_up) trace.start();
    const double begin_s = now_s();
    times.last_loss = traced_step(training, trace);
    if (i == 0) times.first_loss = times.last_loss;
    if (i >= arguments.warm_up) times.steps_s.push_back(now_s() - begin_s);
  }
  return times;
}

ordered_json measure(const BenchParallelArguments& arguments, const RunProcesses& processes,
                     const Registries& registries) {
  Communicator& world = processes.world();
  CollectiveTrace trace;
  const bool is_traced = !arguments.trace_folder.empty();
  if (is_traced) world.set_observer(&trace);
  forget_peak_memory();
  const int64_t start_bytes = peak_memory_bytes();
  LlmSetup setup;
  setup.model = model_node(arguments.model);
  setup.strategy = strategy_node(arguments.layout);
  setup.batch_size = arguments.batch_size;
  setup.positions = arguments.positions;
  setup.whole_first = arguments.whole_first;
  setup.world = world.size() > 1 ? &world : nullptr;
  LlmTraining training(setup, registries);
  const int64_t setup_bytes = peak_memory_bytes();
  forget_peak_memory();
  const LayoutTimes times = run_steps(arguments, training, world, trace);
  world.set_observer(processes.waits());
  const int64_t peak_bytes = peak_memory_bytes();
  const auto largest = [&world](double value) { return over_ranks(world, value, Reduction::kMax); };
  const auto most_bytes = [&largest](int64_t bytes) {
    return static_cast<int64_t>(largest(static_cast<double>(bytes)));
  };
  ordered_json out = {{"layout", arguments.layout},
                      {"model", arguments.model},
                      {"ranks", world.size()},
                      {"num_parameters", training.num_parameters()},
                      {"batch_size", arguments.batch_size},
                      {"positions", arguments.positions},
                      {"step_s", largest(median(times.steps_s))},
                      {"memory_bytes",
                       {{"start", most_bytes(start_bytes)},
                        {"attach", most_bytes(training.attach_bytes())},
                        {"setup", most_bytes(setup_bytes)},
                        {"steps", most_bytes(peak_bytes)},
                        {"steps_above_start", most_bytes(peak_bytes - start_bytes)}}},
                      {"losses", {times.first_loss, times.last_loss}}};
  if (!is_traced) return out;
  const auto steps = static_cast<double>(arguments.steps);
  out["collectives_per_step_s"] = {{"under_way", largest(trace.under_way_s() / steps)},
                                   {"waited_for", largest(trace.waited_s() / steps)}};
  const std::string file = "/trace." + std::to_string(world.rank()) + ".json";
  std::filesystem::create_directories(arguments.trace_folder);
  write_file_atomically(arguments.trace_folder + file, trace.to_json(world.rank()));
  return out;
}

std::vector<AgreedFact> layout_facts(const BenchParallelArguments& arguments) {
  return {{"--layout", arguments.layout},
          {"--model", arguments.model},
          {"--steps", std::to_string(arguments.steps)},
          {"--warm-up", std::to_string(arguments.warm_up)},
          {"--positions", std::to_string(arguments.positions)},
          {"--whole-first", arguments.whole_first ? "yes" : "no"}};
}

}  // namespace

int bench_parallel(const BenchParallelArguments& arguments, const Invocation& invocation) {
  keep_freed_memory();
  const CommandRanks ranks(invocation, {.timeout_s = 600, .start_timeout_s = 300},
                           layout_facts(arguments));
  const RunProcesses& processes = ranks.processes();
  const ordered_json result =
      processes.watched([&] { return measure(arguments, processes, ranks.registries()); });
  if (processes.is_first()) std::cout << result.dump() << std::endl;
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace s2s::run
