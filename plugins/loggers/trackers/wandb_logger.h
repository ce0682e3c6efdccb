#pragma once
// Offline runs of Weights & Biases, for `wandb sync`.

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "proto_message.h"
#include "s2s/kinds/logger.h"
#include "s2s/options.h"
#include "wandb_log.h"

namespace s2s::trackers {

struct WandbOptions {
  std::string project = "s2s";
  std::optional<std::string> run_name, entity, group, job_type, notes, id, save_dir;
  std::vector<std::string> tags;
  std::string prefix;
  double flush_secs = 30;
  void visit(OptionVisitor& v) {
    v("project", project, "project of the run");
    v("run_name", run_name, "displayed name of the run; null: exp_manager.name");
    v("entity", entity, "user or team that owns the project; null: the one that synchronizes");
    v("group", group, "group of the run");
    v("job_type", job_type, "type of the run");
    v("notes", notes, "description of the run");
    v("tags", tags, "tags of the run");
    v("id", id, "id of the run; null: run_id of manifest.json, which a resumed run keeps");
    v("save_dir", save_dir, "folder in which the folder wandb is made; null: the run folder");
    v("prefix", prefix, "put before the name of each value, with a hyphen");
    v("flush_secs", flush_secs, "maximum age of records that are not in the file yet, in seconds",
      at_least(0));
  }
};

/// Writes wandb/offline-run-DATE-ID/run-ID.wandb and the files that it names. A resumed run cuts
/// the file after the last step of its checkpoint and continues it; when `wandb sync` has already
/// sent the file, it begins another folder with the same id.
class WandbLogger : public RunLogger {
 public:
  explicit WandbLogger(WandbOptions options) : options_(std::move(options)) {}
  ~WandbLogger() override;
  void start(const LoggedRun& run) override;
  void log(int64_t step, const std::map<std::string, double>& values) override;
  void log_text(int64_t step, const std::string& tag, const std::string& text) override;
  void log_audio(int64_t step, const std::string& tag, const LoggedAudio& audio) override;
  void log_image(int64_t step, const std::string& tag, const LoggedImage& image) override;
  void log_histogram(int64_t step, const std::string& tag,
                     const LoggedHistogram& histogram) override;
  void flush() override;
  void finish(bool is_complete) override;

 private:
  using Json = nlohmann::json;
  /// Opens the file; returns true when it continues one.
  bool open(const LoggedRun& run, const std::string& id);
  void add_run(const LoggedRun& run, const std::string& id, bool is_resumed);
  void add_record(uint32_t field, const ProtoMessage& content);
  /// Adds a value to the row of the step. A row is written when the next one begins.
  void add_value(int64_t step, const std::string& name, const Json& value);
  void write_row();
  void define(const std::string& name);
  void write_summary();
  /// Writes a file below files/media; returns its value of this type.
  Json media(int64_t step, const std::string& tag, const char* type, const char* folder,
             const char* extension, const std::string& bytes);

  WandbOptions options_;
  std::string folder_;
  std::unique_ptr<WandbLog> log_;
  int64_t num_records_ = 0;
  int64_t row_step_ = 0;
  Json row_ = Json::object();
  std::vector<std::string> row_files_;
  Json summary_ = Json::object();
  bool has_new_summary_ = false;
  double start_s_ = 0;
};

}  // namespace s2s::trackers
