#include "cli/train/tiny_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "common/places.h"

namespace s2s::test {

namespace fs = std::filesystem;

const fs::path& tiny_set() {
  static const TemporaryFolder folder;
  static const fs::path set = [] {
    const Outcome made =
        run_s2s({"data", "synth", (folder.path() / "set").string(), "--tiny", "--workers", "1"});
    REQUIRE_MESSAGE(made.exit_code == 0, made.output);
    return folder.path() / "set";
  }();
  return set;
}

Words tiny_words(const std::string& command, const fs::path& folder, const Words& more) {
  Words words = {command, s2s::test::source_dir() + "/configs/tiny.yaml",
                 "tiny.data=" + tiny_set().string(), "tiny.run=" + folder.string(),
                 "data.synth=null"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string train_tiny(const fs::path& folder, const Words& more) {
  const Outcome outcome = run_s2s(tiny_words("train", folder, more));
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  return outcome.output;
}

Words eventful_options() {
  return {"trainer.max_steps=" + std::to_string(kEventfulSteps),
          "trainer.val_check_interval=8",
          "model.encoder.encoder.dropout=0.1",
          "model.history_noise.text_dropout=0.2",
          "exp_manager.checkpoint_callback_params.every_n_train_steps=5",
          "exp_manager.checkpoint_callback_params.save_top_k=9"};
}

const fs::path& uninterrupted_run() {
  static const TemporaryFolder folder;
  static const fs::path run = [] {
    train_tiny(folder.path() / "run", eventful_options());
    return folder.path() / "run";
  }();
  return run;
}

std::string read_text(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

std::vector<nlohmann::ordered_json> metrics(const fs::path& folder) {
  std::vector<nlohmann::ordered_json> lines;
  std::ifstream in(folder / "metrics.jsonl");
  for (std::string line; std::getline(in, line);) {
    lines.push_back(nlohmann::ordered_json::parse(line));
  }
  return lines;
}

std::vector<std::string> lasting_metrics(const fs::path& folder) {
  std::vector<std::string> lines;
  for (nlohmann::ordered_json& line : metrics(folder)) {
    nlohmann::ordered_json lasting;
    for (const auto& [key, value] : line.items()) {
      if (!key.ends_with("_s") && !key.ends_with("_bytes") && key != "utilization") {
        lasting[key] = value;
      }
    }
    lines.push_back(lasting.dump());
  }
  return lines;
}

int num_steps_logged(const fs::path& folder) {
  std::ifstream in(folder / "metrics.jsonl");
  int count = 0;
  for (std::string line; std::getline(in, line);) {
    count += line.find("\"learning_rate\"") != std::string::npos ? 1 : 0;
  }
  return count;
}

std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().filename() == "log.txt") continue;
    files[fs::relative(entry.path(), folder).string()] = read_text(entry.path());
  }
  return files;
}

SafetensorsFile weights(const fs::path& folder, const std::string& name) {
  return SafetensorsFile::open((folder / "checkpoints" / name / "model.safetensors").string());
}

void check_same_run(const fs::path& run, const fs::path& expected) {
  CHECK(lasting_metrics(run) == lasting_metrics(expected));
  CHECK(fs::read_symlink(run / "checkpoints/last") ==
        fs::read_symlink(expected / "checkpoints/last"));
  for (const char* name :
       {"model.safetensors", "optimizer.safetensors", "random.safetensors", "state.json"}) {
    const bool equal = read_text(run / "checkpoints/last" / name) ==
                       read_text(expected / "checkpoints/last" / name);
    CHECK_MESSAGE(equal, name << " of the newest checkpoints differ");
  }
}

void copy_as_killed(const fs::path& from, const fs::path& to, int step) {
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const fs::path checkpoints = to / "checkpoints";
  std::vector<fs::path> later;
  for (const auto& entry : fs::directory_iterator(checkpoints)) {
    const std::string name = entry.path().filename().string();
    if (name != "last" && std::stoi(name.substr(5)) > step) later.push_back(entry.path());
  }
  for (const fs::path& path : later) fs::remove_all(path);
  fs::remove(checkpoints / "last");
  fs::create_symlink("step=" + std::to_string(step), checkpoints / "last");
}

void forget_checksums(const fs::path& checkpoint) {
  if (!fs::remove(checkpoint / "index.json")) return;
  nlohmann::json state = nlohmann::json::parse(read_text(checkpoint / "state.json"));
  state["format"] = 1;
  write_text(checkpoint / "state.json", state.dump());
}

}  // namespace s2s::test
