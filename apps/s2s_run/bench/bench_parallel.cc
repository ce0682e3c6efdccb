// s2s-run bench parallel: times training steps of a small Llama under a layout, on random tokens.
// tests/benchmark/parallel_peer.py does the same with PyTorch's own layouts. Shape letters: B rows,
// T positions, N = B * T, H hidden.

#include <ATen/ATen.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/machine.h"
#include "s2s/kinds/backbone.h"
#include "s2s/nn/initial_values.h"
#include "s2s/nn/losses.h"
#include "s2s_run/bench/bench.h"
#include "s2s_run/bench/collective_trace.h"
#include "s2s_run/bench/command_ranks.h"
#include "s2s_run/bench/step_profile.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::ordered_json;

using Options = std::vector<std::pair<const char*, const char*>>;

Config node_of(const Options& options) {
  Config node = Config::map();
  for (const auto& [key, value] : options) node[key] = Config::scalar(value);
  return node;
}

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
  if (layout == "tp" || layout == "tp-sp") {
    return node_of({{"name", "model_parallel"},
                    {"data_parallel_size", "1"},
                    {"tensor_parallel_size", "auto"},
                    {"sequence_parallel", layout == "tp-sp" ? "true" : "false"}});
  }
  return node_of({{"name", layout.c_str()}});
}

/// A field of /proc/self/status, in bytes.
int64_t resident(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string name;
  int64_t kibibytes = 0;
  while (status >> name) {
    if (name == field + ":" && status >> kibibytes) return kibibytes * 1024;
    status.ignore(4096, '\n');
  }
  return 0;
}

/// Resets VmHWM (peak memory) to the current resident size.
void forget_high_water() { std::ofstream("/proc/self/clear_refs") << "5"; }

struct Layout {
  std::unique_ptr<Backbone> model;
  std::unique_ptr<ParallelStrategy> strategy;
  std::unique_ptr<Optimizer> optimizer;
  int64_t attach_bytes = 0;  // peak resident size until the strategy was attached
};

Layout lay_out(const BenchParallelArguments& arguments, const Registries& registries,
               Communicator* world) {
  ProcessContext context;
  context.registries = &registries;
  context.world = world;
  context.path = "model.llm";
  Layout out;
  out.model = registries.create<Backbone>(model_node(arguments.model), context);
  context.path = "trainer.strategy";
  out.strategy = registries.create<ParallelStrategy>(strategy_node(arguments.layout), context);
  context.path = "model.optimizer";
  out.optimizer =
      registries.create<Optimizer>(node_of({{"name", "adamw"}, {"weight_decay", "0"}}), context);
  const InitialValues values(*out.model, {at::kCPU, at::kFloat, 1});
  const ShardPlan plan = out.model->configure_model(out.strategy->mesh());
  if (arguments.whole_first) values.fill(out.model->named_parameters());
  out.strategy->attach_meta(*out.model, plan, values);
  out.attach_bytes = resident("VmHWM");
  std::vector<NamedTensor> parameters = out.strategy->optimizer_parameters(*out.model);
  const size_t count = parameters.size();
  out.optimizer->attach(std::move(parameters), std::vector<double>(count, 1.0));
  return out;
}

struct Tokens {
  at::Tensor ids_BT;
  at::Tensor labels_NK;  // the next ids
};

/// Random tokens, different on each data rank.
Tokens random_tokens(const BenchParallelArguments& arguments, const Layout& layout) {
  at::manual_seed(static_cast<uint64_t>(100 + layout.strategy->data_rank()));
  const at::Tensor all = at::randint(layout.model->shape().vocab_size,
                                     {arguments.batch_size, arguments.positions + 1}, at::kLong);
  return {all.slice(1, 0, arguments.positions).contiguous(),
          all.slice(1, 1).reshape({-1, 1}).contiguous()};
}

class LayoutRun {
 public:
  LayoutRun(const BenchParallelArguments& arguments, Layout& layout, Tokens tokens,
            CollectiveTrace* trace)
      : arguments_(arguments), layout_(layout), tokens_(std::move(tokens)), trace_(trace) {
    num_labels_ =
        layout_.strategy->sum_over_data({static_cast<double>(tokens_.labels_NK.numel())})[0];
  }

  double step() {
    Backbone& model = *layout_.model;
    ParallelStrategy& strategy = *layout_.strategy;
    part("forward");
    strategy.begin_step(model);
    strategy.begin_micro_batch(model, /*is_last=*/true);
    const at::Tensor hidden_BTH = model(model.embed(tokens_.ids_BT), SequenceInfo());
    const at::Tensor loss =
        linear_cross_entropy(hidden_BTH.flatten(0, 1), model.head(), tokens_.labels_NK) /
        num_labels_;
    part("backward");
    loss.backward();
    strategy.finish_backward(model);
    part("update");
    layout_.optimizer->step(1e-4);
    strategy.after_update(model);
    if (trace_ != nullptr) trace_->end_parts();
    return loss.item<double>();
  }

  /// Runs and times the steps. The warm-up steps are not timed.
  void run(Communicator& world) {
    const int64_t count = arguments_.warm_up + arguments_.steps;
    for (int64_t i = 0; i < count; ++i) {
      world.barrier("bench").wait();
      if (i == arguments_.warm_up && trace_ != nullptr) trace_->start();
      const Clock::time_point begin = Clock::now();
      last_loss_ = step();
      if (i == 0) first_loss_ = last_loss_;
      if (i >= arguments_.warm_up) {
        times_.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
      }
    }
  }

  const std::vector<double>& times() const { return times_; }
  std::vector<double> losses() const { return {first_loss_, last_loss_}; }

 private:
  void part(const char* name) {
    if (trace_ != nullptr) trace_->begin_part(name);
  }

  const BenchParallelArguments& arguments_;
  Layout& layout_;
  Tokens tokens_;
  CollectiveTrace* trace_;
  double num_labels_ = 1, first_loss_ = 0, last_loss_ = 0;
  std::vector<double> times_;
};

double largest(Communicator& world, double value) {
  const at::Tensor tensor = at::full({1}, value, at::kDouble);
  world.all_reduce(tensor, Reduction::kMax, "bench").wait();
  return tensor.item<double>();
}

ordered_json measure(const BenchParallelArguments& arguments, const RunProcesses& processes,
                     const Registries& registries) {
  Communicator& world = processes.world();
  CollectiveTrace trace;
  const bool is_traced = !arguments.trace_folder.empty();
  if (is_traced) world.set_observer(&trace);
  const int64_t start_bytes = resident("VmRSS");
  forget_high_water();
  Layout layout = lay_out(arguments, registries, world.size() > 1 ? &world : nullptr);
  LayoutRun measurement(arguments, layout, random_tokens(arguments, layout),
                        is_traced ? &trace : nullptr);
  const int64_t setup_bytes = resident("VmHWM");
  forget_high_water();
  measurement.run(world);
  world.set_observer(processes.waits());
  const int64_t peak_bytes = resident("VmHWM");
  const auto as_largest = [&world](int64_t bytes) {
    return static_cast<int64_t>(largest(world, static_cast<double>(bytes)));
  };
  int64_t num_parameters = 0;
  for (const NamedTensor& p : layout.model->named_parameters()) {
    num_parameters += c10::multiply_integers(p.sizes);
  }
  ordered_json out = {{"layout", arguments.layout},
                      {"model", arguments.model},
                      {"ranks", world.size()},
                      {"num_parameters", num_parameters},
                      {"batch_size", arguments.batch_size},
                      {"positions", arguments.positions},
                      {"step_s", largest(world, median(measurement.times()))},
                      {"memory_bytes",
                       {{"start", as_largest(start_bytes)},
                        {"attach", as_largest(layout.attach_bytes)},
                        {"setup", as_largest(setup_bytes)},
                        {"steps", as_largest(peak_bytes)},
                        {"steps_above_start", as_largest(peak_bytes - start_bytes)}}},
                      {"losses", measurement.losses()}};
  if (!is_traced) return out;
  const auto steps = static_cast<double>(arguments.steps);
  const double under_way = trace.under_way_s() / steps, waited = trace.waited_s() / steps;
  out["collectives_per_step_s"] = {{"under_way", largest(world, under_way)},
                                   {"waited_for", largest(world, waited)}};
  const std::string file = "/trace." + std::to_string(world.rank()) + ".json";
  std::filesystem::create_directories(arguments.trace_folder);
  write_file_atomically(arguments.trace_folder + file, trace.to_json(world.rank()));
  return out;
}

std::vector<AgreedFact> spec_of(const BenchParallelArguments& arguments) {
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
  const CommandRanks ranks(invocation, "gloo", spec_of(arguments));
  const RunProcesses& processes = ranks.processes();
  const ordered_json result =
      processes.watched([&] { return measure(arguments, processes, ranks.registries()); });
  if (processes.is_first()) std::cout << result.dump() << std::endl;
  return static_cast<int>(ExitCode::kOk);
}

}  // namespace s2s::run
