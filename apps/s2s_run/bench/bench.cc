// s2s-run bench: the commands that measure.

#include "s2s_run/bench/bench.h"

#include <CLI/CLI.hpp>

#include "s2s_run/bench/bench_data.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/number_checks.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

constexpr const char* kProcessorTime =
    "count what the main thread computes instead of the time that passes: for one thread on a busy "
    "machine";

constexpr const char* kRecordFolder =
    "folder for flight records, which ranks write when the run fails (launch diagnose reads them)";

void add_bench_model(CLI::App& bench, Invocation& invocation) {
  CLI::App* const command = bench.add_subcommand(
      "model", "time a duplex model of a NeMo options file on random data; one JSON object");
  auto arguments = std::make_shared<BenchModelArguments>();
  command
      ->add_option("--options", arguments->options_path, "options file (JSON), as reference files")
      ->required();
  command->add_option("--steps", arguments->steps, "timed steps, after a first one")
      ->check(positive());
  command->add_option("--threads", arguments->threads, "threads")->check(positive());
  command->add_option("--precision", arguments->precision, "32, bf16-mixed or bf16-true");
  command->add_option("--batch-size", arguments->batch_size, "rows")->check(positive());
  command->add_option("--seconds", arguments->seconds, "audio of a row, s")->check(positive());
  command->add_option("--ops", arguments->ops,
                      "also split a step by part, and list this many operators by time");
  command->add_flag("--processor-time", arguments->processor_time, kProcessorTime);
  command->callback([arguments, &invocation] {
    invocation.selected = [arguments, &invocation] { return bench_model(*arguments, invocation); };
  });
}

void add_bench_train(CLI::App& bench, Invocation& invocation) {
  CLI::App* const command = bench.add_subcommand(
      "train", "time a configuration's training steps, part by part; one JSON object");
  auto arguments = std::make_shared<BenchTrainArguments>();
  add_config_arguments(*command, arguments->config);
  command->add_option("--steps", arguments->steps, "timed steps, after three first ones")
      ->check(positive());
  command->add_option("--from-step", arguments->from_step,
                      "step of the schedule to begin at (stages)");
  command->add_option("--ops", arguments->ops, "also list this many operators by time");
  command->add_flag("--processor-time", arguments->processor_time, kProcessorTime);
  command->callback([arguments, &invocation] {
    invocation.selected = [arguments, &invocation] { return bench_train(*arguments, invocation); };
  });
}

void add_bench_collectives(CLI::App& bench, Invocation& invocation) {
  CLI::App* const command = bench.add_subcommand(
      "collectives", "see whether the ranks of a run find each other, and how fast they talk");
  auto arguments = std::make_shared<BenchCollectivesArguments>();
  command
      ->add_option("--communicator", arguments->communicator,
                   "component that carries tensors: gloo on CPUs, nccl on GPUs")
      ->capture_default_str();
  command
      ->add_option("--size", arguments->sizes,
                   "bytes of a tensor, also as 64K or 4M; may be repeated")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->allow_extra_args(false);
  command->add_option("--repeats", arguments->repeats, "timed repeats")
      ->check(positive())
      ->capture_default_str();
  command->add_option("--timeout", arguments->timeout_s, "seconds that a collective may take")
      ->check(positive())
      ->capture_default_str();
  command
      ->add_option("--start-timeout", arguments->start_timeout_s,
                   "seconds that all ranks have to come")
      ->check(positive())
      ->capture_default_str();
  command->add_option("--record-dir", arguments->record_folder, kRecordFolder);
  command->add_flag("--json", invocation.json, "print one JSON object");
  command->callback([arguments, &invocation] {
    invocation.selected = [arguments, &invocation] {
      return bench_collectives(*arguments, invocation);
    };
  });
}

void add_bench_fault(CLI::App& bench, Invocation& invocation) {
  CLI::App* const command = bench.add_subcommand(
      "fault", "let a rank of a run fail on purpose: see what the others say, and how they end");
  auto arguments = std::make_shared<BenchFaultArguments>();
  command->add_option("fault", arguments->fault, "what happens to it")
      ->required()
      ->check(CLI::IsMember(fault_names()));
  command
      ->add_option("--communicator", arguments->communicator,
                   "component that carries tensors: gloo on CPUs, nccl on GPUs")
      ->capture_default_str();
  command->add_option("--rank", arguments->rank, "which rank")
      ->check(whole_number())
      ->capture_default_str();
  command->add_option("--step", arguments->step, "at which step")
      ->check(positive())
      ->capture_default_str();
  command->add_option("--steps", arguments->steps, "steps of the run, if it went well")
      ->check(positive())
      ->capture_default_str();
  command->add_option("--timeout", arguments->timeout_s, "seconds that a collective may take")
      ->check(positive())
      ->capture_default_str();
  command
      ->add_option("--first-step-timeout", arguments->first_step_timeout_s,
                   "seconds that one may take in the first step; without it as later")
      ->check(positive());
  command->add_option("--record-dir", arguments->record_folder, kRecordFolder);
  command->callback([arguments, &invocation] {
    invocation.selected = [arguments, &invocation] { return bench_fault(*arguments, invocation); };
  });
}

void add_bench_parallel(CLI::App& bench, Invocation& invocation) {
  CLI::App* const command = bench.add_subcommand(
      "parallel", "time a small Llama's steps under a layout, on random tokens; one JSON object");
  auto arguments = std::make_shared<BenchParallelArguments>();
  command
      ->add_option("--layout", arguments->layout,
                   "single; ddp; fsdp; tp, tp-sp: all ranks split each layer, also the positions")
      ->check(CLI::IsMember({"single", "ddp", "fsdp", "tp", "tp-sp"}))
      ->required();
  command->add_option("--model", arguments->model, "tiny: 0.1 million parameters; 100m: 95 million")
      ->check(CLI::IsMember({"tiny", "100m"}))
      ->capture_default_str();
  command->add_option("--steps", arguments->steps, "timed steps")
      ->check(positive())
      ->capture_default_str();
  command->add_option("--warm-up", arguments->warm_up, "steps before them")
      ->check(whole_number())
      ->capture_default_str();
  command->add_option("--batch-size", arguments->batch_size, "rows of each data rank")
      ->check(positive())
      ->capture_default_str();
  command->add_option("--positions", arguments->positions, "tokens of a row")
      ->check(positive())
      ->capture_default_str();
  command->add_option("--trace", arguments->trace_folder,
                      "folder for trace.RANK.json: collectives beside computation, for Perfetto or "
                      "chrome://tracing");
  command->add_flag("--whole-first", arguments->whole_first,
                    "give the model all its memory before it is split, to see what that takes");
  command->callback([arguments, &invocation] {
    invocation.selected = [arguments, &invocation] {
      return bench_parallel(*arguments, invocation);
    };
  });
}

}  // namespace

void setup_bench(CLI::App& app, Invocation& invocation) {
  CLI::App* const bench = app.add_subcommand("bench", "measure");
  bench->require_subcommand(1);
  add_bench_model(*bench, invocation);
  add_bench_train(*bench, invocation);
  add_bench_data(*bench, invocation);
  add_bench_collectives(*bench, invocation);
  add_bench_fault(*bench, invocation);
  add_bench_parallel(*bench, invocation);
}

}  // namespace s2s::run
