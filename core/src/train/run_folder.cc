#include "train/run_folder.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/atomic_file.h"
#include "train/train_errors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// Lines of steps below `steps_done`; a line that was cut by a crash is dropped.
std::string kept_lines(const std::string& path, int64_t steps_done) {
  std::ifstream in(path);
  std::string kept, line;
  while (std::getline(in, line)) {
    const auto parsed = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (parsed.is_discarded() || !parsed.contains("step")) continue;
    const auto step = parsed.at("step").get<int64_t>();
    // A validation line carries the number of steps done, a step line the 1-based step.
    if (step <= steps_done) kept += line + "\n";
  }
  return kept;
}

}  // namespace

RunFolder::RunFolder(std::string path) : path_(std::move(path)) {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) throw_run_folder(path_, error.message());
}

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
      fs::create_directories(folder);
      const fs::path copy = folder / fs::path(from).filename();
      if (!fs::exists(copy) || !fs::equivalent(from, copy)) {
        fs::copy_file(from, copy, fs::copy_options::overwrite_existing);
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw_run_folder(folder, error.code().message());
  }
}

int64_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

MetricsLog::MetricsLog(std::string path, int64_t steps_done) : path_(std::move(path)) {
  if (fs::exists(path_)) write_file_atomically(path_, kept_lines(path_, steps_done));
}

MetricsLog::~MetricsLog() = default;

void MetricsLog::append(const ordered_json& line) const {
  std::ofstream out(path_, std::ios::app);
  out << line.dump() << '\n';
  out.flush();
  if (!out) throw_run_folder(path_, std::strerror(errno));
}

void MetricsLog::on_step(const StepReport& report) {
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
  line["frames_per_s"] = static_cast<double>(report.frames) / report.step_time_s;
  line["peak_memory_bytes"] = peak_memory_bytes();
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
