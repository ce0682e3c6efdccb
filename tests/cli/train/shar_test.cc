// Training from Shar directories: weighted sources, buckets, threads; killed, resumed.

#include <doctest/doctest.h>
#include <signal.h>

#include <fstream>
#include <random>

#include "cli/train/tiny_run.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

/// The tiny set in two Shar directories, made at its first use.
const fs::path& shar_sets() {
  static const TemporaryFolder folder;
  static const fs::path made = [] {
    const char* const names[] = {"even", "odd"};
    std::ifstream all(tiny_set() / "train.jsonl");
    std::string parts[2];
    int number = 0;
    for (std::string line; std::getline(all, line);) parts[number++ % 2] += line + "\n";
    for (int i = 0; i < 2; ++i) {
      const fs::path manifest = tiny_set() / (std::string(names[i]) + ".jsonl");
      write_text(manifest, parts[i]);
      const Outcome outcome =
          run_s2s({"data", "shar", manifest.string(), (folder.path() / names[i]).string(),
                   "--fields", "recording=flac,target_audio=flac", "--shard-size", "4"});
      REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    }
    return folder.path();
  }();
  return made;
}

Words shar_options(const std::string& more = "") {
  const std::string sets = shar_sets().string();
  Words words = eventful_options();
  words.push_back(
      "data.train_ds={cuts_path: null, batch_size: null, input_cfg: [{type: lhotse_shar, "
      "shar_path: " +
      sets + "/even, weight: 0.7}, {type: lhotse_shar, shar_path: " + sets +
      "/odd, weight: 0.3}], batch_duration: 20, use_bucketing: true, num_buckets: 2, "
      "bucket_buffer_size: 12, num_cuts_for_bins_estimate: 12, shuffle: true, "
      "shuffle_buffer_size: 6, seed: 42, shard_seed: 42, num_workers: 4" +
      more + "}");
  return words;
}

}  // namespace

TEST_CASE("two weighted Shar sources, buckets, four threads: kill -9 at any moment loses nothing") {
  const TemporaryFolder folder;
  const fs::path straight = folder.path() / "straight";
  train_tiny(straight, shar_options());
  CHECK(num_steps_logged(straight) == kEventfulSteps);
  for (const auto& line : metrics(straight)) {
    if (line.contains("padding_ratio")) CHECK(line["data_wait_s"].get<double>() >= 0);
  }
  const fs::path killed = folder.path() / "killed";
  std::mt19937 random(1);
  for (int kill = 0; kill < 5; ++kill) {
    const int until = num_steps_logged(killed) + 1 + static_cast<int>(random() % 8);
    Process process(tiny_words("train", killed, shar_options()));
    wait_until(process, [&] { return num_steps_logged(killed) >= until; });
    process.send(SIGKILL);
    process.wait();
  }
  train_tiny(killed, shar_options());
  check_same_run(killed, straight);
}

TEST_CASE("a Shar run with other numbers of threads is the same run") {
  const TemporaryFolder folder;
  Words options = shar_options();
  options[0] = "trainer.max_steps=6";
  train_tiny(folder.path() / "four", options);
  const std::string four = options.back();
  options.back() = four.substr(0, four.rfind("num_workers")) + "num_workers: 0}";
  train_tiny(folder.path() / "none", options);
  CHECK(lasting_metrics(folder.path() / "four") == lasting_metrics(folder.path() / "none"));
}

TEST_CASE("ranks read Shar data in one order; a run goes on with another number of them") {
  const TemporaryFolder folder;
  Words options = shar_options();
  options[0] = "trainer.max_steps=4";
  train_tiny(folder.path() / "run", options);
  options[0] = "trainer.max_steps=6";
  Words words = {"launch", "local", "-n", "2", "--"};
  const Words rest = tiny_words("train", folder.path() / "run", options);
  words.insert(words.end(), rest.begin(), rest.end());
  words.push_back("trainer.strategy.name=ddp");
  const Outcome outcome = run_s2s(words);
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.output);
  CHECK(num_steps_logged(folder.path() / "run") == 6);
}
