// s2s-run bench: defines the commands and their options.

#include "s2s_run/bench/bench.h"

#include "s2s_run/bench/bench_device.h"
#include "s2s_run/bench/llm_training.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {
namespace {

constexpr const char* kProcessorTime =
    "measure CPU time of the main thread instead of wall time; for one thread on a busy machine";

constexpr const char* kRecordFolder =
    "folder for flight records, which ranks write if the run fails (read them with launch "
    "diagnose)";

void add_bench_model(const Command& bench) {
  const Command command = bench.command(
      "model",
      "time a duplex model from a NeMo options file on random data; prints one JSON object");
  BenchModelArguments& arguments = command.runs(bench_model);
  command
      .option("--options", arguments.options_path,
              "options file (JSON), in the format of reference files")
      .required();
  command.option("--steps", arguments.steps, "timed steps, after one warm-up step").positive();
  command
      .option("--threads", arguments.threads,
              "threads of steps and answers; initial values are drawn with all, or "
              "OMP_NUM_THREADS")
      .positive();
  command.option("--device", arguments.device, kDeviceDoc)
      .one_of({"auto", "cpu", "gpu"})
      .shows_default();
  command.option("--precision", arguments.precision, "32, bf16-mixed or bf16-true");
  command.option("--attention", arguments.attention, kAttentionDoc)
      .one_of({"auto", "cudnn", "flash", "math"})
      .shows_default();
  command.option("--batch-size", arguments.batch_size, "rows").positive();
  command.option("--seconds", arguments.seconds, "audio per row in seconds").positive();
  command.option("--ops", arguments.ops,
                 "also split a step by part, and list this many operators by time");
  command.flag("--processor-time", arguments.processor_time, kProcessorTime);
}

void add_bench_train(const Command& bench) {
  const Command command = bench.command(
      "train", "time the training steps of a configuration, part by part; prints one JSON object");
  BenchTrainArguments& arguments = command.runs(bench_train);
  add_config_arguments(command, arguments.config);
  command.option("--steps", arguments.steps, "timed steps, after three warm-up steps").positive();
  command.option("--from-step", arguments.from_step, "schedule step to start from (for stages)");
  command.option("--ops", arguments.ops, "also list this many operators by time");
  command.flag("--processor-time", arguments.processor_time, kProcessorTime);
}

void add_bench_collectives(const Command& bench) {
  const Command command =
      bench.command("collectives",
                    "check that the ranks of a run connect, and measure their communication speed");
  BenchCollectivesArguments& arguments = command.runs(bench_collectives);
  command
      .option("--communicator", arguments.communicator,
              "communicator component: gloo for CPUs, nccl for GPUs")
      .shows_default();
  command
      .option("--size", arguments.sizes,
              "tensor size in bytes, for example 64K or 4M; may be repeated")
      .size_in_bytes(/*kb_is_1000=*/false)
      .takes_one();
  command.option("--repeats", arguments.repeats, "number of timed repetitions")
      .positive()
      .shows_default();
  command.option("--timeout", arguments.timeout_s, "timeout of a collective in seconds")
      .positive()
      .shows_default();
  command
      .option("--start-timeout", arguments.start_timeout_s,
              "timeout in seconds for all ranks to join")
      .positive()
      .shows_default();
  command.option("--record-dir", arguments.record_folder, kRecordFolder);
  command.json("print one JSON object");
}

void add_bench_fault(const Command& bench) {
  const Command command = bench.command(
      "fault", "make one rank fail on purpose and report how the other ranks react and end");
  BenchFaultArguments& arguments = command.runs(bench_fault);
  command.option("fault", arguments.fault, "kind of failure").required().one_of(fault_names());
  command
      .option("--communicator", arguments.communicator,
              "communicator component: gloo for CPUs, nccl for GPUs")
      .shows_default();
  command.option("--rank", arguments.rank, "rank that fails").whole_number().shows_default();
  command.option("--step", arguments.step, "step at which it fails").positive().shows_default();
  command.option("--steps", arguments.steps, "number of steps of a run without failure")
      .positive()
      .shows_default();
  command.option("--timeout", arguments.timeout_s, "timeout of a collective in seconds")
      .positive()
      .shows_default();
  command
      .option("--first-step-timeout", arguments.first_step_timeout_s,
              "timeout of a collective in the first step, in seconds (default: --timeout)")
      .positive();
  command.option("--record-dir", arguments.record_folder, kRecordFolder);
}

void add_bench_parallel(const Command& bench) {
  const Command command = bench.command("parallel",
                                        "time the training steps of a small Llama under a layout, "
                                        "on random tokens; prints one JSON object");
  BenchParallelArguments& arguments = command.runs(bench_parallel);
  command
      .option("--layout", arguments.layout,
              "single, ddp, fsdp, tp (all ranks split each layer), or tp-sp (also the positions)")
      .one_of({"single", "ddp", "fsdp", "tp", "tp-sp"})
      .required();
  command.option("--model", arguments.model, "tiny: 0.1 million parameters; 100m: 95 million")
      .one_of({"tiny", "100m"})
      .shows_default();
  command.option("--steps", arguments.steps, "timed steps").positive().shows_default();
  command.option("--warm-up", arguments.warm_up, "warm-up steps").whole_number().shows_default();
  command.option("--batch-size", arguments.batch_size, "rows per data rank")
      .positive()
      .shows_default();
  command.option("--positions", arguments.positions, "tokens per row").positive().shows_default();
  command.option("--trace", arguments.trace_folder,
                 "folder for trace.RANK.json, a timeline of collectives and computation for "
                 "Perfetto or chrome://tracing");
  command.flag("--whole-first", arguments.whole_first,
               "allocate the whole model before it is split, to measure the cost");
}

void add_bench_llm(const Command& bench) {
  const Command command =
      bench.command("llm",
                    "time training steps of a language model on one device, on random tokens, and "
                    "what the device gives their parts");
  BenchLlmArguments& arguments = command.runs(bench_llm);
  command
      .option("--preset", arguments.preset,
              "tiny: 0.2 million parameters; 1.1b: TinyLlama; 8b: Llama 3; or a Hugging Face "
              "folder, whose weights are read")
      .check(llm_preset_problem, "PRESET")
      .shows_default();
  command.option("--device", arguments.device, kDeviceDoc)
      .one_of({"auto", "cpu", "gpu"})
      .shows_default();
  command.option("--precision", arguments.precision, "32-true, bf16-true or bf16-mixed")
      .one_of({"32-true", "bf16-true", "bf16-mixed"})
      .shows_default();
  command.option("--attention", arguments.attention, kAttentionDoc)
      .one_of({"auto", "cudnn", "flash", "math"})
      .shows_default();
  command.option("--positions", arguments.positions, "tokens per row").positive().shows_default();
  command.option("--batch-size", arguments.batch_size, "rows").positive().shows_default();
  command.option("--steps", arguments.steps, "timed steps, once without waits and once with them")
      .positive()
      .shows_default();
  command.option("--warm-up", arguments.warm_up, "warm-up steps").positive().shows_default();
  command
      .option("--recompute", arguments.recompute,
              "what the backward pass recomputes: none, full (every layer), every:N (every N-th "
              "layer) or norm_and_mlp")
      .check(llm_recompute_problem, "WHAT")
      .shows_default();
  command
      .option("--clip", arguments.clip,
              "maximum gradient norm (default: no clipping); each step then waits for the norm")
      .positive();
  command
      .option("--init", arguments.init,
              "initial values: seeded (the same on every device) or fast (drawn on the device; "
              "replaces a folder's weights)")
      .one_of({"seeded", "fast"})
      .shows_default();
  command
      .option("--peak-tflops", arguments.peak_teraflops,
              "TFLOP/s that MFU is relative to (default: those of the fastest product, measured "
              "here)")
      .positive();
  command.flag("--no-ceilings", arguments.no_ceilings,
               "do not measure the copy rate and the single products");
  command.option("--export", arguments.export_folder,
                 "folder for weights, configuration and batch, from which "
                 "tests/benchmark/gpu_peer.py trains the same");
  command.force(arguments.force);
  command.option("--profile", arguments.profile_file,
                 "file for a timeline of one more step (LibTorch's profiler), for Perfetto or "
                 "chrome://tracing");
  command.json("print one JSON object");
}

}  // namespace

void setup_bench(const Command& program) {
  const Command bench =
      program.group("bench", "measure the speed of training, data loading and communication");
  add_bench_model(bench);
  add_bench_llm(bench);
  add_bench_train(bench);
  add_bench_data(bench);
  add_bench_collectives(bench);
  add_bench_fault(bench);
  add_bench_parallel(bench);
}

}  // namespace s2s::run
