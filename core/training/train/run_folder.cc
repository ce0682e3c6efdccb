#include "train/run_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/atomic_file.h"
#include "base/machine.h"
#include "train/metrics_file.h"
#include "train/train_errors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

void add_rates(const StepReport& report, ordered_json& line) {
  line["frames_per_s"] = static_cast<double>(report.frames) / report.step_time_s;
  line["tokens_per_s"] = static_cast<double>(report.tokens) / report.step_time_s;
  line["audio_hours_per_s"] = report.audio_s / 3600 / report.step_time_s;
  if (report.model_flops + report.encoder_flops == 0) return;
  line["model_tflops_per_s"] = 1e-12 * report.model_flops / report.step_time_s;
  line["encoder_tflops_per_s"] = 1e-12 * report.encoder_flops / report.step_time_s;
  if (report.peak_flops > 0) line["utilization"] = report.utilization();
}

void add_phases(const PhaseTimes& phases, ordered_json& line) {
  line["time_data_s"] = phases.of(TrainingPhase::kData);
  line["time_to_device_s"] = phases.of(TrainingPhase::kToDevice);
  line["time_forward_s"] = phases.of(TrainingPhase::kForward);
  line["time_backward_s"] = phases.of(TrainingPhase::kBackward);
  line["time_communication_s"] = phases.communication_s;
  line["time_optimizer_s"] = phases.of(TrainingPhase::kUpdate);
}

ordered_json line_of(const StepReport& report) {
  ordered_json line;
  line["step"] = report.step + 1;
  line["loss"] = report.loss;
  for (const auto& [name, value] : report.parts) line[name] = value;
  line["grad_norm"] = report.grad_norm;
  line["learning_rate"] = report.learning_rate;
  line["skipped_steps"] = report.skipped_steps;
  if (report.loss_scale > 0) line["loss_scale"] = report.loss_scale;
  line["frames"] = report.frames;
  line["tokens"] = report.tokens;
  line["batch_size"] = report.batch_size;
  if (report.left_out_cuts > 0) line["left_out_cuts"] = report.left_out_cuts;
  line["padding_ratio"] =
      1 - static_cast<double>(report.frames) / static_cast<double>(report.padded_frames);
  line["step_time_s"] = report.step_time_s;
  line["data_wait_s"] = report.data_wait_s;
  add_rates(report, line);
  add_phases(report.phases, line);
  line["peak_memory_bytes"] = peak_memory_bytes();
  if (const DeviceMemory& device = report.device_memory; device.reserved_bytes > 0) {
    line["device_peak_bytes"] = device.peak_bytes;
    line["device_reserved_bytes"] = device.reserved_bytes;
  }
  return line;
}

}  // namespace

RunFolder::RunFolder(std::string path) : path_(std::move(path)) {
  try {
    make_folders(path_);
  } catch (const Error& error) {
    throw_run_folder(path_, error.message());
  }
}

RunFolder RunFolder::unmade(std::string path) {
  RunFolder folder;
  folder.path_ = std::move(path);
  return folder;
}

void RunFolder::remove_left_overs() const { remove_partial_files(path_); }

void RunFolder::check_unused() const {
  std::error_code ignored;
  for (const char* const name : {"checkpoints", "metrics.jsonl"}) {
    if (fs::exists(file(name)) && !fs::is_empty(file(name), ignored)) {
      throw_run_not_empty(path_, name);
    }
  }
}

void RunFolder::write_config(const std::string& yaml) const {
  write_file_atomically(file("config.yaml"), yaml);
}

void RunFolder::write_manifest(const nlohmann::json& manifest) const {
  write_file_atomically(file("manifest.json"), manifest.dump(1) + "\n");
}

void RunFolder::keep_copies(const std::string& name, const std::vector<std::string>& files) const {
  const fs::path folder = file(name);
  try {
    for (const std::string& from : files) {
      make_folders(folder.string());
      const fs::path copy = folder / fs::path(from).filename();
      if (!fs::exists(copy) || !fs::equivalent(from, copy)) {
        fs::copy_file(from, copy, fs::copy_options::overwrite_existing);
        sync_to_disk(copy.string());
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw_run_folder(folder, error.code().message());
  }
}

void RunFolder::check_copies(const std::string& name, const std::vector<std::string>& files) const {
  for (const std::string& from : files) {
    std::error_code reason;
    const bool is_file = fs::is_regular_file(from, reason);
    if (!is_file && !reason) reason = std::make_error_code(std::errc::invalid_argument);
    if (reason) throw_run_folder(file(name), reason.message());
  }
}

MetricsLog::MetricsLog(std::string path, int64_t steps_done,
                       const std::function<void(const std::string&)>& warn, bool repeats_validation)
    : path_(std::move(path)) {
  if (fs::exists(path_)) keep_lines(steps_done, repeats_validation, warn);
}

void MetricsLog::keep_lines(int64_t steps_done, bool repeats_validation,
                            const std::function<void(const std::string&)>& warn) const {
  MetricsCut cut;
  try {
    cut = cut_metrics(path_, steps_done, repeats_validation);
  } catch (const std::system_error& error) {
    throw_run_folder(path_, error.code().message());
  }
  if (!warn) return;
  if (cut.first_odd > 0) warn(odd_metrics_line(path_, cut.first_odd));
  if (cut.last_step < steps_done) warn(missing_metrics(path_, cut.last_step, steps_done));
}

void MetricsLog::append(const ordered_json& line) const {
  const std::string text = line.dump();
  std::ofstream out(path_, std::ios::app);
  out << text << '\n';
  out.flush();
  if (!out) throw_run_folder(path_, std::strerror(errno));
  if (on_line) on_line(text);
}

std::vector<std::pair<std::string, double>> numbers_of(const StepReport& report) {
  const ordered_json line = line_of(report);
  std::vector<std::pair<std::string, double>> numbers;
  for (const auto& [name, value] : line.items()) numbers.emplace_back(name, value.get<double>());
  return numbers;
}

void MetricsLog::on_step(const StepReport& report) {
  ordered_json line = line_of(report);
  line["batch"] = fmt::format("{:08x}", report.batch_hash);
  append(line);
}

void MetricsLog::on_validation(const ValidationReport& report) {
  for (const auto& [set, metrics] : report.sets) {
    ordered_json line;
    line["step"] = report.step;
    line["validation"] = set;
    for (const auto& [name, value] : metrics) line[name] = value;
    append(line);
  }
}

}  // namespace s2s
