// Run folders, checkpoints, weights and disks that cannot be worked with.

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

void check_one_message(const Outcome& outcome, int exit_code, const Words& parts) {
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == exit_code);
  for (const std::string& part : parts) CHECK_MESSAGE(contains(outcome.output, part), part);
  const size_t first = outcome.output.find("error: [");
  REQUIRE(first != std::string::npos);
  CHECK(outcome.output.find("error: [", first + 1) == std::string::npos);
}

/// Writes NaN into one element of a safetensors file.
void poison(const fs::path& file, const std::string& name, int64_t index) {
  s2s::TensorMap tensors;
  {
    const auto read = s2s::SafetensorsFile::open(file.string());
    for (const auto& [key, entry] : read.entries()) tensors[key] = read.tensor(key).clone();
  }
  tensors.at(name).flatten()[index] = std::nan("");
  s2s::write_safetensors(file.string(), tensors);
  forget_checksums(file.parent_path());
}

Words checkpoint_words(const std::string& command, const fs::path& folder,
                       const fs::path& checkpoint) {
  Words words = tiny_words(command, folder / "run", {"--checkpoint", checkpoint.string()});
  if (command == "generate") {
    words.insert(words.end(), {"--input", (tiny_set() / "audio/dev/dev-000000_user.wav").string(),
                               "--output", (folder / "out").string()});
  }
  return words;
}

/// A file system of its own in memory, seen by this process and those it starts.
class SmallDisk {
 public:
  explicit SmallDisk(const std::string& size) {
    static const bool apart =
        unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    mounted_ = apart && mount("none", path().c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(path().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  const fs::path& path() const { return folder_.path(); }
  void resize(const std::string& size) const {
    mount("none", path().c_str(), "tmpfs", MS_REMOUNT, ("size=" + size).c_str());
  }

 private:
  TemporaryFolder folder_;
  bool mounted_ = false;
};

}  // namespace

TEST_CASE("NaN in a checkpoint is refused by every command, with tensor and index") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  copy_as_killed(uninterrupted_run(), run, 20);
  poison(run / "checkpoints/step=20/model.safetensors", "audio_head.weight", 67);
  const auto before = contents(run);
  const Words parts = {"[weights/not-finite]", "step=20/model.safetensors", "audio_head.weight",
                       "nan at [1, 3]",        "expected finite",           "use an earlier one"};
  check_one_message(run_s2s(tiny_words("train", run, eventful_options())), 5, parts);
  for (const char* command : {"generate", "validate"}) {
    const fs::path checkpoint = run / "checkpoints/step=20";
    check_one_message(run_s2s(checkpoint_words(command, folder.path(), checkpoint)), 5, parts);
  }
  CHECK(contents(run) == before);
  // The message's next step works: without it, the run goes on from the one before.
  fs::remove_all(run / "checkpoints/step=20");
  train_tiny(run, eventful_options());
  check_same_run(run, uninterrupted_run());
}

TEST_CASE("NaN in the optimizer's state of a checkpoint is refused") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  copy_as_killed(uninterrupted_run(), run, 20);
  poison(run / "checkpoints/step=20/optimizer.safetensors", "audio_head.bias.exp_avg", 5);
  check_one_message(run_s2s(tiny_words("train", run, eventful_options())), 5,
                    {"[weights/not-finite]", "audio_head.bias.exp_avg", "nan at [5]"});
}

TEST_CASE("NaN in a weight file that a model begins with is refused") {
  const TemporaryFolder folder;
  // A Hugging Face folder of the tiny language model, from the run's own weights.
  const auto from = weights(uninterrupted_run());
  s2s::TensorMap tensors;
  for (const auto& [name, entry] : from.entries()) {
    if (name.rfind("llm.", 0) == 0) tensors["model." + name.substr(4)] = from.tensor(name).clone();
  }
  tensors["model.embed_tokens.weight"] = from.tensor("embed_tokens.weight").clone();
  const fs::path file = folder.path() / "model.safetensors";
  s2s::write_safetensors(file.string(), tensors);
  write_text(folder.path() / "config.json",
             R"({"model_type": "llama", "vocab_size": 256, "hidden_size": 64,
                 "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
                 "num_key_value_heads": 2, "max_position_embeddings": 4096,
                 "tie_word_embeddings": true, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
                 "hidden_act": "silu"})");
  const Words options = {"trainer.max_steps=1", "model.lr_scheduler.warmup_steps=0",
                         "model.llm.path=" + folder.path().string()};
  train_tiny(folder.path() / "good", options);
  poison(file, "model.layers.1.mlp.up_proj.weight", 64);
  check_one_message(run_s2s(tiny_words("train", folder.path() / "bad", options)), 5,
                    {"[weights/not-finite]", folder.path().string(),
                     "model.layers.1.mlp.up_proj.weight", "nan at [1, 0]"});
}

TEST_CASE("weights that diverge end the run with exit code 6 and keep the last good checkpoint") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  copy_as_killed(uninterrupted_run(), run, 5);
  Words options = eventful_options();
  options.insert(options.end(), {"model.optimizer.lr=1e30", "model.lr_scheduler.warmup_steps=0"});
  check_one_message(run_s2s(tiny_words("train", run, options)), 6,
                    {"[numerics/not-finite]", "of step ", "lower model.optimizer.lr", "train-0"});
  CHECK(fs::read_symlink(run / "checkpoints/last") == "step=5");
  train_tiny(run, eventful_options());
  check_same_run(run, uninterrupted_run());
}

TEST_CASE("a checkpoint of another model is refused with every difference, and nothing changes") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  copy_as_killed(uninterrupted_run(), run, 20);
  const auto before = contents(run);
  Words options = eventful_options();
  options.push_back("model.llm.num_hidden_layers=3");
  check_one_message(run_s2s(tiny_words("train", run, options)), 3,
                    {"[checkpoint/model]", "step=20 belongs to another model",
                     "missing in the checkpoint: llm.layers.2.mlp.up_proj.weight", "expected"});
  CHECK(contents(run) == before);
}

TEST_CASE("a checkpoint that is not whole any more is passed over with a warning") {
  const std::pair<const char*, std::function<void(const fs::path&)>> cases[] = {
      {"model.safetensors has changed since it was written: it has 1000 bytes",
       [](const fs::path& newest) { fs::resize_file(newest / "model.safetensors", 1000); }},
      {"state.json is missing or does not say",
       [](const fs::path& newest) { write_text(newest / "state.json", "{}"); }},
      {"lacks optimizer.safetensors",
       [](const fs::path& newest) { fs::remove(newest / "optimizer.safetensors"); }},
  };
  for (const auto& [why, damage] : cases) {
    const TemporaryFolder folder;
    const fs::path run = folder.path() / "run";
    copy_as_killed(uninterrupted_run(), run, 20);
    damage(run / "checkpoints/step=20");
    const std::string output = train_tiny(run, eventful_options());
    CHECK_MESSAGE(output.find("warning: [checkpoint/skipped]") != std::string::npos, output);
    CHECK_MESSAGE(output.find(why) != std::string::npos, output);
    CHECK_MESSAGE(output.find("the run resumes from step=15") != std::string::npos, output);
    check_same_run(run, uninterrupted_run());
  }
}

TEST_CASE("a run does not begin anew beside checkpoints of which none is whole") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  copy_as_killed(uninterrupted_run(), run, 5);
  fs::remove(run / "checkpoints/step=5/model.safetensors");
  const auto before = contents(run);
  check_one_message(run_s2s(tiny_words("train", run, eventful_options())), 5,
                    {"[checkpoint/damaged]", "step=5", "lacks model.safetensors"});
  CHECK(contents(run) == before);
}

TEST_CASE("a run folder that cannot be written is one message") {
  const TemporaryFolder folder;
  write_text(folder.path() / "file", "mine");
  const fs::path below = folder.path() / "file/run";
  check_one_message(
      run_s2s(tiny_words("train", below)), 5,
      {"[run/folder] " + below.string(), "Not a directory", "set exp_manager.explicit_log_dir"});
  const fs::path checkpoint = uninterrupted_run() / "checkpoints/last";
  check_one_message(run_s2s(checkpoint_words("validate", folder.path() / "file", checkpoint)), 5,
                    {"[run/folder] " + below.string()});
  CHECK(read_text(folder.path() / "file") == "mine");
}

TEST_CASE("a run folder without the right to write is one message") {
  if (geteuid() == 0) {  // who may write everywhere, but not on a disk that nobody may write
    const SmallDisk disk("1m");
    if (!disk.mounted()) {
      MESSAGE("skipped: this root may not mount a file system");
      return;
    }
    REQUIRE(mount("none", disk.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) == 0);
    check_one_message(run_s2s(tiny_words("train", disk.path() / "run")), 5,
                      {"[run/folder]", "Read-only file system"});
    return;
  }
  const TemporaryFolder folder;
  chmod(folder.path().c_str(), 0555);
  check_one_message(run_s2s(tiny_words("train", folder.path() / "run")), 5,
                    {"[run/folder]", "Permission denied"});
  chmod(folder.path().c_str(), 0755);
}

TEST_CASE("a full disk while a checkpoint is written costs nothing that was there") {
  const SmallDisk disk("36m");
  if (!disk.mounted()) {
    MESSAGE("skipped: this user may not mount a small file system to fill up");
    return;
  }
  const fs::path run = disk.path() / "run";
  const Words words = tiny_words("train", run, eventful_options());
  check_one_message(run_s2s(words), 5,
                    {"[checkpoint/write]", "step=15", "No space left on device", "free some space",
                     "earlier checkpoints are untouched"});
  CHECK(fs::read_symlink(run / "checkpoints/last") == "step=10");
  CHECK(fs::exists(run / "checkpoints/step=5/state.json"));
  CHECK(std::distance(fs::directory_iterator(run / "checkpoints"), {}) == 3);  // no left-overs
  disk.resize("200m");
  train_tiny(run, eventful_options());
  check_same_run(run, uninterrupted_run());
}

TEST_CASE("a disk that is full from the start is one message, and the run goes on later") {
  const SmallDisk disk("100m");
  if (!disk.mounted()) {
    MESSAGE("skipped: this user may not mount a small file system to fill up");
    return;
  }
  const fs::path run = disk.path() / "run";
  copy_as_killed(uninterrupted_run(), run, 20);
  const auto before = contents(run);
  {
    std::ofstream fill(disk.path() / "fill");
    const std::string block(4096, 'x');
    while (fill << block << std::flush) continue;
  }
  check_one_message(run_s2s(tiny_words("train", run, eventful_options())), 5,
                    {"[checkpoint/write]", "No space left on device", "free some space"});
  CHECK(contents(run) == before);
  fs::remove(disk.path() / "fill");
  train_tiny(run, eventful_options());
  check_same_run(run, uninterrupted_run());
}

TEST_CASE("a configuration with three mistakes shows all three at once") {
  const TemporaryFolder folder;
  Words words =
      tiny_words("check", folder.path() / "run",
                 {"model.optimizer.lrr=1", "trainer.max_steps=many", "model.llm.hidden_act=sigh"});
  words.insert(words.begin(), "config");
  const Outcome outcome = run_s2s(words);
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 3);
  for (const char* part : {"lrr", "'lr'", "trainer.max_steps", "many", "sigh", "silu"}) {
    CHECK_MESSAGE(contains(outcome.output, part), part);
  }
  CHECK_FALSE(fs::exists(folder.path() / "run"));
}
