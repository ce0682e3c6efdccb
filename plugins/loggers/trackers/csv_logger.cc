#include "csv_logger.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace s2s::trackers {
namespace {

/// The cells of a line. Source: RFC 4180, without line breaks in cells.
std::vector<std::string> csv_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool is_quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (is_quoted && c == '"' && line.substr(i, 2) == "\"\"") {
      cells.back() += line[++i];
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

std::string csv_cell(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.find_first_of(",\"\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string csv_header(const std::vector<std::string>& columns) {
  std::string line;
  for (const std::string& name : columns) line += (line.empty() ? "" : ",") + csv_cell(name);
  return line + "\n";
}

int64_t step_of_row(std::string_view line) {
  int64_t step = -1;
  std::from_chars(line.data(), line.data() + line.size(), step);
  return step;
}

}  // namespace

void CsvLogger::start(const LoggedRun& run) {
  const std::string folder = options_.save_dir.value_or(run.folder);
  path_ = folder + "/metrics.csv";
  replace_file(folder + "/hparams.yaml", run.config_yaml);
  columns_ = {"step"};
  visit_lines(path_, [&](const std::string& line) {
    std::vector<std::string> cells = csv_cells(line);
    if (cells[0] == "step") columns_ = std::move(cells);
    return false;
  });
  rewrite_rows([&](const std::string& row) {
    const int64_t step = step_of_row(row);
    return step >= 0 && step <= run.steps_done ? row + "\n" : "";
  });
  file_ = std::make_unique<RecordFile>(path_, options_.flush_secs);
}

void CsvLogger::rewrite_rows(const std::function<std::string(const std::string&)>& change) {
  bool is_header = true;
  rewrite_lines(path_, csv_header(columns_), [&](const std::string& line) {
    return std::exchange(is_header, false) ? std::string() : change(line);
  });
}

void CsvLogger::add_columns(const std::vector<std::string>& names) {
  file_->flush();
  file_.reset();
  columns_.insert(columns_.end(), names.begin(), names.end());
  const std::string added = std::string(names.size(), ',') + "\n";
  rewrite_rows([&](const std::string& row) { return row + added; });
  file_ = std::make_unique<RecordFile>(path_, options_.flush_secs);
}

void CsvLogger::log(int64_t step, const std::map<std::string, double>& values) {
  std::map<std::string, double> row;
  for (const auto& [name, value] : values) {
    row[prefixed(options_.prefix, name)] = value;
  }
  std::vector<std::string> added;
  for (const auto& [name, value] : row) {
    if (std::find(columns_.begin(), columns_.end(), name) == columns_.end()) added.push_back(name);
  }
  if (!added.empty()) add_columns(added);
  std::string line = std::to_string(step);
  for (size_t i = 1; i < columns_.size(); ++i) {
    const auto value = row.find(columns_[i]);
    line += value == row.end() ? "," : fmt::format(",{}", value->second);
  }
  file_->append(line + "\n");
}

void CsvLogger::flush() { file_->flush(); }

}  // namespace s2s::trackers
