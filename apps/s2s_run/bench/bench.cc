// s2s-run bench: defines the commands and their options.

#include "s2s_run/bench/bench.h"

#include "s2s_run/config/config_arguments.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

void add_bench_train(const Command& bench) {
  const Command command = bench.command(
      "train", "time the training steps of a configuration, part by part; prints one JSON object");
  BenchTrainArguments& arguments = command.runs(bench_train);
  add_config_arguments(command, arguments.config);
  command.option("--steps", arguments.steps, "timed steps, after three warm-up steps").positive();
  command.option("--from-step", arguments.from_step, "schedule step to start from (for stages)");
  command.option("--ops", arguments.ops, "also list this many operators by time");
  command.flag("--processor-time", arguments.processor_time, kProcessorTimeDoc);
}

void add_bench_collectives(const Command& bench) {
  const Command command =
      bench.command("collectives",
                    "check that the ranks of a run connect, and measure their communication speed");
  BenchCollectivesArguments& arguments = command.runs(bench_collectives);
  add_rank_options(command, arguments.ranks);
  command
      .option("--size", arguments.sizes,
              "tensor size in bytes, for example 64K or 4M; may be repeated")
      .size_in_bytes(/*kb_is_1000=*/false)
      .takes_one();
  command.option("--repeats", arguments.repeats, "number of timed repetitions")
      .positive()
      .shows_default();
  command
      .option("--start-timeout", arguments.ranks.start_timeout_s,
              "timeout in seconds for all ranks to join")
      .positive()
      .shows_default();
  command.json("print one JSON object");
}

}  // namespace

void add_rank_options(const Command& command, RankArguments& arguments) {
  command
      .option("--communicator", arguments.communicator,
              "communicator component: gloo for CPUs, nccl for GPUs")
      .shows_default();
  command.option("--timeout", arguments.timeout_s, "timeout of a collective in seconds")
      .positive()
      .shows_default();
  command.option("--record-dir", arguments.record_folder,
                 "folder for flight records, which ranks write if the run fails (read them with "
                 "launch diagnose)");
}

Command setup_bench(const Command& program) {
  const Command bench = program.group("bench", "measure the speed of training and communication");
  add_bench_train(bench);
  add_bench_collectives(bench);
  return bench;
}

}  // namespace s2s::run
