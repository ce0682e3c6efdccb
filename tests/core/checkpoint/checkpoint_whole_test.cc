// A checkpoint counts when it is whole: what is published, what a run goes on from, what rotation
// removes, and what happens when the things after a save fail.

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.h"
#include "checkpoint/checkpoint_shards.h"
#include "checkpoint/checkpoint_state.h"
#include "checkpoint/checkpoint_write.h"
#include "common/temporary_folder.h"
#include "core/checkpoint/save_step.h"
#include "core/train/fake_run.h"
#include "s2s/error.h"
#include "weights/checkpoint_files.h"
#include "weights/checkpoint_proof.h"
#include "weights/verify_weights.h"

namespace {

namespace fs = std::filesystem;
using s2s::test::FakeRun;
using s2s::test::save_step;
using s2s::test::TemporaryFolder;

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// What a save that wrote no tensors used to publish.
void make_empty(const fs::path& folder) {
  fs::create_directories(folder);
  write(folder / "state.json", R"({"format": 2, "steps_done": 8, "data_state": ""})");
  s2s::CheckpointIndex index;
  index.files["state.json"] = s2s::checksums_of_file((folder / "state.json").string());
  write(folder / "index.json", s2s::format_checkpoint_index(index));
}

/// A folder of checkpoints that keeps what it warns of.
struct Checkpoints {
  explicit Checkpoints(const std::string& path, std::optional<s2s::Rotation> rotation = {})
      : folder(path, {}, settings(rotation)) {}
  s2s::CheckpointSettings settings(std::optional<s2s::Rotation> rotation) {
    s2s::CheckpointSettings out;
    out.rotation = rotation;
    out.warn = [this](const std::string& message) { warnings.push_back(message); };
    return out;
  }
  std::vector<std::string> warnings;
  s2s::CheckpointFolder folder;
};

std::vector<s2s::RankFile> shards_of(FakeRun& run) {
  const auto parts = s2s::whole_parts(run.model);
  return {s2s::model_shards(parts),
          s2s::optimizer_shards(run.optimizer.state(), parts, 0),
          {"random", s2s::random_states(), {}}};
}

}  // namespace

TEST_CASE("a folder that lacks a group, a file or its state gets no name") {
  FakeRun run;
  for (const size_t missing : {0, 1, 2, 3}) {
    TemporaryFolder folder;
    const fs::path target = fs::path(folder.path()) / "step=1";
    s2s::make_partial(target);
    const fs::path partial = s2s::partial_name(target);
    std::vector<s2s::RankFile> files = shards_of(run);
    if (missing < files.size()) files.erase(files.begin() + static_cast<int64_t>(missing));
    s2s::CheckpointIndex index = s2s::write_rank_files(partial, files, 0, 1);
    if (missing != 3) write(partial / "state.json", s2s::state_json({}, {}).dump());
    CHECK_THROWS_WITH(s2s::publish(target, std::move(index)), doctest::Contains("is not complete"));
    CHECK_FALSE(fs::exists(target));
  }
}

TEST_CASE("a file of tensors that does not hold what was written is found when it is read again") {
  TemporaryFolder folder;
  FakeRun run;
  const s2s::CheckpointIndex index = s2s::write_rank_files(folder.path(), shards_of(run), 0, 1);
  CHECK(s2s::header_fault(folder.path(), index) == "");
  s2s::CheckpointIndex other = index;
  other.groups.at("model").at("linear.weight").dtype = at::kHalf;
  CHECK(s2s::header_fault(folder.path(), other) ==
        folder / "model.safetensors has another linear.weight than the index says");
  other = index;
  other.groups.at("optimizer")["more"] = other.groups.at("optimizer").at("linear.bias");
  CHECK(s2s::header_fault(folder.path(), other) == folder / "optimizer.safetensors lacks more");
}

TEST_CASE("an index without groups is a finding, and a run goes on from the checkpoint before it") {
  TemporaryFolder folder;
  FakeRun run;
  save_step(folder.path(), run, 3);
  save_step(folder.path(), run, 4);
  make_empty(folder / "step=8");
  const auto findings = s2s::verify_checkpoint(folder / "step=8").findings;
  REQUIRE(findings.size() == 5);
  CHECK(findings[0] == folder / "step=8/index.json: it has no group 'model'");
  CHECK(findings[2] == folder / "step=8/index.json: it does not list model.safetensors");
  Checkpoints checkpoints(folder.path());
  CHECK(checkpoints.folder.newest() == folder / "step=4");
  CHECK(fs::read_symlink(folder / "last") == "step=4");
  REQUIRE(checkpoints.warnings.size() == 1);
  CHECK(checkpoints.warnings[0].starts_with(
      "[checkpoint/skipped] " + (folder / "step=8") +
      " is incomplete: " + (folder / "step=8/index.json") +
      ": it has no group 'model'\n  the run resumes from step=4, the newest complete one"));
}

TEST_CASE("a run does not begin anew beside checkpoints of which none is whole") {
  TemporaryFolder folder;
  make_empty(folder / "step=8");
  fs::create_directory(folder / "step=9");
  CHECK_THROWS_WITH_AS(s2s::CheckpointFolder(folder.path(), {}).newest(),
                       doctest::Contains(("[checkpoint/damaged] " + (folder / "step=9")).c_str()),
                       s2s::Error);
}

TEST_CASE("rotation counts whole checkpoints, and leaves the others alone") {
  TemporaryFolder folder;
  FakeRun run;
  for (int64_t step = 1; step <= 3; ++step) save_step(folder.path(), run, step);
  make_empty(folder / "step=8");
  CHECK(s2s::rotate_checkpoints(folder.path(), {2}, 3).empty());
  CHECK_FALSE(fs::exists(folder / "step=1"));
  CHECK(fs::exists(folder / "step=2"));
  CHECK(fs::exists(folder / "step=8"));
  fs::create_directory(folder / ".step=1.removed.partial");  // of a removal that failed
  s2s::rotate_checkpoints(folder.path(), {2}, 3);
  CHECK_FALSE(fs::exists(folder / ".step=1.removed.partial"));
}

TEST_CASE("a save beside a newer checkpoint that a resume passed over removes no good one") {
  TemporaryFolder folder;
  FakeRun run;
  save_step(folder.path(), run, 4);
  save_step(folder.path(), run, 10);
  {  // zeros after a power cut: the length is right, the header is not
    std::fstream file(folder / "step=10/model.safetensors",
                      std::ios::binary | std::ios::in | std::ios::out);
    file.write(std::string(64, '\0').data(), 64);
  }
  for (const int64_t keep : {1, 0}) {
    Checkpoints checkpoints(folder.path(), s2s::Rotation{keep});
    REQUIRE(checkpoints.folder.newest().ends_with(keep == 1 ? "step=4" : "step=6"));
    const int64_t step = keep == 1 ? 6 : 8;
    checkpoints.folder.save(s2s::whole_parts(run.model), run.optimizer, {step, "here"});
    CHECK(fs::read_symlink(folder / "last") == "step=" + std::to_string(step));
    CHECK(s2s::verify_checkpoint(folder / "last").findings.empty());
    CHECK(fs::exists(folder / "step=10"));
  }
  CHECK_FALSE(fs::exists(folder / "step=4"));
  CHECK_FALSE(fs::exists(folder / "step=6"));
}

TEST_CASE("a checkpoint that cannot be read at this moment ends a resume, and is not passed over") {
  FakeRun run;
  for (const char* name : {"state.json", "index.json"}) {
    TemporaryFolder folder;
    save_step(folder.path(), run, 4);
    save_step(folder.path(), run, 10);
    const fs::path file = folder / ("step=10/" + std::string(name));
    fs::rename(file, folder / "aside");
    fs::create_symlink("/proc/self/mem", file);  // reading its first byte is EIO
    Checkpoints checkpoints(folder.path());
    CHECK_THROWS_WITH_AS(checkpoints.folder.newest(),
                         doctest::Contains("cannot be read: Input/output error"), s2s::Error);
    CHECK(checkpoints.warnings.empty());
    fs::rename(folder / "aside", file);
    CHECK(checkpoints.folder.newest() == folder / "step=10");
  }
}

TEST_CASE("a folder of checkpoints that cannot be listed is not an empty one") {
  TemporaryFolder folder;
  FakeRun run;
  save_step(folder.path(), run, 4);
  Checkpoints checkpoints(folder.path());
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int free = ::open("/", O_RDONLY | O_CLOEXEC);
  ::close(free);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(free);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
  std::string id;
  try {
    checkpoints.folder.newest();
  } catch (const s2s::Error& error) {
    id = error.id();
  }
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK(id == "io/read");
  CHECK(s2s::CheckpointFolder(folder / "nowhere", {}).newest() == "");
}

TEST_CASE("what fails after a checkpoint is whole is a warning, and an error at the third save") {
  TemporaryFolder folder;
  FakeRun run;
  Checkpoints checkpoints(folder.path(), s2s::Rotation{1});
  const auto save_step = [&](int64_t step) {
    checkpoints.folder.save(s2s::whole_parts(run.model), run.optimizer, {step, "here"});
  };
  save_step(1);
  const auto block = [&] {  // the name that `last` is made under
    fs::create_directories(folder / ".last.new/full");
  };
  block();
  save_step(2);
  save_step(3);
  CHECK(checkpoints.warnings.size() == 2);
  CHECK(checkpoints.warnings.at(0).starts_with("[checkpoint/cleanup] the checkpoint " +
                                               (folder / "step=2") + " is complete, but"));
  for (const char* name : {"step=1", "step=2", "step=3"}) {  // nothing goes before `last` is right
    CHECK(s2s::checkpoint_fault(folder / name, s2s::ProofDepth::kHeaders) == "");
  }
  fs::remove_all(folder / ".last.new");
  save_step(4);
  CHECK(fs::read_symlink(folder / "last") == "step=4");
  CHECK_FALSE(fs::exists(folder / "step=1"));
  block();
  save_step(5);
  save_step(6);
  std::string message;
  try {
    save_step(7);
  } catch (const s2s::Error& error) {
    message = error.what();
  }
  CHECK_MESSAGE(message.starts_with("[checkpoint/cleanup]"), message);
  CHECK(message.find("could not be written") == std::string::npos);
  CHECK(s2s::checkpoint_fault(folder / "step=7", s2s::ProofDepth::kHeaders) == "");
}

TEST_CASE("a checkpoint whose place was being taken when the process ended gets its name back") {
  TemporaryFolder folder;
  FakeRun run;
  save_step(folder.path(), run, 3);
  save_step(folder.path(), run, 4);
  fs::rename(folder / "step=4", folder / ".step=4.replaced.partial");
  make_empty(folder / ".step=5.replaced.partial");
  fs::create_directory(folder / ".step=6.removed.partial");
  CHECK(s2s::CheckpointFolder(folder.path(), {}).newest() == folder / "step=4");
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 3);
}

TEST_CASE("a checkpoint without an index, of an older program, is whole with its files") {
  TemporaryFolder folder;
  FakeRun run;
  const std::string path = save_step(folder.path(), run, 1);
  fs::remove(path + "/index.json");
  write(path + "/state.json", R"({"format": 1, "steps_done": 1, "data_state": "here"})");
  CHECK(s2s::CheckpointFolder(folder.path(), {}).newest() == path);
  fs::remove(path + "/random.safetensors");
  CHECK(s2s::checkpoint_fault(path, s2s::ProofDepth::kLengths) != "");
}

TEST_CASE("a checkpoint of weights alone needs a model and no more") {
  TemporaryFolder folder;
  FakeRun run;
  s2s::write_first_checkpoint(folder / "first/", run.model, [](const std::string&) {});
  CHECK(s2s::is_weights_only(folder / "first"));
  CHECK(s2s::verify_checkpoint(folder / "first").findings.empty());
  s2s::write_first_checkpoint(folder / "first", run.model, [](const std::string&) {});
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
  s2s::CheckpointIndex index = s2s::read_checkpoint_index(folder / "first");
  CHECK(s2s::index_faults(index, true).empty());
  index.groups.at("model").clear();
  CHECK(s2s::index_faults(index, true) ==
        std::vector<std::string>{"its group 'model' has no tensors"});
}

TEST_CASE("a state.json with other types or sizes of its mesh is one rank's") {
  using nlohmann::json;
  CHECK(s2s::mesh_of_state(json::parse(R"({"mesh": {"shard": 4, "tensor": 2}})")).world_size() ==
        8);
  for (const char* text : {R"({"mesh": {"shard": "four"}})", R"({"mesh": {"shard": 0}})",
                           R"({"mesh": {"shard": 1e300}})", R"({"mesh": [4]})",
                           R"({"mesh": {"shard": 2147483648, "tensor": 2147483648}})"}) {
    CHECK(s2s::mesh_of_state(json::parse(text)).world_size() == 1);
  }
}

TEST_CASE("unlisted files of a checkpoint, and links to one, are reported") {
  TemporaryFolder folder;
  FakeRun run;
  const std::string path = save_step(folder.path(), run, 1);
  CHECK(s2s::verify_checkpoint(path).findings.empty());
  fs::create_directories(path + "/tokenizer");
  write(path + "/tokenizer/more.json", "{}");
  fs::create_directory_symlink("/", path + "/root");
  const auto findings = s2s::verify_checkpoint(path).findings;
  REQUIRE(findings.size() == 2);
  CHECK((findings[0] + findings[1]).find("/root does not belong to this checkpoint") !=
        std::string::npos);
  CHECK((findings[0] + findings[1]).find("tokenizer/more.json does not belong") !=
        std::string::npos);
}

TEST_CASE("an index that leaves out tensors of its files is a finding, and the folder not whole") {
  TemporaryFolder folder;
  FakeRun run;
  const std::string path = save_step(folder.path(), run, 1);
  s2s::CheckpointIndex index = s2s::read_checkpoint_index(path);
  REQUIRE(index.groups.at("model").erase("linear.bias") == 1);
  write(path + "/index.json", s2s::format_checkpoint_index(index));
  const auto findings = s2s::verify_checkpoint(path).findings;
  REQUIRE(findings.size() == 1);
  CHECK(findings[0] == path + "/index.json: it does not list tensor 'linear.bias', which " + path +
                           "/model.safetensors has");
  CHECK(s2s::checkpoint_fault(path, s2s::ProofDepth::kHeaders) ==
        path + "/model.safetensors has linear.bias, which the index does not list");
}

TEST_CASE(
    "a weight file that is a link out of its checkpoint is refused, but for a cache's blobs") {
  TemporaryFolder folder;
  FakeRun run;
  const std::string path = save_step(folder.path(), run, 1);
  const fs::path file = fs::path(path) / "model.safetensors";
  fs::rename(file, folder / "elsewhere");
  fs::create_symlink(folder / "elsewhere", file);
  const auto findings = s2s::verify_checkpoint(path).findings;
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].find("[checkpoint/damaged] " + file.string()) != std::string::npos);
  CHECK(findings[0].find("it is a link out of its folder, to ") != std::string::npos);
  CHECK(s2s::checkpoint_fault(path, s2s::ProofDepth::kLengths).find("link out of its folder") !=
        std::string::npos);
  CHECK_THROWS_WITH_AS(s2s::ShardFiles::open(path, "model"),
                       doctest::Contains("a link out of its folder"), s2s::Error);
  // As `huggingface-cli download` leaves a checkpoint that somebody published.
  const fs::path model = folder.path() / "models--a--b";
  fs::create_directories(model / "blobs");
  fs::create_directories(model / "snapshots");
  fs::rename(folder / "elsewhere", model / "blobs" / "0123");
  fs::rename(path, model / "snapshots" / "abcd");
  fs::remove(model / "snapshots/abcd/model.safetensors");
  fs::create_symlink("../../blobs/0123", model / "snapshots/abcd/model.safetensors");
  CHECK(s2s::verify_checkpoint((model / "snapshots/abcd").string()).findings.empty());
}
