// Secrets and foreign programs: neither gets into what a run writes.

#include "config/secrets.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "cli/train/tiny_run.h"
#include "common/contains.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

/// The folder that this process and its children stand in, for a while.
struct Standing {
  explicit Standing(const fs::path& folder) { fs::current_path(folder); }
  ~Standing() { fs::current_path(before); }
  fs::path before = fs::current_path();
};

std::string text_of_all_files(const fs::path& folder) {
  std::string text;
  for (const auto& [name, bytes] : contents(folder)) text += name + "\n" + bytes + "\n";
  return text + read_text(folder / "log.txt");
}

}  // namespace

TEST_CASE("a run's files and checkpoints hold no value of the environment, and it goes on") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  Words words =
      tiny_words("train", run,
                 {"model.lr_scheduler.warmup_steps=0", "model.optimizer.lr=${oc.env:S2S_TEST_RATE}",
                  "my_hub={hf_token: abc-from-the-command-line, name: x}",
                  "my_hub.url=https://me:${oc.env:S2S_TEST_TOKEN}@example.org",
                  "exp_manager.name=${oc.env:S2S_TEST_NAME}-${my_hub.name}",
                  "exp_manager.checkpoint_callback_params.every_n_train_steps=1"});
  words.push_back("trainer.max_steps=1");
  const std::map<std::string, std::string> environment = {{"S2S_TEST_TOKEN", "tell-nobody-1"},
                                                          {"S2S_TEST_RATE", "0.001937"},
                                                          {"S2S_TEST_NAME", "n1n2"}};
  const Outcome first = run_s2s(words, environment);
  REQUIRE_MESSAGE(first.exit_code == 0, first.output);
  const std::string written = text_of_all_files(run);
  for (const char* value : {"tell-nobody-1", "n1n2", "abc-from-the-command-line"}) {
    CHECK_MESSAGE(!contains(written, value), value);
  }
  const std::string config = read_text(run / "checkpoints/last/config.yaml");
  CHECK_FALSE(contains(config, "0.001937"));
  CHECK(contains(config, "lr: \"${oc.env:S2S_TEST_RATE}\""));
  CHECK(contains(config, "name: \"${oc.env:S2S_TEST_NAME}-x\""));
  CHECK(contains(read_text(run / "manifest.json"), "hf_token: \\\"***\\\""));

  // It goes on, and says that nothing has changed.
  words.back() = "trainer.max_steps=2";
  words.push_back("exp_manager.resume_if_exists=true");
  const Outcome second = run_s2s(words, environment);
  REQUIRE_MESSAGE(second.exit_code == 0, second.output);
  CHECK(contains(second.output, "resumed from"));
  CHECK_FALSE(contains(second.output, "a changed configuration: model.optimizer.lr"));
  CHECK(contains(second.output, "a changed configuration: trainer.max_steps"));

  // What is stored is a configuration: in the same environment it is the same one.
  const std::string stored = (run / "config.yaml").string();
  const Outcome again = run_s2s({"config", "show", stored}, environment);
  CHECK(contains(again.output, "lr: 0.001937"));
  const Outcome unset = run_s2s({"config", "check", stored});
  CHECK(unset.exit_code == 3);
  CHECK(contains(unset.output, "there is no environment variable 'S2S_TEST_RATE'"));
  // An export needs the language model's part only.
  const Outcome exported = run_s2s({"checkpoint", "export", (run / "checkpoints/last").string(),
                                    (folder.path() / "out").string()});
  CHECK_MESSAGE(exported.exit_code == 0, exported.output);
}

TEST_CASE("a manifest names the folder's commit without running any git") {
  const TemporaryFolder folder;
  const fs::path repository = folder.path() / "repository", git = repository / ".git";
  const std::string commit(40, 'c'), other(40, 'd');
  fs::create_directories(git / "refs/heads");
  fs::create_directories(git / "worktrees/side");
  fs::create_directories(repository / "deep/er");
  fs::create_directories(folder.path() / "side");
  write_text(git / "HEAD", "ref: refs/heads/main\n");
  write_text(git / "refs/heads/main", commit + "\n");
  write_text(git / "packed-refs", "# pack-refs\n" + other + " refs/heads/side\n");
  write_text(git / "worktrees/side/HEAD", "ref: refs/heads/side\n");
  write_text(git / "worktrees/side/commondir", "../..\n");
  write_text(folder.path() / "side/.git", "gitdir: ../repository/.git/worktrees/side\n");
  // What PATH calls git here.
  const fs::path fake = folder.path() / "bin/git";
  fs::create_directory(fake.parent_path());
  write_text(fake, "#!/bin/sh\ntouch " + (folder.path() / "ran").string() + "\necho faked\n");
  chmod(fake.c_str(), 0755);

  int number = 0;
  const auto recorded = [&](const fs::path& place) {
    const Standing standing(place);
    const fs::path run = folder.path() / ("run" + std::to_string(++number));
    const Outcome outcome = run_s2s(
        tiny_words("train", run, {"trainer.max_steps=1", "model.lr_scheduler.warmup_steps=0"}),
        {{"PATH", fake.parent_path().string() + ":" + std::getenv("PATH")}});
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.output);
    const auto manifest = nlohmann::json::parse(read_text(run / "manifest.json"));
    return manifest.at("git_commit").get<std::string>();
  };
  CHECK(recorded(repository / "deep/er") == commit);
  CHECK(recorded(folder.path() / "side") == other);
  CHECK(recorded(folder.path()) == "");
  CHECK_FALSE(fs::exists(folder.path() / "ran"));
  // A HEAD that leads elsewhere, or nowhere, is no commit.
  write_text(folder.path() / "outside", commit);
  write_text(git / "HEAD", "ref: refs/../../outside\n");
  CHECK(recorded(repository) == "");
  fs::remove(git / "HEAD");
  REQUIRE(mkfifo((git / "HEAD").c_str(), 0600) == 0);
  CHECK(recorded(repository) == "");
}

TEST_CASE("an error shows no password of an address, whatever command it ends") {
  const std::string address = "https://me:s3cret-of-url@example.org/x.yaml";
  for (const Words& words :
       {Words{"train", address}, Words{"data", "inspect", address}, Words{"compare", address},
        Words{"checkpoint", "inspect", address}, Words{"generate", "--checkpoint", address}}) {
    const Outcome outcome = run_s2s(words);
    CHECK(outcome.exit_code > 0);
    CHECK_MESSAGE(!contains(outcome.output, "s3cret-of-url"), outcome.output);
    CHECK_MESSAGE(contains(outcome.output, "example.org"), outcome.output);
  }
}
