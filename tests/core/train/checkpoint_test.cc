#include "train/checkpoint.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "common/temporary_folder.h"
#include "core/train/fake_run.h"
#include "s2s/error.h"
#include "train/freeze.h"
#include "weights/safetensors.h"

namespace {

namespace fs = std::filesystem;
using s2s::test::FakeModel;
using s2s::test::FakeRun;
using s2s::test::TemporaryFolder;

std::string save(const std::string& folder, FakeRun& run, int64_t step) {
  return s2s::CheckpointFolder(folder, {}).save(run.model, run.optimizer, {step, "here"});
}

}  // namespace

TEST_CASE("the newest checkpoint is found and pieces of cut saves are removed") {
  TemporaryFolder folder;
  FakeRun run;
  save(folder.path(), run, 9);
  save(folder.path(), run, 10);
  fs::create_directory(folder / ".step=11.partial");
  const s2s::CheckpointFolder checkpoints(folder.path(), {});
  CHECK(fs::path(checkpoints.newest()).filename() == "step=10");
  CHECK(fs::read_symlink(folder / "last") == "step=10");
  CHECK_FALSE(fs::exists(folder / ".step=11.partial"));
  CHECK(s2s::steps_of_checkpoint(folder / "last") == 10);
}

TEST_CASE("rotation keeps the newest and those asked for") {
  TemporaryFolder folder;
  FakeRun run;
  const std::string first = save(folder.path(), run, 1);
  for (int64_t step = 2; step <= 5; ++step) save(folder.path(), run, step);
  s2s::CheckpointFolder(folder.path(), {}).rotate(2, {first});
  CHECK(fs::exists(folder / "step=1"));
  CHECK_FALSE(fs::exists(folder / "step=3"));
  CHECK(fs::exists(folder / "step=4"));
  CHECK(fs::exists(folder / "step=5"));
}

TEST_CASE("a checkpoint of another model names every difference") {
  TemporaryFolder folder;
  FakeRun run;
  const std::string path = save(folder.path(), run, 1);
  FakeModel other(7);
  other.materialize(at::kCPU, at::kFloat, 1);
  CHECK_THROWS_WITH_AS(s2s::load_model(path, other),
                       doctest::Contains("linear.weight is [1, 6] there and [1, 7] here"),
                       s2s::Error);
}

TEST_CASE("missing folders and files are told apart") {
  TemporaryFolder folder;
  FakeRun run;
  CHECK_THROWS_WITH_AS(s2s::load_model(folder / "none", run.model),
                       doctest::Contains("[checkpoint/missing]"), s2s::Error);
  const std::string path = save(folder.path(), run, 1);
  fs::remove(path + "/state.json");
  CHECK_THROWS_WITH_AS(s2s::load_run_state(path, run.optimizer),
                       doctest::Contains("[checkpoint/incomplete]"), s2s::Error);
}

TEST_CASE("a checkpoint that cannot be written leaves the older ones") {
  TemporaryFolder folder;
  FakeRun run;
  const std::string first = save(folder.path(), run, 1);
  // A file stands where the new folder has to be made: works for root too, unlike permissions.
  std::ofstream(folder / "blocked") << "x";
  const s2s::CheckpointFolder blocked(folder / "blocked/checkpoints", {});
  CHECK_THROWS_WITH_AS(blocked.save(run.model, run.optimizer, {2, ""}),
                       doctest::Contains("[checkpoint/write]"), s2s::Error);
  CHECK(s2s::steps_of_checkpoint(first) == 1);
}

TEST_CASE("a model or an optimizer with a number that is none is not saved") {
  TemporaryFolder folder;
  FakeRun run;
  save(folder.path(), run, 1);
  const s2s::NamedTensor weight = run.model.named_parameters().front();
  weight.tensor->detach().flatten()[2] = std::numeric_limits<float>::infinity();
  CHECK_THROWS_WITH_AS(save(folder.path(), run, 2),
                       doctest::Contains("after step 2, linear.weight is inf at [0, 2]"),
                       s2s::Error);
  weight.tensor->detach().zero_();
  run.optimizer.state().at("linear.bias").fill_(std::nan(""));
  CHECK_THROWS_WITH_AS(save(folder.path(), run, 2), doctest::Contains("linear.bias is nan at [0]"),
                       s2s::Error);
  CHECK(s2s::CheckpointFolder(folder.path(), {}).newest() == folder / "step=1");
}

TEST_CASE("a checkpoint with a number that is none changes nothing in the model") {
  TemporaryFolder folder;
  FakeRun run;
  const std::string path = save(folder.path(), run, 1);
  s2s::TensorMap tensors;
  for (const auto& p : run.model.named_parameters()) tensors[p.name] = p.tensor->detach().clone();
  const at::Tensor before = tensors.at("linear.bias").clone();
  tensors.at("linear.bias").fill_(5);
  tensors.at("linear.weight").flatten()[1] = std::nan("");
  s2s::write_safetensors(path + "/model.safetensors", tensors);
  CHECK_THROWS_WITH_AS(s2s::load_model(path, run.model), doctest::Contains("[weights/not-finite]"),
                       s2s::Error);
  CHECK(at::equal(run.model.named_parameters()[1].tensor->detach(), before));
}

TEST_CASE("saving a step again replaces it, and last is mended after a cut save") {
  TemporaryFolder folder;
  FakeRun run;
  save(folder.path(), run, 3);
  save(folder.path(), run, 4);
  const s2s::CheckpointFolder checkpoints(folder.path(), {});
  checkpoints.save(run.model, run.optimizer, {4, "there"});
  CHECK(s2s::load_run_state(folder / "step=4", run.optimizer).data_state == "there");
  fs::remove(folder / "last");
  fs::create_symlink("step=3", folder / "last");
  CHECK(fs::path(checkpoints.newest()).filename() == "step=4");
  CHECK(fs::read_symlink(folder / "last") == "step=4");
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 3);
}

TEST_CASE("freeze patterns match at the start of names and keep patterns win") {
  FakeRun run;
  CHECK(s2s::freeze_parameters(run.model, {"^linear\\..+$", "nothing"}, {"linear\\.bias"}) ==
        std::vector<std::string>{"nothing"});
  for (const s2s::NamedTensor& p : run.model.named_parameters()) {
    CHECK(p.tensor->requires_grad() == (p.name == "linear.bias"));
  }
  CHECK_FALSE(s2s::FreezeRules({"bias"}, {}).unmatched(run.model.named_parameters()).empty());
}

TEST_CASE("freezing everything and broken patterns are refused") {
  FakeRun run;
  CHECK_THROWS_WITH_AS(s2s::freeze_parameters(run.model, {".*"}, {}),
                       doctest::Contains("[config/nothing-trainable]"), s2s::Error);
  CHECK_THROWS_WITH_AS(s2s::freeze_parameters(run.model, {"("}, {}),
                       doctest::Contains("[config/pattern]"), s2s::Error);
}
