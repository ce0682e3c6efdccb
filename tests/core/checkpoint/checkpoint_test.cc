#include "checkpoint/checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "checkpoint/checkpoint_observer.h"
#include "checkpoint/checkpoint_shards.h"
#include "checkpoint/checkpoint_write.h"
#include "common/temporary_folder.h"
#include "core/checkpoint/save_step.h"
#include "core/train/fake_run.h"
#include "s2s/error.h"
#include "train/freeze.h"
#include "weights/safetensors.h"

namespace {

namespace fs = std::filesystem;
using s2s::test::FakeModel;
using s2s::test::FakeRun;
using s2s::test::save_step;
using s2s::test::TemporaryFolder;

/// Makes it a checkpoint from before there was an index.
void forget_checksums(const std::string& checkpoint) {
  fs::remove(checkpoint + "/index.json");
  std::ofstream(checkpoint + "/state.json")
      << R"({"format": 1, "steps_done": 1, "data_state": "here"})";
}

}  // namespace

TEST_CASE("the newest checkpoint is found and partial files of cut saves are removed") {
  TemporaryFolder folder;
  FakeRun run;
  save_step(folder.path(), run, 9);
  save_step(folder.path(), run, 10);
  fs::create_directory(folder / ".step=11.partial");
  const s2s::CheckpointFolder checkpoints(folder.path(), {});
  CHECK(fs::path(checkpoints.newest()).filename() == "step=10");
  CHECK(fs::read_symlink(folder / "last") == "step=10");
  CHECK_FALSE(fs::exists(folder / ".step=11.partial"));
  CHECK(s2s::steps_of_checkpoint(folder / "last") == 10);
}

TEST_CASE("rotation keeps the newest, or the best and the newest") {
  struct Case {
    s2s::Rotation rotation;
    std::vector<int64_t> kept;
  };
  const Case cases[] = {
      {{1}, {6}},
      {{2}, {5, 6}},
      {{0}, {6}},
      {{-1}, {1, 2, 3, 4, 5, 6}},
      {{1, true, false}, {3, 6}},
      {{2, true, true}, {1, 4, 6}},
      {{5, true, false}, {1, 2, 3, 4, 6}},  // step 5 was not measured
  };
  const std::vector<std::optional<double>> monitored = {5, 4, 1, 6, std::nullopt, 2};
  for (const Case& c : cases) {
    TemporaryFolder folder;
    FakeRun run;
    for (int64_t step = 1; step <= 6; ++step) {
      s2s::RunState state{step, "here"};
      state.monitored = monitored[static_cast<size_t>(step - 1)];
      s2s::CheckpointFolder(folder.path(), {})
          .save(s2s::whole_parts(run.model), run.optimizer, state);
    }
    s2s::rotate_checkpoints(folder.path(), c.rotation, 6);
    std::vector<int64_t> kept;
    for (int64_t step = 1; step <= 6; ++step) {
      if (fs::exists(folder / ("step=" + std::to_string(step)))) kept.push_back(step);
    }
    CHECK(kept == c.kept);
  }
}

TEST_CASE("a save removes what its rotation says, and the newest always stays") {
  TemporaryFolder folder;
  FakeRun run;
  s2s::CheckpointSettings settings;
  settings.rotation = s2s::Rotation{2};
  s2s::CheckpointFolder checkpoints(folder.path(), {}, settings);
  for (int64_t step = 1; step <= 4; ++step) {
    checkpoints.save(s2s::whole_parts(run.model), run.optimizer, {step, "here"});
  }
  CHECK_FALSE(fs::exists(folder / "step=2"));
  CHECK(fs::exists(folder / "step=3"));
  CHECK(fs::read_symlink(folder / "last") == "step=4");
}

TEST_CASE("links name the best checkpoint and those that a run names, as long as they are there") {
  TemporaryFolder folder;
  FakeRun run;
  s2s::CheckpointSettings settings;
  settings.rotation = s2s::Rotation{2, true, false};
  s2s::CheckpointFolder checkpoints(folder.path(), {}, settings);
  const std::vector<double> monitored = {5, 1, 4, 3};
  for (int64_t step = 1; step <= 4; ++step) {
    s2s::RunState state{step, "here"};
    state.monitored = monitored[static_cast<size_t>(step - 1)];
    state.link = "step=0" + std::to_string(step);  // of a pattern {step:02d}
    checkpoints.save(s2s::whole_parts(run.model), run.optimizer, state);
  }
  CHECK(fs::read_symlink(folder / "best") == "step=2");
  CHECK(fs::read_symlink(folder / "last") == "step=4");
  CHECK(fs::read_symlink(folder / "step=02") == "step=2");
  CHECK(fs::read_symlink(folder / "step=04") == "step=4");
  CHECK(!fs::exists(fs::symlink_status(folder / "step=01")));
  CHECK(!fs::exists(fs::symlink_status(folder / "step=03")));
  CHECK(s2s::list_checkpoints(folder.path()).size() == 2);
  CHECK(checkpoints.last_save_s() > 0);
}

TEST_CASE("an asynchronous save holds the elements of its step, whatever training does meanwhile") {
  TemporaryFolder folder;
  FakeRun run;
  s2s::CheckpointSettings settings;
  settings.is_async = true;
  s2s::CheckpointFolder checkpoints(folder.path(), {}, settings);
  const s2s::NamedTensor weight = run.model.named_parameters().front();
  for (int64_t step = 1; step <= 5; ++step) {  // each waits for the one before
    weight.tensor->detach().fill_(static_cast<double>(step));
    run.optimizer.state().at("linear.weight").fill_(static_cast<double>(10 * step));
    checkpoints.save(s2s::whole_parts(run.model), run.optimizer, {step, std::to_string(step)});
    weight.tensor->detach().fill_(-1);
    run.optimizer.state().at("linear.weight").fill_(-1);
  }
  CHECK(fs::exists(folder / "step=4"));
  while (!checkpoints.poll()) {
  }
  CHECK_FALSE(checkpoints.poll());
  for (int64_t step = 1; step <= 5; ++step) {
    const std::string path = folder / ("step=" + std::to_string(step));
    s2s::load_model(path, run.model);
    CHECK(s2s::load_run_state(path, run.optimizer).data_state == std::to_string(step));
    CHECK(weight.tensor->detach().eq(static_cast<double>(step)).all().item<bool>());
    CHECK(run.optimizer.state()
              .at("linear.weight")
              .eq(10.0 * static_cast<double>(step))
              .all()
              .item<bool>());
  }
}

TEST_CASE("what an asynchronous save could not write is said at the next step, or at the end") {
  TemporaryFolder folder;
  FakeRun run;
  s2s::CheckpointSettings settings;
  settings.is_async = true;
  const fs::path attached = folder / "attached";
  std::ofstream(attached) << "x";
  s2s::CheckpointFolder checkpoints(folder / "c", {attached.string(), attached.string()}, settings);
  const auto save_once = [&](int64_t step) {
    checkpoints.save(s2s::whole_parts(run.model), run.optimizer, {step, ""});
  };
  save_once(1);
  // The same name twice cannot be copied.
  CHECK_THROWS_WITH_AS(checkpoints.finish(), doctest::Contains("[checkpoint/write]"), s2s::Error);
  checkpoints.finish();  // nothing is under way any more
  save_once(2);
  CHECK_THROWS_WITH_AS(
      [&] {
        while (!checkpoints.poll()) {
        }
      }(),
      doctest::Contains("step=2 could not be written"), s2s::Error);
  save_once(3);
  CHECK_THROWS_WITH_AS(save_once(4), doctest::Contains("step=3 could not be written"), s2s::Error);
  CHECK(checkpoints.newest() == "");
}

TEST_CASE("a run that ends by an error still completes the save under way") {
  TemporaryFolder folder;
  FakeRun run;
  s2s::CheckpointSettings settings;
  settings.is_async = true;
  s2s::CheckpointFolder(folder.path(), {}, settings)
      .save(s2s::whole_parts(run.model), run.optimizer, {3, "here"});
  CHECK(s2s::steps_of_checkpoint(folder / "last") == 3);
}

TEST_CASE("the trainer's own state and the monitored number come back as they were") {
  TemporaryFolder folder;
  FakeRun run;
  s2s::RunState state{1, "here"};
  state.trainer_state = R"({"loss_scale": 65536.0})";
  state.monitored = 0.1;
  s2s::CheckpointFolder(folder.path(), {}).save(s2s::whole_parts(run.model), run.optimizer, state);
  const s2s::RunState read = s2s::load_run_state(folder / "last", run.optimizer);
  CHECK(read.trainer_state == state.trainer_state);
  CHECK(read.monitored == state.monitored);
}

TEST_CASE("staging uses its memory again") {
  const auto files = [](int64_t elements) {
    s2s::RankFile file{"model", {}, {}};
    file.tensors["a"] = at::arange(elements, at::kFloat);
    file.tensors["b"] = at::ones({3}, at::kBFloat16);
    file.tensors["c"] = at::ones({}, at::kBool);
    return std::vector<s2s::RankFile>{file};
  };
  s2s::StagingBuffer buffer;
  auto first = files(1000);
  const s2s::TensorMap before = first[0].tensors;
  buffer.stage(first);
  const uint64_t bytes = buffer.bytes();
  CHECK(bytes < 4000 + 3 * 64 + 64);
  before.at("a").zero_();
  CHECK(first[0].tensors.at("a").equal(at::arange(1000, at::kFloat)));
  CHECK(first[0].tensors.at("b").equal(before.at("b")));
  const void* const place = first[0].tensors.at("a").const_data_ptr();
  auto second = files(900);
  buffer.stage(second);
  CHECK(second[0].tensors.at("a").const_data_ptr() == place);
  CHECK(buffer.bytes() == bytes);
}

TEST_CASE("a checkpoint of another model names every difference") {
  TemporaryFolder folder;
  FakeRun run;
  const std::string path = save_step(folder.path(), run, 1);
  FakeModel other(7);
  other.materialize(at::kCPU, at::kFloat, 1);
  CHECK_THROWS_WITH_AS(
      s2s::load_model(path, other),
      doctest::Contains("linear.weight is [1, 6] in the checkpoint and [1, 7] in the model"),
      s2s::Error);
}

TEST_CASE("missing folders and files are distinguished") {
  TemporaryFolder folder;
  FakeRun run;
  CHECK_THROWS_WITH_AS(s2s::load_model(folder / "none", run.model),
                       doctest::Contains("[checkpoint/missing]"), s2s::Error);
  const std::string path = save_step(folder.path(), run, 1);
  fs::remove(path + "/state.json");
  CHECK_THROWS_WITH_AS(s2s::load_run_state(path, run.optimizer),
                       doctest::Contains("[checkpoint/incomplete]"), s2s::Error);
}

TEST_CASE("a state of the trainer that is none is refused") {
  TemporaryFolder folder;
  FakeRun run;
  s2s::CheckpointFolder checkpoints(folder.path().string(), {});
  int64_t step = 0;
  for (const char* const state : {"{\"skipped_steps\":\"x\"}", "[1]", "text"}) {
    const std::string path =
        checkpoints.save(s2s::whole_parts(run.model), run.optimizer, {++step, "", state});
    CHECK_THROWS_WITH_AS(s2s::load_run_state(path, run.optimizer),
                         doctest::Contains("[checkpoint/incomplete]"), s2s::Error);
  }
  const std::string path = checkpoints.save(s2s::whole_parts(run.model), run.optimizer,
                                            {++step, "", "{\"skipped_steps\":2}"});
  CHECK(s2s::load_run_state(path, run.optimizer).trainer_state == "{\"skipped_steps\":2}");
}

TEST_CASE("a checkpoint that cannot be written leaves the older ones") {
  TemporaryFolder folder;
  FakeRun run;
  const std::string first = save_step(folder.path(), run, 1);
  // A file has the name of the new folder. This also works for root, unlike permissions.
  std::ofstream(folder / "blocked") << "x";
  s2s::CheckpointFolder blocked(folder / "blocked/checkpoints", {});
  CHECK_THROWS_WITH_AS(blocked.save(s2s::whole_parts(run.model), run.optimizer, {2, ""}),
                       doctest::Contains("[checkpoint/write]"), s2s::Error);
  CHECK(s2s::steps_of_checkpoint(first) == 1);
}

TEST_CASE("a model or an optimizer with a number that is none is not saved") {
  TemporaryFolder folder;
  FakeRun run;
  save_step(folder.path(), run, 1);
  const s2s::NamedTensor weight = run.model.named_parameters().front();
  weight.tensor->detach().flatten()[2] = std::numeric_limits<float>::infinity();
  CHECK_THROWS_WITH_AS(save_step(folder.path(), run, 2),
                       doctest::Contains("after step 2, linear.weight is inf at [0, 2]"),
                       s2s::Error);
  weight.tensor->detach().zero_();
  run.optimizer.state().at("linear.bias").fill_(std::nan(""));
  CHECK_THROWS_WITH_AS(save_step(folder.path(), run, 2),
                       doctest::Contains("linear.bias is nan at [0]"), s2s::Error);
  CHECK(s2s::CheckpointFolder(folder.path(), {}).newest() == folder / "step=1");
}

TEST_CASE("a checkpoint with a number that is none changes nothing in the model") {
  TemporaryFolder folder;
  FakeRun run;
  const std::string path = save_step(folder.path(), run, 1);
  s2s::TensorMap tensors;
  for (const auto& p : run.model.named_parameters()) tensors[p.name] = p.tensor->detach().clone();
  const at::Tensor before = tensors.at("linear.bias").clone();
  tensors.at("linear.bias").fill_(5);
  tensors.at("linear.weight").flatten()[1] = std::nan("");
  s2s::write_safetensors(path + "/model.safetensors", tensors);
  CHECK_THROWS_WITH_AS(s2s::load_model(path, run.model), doctest::Contains("[checkpoint/damaged]"),
                       s2s::Error);
  forget_checksums(path);
  CHECK_THROWS_WITH_AS(s2s::load_model(path, run.model), doctest::Contains("[weights/not-finite]"),
                       s2s::Error);
  CHECK(at::equal(run.model.named_parameters()[1].tensor->detach(), before));
}

TEST_CASE("saving a step again replaces it, and last is fixed after a cut save") {
  TemporaryFolder folder;
  FakeRun run;
  save_step(folder.path(), run, 3);
  save_step(folder.path(), run, 4);
  s2s::CheckpointFolder checkpoints(folder.path(), {});
  checkpoints.save(s2s::whole_parts(run.model), run.optimizer, {4, "there"});
  CHECK(s2s::load_run_state(folder / "step=4", run.optimizer).data_state == "there");
  fs::remove(folder / "last");
  fs::create_symlink("step=3", folder / "last");
  CHECK(fs::path(checkpoints.newest()).filename() == "step=4");
  CHECK(fs::read_symlink(folder / "last") == "step=4");
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 3);
}

TEST_CASE("freeze patterns match at the start of names and keep patterns win") {
  FakeRun run;
  const s2s::FreezeRules rules({"^linear\\..+$", "nothing"}, {"linear\\.bias"});
  s2s::freeze_parameters(run.model, rules);
  CHECK(rules.unmatched(run.model.named_parameters()) == std::vector<std::string>{"nothing"});
  for (const s2s::NamedTensor& p : run.model.named_parameters()) {
    CHECK(p.tensor->requires_grad() == (p.name == "linear.bias"));
  }
  CHECK_FALSE(s2s::FreezeRules({"bias"}, {}).unmatched(run.model.named_parameters()).empty());
}

TEST_CASE("freezing everything and broken patterns are refused") {
  FakeRun run;
  CHECK_THROWS_WITH_AS(s2s::freeze_parameters(run.model, s2s::FreezeRules({".*"}, {})),
                       doctest::Contains("[config/nothing-trainable]"), s2s::Error);
  CHECK_THROWS_WITH_AS(s2s::FreezeRules({"("}, {}), doctest::Contains("[config/pattern]"),
                       s2s::Error);
}

TEST_CASE("the monitored number is found by NeMo's names") {
  s2s::ValidationReport report;
  report.sets = {{"dev", {{"text_loss", 1}, {"only", 7}}}, {"test", {{"text_loss", 3}}}};
  CHECK(s2s::find_monitored(report, "val_text_loss") == 2.0);
  CHECK(s2s::find_monitored(report, "text_loss") == 2.0);
  CHECK(s2s::find_monitored(report, "val_text_loss_test") == 3.0);
  CHECK(s2s::find_monitored(report, "val_test_text_loss") == 3.0);  // NeMo's val_web-qa_acc
  CHECK(s2s::find_monitored(report, "val_only") == 7.0);
  CHECK_FALSE(s2s::find_monitored(report, "val_asr_bleu").has_value());
}

TEST_CASE("a checkpoint has the number of a validation at its own step, and one warning if none") {
  TemporaryFolder folder;
  s2s::CheckpointFolder checkpoints(folder.path(), {});
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& message) { warnings.push_back(message); };
  s2s::CheckpointObserver good(checkpoints, "val_loss", warn), bad(checkpoints, "val_bleu", warn);
  s2s::ValidationReport report;
  report.step = 5;
  report.sets = {{"dev", {{"loss", 0.5}}}};
  for (int i = 0; i < 2; ++i) {
    good.on_validation(report);
    bad.on_validation(report);
  }
  CHECK(good.monitored(5) == 0.5);
  CHECK_FALSE(good.monitored(6).has_value());
  CHECK_FALSE(bad.monitored(5).has_value());
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] ==
        "exp_manager.checkpoint_callback_params.monitor: 'val_bleu' is not a metric of this run's "
        "validations (val_loss); the newest checkpoints are kept");
}
