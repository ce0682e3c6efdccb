// What is trained, how fast, and in which numbers: precision, accumulation, lr_scales, freezing.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

#include "cli/train/tiny_run.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

constexpr char kFrozenEncoder[] = "model.freeze_params=['^perception\\.encoder\\..+$']";

s2s::SafetensorsFile part(const fs::path& run, const std::string& file) {
  return s2s::SafetensorsFile::open((run / "checkpoints/last" / file).string());
}

/// Losses of the optimizer steps.
std::vector<double> losses(const fs::path& run) {
  std::vector<double> values;
  for (const auto& line : metrics(run)) {
    if (!line.contains("validation")) values.push_back(line["loss"]);
  }
  return values;
}

/// A run of one step with a learning rate of 0: its checkpoint has the initial values.
const fs::path& untrained_run() {
  static const TemporaryFolder folder;
  static const fs::path run = [] {
    train_tiny(folder.path() / "run",
               {"trainer.max_steps=1", "model.lr_scheduler={name: cosine_annealing, max_steps: 8}",
                "model.optimizer.lr=0"});
    return folder.path() / "run";
  }();
  return run;
}

/// Names of the tensors that training changed.
std::vector<std::string> changed(const fs::path& run) {
  const s2s::SafetensorsFile before = weights(untrained_run()), after = weights(run);
  std::vector<std::string> names;
  for (const auto& [name, entry] : after.entries()) {
    if (!at::equal(before.tensor(name), after.tensor(name))) names.push_back(name);
  }
  return names;
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

}  // namespace

TEST_CASE("bf16 trains as fp32 does, resumes bit for bit, and stores what its name says") {
  const TemporaryFolder folder;
  Words options = {"model.history_noise.text_dropout=0.2", "trainer.precision=32-true"};
  train_tiny(folder.path() / "32-true", options);
  const std::vector<double> expected = losses(folder.path() / "32-true");
  for (const std::string precision : {"bf16-true", "bf16-mixed"}) {
    CAPTURE(precision);
    const fs::path run = folder.path() / precision;
    options[1] = "trainer.precision=" + precision;
    train_tiny(run, options);
    const std::vector<double> found = losses(run);
    REQUIRE(found.size() == expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i] == doctest::Approx(expected[i]).epsilon(0.02));
      CHECK(found[i] != expected[i]);
    }
    const auto type = precision == "bf16-true" ? at::kBFloat16 : at::kFloat;
    CHECK((weights(run).tensor("audio_head.weight").scalar_type() == type));
    const s2s::SafetensorsFile moments = part(run, "optimizer.safetensors");
    CHECK((moments.tensor("audio_head.weight.exp_avg").scalar_type() == type));
    CHECK((moments.tensor("audio_head.weight.exp_avg_sq").scalar_type() == type));
    const fs::path resumed = folder.path() / (precision + "-resumed");
    copy_as_killed(run, resumed, 5);
    train_tiny(resumed, options);
    check_same_run(resumed, run);
  }
}

TEST_CASE("two micro-batches of one row are one batch of two: losses and weights agree") {
  // 13 cuts: six steps of two stay within the first epoch; the codec is fitted to the same audio.
  const TemporaryFolder folder;
  const Words common = {"trainer.max_steps=6", "model.loss_normalization=global"};
  Words whole = common, halves = common;
  whole.push_back("trainer.codec_fit_batches=7");
  halves.insert(halves.end(), {"trainer.accumulate_grad_batches=2", "data.train_ds.batch_size=1",
                               "trainer.codec_fit_batches=13"});
  train_tiny(folder.path() / "whole", whole);
  train_tiny(folder.path() / "halves", halves);
  const auto expected = metrics(folder.path() / "whole");
  const auto found = metrics(folder.path() / "halves");
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    for (const char* key : {"loss", "text_loss", "audio_loss", "grad_norm"}) {
      if (!expected[i].contains(key)) continue;
      CHECK(found[i][key].get<double>() ==
            doctest::Approx(expected[i][key].get<double>()).epsilon(1e-5));
    }
    if (expected[i].contains("frames")) CHECK(found[i]["frames"] == expected[i]["frames"]);
  }
  const s2s::SafetensorsFile a = weights(folder.path() / "whole");
  const s2s::SafetensorsFile b = weights(folder.path() / "halves");
  double largest = 0;
  for (const auto& [name, entry] : a.entries()) {
    if (!a.tensor(name).is_floating_point()) continue;
    largest = std::max(largest, (a.tensor(name) - b.tensor(name)).abs().max().item<double>());
  }
  MESSAGE("largest difference of a weight after six steps: " << largest);
  CHECK(largest < 1e-4);
}

TEST_CASE("lr_scales scale the steps of the parameters that they match, and no others") {
  const TemporaryFolder folder;
  const Words one_step = {"trainer.max_steps=1", "trainer.gradient_clip_val=null",
                          "model.lr_scheduler={name: cosine_annealing, max_steps: 8}"};
  Words scaled = one_step;
  scaled.push_back(
      "model.optimizer.lr_scales=[{params: '^audio_head\\..+$', scale: 0.25}, "
      "{params: '^llm\\.', scale: 0}, {params: no_such, scale: 9}]");
  train_tiny(folder.path() / "plain", one_step);
  CHECK(train_tiny(folder.path() / "scaled", scaled)
            .find("lr_scales: 'no_such' matches no parameter") != std::string::npos);
  const s2s::SafetensorsFile first = weights(untrained_run());
  const s2s::SafetensorsFile plain = weights(folder.path() / "plain");
  const s2s::SafetensorsFile found = weights(folder.path() / "scaled");
  for (const auto& [name, entry] : first.entries()) {
    if (!first.tensor(name).is_floating_point()) continue;
    const double scale = starts_with(name, "audio_head.") ? 0.25
                         : starts_with(name, "llm.")      ? 0
                                                          : 1;
    const at::Tensor step = plain.tensor(name) - first.tensor(name);
    const at::Tensor scaled_step = found.tensor(name) - first.tensor(name);
    CHECK_MESSAGE(at::allclose(scaled_step, step * scale, 1e-3, 1e-7), name);
  }
  CHECK((plain.tensor("audio_head.weight") - first.tensor("audio_head.weight"))
            .abs()
            .max()
            .item<double>() > 1e-4);
}

TEST_CASE("frozen weights stay equal to the last bit, kept ones train") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  train_tiny(run, {"trainer.max_steps=5", "model.optimizer.weight_decay=0.1", kFrozenEncoder,
                   "model.prevent_freeze_params=['^perception\\.encoder\\.layers\\..+$']"});
  const std::vector<std::string> names = changed(run);
  bool kept_changed = false;
  for (const std::string& name : names) {
    const bool kept = starts_with(name, "perception.encoder.layers.");
    CHECK_MESSAGE((kept || !starts_with(name, "perception.encoder.")), name);
    kept_changed = kept_changed || kept;
  }
  CHECK(kept_changed);
  CHECK(std::count(names.begin(), names.end(), "audio_head.weight") == 1);
  const auto moments = part(run, "optimizer.safetensors").entries();
  CHECK(moments.count("perception.encoder.pre_encode.out.weight.exp_avg") == 0);
  CHECK(moments.count("audio_head.weight.exp_avg") == 1);
}

TEST_CASE("other frozen parameters than the checkpoint's are refused, and nothing changes") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  copy_as_killed(uninterrupted_run(), run, 20);
  Words options = eventful_options();
  options.push_back(kFrozenEncoder);
  const auto before = contents(run);
  const Outcome outcome = run_s2s(tiny_words("train", run, options));
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.output.find("[checkpoint/optimizer]") != std::string::npos);
  CHECK(contents(run) == before);
}
