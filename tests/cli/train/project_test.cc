// What `s2s-run new` makes is checked, trained, resumed and evaluated as its README says.

#include <doctest/doctest.h>

#include "cli/command.h"
#include "cli/train/tiny_run.h"
#include "common/contains.h"

using s2s::test::CommandResult;
using s2s::test::contains;
using s2s::test::has;
using s2s::test::read_text;
using s2s::test::run_cli;
using s2s::test::run_shell;
using s2s::test::TemporaryFolder;

namespace {

namespace fs = std::filesystem;

CommandResult run_in(const fs::path& folder, const std::string& words) {
  return run_cli(words, "cd " + folder.string() + " && OMP_NUM_THREADS=1");
}

}  // namespace

TEST_CASE("a new project is checked, trains, resumes and is evaluated") {
  const TemporaryFolder folder;
  const CommandResult made = run_in(folder.path(), "new work/my-project");
  REQUIRE_MESSAGE(made.exit_code == 0, made.output);
  const fs::path project = folder.path() / "work/my-project";
  CHECK(has(made, "work/my-project: a project from the template tiny\n  cd work/my-project\n"));
  CHECK(fs::exists(project / "data/audio/dev/dev-000000_user.wav"));
  CHECK(std::distance(fs::directory_iterator(folder.path() / "work"), {}) == 1);  // nothing partial
  CHECK(contains(read_text(project / "train.sbatch"), "#SBATCH --job-name=my-project\n"));
  for (const std::string file : {"config.yaml", "README.md", "train.sbatch"}) {
    const std::string text = read_text(project / file);
    for (const std::string mark :
         {"PROJECT_NAME", "TEMPLATE_NAME", "STRATEGY_NAME", "runs/tiny", "configs/"}) {
      CHECK_MESSAGE(!contains(text, mark), file << " has " << mark);
    }
  }

  const CommandResult checked = run_in(project, "config check config.yaml");
  CHECK_MESSAGE(checked.exit_code == 0, checked.output);
  const std::string short_run = " trainer.val_check_interval=2 model.lr_scheduler.warmup_steps=1";
  const CommandResult trained =
      run_in(project, "train config.yaml trainer.max_steps=2" + short_run);
  REQUIRE_MESSAGE(trained.exit_code == 0, trained.output);
  CHECK(fs::exists(project / "runs/first/checkpoints/step=2"));
  const CommandResult resumed =
      run_in(project, "train config.yaml trainer.max_steps=3" + short_run);
  CHECK_MESSAGE(resumed.exit_code == 0, resumed.output);
  CHECK(s2s::test::num_steps_logged(project / "runs/first") == 3);
  const CommandResult judged = run_in(
      project, "validate config.yaml --checkpoint runs/first data.validation_ds.batch_size=1");
  CHECK_MESSAGE(judged.exit_code == 0, judged.output);
}

TEST_CASE("a new project from the demo's template makes its data on first use") {
  const TemporaryFolder folder;
  const CommandResult made = run_in(folder.path(), "new big --template demo");
  REQUIRE_MESSAGE(made.exit_code == 0, made.output);
  const fs::path project = folder.path() / "big";
  CHECK_FALSE(fs::exists(project / "data"));
  CHECK(contains(read_text(project / "config.yaml"), "exp_manager:\n  name: big\n"));
  const CommandResult checked = run_in(project, "config check config.yaml");
  CHECK_MESSAGE(checked.exit_code == 0, checked.output);
  CHECK_MESSAGE(has(checked, "data.synth: training makes data first"), checked.output);
}

TEST_CASE("the job of a new project passes words on, and requeues after exit code 8") {
  const TemporaryFolder folder;
  REQUIRE(run_in(folder.path(), "new mine").exit_code == 0);
  // srun and scontrol of this test say what they were called with.
  const fs::path tools = folder.path() / "tools";
  fs::create_directory(tools);
  for (const auto& [name, code] : {std::pair("srun", "$CODE"), {"scontrol", "0"}}) {
    s2s::test::write_text(tools / name,
                          std::string("#!/bin/sh\necho ") + name + " \"$@\"\nexit " + code + "\n");
    fs::permissions(tools / name, fs::perms::owner_all);
  }
  for (const std::string code : {"8", "0", "5"}) {
    CAPTURE(code);
    const std::string job = "PATH=" + tools.string() + ":$PATH CODE=" + code +
                            " SLURM_JOB_ID=7 bash mine/train.sbatch a=1; echo $?";
    const std::string output = run_shell("cd " + folder.path().string() + " && " + job).output;
    CHECK(contains(output, "srun s2s-run train config.yaml trainer.strategy.name=ddp a=1\n"));
    CHECK(contains(output, "scontrol requeue 7\n") == (code == "8"));
    CHECK(output.ends_with(code + "\n"));
  }
}
