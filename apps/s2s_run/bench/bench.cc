// s2s-run bench: the commands that measure.

#include "s2s_run/bench/bench.h"

#include "s2s_run/config/config_arguments.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

constexpr const char* kProcessorTime =
    "count what the main thread computes instead of the time that passes: for one thread on a busy "
    "machine";

constexpr const char* kRecordFolder =
    "folder for flight records, which ranks write when the run fails (launch diagnose reads them)";

void add_bench_model(const Command& bench) {
  const Command command = bench.command(
      "model", "time a duplex model of a NeMo options file on random data; one JSON object");
  BenchModelArguments& arguments = command.runs(bench_model);
  command.option("--options", arguments.options_path, "options file (JSON), as reference files")
      .required();
  command.option("--steps", arguments.steps, "timed steps, after a first one").positive();
  command.option("--threads", arguments.threads, "threads").positive();
  command.option("--precision", arguments.precision, "32, bf16-mixed or bf16-true");
  command.option("--batch-size", arguments.batch_size, "rows").positive();
  command.option("--seconds", arguments.seconds, "audio of a row, s").positive();
  command.option("--ops", arguments.ops,
                 "also split a step by part, and list this many operators by time");
  command.flag("--processor-time", arguments.processor_time, kProcessorTime);
}

void add_bench_train(const Command& bench) {
  const Command command = bench.command(
      "train", "time a configuration's training steps, part by part; one JSON object");
  BenchTrainArguments& arguments = command.runs(bench_train);
  add_config_arguments(command, arguments.config);
  command.option("--steps", arguments.steps, "timed steps, after three first ones").positive();
  command.option("--from-step", arguments.from_step, "step of the schedule to begin at (stages)");
  command.option("--ops", arguments.ops, "also list this many operators by time");
  command.flag("--processor-time", arguments.processor_time, kProcessorTime);
}

void add_bench_collectives(const Command& bench) {
  const Command command = bench.command(
      "collectives", "see whether the ranks of a run find each other, and how fast they talk");
  BenchCollectivesArguments& arguments = command.runs(bench_collectives);
  command
      .option("--communicator", arguments.communicator,
              "component that carries tensors: gloo on CPUs, nccl on GPUs")
      .shows_default();
  command.option("--size", arguments.sizes, "bytes of a tensor, also as 64K or 4M; may be repeated")
      .size_in_bytes(/*kb_is_1000=*/false)
      .takes_one();
  command.option("--repeats", arguments.repeats, "timed repeats").positive().shows_default();
  command.option("--timeout", arguments.timeout_s, "seconds that a collective may take")
      .positive()
      .shows_default();
  command
      .option("--start-timeout", arguments.start_timeout_s, "seconds that all ranks have to come")
      .positive()
      .shows_default();
  command.option("--record-dir", arguments.record_folder, kRecordFolder);
  command.json("print one JSON object");
}

void add_bench_fault(const Command& bench) {
  const Command command = bench.command(
      "fault", "let a rank of a run fail on purpose: see what the others say, and how they end");
  BenchFaultArguments& arguments = command.runs(bench_fault);
  command.option("fault", arguments.fault, "what happens to it").required().one_of(fault_names());
  command
      .option("--communicator", arguments.communicator,
              "component that carries tensors: gloo on CPUs, nccl on GPUs")
      .shows_default();
  command.option("--rank", arguments.rank, "which rank").whole_number().shows_default();
  command.option("--step", arguments.step, "at which step").positive().shows_default();
  command.option("--steps", arguments.steps, "steps of the run, if it went well")
      .positive()
      .shows_default();
  command.option("--timeout", arguments.timeout_s, "seconds that a collective may take")
      .positive()
      .shows_default();
  command
      .option("--first-step-timeout", arguments.first_step_timeout_s,
              "seconds that one may take in the first step; without it as later")
      .positive();
  command.option("--record-dir", arguments.record_folder, kRecordFolder);
}

void add_bench_parallel(const Command& bench) {
  const Command command = bench.command(
      "parallel", "time a small Llama's steps under a layout, on random tokens; one JSON object");
  BenchParallelArguments& arguments = command.runs(bench_parallel);
  command
      .option("--layout", arguments.layout,
              "single; ddp; fsdp; tp, tp-sp: all ranks split each layer, also the positions")
      .one_of({"single", "ddp", "fsdp", "tp", "tp-sp"})
      .required();
  command.option("--model", arguments.model, "tiny: 0.1 million parameters; 100m: 95 million")
      .one_of({"tiny", "100m"})
      .shows_default();
  command.option("--steps", arguments.steps, "timed steps").positive().shows_default();
  command.option("--warm-up", arguments.warm_up, "steps before them")
      .whole_number()
      .shows_default();
  command.option("--batch-size", arguments.batch_size, "rows of each data rank")
      .positive()
      .shows_default();
  command.option("--positions", arguments.positions, "tokens of a row").positive().shows_default();
  command.option("--trace", arguments.trace_folder,
                 "folder for trace.RANK.json: collectives beside computation, for Perfetto or "
                 "chrome://tracing");
  command.flag("--whole-first", arguments.whole_first,
               "give the model all its memory before it is split, to see what that takes");
}

}  // namespace

void setup_bench(const Command& program) {
  const Command bench = program.group("bench", "measure");
  add_bench_model(bench);
  add_bench_train(bench);
  add_bench_data(bench);
  add_bench_collectives(bench);
  add_bench_fault(bench);
  add_bench_parallel(bench);
}

}  // namespace s2s::run
