// s2s-run on the test device: training, resuming, validating, answering.
#include <doctest/doctest.h>

#include <cmath>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "device/test_device.h"

namespace {

namespace fs = std::filesystem;
using namespace s2s::test;

const std::map<std::string, std::string>& environment() {
  static const std::map<std::string, std::string> variables = {
      {"S2S_DEVICE_LIBRARY", device_library()}};
  return variables;
}

Outcome run_on_device(const std::string& command, const fs::path& folder, Words more = {}) {
  more.push_back("trainer.accelerator=gpu");
  return run_s2s(tiny_words(command, folder, more), environment());
}

void train_on_device(const fs::path& folder, const Words& more = {}) {
  const Outcome outcome = run_on_device("train", folder, more);
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
}

Words steps(int count, Words more = {}) {
  more.push_back("trainer.max_steps=" + std::to_string(count));
  more.push_back("model.lr_scheduler.max_steps=10");
  more.push_back("trainer.val_check_interval=100");
  return more;
}

std::vector<double> losses(const fs::path& run) {
  std::vector<double> all;
  for (const auto& line : metrics(run)) {
    if (line.contains("learning_rate")) all.push_back(line.at("loss").get<double>());
  }
  return all;
}

void check_near(const std::vector<double>& found, const std::vector<double>& expected,
                double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CHECK(std::abs(found[i] - expected[i]) < tolerance * expected[i]);
  }
}

/// Losses of the same three steps on the CPU.
std::vector<double> losses_of_cpu(const std::string& precision) {
  const TemporaryFolder folder;
  train_tiny(folder.path() / "run", steps(3, {"trainer.precision=" + precision}));
  return losses(folder.path() / "run");
}

}  // namespace

TEST_CASE("a run on the device has the losses of one on the CPU") {
  const TemporaryFolder folder;
  const auto check = [&](const std::string& precision, double tolerance) {
    CAPTURE(precision);
    const fs::path run = folder.path() / precision;
    train_on_device(run, steps(3, {"trainer.precision=" + precision}));
    check_near(losses(run), losses_of_cpu(precision), tolerance);
  };
  check("32-true", 1e-4);
  check("bf16-mixed", 0.02);
  check("bf16-true", 0.02);
}

TEST_CASE("float16 with a scaled loss trains on the device as float32 does") {
  const TemporaryFolder folder;
  train_on_device(folder.path() / "run", steps(3, {"trainer.precision=16-mixed"}));
  check_near(losses(folder.path() / "run"), losses_of_cpu("32-true"), 0.05);
}

TEST_CASE("updates in the backward are those after it") {
  const TemporaryFolder folder;
  const Words plain = {"trainer.gradient_clip_val=null", "trainer.accumulate_grad_batches=1"};
  Words in_backward = plain;
  in_backward.push_back("trainer.update_in_backward=true");
  train_on_device(folder.path() / "after", steps(3, plain));
  train_on_device(folder.path() / "during", steps(3, in_backward));
  CHECK(losses(folder.path() / "during") == losses(folder.path() / "after"));
  const Outcome clipped = run_on_device("train", folder.path() / "clipped",
                                        steps(1, {"trainer.update_in_backward=true"}));
  CHECK(clipped.exit_code == 3);
  CHECK(contains(clipped.output, "[config/update-in-backward]"));
}

TEST_CASE("every strategy trains on the device, alone") {
  const TemporaryFolder folder;
  const std::vector<double> expected = losses_of_cpu("32-true");
  const auto check = [&](const std::string& name, const Words& more) {
    CAPTURE(name);
    train_on_device(folder.path() / name, steps(3, more));
    check_near(losses(folder.path() / name), expected, 1e-4);
  };
  check("ddp", {"trainer.strategy.name=ddp"});
  check("fsdp", {"trainer.strategy.name=fsdp"});
  check("fsdp, offloaded", {"trainer.strategy={name: fsdp, offload: params}"});
  check("fsdp, optimizer offloaded, recomputed",
        {"trainer.strategy={name: fsdp, offload: optimizer, activation_checkpointing: full}"});
  check("model_parallel", {"trainer.strategy={name: model_parallel}"});
}

TEST_CASE("a run on the device goes on after an interruption as if there had been none") {
  const TemporaryFolder folder;
  Words options = eventful_options();
  options[0] = "trainer.max_steps=10";
  options.push_back("model.lr_scheduler.max_steps=24");
  train_on_device(folder.path() / "whole", options);
  copy_as_killed(folder.path() / "whole", folder.path() / "resumed", 5);
  train_on_device(folder.path() / "resumed", options);
  check_same_run(folder.path() / "resumed", folder.path() / "whole");
}

TEST_CASE("a checkpoint of the device is read on the CPU, and validated on both") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  train_on_device(run, steps(2));
  const std::string checkpoint = (run / "checkpoints/last").string();
  const Words words = {"--checkpoint", checkpoint};
  const Outcome there = run_on_device("validate", folder.path() / "there", words);
  const Outcome here = run_s2s(tiny_words("validate", folder.path() / "here", words));
  REQUIRE_MESSAGE(there.exit_code == 0, there.output);
  REQUIRE_MESSAGE(here.exit_code == 0, here.output);
  const auto texts = [&](const char* name) {
    const auto scores =
        nlohmann::json::parse(read_text(folder.path() / name / "report/scores.json"));
    return scores.at("dev").at("texts");
  };
  CHECK(texts("there").at("text_channel").at("examples") == 4);
  CHECK(texts("there") == texts("here"));
}

TEST_CASE("answers of the device are those of the CPU, whole and frame by frame") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  train_tiny(run, steps(2));
  const std::string recording = (tiny_set() / "audio/dev/dev-000000_user.wav").string();
  const auto answer = [&](const std::string& name, bool is_on_device, const Words& more) {
    const fs::path output = folder.path() / name;
    Words words = {"--checkpoint", (run / "checkpoints/last").string(),
                   "--input",      recording,
                   "--output",     output.string()};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = is_on_device ? run_on_device("generate", output / "run", words)
                                         : run_s2s(tiny_words("generate", output / "run", words));
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    nlohmann::json line = nlohmann::json::parse(read_text(output / "answers.jsonl"));
    line.erase("real_time_factor");
    line.erase("output");
    return line;
  };
  const nlohmann::json expected = answer("cpu", false, {});
  CHECK(answer("whole", true, {}) == expected);
  CHECK(answer("stream", true, {"--stream"}) == expected);
}
