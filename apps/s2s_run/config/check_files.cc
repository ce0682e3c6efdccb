#include "s2s_run/config/check_files.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "checkpoint/checkpoint.h"
#include "eval/metrics/monitored_metric.h"
#include "run/described_model.h"
#include "run/run_builder.h"
#include "s2s_run/config/config_arguments.h"
#include "s2s_run/data/data_inspect_source.h"
#include "s2s_run/plan/memory_forecast.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

/// Whether the same happens on this machine as where there is a GPU is not asked here.
Config without_device(Config config) {
  config["trainer"]["accelerator"] = Config::scalar("cpu");
  return config;
}

/// Opening LibTorch's half for GPUs would take longer than the rest of the check.
bool has_gpu_driver() {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver != nullptr) dlclose(driver);
  return driver != nullptr;
}

bool has_commands(const Config& node) {
  if (node.is_scalar()) return node.text() == "command" || node.text().find("pipe:") == 0;
  return std::any_of(node.items().begin(), node.items().end(), has_commands) ||
         std::any_of(node.entries().begin(), node.entries().end(),
                     [](const auto& entry) { return has_commands(entry.second); });
}

class FileCheck {
 public:
  FileCheck(const RunConfig& config, RunCheck& check)
      : check_(check),
        config_(without_device(check.written)),
        registries_(config.registries()),
        builder_(config_, registries_, warnings_) {
    warnings_.send_to(
        [this](const std::string& message) { check_.notes.warnings.push_back(message); });
  }

  void run() {
    const Config* const synth = config_.find_path("data.synth.path");
    data_is_there_ = synth == nullptr || !synth->is_scalar() || fs::exists(synth->text());
    if (!data_is_there_) {
      check_.notes.others.push_back("data.synth: training makes " + synth->text() +
                                    " first; what will lie there is not looked at");
    }
    check_device();
    attempt([this] { open_tokenizer(); });
    attempt([this] { describe_model(); });
    attempt([this] { check_monitor(); });
    attempt([this] { check_start(); });
    attempt([this] { open_set("data.train_ds", *config_.find_path("data.train_ds")); });
    for (const auto& [name, block] : builder_.settings().validation_sets) {
      const std::string path = "data.validation_ds.datasets." + name;
      attempt([&, &set = block] { open_set(path, set); });
    }
    if (check_.findings.empty()) {
      attempt([this] { warn_of_memory(config_, registries_, {}, check_.notes.warnings); });
    }
  }

 private:
  template <class Body>
  void attempt(const Body& body) {
    try {
      body();
    } catch (const Error& error) {
      check_.findings.add(error);
    }
  }

  /// The check may run where training does not.
  void check_device() {
    const Config* const asked = check_.written.find_path("trainer.accelerator");
    const std::string name = asked != nullptr && asked->is_scalar() ? asked->text() : "";
    if ((name == "gpu" || name == "cuda") && !has_gpu_driver()) {
      check_.notes.warnings.push_back("trainer.accelerator is " + name +
                                      ", and this machine has no NVIDIA driver: the run has to "
                                      "train elsewhere");
    }
  }

  /// One that training makes first is not there yet.
  void open_tokenizer() {
    const Config* const node = config_.find_path("model.tokenizer");
    const Config* const path = node == nullptr ? nullptr : node->find("path");
    const bool is_made = node != nullptr && (node->find("train") != nullptr || !data_is_there_);
    waits_ = is_made && path != nullptr && path->is_scalar() && !fs::exists(path->text());
    if (!waits_) tokenizer_ = builder_.tokenizer();
  }

  /// With its own tokenizer; pretrained files are compared with its sizes.
  void describe_model() {
    if (waits_ || !check_.findings.empty()) return;
    const std::unique_ptr<SpeechModel> model = builder_.described_model(tokenizer_.get());
    builder_.initial_values(*model);
  }

  void check_monitor() {
    const std::string fault =
        monitor_fault(builder_.settings(), run::describe_model(config_, registries_).metrics);
    if (!fault.empty()) check_.notes.warnings.push_back(fault);
  }

  /// What a run without a checkpoint of its own begins with.
  void check_start() {
    const ExpManagerBlock& manager = builder_.settings().exp_manager;
    const fs::path own = fs::path(manager.run_folder()) / "checkpoints/last";
    if (!manager.resume_from_checkpoint || (manager.resume_if_exists && fs::exists(own))) return;
    const std::string start = checkpoint_of(*manager.resume_from_checkpoint);
    require_checkpoint(start);
    check_same_parts(start, config_);
  }

  /// Other sources than those of cuts are their plugins' to open.
  void open_set(const std::string& path, const Config& block) {
    if (!data_is_there_ || !names_cuts(block) || has_commands(block)) return;
    if (first_cut(block, path) != nullptr) return;
    throw Error(ExitCode::kData, "data/empty",
                path +
                    ": there is not one cut; expected at least one; see what its files hold: "
                    "s2s-run data inspect CONFIG --set " +
                    path.substr(path.rfind('.') + 1));
  }

  RunCheck& check_;
  const Config config_;
  const Registries& registries_;
  Warnings warnings_;
  RunBuilder builder_;
  std::unique_ptr<Tokenizer> tokenizer_;
  bool data_is_there_ = true;
  bool waits_ = false;  // for the tokenizer to be made
};

}  // namespace

void check_files(const RunConfig& config, RunCheck& check) { FileCheck(config, check).run(); }

}  // namespace s2s::run
