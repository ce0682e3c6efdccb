#include "s2s_run/runs/run_metrics.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/appended_lines.h"
#include "base/foreign_json.h"
#include "base/io_errors.h"
#include "train/metrics_file.h"

namespace s2s::run {
namespace {

using nlohmann::json;

constexpr std::string_view kValidation = "\"validation\"";
/// From the end of a file, the bytes in which all validations are looked for.
constexpr size_t kValidationBytes = size_t{16} << 20;

bool is_of_step(std::string_view line) {
  if (line.find(kValidation) == std::string_view::npos) return true;
  const json values = try_parse_foreign_json(line);
  return values.is_object() && !values.contains("validation");
}

/// The line that has a byte at `at`, and its begin.
std::pair<json, size_t> line_around(AppendedLines& file, size_t at) {
  file.go_back_to(at);
  const auto before = file.previous();
  const size_t begin = before && !before->is_complete ? before->begin : at;
  std::string text, block(AppendedLines::kBlockBytes, '\0');
  while (text.find('\n') == std::string::npos && text.size() < AppendedLines::kLineBytes) {
    const size_t got = file.read(begin + text.size(), block.data(), block.size());
    if (got == 0) break;
    text.append(block, 0, got);
  }
  text.resize(std::min(text.find('\n'), text.size()));
  return {try_parse_foreign_json(text), begin};
}

void read_last_step(AppendedLines& file, RunRecord& run) {
  while (const auto line = file.previous()) {
    if (!step_of_metrics(line->text) || !is_of_step(line->text)) continue;
    json values = try_parse_foreign_json(line->text);
    if (!values.is_object()) continue;
    run.last = std::move(values);
    return;
  }
}

void read_validations(AppendedLines& file, RunRecord& run) {
  const size_t tail = file.size() - std::min(file.size(), kValidationBytes);
  const bool validates = std::any_of(run.config.begin(), run.config.end(), [](const auto& entry) {
    return entry.first.starts_with("data.validation_ds");
  });
  std::set<int64_t> steps;
  for (size_t before = file.size();;) {
    const auto at = file.rfind(kValidation, before, validates ? 0 : tail);
    if (!at) return;
    auto [values, begin] = line_around(file, *at);
    before = begin;
    if (!values.is_object() || !values.contains("step") || !values.contains("validation")) continue;
    const json &step = values.at("step"), &set = values.at("validation");
    if (!step.is_number_integer() || !set.is_string()) continue;
    steps.insert(step.get<int64_t>());
    if (steps.size() > 2 && begin < tail) return;
    const auto name = set.get<std::string>();
    run.validations.try_emplace(name, std::move(values));
  }
}

/// The lines of the steps of a run, from the first one on.
class StepLines {
 public:
  explicit StepLines(const std::string& path) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) file_.emplace(path);
    read_ahead();
  }

  /// Goes to the next step; false at the end.
  bool advance() {
    if (!ahead_) return false;
    here_ = std::move(*ahead_);
    read_ahead();
    return true;
  }
  int64_t step() const { return here_.step; }
  json values() const { return try_parse_foreign_json(here_.text); }

 private:
  struct Line {
    int64_t step = 0;
    std::string text;
  };

  /// Of several lines of a step, the last one counts.
  void read_ahead() {
    ahead_.reset();
    while (const auto line = file_ ? file_->next() : std::nullopt) {
      const auto step = step_of_metrics(line->text);
      if (!step || !is_of_step(line->text)) continue;
      if (has_any_ && *step == here_.step) here_.text = line->text;
      if (has_any_ && *step <= here_.step) continue;
      has_any_ = true;
      ahead_ = Line{*step, std::string(line->text)};
      return;
    }
  }

  std::optional<AppendedLines> file_;
  Line here_;
  std::optional<Line> ahead_;
  bool has_any_ = false;
};

std::string text_of(const json& line, const std::string& key) {
  const auto found = line.find(key);
  if (found == line.end()) return "-";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

bool is_equal(const json& first, const json& second, const std::string& key, double rtol) {
  const auto a = RunRecord::number(first, key), b = RunRecord::number(second, key);
  if (!a || !b) return text_of(first, key) == text_of(second, key);
  return *a == *b || std::abs(*a - *b) <= rtol * std::max(std::abs(*a), std::abs(*b));
}

/// What the clock and the memory say differs between any two runs.
bool is_of_the_machine(const std::string& key) {
  return key.ends_with("_s") || key.ends_with("_bytes") || key == "utilization";
}

/// Adds what differs between two lines of a step. `differing`: keys that differed before.
void compare_step(int64_t step, const std::pair<json, json>& lines, double rtol,
                  std::set<std::string>& differing, Parting& parting) {
  const auto& [line, other] = lines;
  if (!line.is_object() || !other.is_object()) return;
  for (const auto& [key, value] : line.items()) {
    if (key == "step" || key == "loss" || is_of_the_machine(key)) continue;
    if (is_equal(line, other, key, rtol) || !differing.insert(key).second) continue;
    parting.before.push_back({step, key, text_of(line, key), text_of(other, key)});
  }
  if (is_equal(line, other, "loss", rtol)) return;
  parting.loss = {step, "loss", text_of(line, "loss"), text_of(other, "loss")};
  parting.has_batches = line.contains("batch") && other.contains("batch");
  parting.is_same_batch = parting.has_batches && is_equal(line, other, "batch", 0);
}

}  // namespace

void read_last_metrics(RunRecord& run, Validations validations) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(run.metrics_path(), ignored)) return;
  try {
    AppendedLines file(run.metrics_path());
    read_last_step(file, run);
    if (validations == Validations::kRead) read_validations(file, run);
  } catch (const std::system_error& error) {
    throw read_error(run.metrics_path(), error.code().value());
  }
}

Parting find_parting(const RunRecord& first, const RunRecord& second, double rtol) {
  Parting parting;
  std::set<std::string> differing;
  try {
    StepLines a(first.metrics_path()), b(second.metrics_path());
    for (bool has_both = a.advance() && b.advance(); has_both;) {
      if (a.step() != b.step()) {
        has_both = a.step() < b.step() ? a.advance() : b.advance();
        continue;
      }
      ++parting.num_common;
      if (!parting.loss) {
        compare_step(a.step(), {a.values(), b.values()}, rtol, differing, parting);
      }
      has_both = a.advance() && b.advance();
    }
  } catch (const std::system_error& error) {
    throw read_error(first.metrics_path() + " or " + second.metrics_path(), error.code().value());
  }
  return parting;
}

}  // namespace s2s::run
