// s2s-run tune-batch: finds the largest batch of each bucket, as NeMo's oomptimizer.py and
// distributed_oomptimizer.py do.

#include "s2s_run/tune/tune_batch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/machine.h"
#include "config/run_blocks.h"
#include "run/run_processes.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/tune/batch_search.h"
#include "s2s_run/tune/probe_process.h"
#include "s2s_run/tune/tune_errors.h"

namespace s2s::run {
namespace {

/// A bucket with what was found.
struct Tuned {
  Bucket bucket;
  int64_t rows = 0;
  int64_t predicted = 0;  // 0: no prediction
  int64_t probes = 0;     // 0: the result of a bucket of the same length
  double peak_bytes = 0;
};

/// Memory that a rank may have on a CPU. On a GPU, the fraction is the allocator's.
uint64_t limit_of(const TuneArguments& arguments, bool is_cpu) {
  if (arguments.memory_limit > 0 || !is_cpu) return arguments.memory_limit;
  const MachineMemory memory = machine_memory();
  const double there = memory.limit > 0 ? std::min(memory.limit, memory.total) : memory.total;
  return static_cast<uint64_t>(arguments.memory_fraction * there /
                               static_cast<double>(arguments.ranks));
}

class Tuner {
 public:
  Tuner(const TuneArguments& arguments, const Run& setup, uint64_t limit_bytes)
      : arguments_(arguments),
        setup_(setup),
        limit_bytes_(limit_bytes),
        probes_(arguments, limit_bytes) {}

  Tuned tune(const Bucket& bucket) {
    const int64_t length = bucket.is_text() ? *bucket.tokens : positions_of(bucket.duration_s);
    const auto known = by_length_.find(length);
    if (known != by_length_.end()) {  // text fills frames that are there anyway
      Tuned same = known->second;
      same.bucket = bucket;
      same.probes = 0;
      return same;
    }
    Tuned tuned{bucket};
    const PredictedMemory memory =
        predict_memory(arguments_, setup_.config(), setup_.registries(), length);
    tuned.predicted = memory.rows_in(static_cast<double>(limit_bytes_));
    BatchSearch search(guess(tuned.predicted, length), arguments_.threshold,
                       static_cast<double>(limit_bytes_), arguments_.most);
    while (const std::optional<int64_t> rows = search.next()) {
      const BatchTrial trial = probes_.run({*rows, bucket.duration_s, bucket.tokens.value_or(0)});
      say(bucket, trial);
      search.add(trial);
    }
    if (search.largest() == 0) {
      throw tune_errors::no_batch(length_text(bucket.duration_s, bucket.tokens.value_or(0)),
                                  static_cast<double>(limit_bytes_));
    }
    tuned.rows = search.largest();
    tuned.probes = search.num_trials();
    tuned.peak_bytes = search.best()->peak_bytes;
    seen_ = {length, tuned.rows};
    by_length_[length] = tuned;
    return tuned;
  }

  int64_t num_probes() const { return probes_.num_run(); }

 private:
  int64_t positions_of(double duration_s) const {
    const Config* const node = setup_.config().find_path("data.frame_length");
    const double frame_s =
        node == nullptr || node->is_null() ? 0.08 : node->as_double("data.frame_length");
    return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(duration_s / frame_s)));
  }

  /// The first bucket begins with what the plan predicts, the next ones with as many positions as
  /// the last result.
  int64_t guess(int64_t predicted, int64_t length) const {
    if (arguments_.start_batch_size > 0) return arguments_.start_batch_size;
    if (seen_) return std::max<int64_t>(1, seen_->first * seen_->second / length);
    return predicted > 0 ? predicted : 32;  // NeMo's default
  }

  void say(const Bucket& bucket, const BatchTrial& trial) const {
    std::cerr << fmt::format(
                     "{} x {} rows: {}", length_text(bucket.duration_s, bucket.tokens.value_or(0)),
                     trial.rows,
                     trial.fits ? "trains, " + gigabytes_text(trial.peak_bytes) : "out of memory")
              << std::endl;
  }

  const TuneArguments& arguments_;
  const Run& setup_;
  uint64_t limit_bytes_;
  ProbeRunner probes_;
  std::map<int64_t, Tuned> by_length_;
  std::optional<std::pair<int64_t, int64_t>> seen_;  // positions, rows
};

std::string text_of(const Bucket& bucket) {
  if (bucket.is_text()) return std::to_string(*bucket.tokens);
  return bucket.tokens ? fmt::format("[{:g},{}]", bucket.duration_s, *bucket.tokens)
                       : fmt::format("{:g}", bucket.duration_s);
}

void print_text(const std::vector<Tuned>& all, int64_t num_probes, uint64_t limit_bytes) {
  std::vector<std::string> bins, rows;
  std::printf("%12s %8s %12s %12s %8s\n", "bucket", "rows", "by the plan", "memory", "trials");
  for (const Tuned& one : all) {
    bins.push_back(text_of(one.bucket));
    rows.push_back(std::to_string(one.rows));
    std::printf("%12s %8lld %12s %12s %8lld\n", bins.back().c_str(),
                static_cast<long long>(one.rows),
                one.predicted > 0 ? std::to_string(one.predicted).c_str() : "-",
                gigabytes_text(one.peak_bytes).c_str(), static_cast<long long>(one.probes));
  }
  const std::string limit =
      limit_bytes > 0 ? ", " + gigabytes_text(static_cast<double>(limit_bytes)) + " per rank" : "";
  std::printf("%lld trials%s. For data.train_ds:\n", static_cast<long long>(num_probes),
              limit.c_str());
  if (all.front().bucket.is_text()) {
    std::printf("  max_seq_len: %s\n  batch_size: %s\n", bins.front().c_str(),
                rows.front().c_str());
    return;
  }
  std::printf("  use_bucketing: true\n  bucket_duration_bins: [%s]\n  bucket_batch_size: [%s]\n",
              fmt::format("{}", fmt::join(bins, ",")).c_str(),
              fmt::format("{}", fmt::join(rows, ",")).c_str());
}

void print_json(const std::vector<Tuned>& all, int64_t num_probes, uint64_t limit_bytes) {
  nlohmann::ordered_json bins = nlohmann::ordered_json::array();
  nlohmann::ordered_json rows = bins, predicted = bins, bytes = bins, probes = bins;
  for (const Tuned& one : all) {
    if (one.bucket.is_text()) {
      bins.push_back(*one.bucket.tokens);
    } else if (one.bucket.tokens) {
      bins.push_back({one.bucket.duration_s, *one.bucket.tokens});
    } else {
      bins.push_back(one.bucket.duration_s);
    }
    rows.push_back(one.rows);
    predicted.push_back(one.predicted);
    bytes.push_back(one.peak_bytes);
    probes.push_back(one.probes);
  }
  const bool is_text = all.front().bucket.is_text();
  const nlohmann::ordered_json out = {{is_text ? "max_seq_len" : "bucket_duration_bins", bins},
                                      {is_text ? "batch_size" : "bucket_batch_size", rows},
                                      {"predicted_batch_size", predicted},
                                      {"peak_bytes", bytes},
                                      {"trials", probes},
                                      {"all_trials", num_probes},
                                      {"memory_limit_bytes", limit_bytes}};
  std::printf("%s\n", out.dump(2).c_str());
}

ProbeBatch probe_of(const std::string& text) {
  ProbeBatch batch;
  long long rows = 0, tokens = 0;
  if (std::sscanf(text.c_str(), "%lld,%lf,%lld", &rows, &batch.duration_s, &tokens) != 3) {
    throw tune_errors::not_here("--probe", "expected ROWS,SECONDS,TOKENS");
  }
  batch.rows = rows;
  batch.tokens = tokens;
  return batch;
}

/// Flags of NeMo's scripts, as configuration.
void read_nemo_flags(TuneArguments& arguments) {
  if (!arguments.given_config.empty()) {
    if (!arguments.config.path.empty()) {
      arguments.config.overrides.insert(arguments.config.overrides.begin(), arguments.config.path);
    }
    arguments.config.path = arguments.given_config;
  }
  if (arguments.config.path.empty()) {
    throw tune_errors::not_here(
        arguments.pretrained_name.empty() ? "CONFIG is missing" : "--pretrained-name",
        "expected a configuration: s2s-run tune-batch my.yaml, or --config-path my.yaml; the "
        "weights to start from are in it (model.llm.path, model.encoder.path)");
  }
  if (arguments.num_nodes != 1) {
    throw tune_errors::not_here("--supervisor-nnodes",
                                "trials run on one machine; run tune-batch on one of them with "
                                "--nproc-per-node, and with the shards of the whole run in "
                                "trainer.strategy if they fit");
  }
  const std::map<std::string, std::string> precisions = {
      {"bfloat16", "bf16-mixed"}, {"float16", "16-mixed"}, {"float32", "32-true"}};
  std::vector<std::string>& overrides = arguments.config.overrides;
  if (!arguments.dtype.empty()) {
    overrides.push_back("trainer.precision=" + precisions.at(arguments.dtype));
  }
  if (!arguments.device.empty()) {
    overrides.push_back("trainer.accelerator=" +
                        std::string(arguments.device.starts_with("cuda") ? "gpu" : "cpu"));
  }
  if (arguments.distributed_timeout_s) {
    overrides.push_back(
        fmt::format("trainer.communicator.timeout_s={}", *arguments.distributed_timeout_s));
  }
}

int tune_batch(TuneArguments arguments, const Invocation& invocation) {
  if (!arguments.probe.empty()) {
    return run_probe(arguments, probe_of(arguments.probe), invocation);
  }
  require_one_process("tune-batch");
  read_nemo_flags(arguments);
  const Run setup(arguments.config, RunPurpose::kTrain, invocation);
  if (arguments.ranks == 0) arguments.ranks = configured_ranks(setup.config()).value_or(1);
  if (invocation.make_data) invocation.make_data(setup.config());
  const uint64_t limit_bytes = limit_of(arguments, setup.builder().device().is_cpu());
  Tuner tuner(arguments, setup, limit_bytes);
  std::vector<Tuned> all;
  for (const Bucket& bucket : choose_buckets(arguments, setup.config(), invocation)) {
    all.push_back(tuner.tune(bucket));
  }
  (invocation.json ? print_json : print_text)(all, tuner.num_probes(), limit_bytes);
  return 0;
}

void add_nemo_options(const Command& command, TuneArguments& arguments) {
  const char* const kNothing = "ignored; accepted for scripts of NeMo";
  command.option("-c,--config-path", arguments.given_config, "CONFIG, as NeMo's scripts take it");
  command.option("-m,--module-name", arguments.module_name, kNothing);
  command.option("-n,--pretrained-name", arguments.pretrained_name, kNothing);
  command.option("-r,--ratio", arguments.ratio, kNothing);
  command.option("--salm-audio-token-ratio", arguments.audio_ratio, kNothing);
  command.flag("--ddp", arguments.ddp, kNothing);
  command.flag("--no-ddp", arguments.no_ddp, kNothing);
  command.option("-y,--dtype", arguments.dtype, "trainer.precision: mixed for the 16-bit types")
      .one_of({"bfloat16", "float16", "float32"});
  command.option("-d,--device", arguments.device, "cuda or cpu: trainer.accelerator");
  command.option("--supervisor-nnodes", arguments.num_nodes, "machines; expected 1").positive();
  command.option("--supervisor-node-rank", arguments.node_rank, kNothing);
  command.option("--rdzv-endpoint", arguments.endpoint, kNothing);
  command.option("--distributed-timeout-seconds", arguments.distributed_timeout_s,
                 "trainer.communicator.timeout_s");
  command.option("--probe-memory-reclaim-timeout-seconds", arguments.reclaim_s, kNothing);
  command.option("--probe-memory-tolerance-mb", arguments.tolerance_mb, kNothing);
}

}  // namespace

void setup_tune_batch(const Command& program) {
  const Command command = program.command(
      "tune-batch",
      "find the largest batch size of each bucket, or of rows of text, that trains in the memory");
  TuneArguments& arguments = command.runs(tune_batch);
  command.option("config", arguments.config.path, "YAML file of a run");
  command.option("overrides", arguments.config.overrides,
                 "overrides: key.path=value with a YAML value; ~key removes a key");
  command.option("-b,--buckets", arguments.buckets,
                 "durations in seconds '[5,10,20]', or with text tokens '[[5,30],[10,60]]'; "
                 "default: data.train_ds.bucket_duration_bins, or num_buckets estimated from the "
                 "training data");
  command
      .option("--memory-limit", arguments.memory_limit,
              "memory of each rank, for example 4GiB; default: --memory-fraction")
      .size_with_unit()
      .positive();
  command
      .option("-f,--memory-fraction", arguments.memory_fraction,
              "share of the device's memory, or of this machine's for all its ranks")
      .share()
      .shows_default();
  command
      .option("-t,--threshold", arguments.threshold,
              "end the search of a bucket when the range is smaller than this share")
      .share()
      .shows_default();
  command
      .option("-s,--start-batch-size", arguments.start_batch_size,
              "rows of a bucket's first trial; default: what the plan predicts, then the last "
              "bucket's positions")
      .positive();
  command.option("--max-batch-size", arguments.most, "rows that are never exceeded")
      .positive()
      .shows_default();
  command
      .option("--num-ranks,--nproc-per-node", arguments.ranks,
              "ranks, all on this machine; default: trainer.devices, or 1")
      .positive();
  command.option("--probe-timeout-seconds", arguments.timeout_s, "time limit of a trial")
      .positive()
      .shows_default();
  command
      .option("--max-probe-retries", arguments.retries,
              "retries of a trial that fails for another reason than memory")
      .not_negative()
      .shows_default();
  command.option("--probe-log-dir", arguments.log_folder,
                 "folder for the outputs of the trials; default: they are not kept");
  command.option("--probe", arguments.probe, "ROWS,SECONDS,TOKENS: be a trial (internal)");
  add_nemo_options(command, arguments);
  command.json("print one JSON object");
}

}  // namespace s2s::run
