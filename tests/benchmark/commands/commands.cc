// s2s-bench: the options of its commands. `s2s-bench llm` is `s2s-run bench llm`.

#include "benchmark/commands/commands.h"

#include "benchmark/commands/llm_training.h"

namespace s2s::run {
namespace {

void add_profile_option(const Command& command, std::string& profile_file) {
  command.option("--profile", profile_file,
                 "file for a timeline of one more step (LibTorch's profiler), for Perfetto or "
                 "chrome://tracing");
}

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
  add_device_options(command, arguments.device);
  command.option("--precision", arguments.precision, "32, bf16-mixed or bf16-true");
  command.option("--batch-size", arguments.batch_size, "rows").positive();
  command.option("--seconds", arguments.seconds, "audio per row in seconds").positive();
  command.option("--ops", arguments.ops,
                 "also split a step by part, and list this many operators by time");
  command.flag("--processor-time", arguments.processor_time, kProcessorTimeDoc);
  command.force(arguments.force);
  add_profile_option(command, arguments.profile_file);
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
  add_device_options(command, arguments.device);
  command.option("--precision", arguments.precision, "32-true, bf16-true or bf16-mixed")
      .one_of({"32-true", "bf16-true", "bf16-mixed"})
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
  add_profile_option(command, arguments.profile_file);
  command.json("print one JSON object");
}

void add_bench_data(const Command& bench) {
  const Command command = bench.command(
      "data",
      "measure how fast a data set is read, decoded, resampled and padded, without training");
  BenchDataArguments& arguments = command.runs(bench_data);
  command
      .option(
          "source", arguments.source.words,
          "cuts, a Shar directory, a NeMo manifest, an input_cfg, or a CONFIG with [key=value...]")
      .required();
  command
      .option("--set", arguments.source.set,
              "data set of a CONFIG: train_ds, or the name of a validation set")
      .shows_default();
  command.option("--seconds", arguments.seconds, "seconds to measure").positive().shows_default();
  command.option("--warm-up", arguments.warm_up_s, "seconds of warm-up")
      .not_negative()
      .shows_default();
  command
      .option("--step-ms", arguments.step_ms,
              "pause between two batches in ms, to simulate a training step")
      .not_negative();
  command.option("--workers", arguments.workers, "loader threads (num_workers)").whole_number();
  command.option("--batch-duration", arguments.batch_duration, "seconds per batch (default: 120)")
      .positive();
  command.option("--batch-size", arguments.batch_size, "cuts per batch").positive();
  command.option("--num-buckets", arguments.num_buckets, "10").positive();
  command
      .option("--source-rate", arguments.source_rate_hz,
              "sample rate of the user's audio in Hz (default: 16000)")
      .positive();
  command
      .option("--target-rate", arguments.target_rate_hz,
              "sample rate of the agent's audio in Hz (default: 22050)")
      .positive();
  command.option("--tokenizer", arguments.tokenizer, "tokenizer.json or .model file");
  command.json("print one JSON object");
}

void add_bench_fault(const Command& bench) {
  const Command command = bench.command(
      "fault", "make one rank fail on purpose and report how the other ranks react and end");
  BenchFaultArguments& arguments = command.runs(bench_fault);
  command.option("fault", arguments.fault, "kind of failure").required().one_of(fault_names());
  command.option("--rank", arguments.rank, "rank that fails").whole_number().shows_default();
  command.option("--step", arguments.step, "step at which it fails").positive().shows_default();
  command.option("--steps", arguments.steps, "number of steps of a run without failure")
      .positive()
      .shows_default();
  add_rank_options(command, arguments.ranks);
  command
      .option("--first-step-timeout", arguments.ranks.first_step_timeout_s,
              "timeout of a collective in the first step, in seconds (default: --timeout)")
      .positive();
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

}  // namespace

void add_benchmarks(const Command& bench) {
  add_bench_model(bench);
  add_bench_llm(bench);
  add_bench_data(bench);
  add_bench_fault(bench);
  add_bench_parallel(bench);
}

}  // namespace s2s::run
