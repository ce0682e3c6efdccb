#pragma once
// Runs of configs/tiny.yaml in folders of the test's own.

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/train/process.h"
#include "common/temporary_folder.h"
#include "weights/safetensors.h"

namespace s2s::test {

using Words = std::vector<std::string>;
inline Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The spoken set that all tests of this program share, made at its first use.
const std::filesystem::path& tiny_set();

/// The blocks data, trainer and exp_manager of a run of one step on the set in tiny.data, with
/// tiny.run as its folder.
inline constexpr const char* kOneStepOnTinySet = R"(
data:
  frame_length: 0.08
  source_sample_rate: 16000
  target_sample_rate: 16000
  input_roles: [user]
  output_roles: [agent]
  train_ds: { name: cuts, cuts_path: "${tiny.data}/train.jsonl", batch_size: 1, seed: 1 }
  validation_ds:
    name: cuts
    batch_size: 1
    datasets: { dev: { cuts_path: "${tiny.data}/dev.jsonl" } }
trainer: { accelerator: cpu, max_steps: 1, limit_val_batches: 1, seed: 1,
  strategy: { name: single } }
exp_manager: { explicit_log_dir: "${tiny.run}" }
)";

/// `COMMAND configs/tiny.yaml` on the shared set, with `folder` as its run folder, and `more`.
Words tiny_words(const std::string& command, const std::filesystem::path& folder,
                 const Words& more = {});
/// Trains and requires that it ends with exit code 0. Returns what it printed.
std::string train_tiny(const std::filesystem::path& folder, const Words& more = {});

/// What a long run of the resume tests is trained with: shuffled data, dropout and noise, so that
/// every kind of state matters; checkpoints every five steps, none is removed.
Words eventful_options();
constexpr int kEventfulSteps = 24;
/// Such a run that nothing interrupted, made at its first use.
const std::filesystem::path& uninterrupted_run();

std::string read_text(const std::filesystem::path& file);
void write_text(const std::filesystem::path& file, const std::string& text);

/// Lines of metrics.jsonl.
std::vector<nlohmann::ordered_json> metrics(const std::filesystem::path& folder);
/// The same as texts, without what the clock and the memory say.
std::vector<std::string> lasting_metrics(const std::filesystem::path& folder);
/// Lines of metrics.jsonl that optimizer steps wrote.
int num_steps_logged(const std::filesystem::path& folder);
/// Relative path -> bytes of every file below, log.txt left out.
std::map<std::string, std::string> contents(const std::filesystem::path& folder);
/// The weights of RUN/checkpoints/NAME.
SafetensorsFile weights(const std::filesystem::path& folder, const std::string& name = "last");

/// Checks that both runs wrote the same metrics and that their newest checkpoints are equal bit for
/// bit: weights, optimizer, random state, position in the data.
void check_same_run(const std::filesystem::path& run, const std::filesystem::path& expected);

/// Copies a run as kill -9 between two checkpoints would have left it: of its checkpoints only
/// those up to `step` are there, its metrics go on.
void copy_as_killed(const std::filesystem::path& from, const std::filesystem::path& to, int step);

/// Returns once `condition` holds or the process has ended; true in the first case.
template <class Condition>
bool wait_until(Process& process, const Condition& condition);

/// Makes a checkpoint one from before there were checksums, so that its files can be changed.
void forget_checksums(const std::filesystem::path& checkpoint);

}  // namespace s2s::test

#include <chrono>
#include <thread>

template <class Condition>
bool s2s::test::wait_until(Process& process, const Condition& condition) {
  while (!condition()) {
    if (process.ended()) return condition();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}
