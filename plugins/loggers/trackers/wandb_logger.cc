#include "wandb_logger.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <filesystem>
#include <utility>

#include "plain_value.h"
#include "record_file.h"
#include "sha256.h"

namespace s2s::trackers {
namespace {

using nlohmann::json;

// Fields of Record. Source: wandb/proto/wandb_internal.proto.
constexpr uint32_t kNum = 1, kHistory = 2, kSummaryOf = 3, kConfig = 5, kFiles = 6, kMetric = 12,
                   kRun = 17, kExit = 18, kHeader = 21;
constexpr uint32_t kHistoryStep = 2;
constexpr int64_t kMediaType = 2;
constexpr char kGlobalStep[] = "trainer/global_step";
/// The version of wandb that writes such records, and the oldest that reads them.
constexpr char kProducer[] = "0.19.11";
constexpr char kMinConsumer[] = "0.40.0";

/// A key and a value as HistoryItem, SummaryItem and ConfigItem have them. Numbers that JSON lacks
/// are written as Python does.
ProtoMessage json_item(const std::string& key, const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::isnan(number)) text = "NaN";
    if (std::isinf(number)) text = number > 0 ? "Infinity" : "-Infinity";
  }
  return ProtoMessage().text(2, key).text(16, text);  // nested_key, value_json
}

/// The configuration as a tree again. A path that does not fit the tree stays a dotted key.
json config_tree(const std::vector<std::pair<std::string, std::string>>& values) {
  json tree = json::object();
  for (const auto& [path, text] : values) {
    const json value = std::visit([](const auto& plain) { return json(plain); }, plain_value(text));
    json* node = &tree;
    size_t start = 0;
    for (size_t dot = path.find('.'); dot != std::string::npos && node->is_object();
         dot = path.find('.', start)) {
      node = &(*node)[path.substr(start, dot - start)];
      if (node->is_null()) *node = json::object();
      start = dot + 1;
    }
    if (node->is_object()) {
      (*node)[path.substr(start)] = value;
    } else {
      tree[path] = value;
    }
  }
  return tree;
}

ProtoMessage proto_time(double time_s) {
  const double whole = std::floor(time_s);
  return ProtoMessage()
      .integer(1, static_cast<int64_t>(whole))
      .integer(2, static_cast<int64_t>((time_s - whole) * 1e9));
}

/// The step of a history record; -1 for other records.
int64_t history_step(std::string_view record) {
  for (const ProtoField& field : proto_fields(record)) {
    if (field.number != kHistory) continue;
    for (const ProtoField& inner : proto_fields(field.bytes)) {
      if (inner.number != kHistoryStep) continue;
      for (const ProtoField& step : proto_fields(inner.bytes)) {
        return static_cast<int64_t>(step.integer);
      }
    }
    return 0;
  }
  return -1;
}

bool is_exit(std::string_view record) {
  for (const ProtoField& field : proto_fields(record)) {
    if (field.number == kExit) return true;
  }
  return false;
}

/// YYYYMMDD_HHMMSS, in local time.
std::string date_text(double time_s) {
  const auto seconds = static_cast<std::time_t>(time_s);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y%m%d_%H%M%S", &parts));
  return text;
}

/// The newest folder of a run below `wandb`, or "".
std::string newest_offline_run(const std::string& wandb, const std::string& id) {
  std::string newest;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(wandb, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool is_of_run = name.starts_with("offline-run-") && name.ends_with("-" + id);
    if (is_of_run && name > newest) newest = name;
  }
  return newest.empty() ? "" : wandb + "/" + newest;
}

}  // namespace

WandbLogger::~WandbLogger() {
  try {
    if (log_) write_row();
  } catch (const std::exception&) {
    // The first error was already reported.
  }
}

bool WandbLogger::open(const LoggedRun& run, const std::string& id) {
  const std::string wandb = options_.save_dir.value_or(run.folder) + "/wandb";
  const std::string name = "/run-" + id + ".wandb";
  folder_ = newest_offline_run(wandb, id);
  size_t end = 0;
  if (!folder_.empty() && !std::filesystem::exists(folder_ + name + ".synced")) {
    visit_wandb_records(folder_ + name, [&](const WandbRecord& record) {
      if (is_exit(record.data) || history_step(record.data) > run.steps_done) return false;
      end = record.end;
      ++num_records_;
      return true;
    });
  } else {
    for (double time_s = start_s_; folder_.empty() || std::filesystem::exists(folder_); ++time_s) {
      folder_ = wandb + "/offline-run-" + date_text(time_s) + "-" + id;
    }
  }
  log_ = std::make_unique<WandbLog>(folder_ + name, end, options_.flush_secs);
  return end > 0;
}

void WandbLogger::start(const LoggedRun& run) {
  start_s_ = unix_time_s();
  const std::string id = options_.id.value_or(run.id);
  const bool continues = open(run, id);
  std::filesystem::create_directories(folder_ + "/files");
  std::filesystem::create_directories(folder_ + "/logs");
  replace_file(folder_ + "/files/config.yaml", run.config_yaml);
  if (!continues) {
    add_record(kHeader,
               ProtoMessage().message(1, ProtoMessage().text(1, kProducer).text(2, kMinConsumer)));
    add_run(run, id, run.steps_done > 0);
    add_record(kMetric, ProtoMessage()
                            .text(1, kGlobalStep)
                            .message(6, ProtoMessage().integer(3, 1)));  // options.defined
  } else {
    ProtoMessage config;
    const json tree = config_tree(run.hyper_parameters);
    for (const auto& [key, value] : tree.items()) config.message(1, json_item(key, value));
    add_record(kConfig, config);
  }
  log_->flush();
}

void WandbLogger::add_run(const LoggedRun& run, const std::string& id, bool is_resumed) {
  ProtoMessage config;
  const json tree = config_tree(run.hyper_parameters);
  for (const auto& [key, value] : tree.items()) config.message(1, json_item(key, value));
  ProtoMessage record;
  record.text(1, id);
  if (options_.entity) record.text(2, *options_.entity);
  config.message(1, json_item("_wandb", json::object()));
  record.text(3, options_.project).message(4, config);
  if (options_.group) record.text(6, *options_.group);
  if (options_.job_type) record.text(7, *options_.job_type);
  record.text(8, options_.run_name.value_or(run.name));
  if (options_.notes) record.text(9, *options_.notes);
  for (const std::string& tag : options_.tags) record.text(10, tag);
  record.text(13, host_name());
  if (is_resumed) record.integer(14, run.steps_done + 1).integer(18, 1);
  record.message(17, proto_time(start_s_));
  add_record(kRun, record);
}

void WandbLogger::add_record(uint32_t field, const ProtoMessage& content) {
  log_->append(ProtoMessage().integer(kNum, ++num_records_).message(field, content).bytes());
}

void WandbLogger::add_value(int64_t step, const std::string& name, const Json& value) {
  if (step != row_step_) write_row();
  row_step_ = step;
  row_[prefixed(options_.prefix, name)] = value;
}

void WandbLogger::write_row() {
  if (row_.empty()) return;
  const double now_s = unix_time_s();
  row_[kGlobalStep] = row_step_;
  row_["_step"] = row_step_;
  row_["_timestamp"] = now_s;
  row_["_runtime"] = now_s - start_s_;
  ProtoMessage history;
  for (const auto& [key, value] : row_.items()) {
    if (key.front() != '_' && key != kGlobalStep && !summary_.contains(key)) define(key);
    history.message(1, json_item(key, value));
    summary_[key] = value;
  }
  has_new_summary_ = true;
  history.message(kHistoryStep, ProtoMessage().integer(1, row_step_));
  row_ = Json::object();
  add_record(kHistory, history);
  if (row_files_.empty()) return;
  ProtoMessage files;
  for (const std::string& path : row_files_) {
    files.message(1, ProtoMessage().text(1, path).integer(3, kMediaType));
  }
  row_files_.clear();
  add_record(kFiles, files);
}

/// What the client makes of Lightning's define_metric("*", step_metric="trainer/global_step",
/// step_sync=True) when a name comes for the first time.
void WandbLogger::define(const std::string& name) {
  add_record(kMetric, ProtoMessage()
                          .text(1, name)
                          .text(4, kGlobalStep)
                          .message(6, ProtoMessage().integer(1, 1))  // options.step_sync
                          .message(9, ProtoMessage().integer(1, 1))  // _control.overwrite
                          .integer(10, 1));                          // expanded_from_glob
}

void WandbLogger::log(int64_t step, const std::map<std::string, double>& values) {
  for (const auto& [name, value] : values) add_value(step, name, value);
}

void WandbLogger::log_text(int64_t step, const std::string& tag, const std::string& text) {
  add_value(step, tag, text);
}

nlohmann::json WandbLogger::media(int64_t step, const std::string& tag, const char* type,
                                  const char* folder, const char* extension,
                                  const std::string& bytes) {
  const std::string hash = sha256(bytes);
  const std::string path = fmt::format("media/{}/{}_{}_{}.{}", folder, path_of_tag(tag), step,
                                       hash.substr(0, 20), extension);
  replace_file(folder_ + "/files/" + path, bytes);
  return {{"_type", type}, {"sha256", hash}, {"size", bytes.size()}, {"path", path}};
}

void WandbLogger::log_audio(int64_t step, const std::string& tag, const LoggedAudio& audio) {
  const json value = media(step, tag, "audio-file", "audio", "wav", audio.wav);
  add_value(step, tag, value);
  row_files_.push_back(value["path"]);
}

void WandbLogger::log_image(int64_t step, const std::string& tag, const LoggedImage& image) {
  json value = media(step, tag, "image-file", "images", "png", image.png);
  value["format"] = "png";
  value["width"] = image.width;
  value["height"] = image.height;
  add_value(step, tag, value);
  row_files_.push_back(value["path"]);
}

/// W&B takes at most 512 intervals, and one limit more than counts.
void WandbLogger::log_histogram(int64_t step, const std::string& tag,
                                const LoggedHistogram& histogram) {
  json counts = json::array(), limits = json::array();
  for (size_t i = 1; i < histogram.limits.size(); ++i) {
    if (counts.empty() && histogram.counts[i] == 0) continue;
    if (counts.empty()) limits.push_back(histogram.limits[i - 1]);
    counts.push_back(histogram.counts[i]);
    limits.push_back(histogram.limits[i]);
  }
  while (counts.size() > 1 && counts.back() == 0) {
    counts.erase(counts.size() - 1);
    limits.erase(limits.size() - 1);
  }
  if (counts.empty()) return;
  add_value(step, tag, {{"_type", "histogram"}, {"values", counts}, {"bins", limits}});
}

void WandbLogger::write_summary() {
  if (!std::exchange(has_new_summary_, false)) return;
  ProtoMessage summary;
  for (const auto& [key, value] : summary_.items()) summary.message(1, json_item(key, value));
  add_record(kSummaryOf, summary);
}

void WandbLogger::flush() {
  write_row();
  write_summary();
  log_->flush();
}

void WandbLogger::finish(bool is_complete) {
  write_row();
  write_summary();
  ProtoMessage end;
  end.integer(1, 0).integer(2, static_cast<int64_t>(unix_time_s() - start_s_));
  if (!is_complete) end.integer(3, 1);
  add_record(kExit, end);
}

}  // namespace s2s::trackers
