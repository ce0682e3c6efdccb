#include "mlflow_logger.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "sha256.h"

namespace s2s::trackers {
namespace {

// The limits of mlflow/utils/validation.py.
constexpr size_t kMaxParamBytes = 6000;
constexpr size_t kMaxNameBytes = 250;

int64_t unix_time_ms() { return static_cast<int64_t>(unix_time_s() * 1000); }

/// A name of a metric, parameter or tag, which is also the name of its file.
std::string mlflow_name(const std::string& name) {
  std::string out;
  for (const char c : name.substr(0, kMaxNameBytes)) {
    const bool stays = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' ||
                       c == '.' || c == ' ' || c == ':';
    out += stays ? c : '_';
  }
  return out.find_first_not_of('.') == std::string::npos ? "_" : out;
}

/// A scalar of a YAML file, in single quotes.
std::string yaml_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "''" : std::string(1, c == '\n' ? ' ' : c);
  return out + "'";
}

/// The value of a key of a flat YAML file, without quotes; "" when it is not there.
std::string yaml_value(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key + ": ")) continue;
    std::string value = line.substr(key.size() + 2);
    if (value.size() < 2 || value.front() != '\'' || value.back() != '\'') return value;
    std::string out;
    for (size_t i = 1; i + 1 < value.size(); ++i) {
      out += value[i];
      if (value[i] == '\'' && value[i + 1] == '\'') ++i;
    }
    return out;
  }
  return "";
}

std::string user_name() {
  const passwd* const entry = getpwuid(getuid());
  return entry == nullptr ? std::to_string(getuid()) : entry->pw_name;
}

/// A path as a URI: MLflow decodes %XX in it.
std::string file_uri(const std::string& path) {
  std::string uri = "file://";
  for (const char c : std::filesystem::absolute(path).string()) {
    const bool stays = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view("/._-~").find(c) != std::string_view::npos;
    uri += stays ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

/// %XX as the byte XX.
std::string percent_decoded(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    const char* const end = text.data() + std::min(i + 3, text.size());
    const bool is_code = text[i] == '%' && i + 2 < text.size() &&
                         std::from_chars(text.data() + i + 1, end, byte, 16).ptr == end;
    out += is_code ? static_cast<char>(byte) : text[i];
    if (is_code) i += 2;
  }
  return out;
}

/// The path of file:PATH, file:///PATH or PATH. Errors: [logger/tracking-uri].
std::string path_of_uri(const std::string& uri) {
  if (uri.starts_with("file://")) return percent_decoded(uri.substr(7));
  if (uri.starts_with("file:")) return percent_decoded(uri.substr(5));
  if (uri.find("://") == std::string::npos && uri != "databricks") return uri;
  throw Error(ExitCode::kConfig, "logger/tracking-uri",
              "tracking_uri '" + printable_name(uri) +
                  "' is not on this machine; expected file:PATH or a path, because runs are "
                  "written to files; import them on the server afterwards (mlflow "
                  "migrate-filestore)");
}

/// The step of a line "TIME VALUE STEP"; -1 for other lines.
int64_t step_of_metric(const std::string& line) {
  const size_t blank = line.rfind(' ');
  int64_t step = -1;
  if (blank == std::string::npos || line.find(' ') == blank) return step;
  const char* const end = line.data() + line.size();
  const auto [stopped, error] = std::from_chars(line.data() + blank + 1, end, step);
  return error == std::errc() && stopped == end ? step : -1;
}

/// True if `path` is in `folder` after following all links. Neither has to exist.
bool is_inside(const std::string& path, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code problem;
  const fs::path base = fs::weakly_canonical(fs::absolute(folder), problem);
  if (problem) return false;
  const fs::path from_base =
      fs::weakly_canonical(fs::absolute(path), problem).lexically_relative(base);
  return !problem && !from_base.empty() && *from_base.begin() != "..";
}

/// A downloaded store may have links to folders of this account.
void require_inside(const std::string& path, const std::string& store) {
  if (is_inside(path, store)) return;
  throw Error(ExitCode::kData, "logger/store",
              printable_name(path) + " leads out of the store " + printable_name(store) +
                  "; expected a folder inside of it; remove the link, or name another store "
                  "(save_dir, tracking_uri)");
}

}  // namespace

MlflowLogger::MlflowLogger(MlflowOptions options)
    : options_(std::move(options)), timer_(options_.flush_secs) {
  if (options_.tracking_uri) options_.save_dir = path_of_uri(*options_.tracking_uri);
}

MlflowLogger::~MlflowLogger() {
  if (folder_.empty() || is_finished_) return;
  try {
    flush();
    write_meta(Status::kFailed);
  } catch (const std::exception&) {
    // The first error was already reported.
  }
}

std::string MlflowLogger::open_experiment(const std::string& store) {
  namespace fs = std::filesystem;
  fs::create_directories(store);
  for (const auto& entry : fs::directory_iterator(store)) {
    const std::string meta = text_of_file(entry.path().string() + "/meta.yaml");
    if (yaml_value(meta, "name") != options_.experiment_name) continue;
    if (yaml_value(meta, "lifecycle_stage") != "active") continue;
    experiment_id_ = entry.path().filename().string();
    require_inside(entry.path().string(), store);
    const std::string location = yaml_value(meta, "artifact_location");
    // The file may be a stranger's: a place outside of the store has to be typed.
    if (!options_.artifact_location && location.starts_with("file://") &&
        location != file_uri(entry.path().string()) && is_inside(path_of_uri(location), store)) {
      options_.artifact_location = path_of_uri(location);
    }
    return entry.path().string();
  }
  // Runs that start together make the same experiment.
  const std::string digits = sha256(options_.experiment_name).substr(0, 15);
  uint64_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  experiment_id_ = fmt::format("{:018}", number % 900000000000000000 + 100000000000000000);
  const std::string folder = store + "/" + experiment_id_;
  const std::string artifacts = options_.artifact_location.value_or(folder);
  const int64_t now_ms = unix_time_ms();
  replace_file(folder + "/meta.yaml",
               fmt::format("artifact_location: {}\ncreation_time: {}\nexperiment_id: '{}'\n"
                           "last_update_time: {}\nlifecycle_stage: active\nname: {}\n",
                           yaml_quoted(file_uri(artifacts)), now_ms, experiment_id_, now_ms,
                           yaml_quoted(options_.experiment_name)));
  return folder;
}

void MlflowLogger::start(const LoggedRun& run) {
  const std::string beside = std::filesystem::path(run.folder).parent_path().string() + "/mlruns";
  const bool is_typed = options_.artifact_location.has_value();
  const std::string store = options_.save_dir.value_or(beside);
  const std::string experiment = open_experiment(store);
  run_id_ = options_.run_id.value_or(sha256(run.id).substr(0, 32));
  run_name_ = options_.run_name.value_or(run.name);
  folder_ = experiment + "/" + run_id_;
  artifacts_ = options_.artifact_location.value_or(experiment) + "/" + run_id_ + "/artifacts";
  for (const char* part : {"/metrics", "/params", "/tags"}) require_inside(folder_ + part, store);
  if (!is_typed) require_inside(artifacts_, store);
  const std::string started = yaml_value(text_of_file(folder_ + "/meta.yaml"), "start_time");
  start_ms_ = unix_time_ms();
  std::from_chars(started.data(), started.data() + started.size(), start_ms_);
  for (const char* part : {"/metrics", "/params", "/tags"}) {
    std::filesystem::create_directories(folder_ + part);
  }
  write_meta(Status::kRunning);
  write_tags(run);
  keep_metrics(run.steps_done);
  for (const auto& [name, value] : run.hyper_parameters) {
    replace_file(folder_ + "/params/" + mlflow_name(name), value.substr(0, kMaxParamBytes));
  }
  replace_file(artifacts_ + "/config.yaml", run.config_yaml);
}

void MlflowLogger::write_meta(Status status) const {
  const bool has_ended = status != Status::kRunning;
  replace_file(
      folder_ + "/meta.yaml",
      fmt::format("artifact_uri: {}\nend_time: {}\nentry_point_name: ''\nexperiment_id: '{}'\n"
                  "lifecycle_stage: active\nrun_id: {}\nrun_name: {}\nrun_uuid: {}\n"
                  "source_name: ''\nsource_type: 4\nsource_version: ''\nstart_time: {}\n"
                  "status: {}\ntags: []\nuser_id: {}\n",
                  yaml_quoted(file_uri(artifacts_)),
                  has_ended ? std::to_string(unix_time_ms()) : "null", experiment_id_,
                  yaml_quoted(run_id_), yaml_quoted(run_name_), yaml_quoted(run_id_), start_ms_,
                  static_cast<int>(status), yaml_quoted(user_name())));
}

void MlflowLogger::write_tags(const LoggedRun& run) const {
  std::map<std::string, std::string> tags = {{"mlflow.runName", run_name_},
                                             {"mlflow.user", user_name()},
                                             {"mlflow.source.name", "s2s-run"},
                                             {"mlflow.source.type", "LOCAL"},
                                             {"s2s.run_folder", run.folder}};
  for (const auto& [name, value] : options_.tags.entries()) tags[name] = value.text();
  for (const auto& [name, value] : tags) {
    replace_file(folder_ + "/tags/" + mlflow_name(name), value);
  }
}

void MlflowLogger::keep_metrics(int64_t steps_done) const {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/metrics")) {
    if (entry.is_regular_file()) paths.push_back(entry.path().string());
  }
  for (const std::string& path : paths) {
    rewrite_lines(path, "", [&](const std::string& line) {
      const int64_t step = step_of_metric(line);
      return step >= 0 && step <= steps_done ? line + "\n" : "";
    });
    if (std::filesystem::file_size(path) == 0) std::filesystem::remove(path);
  }
}

void MlflowLogger::log(int64_t step, const std::map<std::string, double>& values) {
  const int64_t now_ms = unix_time_ms();
  for (const auto& [name, value] : values) {
    lines_[prefixed(options_.prefix, name)] += fmt::format("{} {} {}\n", now_ms, value, step);
  }
  if (timer_.is_due()) flush();
}

void MlflowLogger::flush() {
  timer_.reset();
  for (auto& [name, text] : lines_) {
    if (text.empty()) continue;
    append_to(folder_ + "/metrics/" + mlflow_name(name), std::exchange(text, {}));
  }
}

void MlflowLogger::write_artifact(int64_t step, const std::string& tag, const char* extension,
                                  const std::string& bytes) const {
  replace_file(fmt::format("{}/{}/step={:07}.{}", artifacts_, path_of_tag(tag), step, extension),
               bytes);
}

void MlflowLogger::log_text(int64_t step, const std::string& tag, const std::string& text) {
  write_artifact(step, tag, "md", text);
}

void MlflowLogger::log_audio(int64_t step, const std::string& tag, const LoggedAudio& audio) {
  write_artifact(step, tag, "wav", audio.wav);
}

void MlflowLogger::log_image(int64_t step, const std::string& tag, const LoggedImage& image) {
  write_artifact(step, tag, "png", image.png);
}

void MlflowLogger::finish(bool is_complete) {
  flush();
  is_finished_ = true;
  write_meta(is_complete ? Status::kFinished : Status::kKilled);
}

}  // namespace s2s::trackers
