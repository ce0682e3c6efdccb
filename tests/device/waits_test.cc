// How often a training step waits for the device. A wait that is not needed leaves a GPU idle.
#include <doctest/doctest.h>

#include "cli/duplex_of_nemo.h"
#include "cli/train/tiny_run.h"
#include "device/test_device.h"

namespace {

using namespace s2s::test;
using nlohmann::json;

/// Counts of a run of so many steps.
json report_of(int steps, const Words& more) {
  const TemporaryFolder folder;
  const std::string report = folder / "waits.json";
  Words words = {"trainer.accelerator=gpu", "trainer.max_steps=" + std::to_string(steps),
                 "model.lr_scheduler.max_steps=10", "trainer.val_check_interval=100",
                 "exp_manager.checkpoint_callback_params.every_n_train_steps=100"};
  words.insert(words.end(), more.begin(), more.end());
  const Outcome outcome =
      run_s2s(tiny_words("train", folder.path() / "run", words),
              {{"S2S_DEVICE_LIBRARY", device_library()}, {"S2S_TEST_DEVICE_REPORT", report}});
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  return json::parse(read_text(report));
}

/// Waits of one step: two runs differ by two steps and by nothing else.
int64_t waits_per_step(const Words& more = {}) {
  const json few = report_of(2, more), many = report_of(4, more);
  for (const auto& [place, count] : many["by_place"].items()) {
    const int64_t before = few["by_place"].value(place, int64_t{0});
    MESSAGE(place << ": " << static_cast<double>(count.get<int64_t>() - before) / 2);
  }
  return (many["host_waits"].get<int64_t>() - few["host_waits"].get<int64_t>()) / 2;
}

/// Counts of a process that times so many steps, and its losses.
struct Timed {
  json waits, losses;
};

Timed bench_model_of(int steps, const std::string& device) {
  const TemporaryFolder folder;
  const std::string options = folder / "options.json", report = folder / "waits.json";
  write_text(options, kDuplexOfNemo);
  const Outcome outcome =
      run_s2s({"bench", "model", "--options", options, "--device", device, "--steps",
               std::to_string(steps), "--batch-size", "2", "--seconds", "4"},
              {{"S2S_DEVICE_LIBRARY", device_library()}, {"S2S_TEST_DEVICE_REPORT", report}});
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
  const json result = json::parse(outcome.output);
  CHECK(result["device"] == (device == "gpu" ? "test_device:0" : "cpu"));
  return {device == "gpu" ? json::parse(read_text(report)) : json(), result["losses"]};
}

}  // namespace

TEST_CASE("bench model does not wait between its first and its last step") {
  const Timed few = bench_model_of(2, "gpu"), many = bench_model_of(6, "gpu");
  CHECK(few.waits["host_waits"].get<int64_t>() > 0);
  CHECK_MESSAGE(many.waits["by_place"] == few.waits["by_place"], many.waits.dump());
  // The loss is divided by the same count as on the CPU.
  const Timed on_cpu = bench_model_of(2, "cpu");
  for (int i = 0; i < 2; ++i) {
    CHECK(few.losses[i].get<double>() ==
          doctest::Approx(on_cpu.losses[i].get<double>()).epsilon(1e-5));
  }
}

TEST_CASE("a training step waits once, for the numbers of the step before") {
  CHECK(waits_per_step() <= 1);
  CHECK(waits_per_step({"trainer.precision=16-mixed", "trainer.gradient_clip_val=0.1"}) <= 1);
  CHECK(waits_per_step({"trainer.accumulate_grad_batches=2"}) <= 1);
  CHECK(waits_per_step({"trainer.strategy.name=fsdp"}) <= 1);
}
