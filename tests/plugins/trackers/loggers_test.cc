// The loggers of the plugin `trackers`, without the software that reads their files
// (tests/reference/loggers_check.py asks that).

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "common/temporary_folder.h"
#include "plugins/loggers/trackers/csv_logger.h"
#include "plugins/loggers/trackers/mlflow_logger.h"
#include "plugins/loggers/trackers/tensorboard_logger.h"
#include "plugins/loggers/trackers/wandb_logger.h"
#include "plugins/trackers/wandb_records.h"
#include "s2s/error.h"

using namespace s2s::trackers;
using s2s::LoggedRun;
using s2s::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

LoggedRun run_in(const TemporaryFolder& folder, int64_t steps_done = 0) {
  return {"abcdefgh",
          "tiny",
          folder / "run",
          steps_done,
          10,
          "trainer: {}\n",
          {{"model.optimizer.lr", "1e-3"}, {"a", "x"}}};
}

/// Names of the files below a folder that end so.
std::vector<std::string> files_below(const fs::path& folder, const std::string& ending) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().string();
    if (entry.is_regular_file() && name.ends_with(ending)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Steps 1 to 3; the process ends after a checkpoint of step 2, and the next one repeats step 3.
template <class Logger, class Options>
void log_and_resume(const TemporaryFolder& folder, Options options = {}) {
  {
    Logger logger(options);
    logger.start(run_in(folder));
    for (int64_t step = 1; step <= 3; ++step) {
      logger.log(step, {{"train_loss", 1.0 / static_cast<double>(step)}});
      if (step == 2) logger.log(step, {{"val_loss", 0.25}});
    }
    logger.flush();
  }
  Logger logger(options);
  logger.start(run_in(folder, 2));
  logger.log(3, {{"train_loss", 7}});
  logger.finish(true);
  logger.flush();
}

struct Scalars {
  std::vector<int64_t> starts;  // steps of SessionLog START
  std::map<std::string, std::vector<std::pair<int64_t, float>>> values;
};

/// What an event file has of these.
void read_events(const std::string& file, Scalars& found) {
  const std::string bytes = text_of_file(file);
  for (size_t at = 0; at < bytes.size();) {
    uint64_t length = 0;
    for (size_t i = 8; i-- > 0;) length = length << 8 | static_cast<uint8_t>(bytes[at + i]);
    const std::string event = bytes.substr(at + 12, length);
    REQUIRE(bytes.substr(at, length + 16) == tf_record(event));
    at += length + 16;
    int64_t step = 0;
    for (const ProtoField& field : proto_fields(event)) {
      if (field.number == 2) step = static_cast<int64_t>(field.integer);
      if (field.number == 7) found.starts.push_back(step);
      if (field.number != 5) continue;
      for (const ProtoField& value : proto_fields(field.bytes)) {
        const std::vector<ProtoField> parts = proto_fields(value.bytes);
        if (parts.size() != 2 || parts[1].number != 2) continue;
        float number = 0;
        std::memcpy(&number, parts[1].bytes.data(), sizeof number);
        found.values[std::string(parts[0].bytes)].emplace_back(step, number);
      }
    }
  }
}

}  // namespace

TEST_CASE("csv: new columns widen the file, and a resumed run drops the rows that it repeats") {
  const TemporaryFolder folder;
  log_and_resume<CsvLogger, CsvOptions>(folder);
  CHECK(text_of_file(folder / "run/metrics.csv") ==
        "step,train_loss,val_loss\n1,1,\n2,0.5,\n2,,0.25\n3,7,\n");
  CHECK(text_of_file(folder / "run/hparams.yaml") == "trainer: {}\n");
}

TEST_CASE("csv: a line that a crash cut off is dropped, and names are quoted") {
  const TemporaryFolder folder;
  {
    CsvLogger logger({});
    logger.start(run_in(folder));
    logger.log(1, {{"a,\"b\"", 1}});
  }
  append_to(folder / "run/metrics.csv", "2,");
  CsvLogger logger({});
  logger.start(run_in(folder, 5));
  logger.log(6, {{"a,\"b\"", 2}});
  logger.flush();
  CHECK(text_of_file(folder / "run/metrics.csv") == "step,\"a,\"\"b\"\"\"\n1,1\n6,2\n");
}

TEST_CASE("csv: a file longer than a block keeps its rows, with new columns and after a resume") {
  const TemporaryFolder folder;
  std::string kept = "step,loss,other\n";
  {
    CsvLogger logger({});
    logger.start(run_in(folder));
    for (int64_t step = 1; step <= 50000; ++step) {
      logger.log(step, {{"loss", 0.125}});
      if (step <= 40000) kept += std::to_string(step) + ",0.125,\n";
    }
    logger.log(50001, {{"other", 1}});
  }
  CsvLogger logger({});
  logger.start(run_in(folder, 40000));
  logger.flush();
  CHECK((text_of_file(folder / "run/metrics.csv") == kept));
}

TEST_CASE("a logger's file with a hole in place of lines is refused, and not read as a whole") {
  const TemporaryFolder folder;
  const std::string path = folder.write("lines", "1,2\n");
  fs::resize_file(path, uintmax_t{1} << 38);
  int num_lines = 0;
  CHECK_THROWS_AS(visit_lines(path, [&](const std::string&) { return ++num_lines > 0; }),
                  std::system_error);
  CHECK(num_lines == 1);
}

TEST_CASE("tensorboard: an event file with a hole is cut before it") {
  const TemporaryFolder folder;
  {
    TensorboardLogger logger({});
    logger.start(run_in(folder));
    logger.log(1, {{"loss", 1}});
  }
  const std::vector<std::string> files = files_below(folder.path(), ".abcdefgh");
  REQUIRE(files.size() == 1);
  const auto size = fs::file_size(files[0]);
  fs::resize_file(files[0], uintmax_t{1} << 38);
  TensorboardLogger logger({});
  logger.start(run_in(folder, 1));
  CHECK(fs::file_size(files[0]) == size);
}

TEST_CASE("tensorboard: a resumed run cuts the steps that it repeats, and purges what was read") {
  const TemporaryFolder folder;
  log_and_resume<TensorboardLogger, TensorboardOptions>(folder);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder / "run")) {
    names.push_back(entry.path().string());
  }
  std::sort(names.begin(), names.end());
  REQUIRE(names.size() == 2);
  Scalars found;
  for (const std::string& name : names) read_events(name, found);
  CHECK(found.starts == std::vector<int64_t>{1, 3});
  using Pairs = std::vector<std::pair<int64_t, float>>;
  CHECK(found.values["train_loss"] == Pairs{{1, 1.0F}, {2, 0.5F}, {3, 7.0F}});
  CHECK(found.values["val_loss"] == Pairs{{2, 0.25F}});
}

TEST_CASE("wandb: a resumed run continues the file after its checkpoint, or after a sync anew") {
  const TemporaryFolder folder;
  log_and_resume<WandbLogger, WandbOptions>(folder);
  const std::vector<std::string> files = files_below(folder.path(), ".wandb");
  REQUIRE(files.size() == 1);
  CHECK(files[0].ends_with("-abcdefgh/run-abcdefgh.wandb"));
  std::vector<int64_t> steps;
  const auto records = s2s::test::wandb_records(files[0]);
  for (const WandbRecord& record : records) {
    for (const ProtoField& field : proto_fields(record.data)) {
      if (field.number != 2) continue;
      for (const ProtoField& inner : proto_fields(field.bytes)) {
        if (inner.number == 2) {
          steps.push_back(static_cast<int64_t>(proto_fields(inner.bytes)[0].integer));
        }
      }
    }
  }
  CHECK(steps == std::vector<int64_t>{1, 2, 3});
  folder.write("empty", "");
  fs::copy_file(folder / "empty", files[0] + ".synced");
  const std::string sent = text_of_file(files[0]);
  WandbOptions elsewhere;
  WandbLogger logger(elsewhere);
  logger.start(run_in(folder, 3));
  logger.log(4, {{"train_loss", 1}});
  logger.flush();
  CHECK(text_of_file(files[0]) == sent);
}

TEST_CASE("mlflow: a resumed run removes the values that it repeats") {
  const TemporaryFolder folder;
  log_and_resume<MlflowLogger, MlflowOptions>(folder);
  const std::vector<std::string> losses = files_below(folder / "mlruns", "/metrics/train_loss");
  REQUIRE(losses.size() == 1);
  const std::string text = text_of_file(losses[0]);
  std::string values;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    values += text.substr(text.find(' ', at), text.find('\n', at) + 1 - text.find(' ', at));
  }
  CHECK(values == " 1 1\n 0.5 2\n 7 3\n");
  const fs::path run = fs::path(losses[0]).parent_path().parent_path();
  CHECK(text_of_file(run / "params/model.optimizer.lr") == "1e-3");
  CHECK(text_of_file(run / "tags/mlflow.runName") == "tiny");
  CHECK(text_of_file(run / "meta.yaml").find("\nstatus: 3\n") != std::string::npos);
  CHECK(files_below(folder / "mlruns", "meta.yaml").size() == 2);
}

TEST_CASE("mlflow: a stranger's store leads nowhere outside of it") {
  const TemporaryFolder folder;
  const fs::path outside = fs::path(folder.path()) / "outside";
  const fs::path experiment = fs::path(folder.path()) / "mlruns" / "7";
  fs::create_directories(outside);
  fs::create_directories(experiment);
  MlflowOptions options;
  options.experiment_name = "e";
  const auto write_meta = [&](const std::string& location) {
    replace_file((experiment / "meta.yaml").string(),
                 "artifact_location: '" + location + "'\nlifecycle_stage: active\nname: 'e'\n");
  };
  for (const std::string& location :
       {"file://" + outside.string(), "file://" + experiment.string() + "/../../outside"}) {
    write_meta(location);
    MlflowLogger(options).start(run_in(folder));
    CHECK(files_below(outside, "").empty());
    CHECK(files_below(experiment, "/artifacts/config.yaml").size() == 1);
    fs::remove_all(experiment);
    fs::create_directories(experiment);
  }
  write_meta("file://" + experiment.string() + "/../beside");
  MlflowLogger(options).start(run_in(folder));
  CHECK(files_below(experiment.parent_path() / "beside", "config.yaml").size() == 1);

  // What is typed holds.
  MlflowOptions typed = options;
  typed.artifact_location = outside.string();
  MlflowLogger(typed).start(run_in(folder));
  CHECK(files_below(outside, "config.yaml").size() == 1);
  fs::remove_all(outside);
  fs::create_directories(outside);

  const auto refused = [&] {
    try {
      MlflowLogger(options).start(run_in(folder));
      return std::string();
    } catch (const s2s::Error& error) {
      return error.id();
    }
  };
  // A link in the place of the experiment, or of a part of the run.
  const fs::path run = fs::path(files_below(experiment, "/params/a").at(0)).parent_path();
  fs::remove_all(run);
  fs::create_directory_symlink(outside, run);
  CHECK(refused() == "logger/store");
  fs::rename(experiment, outside / "7");
  fs::create_directory_symlink(outside / "7", experiment);
  fs::remove(outside / "7" / run.parent_path().filename() / "params");
  CHECK(refused() == "logger/store");
  CHECK(files_below(outside, "/params/a").empty());
}

TEST_CASE("mlflow: a run that an error ends is FAILED, and a server is refused") {
  const TemporaryFolder folder;
  {
    MlflowLogger logger({});
    logger.start(run_in(folder));
    logger.log(1, {{"../x", 1}});
  }
  const std::vector<std::string> metas = files_below(folder / "mlruns", "meta.yaml");
  REQUIRE(metas.size() == 2);
  CHECK((text_of_file(metas[0]) + text_of_file(metas[1])).find("\nstatus: 4\n") !=
        std::string::npos);
  CHECK(files_below(folder / "mlruns", "/metrics/.._x").size() == 1);
  MlflowOptions options;
  options.tracking_uri = "file://" + folder.path().string() + "/a%20b";
  MlflowLogger(options).start(run_in(folder));
  CHECK(files_below(folder / "a b", "/params/a").size() == 1);
  options.tracking_uri = "http://localhost:5000";
  try {
    const MlflowLogger logger(options);
    FAIL("no error");
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "logger/tracking-uri");
  }
}
