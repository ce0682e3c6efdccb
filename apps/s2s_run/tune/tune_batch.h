#pragma once
// Arguments of tune-batch, and its parts.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/run_config.h"
#include "s2s/kinds/model_capabilities.h"
#include "s2s_run/subcommands.h"

namespace s2s::run {

/// A bucket: the longest conversation in it, and for two dimensions its text tokens. Of text: the
/// tokens of a row, and 0 s.
struct Bucket {
  double duration_s = 0;
  std::optional<int64_t> tokens;

  bool is_text() const { return duration_s == 0; }
};

/// "4 s", or "2048 tokens".
std::string length_text(double duration_s, int64_t tokens);

struct TuneArguments {
  ConfigArguments config;
  std::string buckets;  // "[5,10]" or "[[5,30],[10,60]]"; "": of the configuration, or estimated
  double threshold = 0.05;
  int64_t start_batch_size = 0;  // 0: what the plan predicts
  int64_t most = 4096;
  double memory_fraction = 0.9;
  uint64_t memory_limit = 0;  // bytes of a rank; 0: the fraction of what there is
  int64_t ranks = 0;          // on this machine; 0: of the configuration
  double timeout_s = 900;
  int64_t retries = 2;
  std::string log_folder;
  std::string dtype;
  // NeMo's, without effect.
  std::string module_name, pretrained_name, given_config;
  double ratio = 0, audio_ratio = 0, reclaim_s = 0, tolerance_mb = 0;
  bool ddp = false, no_ddp = false;
  int64_t num_nodes = 1, node_rank = 0;
  std::string endpoint;
  std::optional<double> distributed_timeout_s;
  std::string device;
  std::string probe;  // "ROWS,SECONDS,TOKENS": this process is a probe
};

/// The exit code of a probe that ran out of memory.
constexpr int kOutOfMemory = 12;

/// Trains two steps on one random batch, and prints {"peak_bytes", "model_bytes"} on rank 0. On a
/// CPU, the memory of this process is limited to `limit_bytes`, so that an allocation beyond it
/// fails. Returns 0 or kOutOfMemory. Errors: those of training.
int run_probe(const TuneArguments& arguments, const ProbeBatch& batch,
              const Invocation& invocation);

/// What one row of `length` positions needs beside the model, by the plan, and the model itself.
/// Units: bytes.
struct PredictedMemory {
  double model = 0, row = 0;
  /// Rows that fit into `limit_bytes`; 0: not even one.
  int64_t rows_in(double limit_bytes) const;
};
PredictedMemory predict_memory(const TuneArguments& arguments, const Config& config,
                               const Registries& registries, int64_t length);

/// Text data: one bucket of max_seq_len tokens. Otherwise the buckets of --buckets, of
/// data.train_ds.bucket_duration_bins, or num_buckets estimated from the training data. Errors:
/// [usage/arguments] for --buckets of text, [config/type], [config/bounds], [tune/no-cuts], those
/// of the data.
std::vector<Bucket> choose_buckets(const TuneArguments& arguments, const Config& config,
                                   const Invocation& invocation);

}  // namespace s2s::run
