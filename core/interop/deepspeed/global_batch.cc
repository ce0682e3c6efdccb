// DeepSpeed's identity: train_batch_size = micro-batch * accumulation * data ranks.
// Source: deepspeed/runtime/config.py, _set_batch_related_parameters and _batch_assertion.

#include <fmt/format.h>

#include <algorithm>

#include "comm/launch_environment.h"
#include "config/config_errors.h"
#include "config/run_blocks.h"
#include "deepspeed/deepspeed_values.h"

namespace s2s::interop {
namespace {

constexpr const char* kBatch = "data.train_ds.batch_size";
constexpr const char* kAccumulation = "trainer.accumulate_grad_batches";

/// A number of at least 1, or nothing.
std::optional<int64_t> number_at(const Config& config, std::string_view path) {
  const Config* const found = config.find_path(path);
  if (found == nullptr) return std::nullopt;
  const auto number = whole_number(*found);
  return number && *number >= 1 ? number : std::nullopt;
}

Error global_batch_error(const Config& global, const std::string& problem) {
  return {ExitCode::kConfig, "config/global-batch",
          config_place("train_batch_size", global) + " is " + config_value(global) + ", but " +
              problem +
              "; expected train_batch_size = train_micro_batch_size_per_gpu * "
              "gradient_accumulation_steps * data ranks: change one of them, or remove "
              "train_batch_size"};
}

int64_t tensor_size(const Config& config) {
  return number_at(config, "trainer.strategy.tensor_parallel_size").value_or(1);
}

class GlobalBatch {
 public:
  GlobalBatch(ForeignFile& file, const Config& value, int64_t global)
      : file_(file),
        value_(value),
        global_(global),
        batch_(number_at(file.config, kBatch)),
        accumulation_(number_at(file.config, kAccumulation)),
        ranks_(known_data_ranks(file.config)) {}

  void read() {
    if (batch_ && accumulation_) return ranks_ > 0 ? check() : imply_ranks();
    const int64_t ranks = std::max<int64_t>(1, ranks_);
    if (ranks_ == 0) {
      file_.notes.others.push_back(
          "train_batch_size is divided for one rank here; a start on more ranks divides it again");
    }
    if (batch_) return imply(kAccumulation, *batch_ * ranks, ranks);
    imply(kBatch, accumulation_.value_or(1) * ranks, ranks);
  }

 private:
  void check() {
    if (*batch_ * *accumulation_ * ranks_ == global_) return;
    fail(fmt::format("{} sequences of a micro-batch * {} micro-batches * {} data rank{} = {}",
                     *batch_, *accumulation_, ranks_, ranks_ == 1 ? "" : "s",
                     *batch_ * *accumulation_ * ranks_));
  }

  /// The run then refuses to start with another number of ranks.
  void imply_ranks() {
    const int64_t one = *batch_ * *accumulation_;
    if (global_ % one != 0) {
      return fail(
          fmt::format("{} sequences of a micro-batch * {} micro-batches = {} does not "
                      "divide it",
                      *batch_, *accumulation_, one));
    }
    const int64_t all = global_ / one * tensor_size(file_.config);
    const int64_t nodes = number_at(file_.config, "trainer.num_nodes").value_or(1);
    if (all % nodes != 0) {
      return fail(
          fmt::format("its {} ranks are not a multiple of the {} machines of "
                      "trainer.num_nodes",
                      all, nodes));
    }
    file_.set("trainer.devices", std::to_string(all / nodes), value_);
  }

  void imply(const char* path, int64_t divisor, int64_t ranks) {
    if (global_ % divisor != 0) {
      return fail(fmt::format("{} does not divide it ({} on {} data rank{})", divisor,
                              divisor / ranks, ranks, ranks == 1 ? "" : "s"));
    }
    file_.set(path, std::to_string(global_ / divisor), value_);
  }

  void fail(const std::string& problem) { file_.findings.add(global_batch_error(value_, problem)); }

  ForeignFile& file_;
  const Config& value_;
  int64_t global_;
  std::optional<int64_t> batch_, accumulation_;
  int64_t ranks_;
};

}  // namespace

int64_t known_data_ranks(const Config& config) {
  const int64_t tensor = tensor_size(config);
  // An elastic run keeps the batch of this number of ranks.
  if (const auto elastic = number_at(config, "trainer.elastic_ranks")) return *elastic / tensor;
  try {
    if (const auto configured = configured_ranks(config)) return *configured / tensor;
    const LaunchEnvironment launch = read_launch_environment();
    return launch.launcher == Launcher::kNone ? 0 : launch.size / tensor;
  } catch (const Error&) {
    return 0;  // who reads these values reports it
  }
}

void read_global_batch(ForeignFile& file) {
  const Config* const value = file.find("train_batch_size");
  if (value == nullptr || value->is_null() || value->text() == "auto") return;
  const auto global = whole_number(*value);
  if (!global || *global < 1) {
    return file.findings.add(
        type_error(file.path_of("train_batch_size"), *value, "a number of sequences, or auto"));
  }
  for (const char* const key : {"batch_duration", "bucket_batch_size", "batch_tokens"}) {
    const Config* const ours = file.config.find_path("data.train_ds." + std::string(key));
    if (ours == nullptr || ours->is_null()) continue;
    return file.no_effect("train_batch_size", *value,
                          "data.train_ds." + std::string(key) + " says how large batches are");
  }
  GlobalBatch(file, *value, *global).read();
}

}  // namespace s2s::interop
