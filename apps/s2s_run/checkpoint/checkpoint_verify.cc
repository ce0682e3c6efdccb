// s2s-run checkpoint verify PATH: reads a whole checkpoint and lists all problems.

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "checkpoint/checkpoint.h"
#include "config/load_config.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s_run/checkpoint/checkpoint_facts.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/subcommands.h"
#include "weights/checkpoint_files.h"
#include "weights/verify_weights.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

class Verification {
 public:
  explicit Verification(std::string path) : path_(std::move(path)) {}

  void run() {
    const CheckpointFacts facts = describe_checkpoint(path_);
    if (facts.kind == CheckpointKind::kOwn) return verify_own();
    weights(facts.weights);
    if (facts.kind == CheckpointKind::kAdapter) json("adapter_config.json");
    if (facts.kind == CheckpointKind::kHuggingFace) json("config.json");
  }

  const WeightsVerdict& verdict() const { return verdict_; }

 private:
  /// Verifies every file of an s2s checkpoint.
  void verify_own() {
    if (is_indexed(path_)) {
      take(verify_checkpoint(path_));
      return require_listed({"config.yaml", "manifest.json"});
    }
    verify_without_checksums();
    verdict_.attempt([&] { load_config((fs::path(path_) / "config.yaml").string()); });
    json("manifest.json");
  }

  /// Requires files that every run and every import writes into a checkpoint.
  void require_listed(const std::vector<std::string>& names) {
    CheckpointIndex index;
    try {
      index = read_checkpoint_index(path_);
    } catch (const Error&) {
      return;  // already reported
    }
    for (const std::string& name : names) {
      if (index.files.count(name) != 0) continue;
      verdict_.findings.push_back(fmt::format(
          "{}: it does not list {}", (fs::path(path_) / CheckpointIndex::kFile).string(), name));
    }
  }

  /// A checkpoint with only initial weights has no optimizer state.
  void verify_without_checksums() {
    bool has_optimizer = true;
    verdict_.attempt([&] { has_optimizer = !is_weights_only(path_); });
    weights((fs::path(path_) / "model.safetensors").string());
    if (has_optimizer) {
      weights((fs::path(path_) / "optimizer.safetensors").string());
      weights((fs::path(path_) / "random.safetensors").string());
    }
  }

  void weights(const std::string& place) {
    verdict_.attempt([&] { take(verify_weights(place)); });
  }

  void take(const WeightsVerdict& read) {
    verdict_.num_files += read.num_files;
    verdict_.num_tensors += read.num_tensors;
    verdict_.num_bytes += read.num_bytes;
    auto& all = verdict_.findings;
    all.insert(all.end(), read.findings.begin(), read.findings.end());
  }

  void json(const char* file) {
    verdict_.attempt([&] { read_json((fs::path(path_) / file).string()); });
  }

  std::string path_;
  WeightsVerdict verdict_;
};

int verify(const std::string& given, const Invocation& invocation) {
  const std::string path = checkpoint_of(given);
  Verification verification(path);
  verification.run();
  const WeightsVerdict& verdict = verification.verdict();
  const bool is_good = verdict.findings.empty();
  if (invocation.json) {
    const nlohmann::ordered_json json = {{"path", path},
                                         {"ok", is_good},
                                         {"files", verdict.num_files},
                                         {"tensors", verdict.num_tensors},
                                         {"bytes", verdict.num_bytes},
                                         {"findings", verdict.findings}};
    std::printf("%s\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    for (const std::string& finding : verdict.findings)
      fmt::print("wrong: {}\n", printable(finding));
    fmt::print("{}: {}; read {} tensors, {} bytes in {} weight file{}\n", path,
               is_good ? "ok" : counted(static_cast<int64_t>(verdict.findings.size()), "finding"),
               verdict.num_tensors, verdict.num_bytes, verdict.num_files,
               verdict.num_files == 1 ? "" : "s");
  }
  return static_cast<int>(is_good ? ExitCode::kOk : ExitCode::kCheckFailed);
}

}  // namespace

void setup_checkpoint_verify(const Command& group) {
  const Command command = group.command(
      "verify", "read a whole checkpoint and list all problems; exit code 1 if there are any");
  command
      .option("path", command.runs(verify),
              "checkpoint, folder, weight file or archive, as for checkpoint inspect")
      .required();
  command.json("print JSON");
}

}  // namespace s2s::run
