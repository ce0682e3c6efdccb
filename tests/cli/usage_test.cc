// What s2s-run says about a command line that it does not understand.

#include <doctest/doctest.h>

#include "cli/command.h"
#include "common/places.h"
#include "common/temporary_folder.h"

using s2s::test::CommandResult;
using s2s::test::has;
using s2s::test::run_cli;

TEST_CASE("an unknown command is named, with the nearest one") {
  const CommandResult result = run_cli("trian x.yaml");
  CHECK(result.exit_code == 2);
  CHECK_MESSAGE(has(result, "error: [usage/command] s2s-run has no command 'trian'"),
                result.output);
  CHECK(has(result, "did you mean 'train'?"));
  CHECK(has(result, "see:       s2s-run --help"));
}

TEST_CASE("what other programs call so, and commands of groups, are sent to ours") {
  for (const auto& [word, meant] : {std::pair("resume runs/a", "train"),
                                    {"eval", "validate"},
                                    {"export", "checkpoint export"}}) {
    const CommandResult result = run_cli(word);
    CHECK(result.exit_code == 2);
    CHECK_MESSAGE(has(result, std::string("did you mean '") + meant + "'?"), result.output);
  }
  CHECK(has(run_cli("train --config x.yaml"), "write:     s2s-run train FILE.yaml key=value"));
  CHECK(has(run_cli("train --config-path=conf --config-name=my trainer.max_steps=2"),
            "write:     s2s-run train conf/my.yaml key=value"));
  CHECK(has(run_cli("train x.yaml --resume"),
            "a run resumes from its last checkpoint automatically"));
  for (const auto& [option, key] : {std::pair("--gpus 2", "trainer.devices=RANKS"),
                                    {"--batch_size=4", "data.train_ds.batch_size=CUTS"},
                                    {"--lr 1e-3", "model.optimizer.lr=RATE"}}) {
    const CommandResult result = run_cli(std::string("train x.yaml ") + option);
    CHECK(result.exit_code == 2);
    CHECK_MESSAGE(has(result, std::string("\n  write:     ") + key), result.output);
  }
  CHECK(has(run_cli("launch -n 2 train x.yaml"),
            "write:     s2s-run launch local -n RANKS -- train FILE.yaml"));
  const std::string tiny = "config check " + s2s::test::source_dir() + "/configs/tiny.yaml ";
  CHECK(has(run_cli(tiny + "trainer.max_steps:5"), "; write trainer.max_steps=5"));
  CHECK(has(run_cli(tiny + "trainer.max_steps = 5"), "; write trainer.max_steps=VALUE"));
}

TEST_CASE("an unknown or missing command of a group is told with the group's commands") {
  const CommandResult unknown = run_cli("plugin lits");
  CHECK(unknown.exit_code == 2);
  CHECK_MESSAGE(has(unknown, "s2s-run plugin has no command 'lits'"), unknown.output);
  CHECK(has(unknown, "did you mean 'list'?"));
  CHECK(has(unknown, "known:     list, path, inspect, check, new\n"));  // none that is hidden
  for (const char* group : {"data", "config", "tokenizer", "bench", "plugin"}) {
    const CommandResult result = run_cli(std::string(group) + " frob");
    CHECK(result.exit_code == 2);
    CHECK_MESSAGE(has(result, std::string("error: [usage/command] s2s-run ") + group +
                                  " has no command 'frob'\n  known:     "),
                  result.output);
    CHECK(has(result, std::string("see:       s2s-run ") + group + " --help\n"));
  }
  const CommandResult missing = run_cli("config");
  CHECK(missing.exit_code == 2);
  CHECK_MESSAGE(has(missing, "s2s-run config: a command is missing"), missing.output);
  CHECK(has(missing, "show, check"));
  CHECK(run_cli("").exit_code == 2);
}

TEST_CASE("help, -v and changes with dashes are understood, or answered with the right spelling") {
  CHECK(run_cli("help").output == run_cli("--help").output);
  CHECK(run_cli("help data shar").output == run_cli("data shar --help").output);
  CHECK(run_cli("-v").output == run_cli("--version").output);
  const CommandResult dashes = run_cli("train x.yaml --trainer.max_steps=5");
  CHECK(dashes.exit_code == 2);
  CHECK_MESSAGE(has(dashes, "\n  write:     trainer.max_steps=5\n"), dashes.output);
  CHECK(has(run_cli("train x.yaml --trainer.max_steps 5"), "write:     trainer.max_steps=VALUE"));
  CHECK_FALSE(has(run_cli("plugin list --jsno"), "write:"));
}

TEST_CASE("an unknown option is named, and no word that only follows it") {
  const CommandResult result =
      run_cli("launch slurm --dry-run --cpus-per-rnk 8 -- train ft.yaml trainer.max_steps=2");
  CAPTURE(result.output);
  CHECK(result.exit_code == 2);
  CHECK(has(result, "The following argument was not expected: --cpus-per-rnk\n"));
  CHECK(has(result, "did you mean '--cpus-per-rank'?"));
  CHECK_FALSE(has(result, "ft.yaml"));
}

TEST_CASE("launch understands the options of schedulers and other launchers") {
  const CommandResult cpus =
      run_cli("launch slurm --dry-run --cpus-per-task 3 -N 2 -- train a.yaml");
  CAPTURE(cpus.output);
  CHECK(cpus.exit_code == 0);
  CHECK(has(cpus, "#SBATCH --cpus-per-task=3"));
  CHECK(has(cpus, "#SBATCH --nodes=2"));
  for (const char* const option :
       {"--num_gpus=2", "--nproc-per-node 2", "--nproc_per_node=2", "--num-ranks 2", "-n 2"}) {
    const CommandResult local = run_cli("launch local " + std::string(option) + " -- plan");
    CHECK_MESSAGE(!has(local, "not expected"), local.output);
  }
  CHECK(has(run_cli("launch slurm --dry-run --nproc_per_node 4 -- train a.yaml"),
            "--ntasks-per-node=4"));
  // What the command knows keeps its meaning.
  CHECK_FALSE(
      has(run_cli("launch ssh --num_gpus 2 --dry-run -H none -- train a.yaml"), "not expected"));
}

TEST_CASE("the help of a command ends with an example that is understood") {
  const s2s::test::TemporaryFolder folder;
  for (const char* command : {"new",
                              "train",
                              "deepspeed-args",
                              "validate",
                              "generate",
                              "plan",
                              "config show",
                              "config check",
                              "data synth",
                              "data inspect",
                              "data convert",
                              "data shar",
                              "data encode",
                              "data estimate-bins",
                              "runs list",
                              "runs show",
                              "runs compare",
                              "explain",
                              "doctor",
                              "bench llm",
                              "plugin list",
                              "plugin inspect",
                              "plugin new",
                              "tokenizer train",
                              "tokenizer encode",
                              "tokenizer decode",
                              "tokenizer chat",
                              "checkpoint inspect",
                              "checkpoint verify",
                              "checkpoint export",
                              "checkpoint import",
                              "launch local",
                              "launch node",
                              "launch ssh",
                              "launch pdsh",
                              "launch slurm",
                              "launch deepspeed",
                              "launch fsdp",
                              "launch launcher",
                              "launch kubernetes",
                              "launch ray",
                              "launch diagnose"}) {
    const std::string help = run_cli(std::string("help ") + command).output;
    const size_t at = help.find("Example:\n  s2s-run ");
    REQUIRE_MESSAGE(at != std::string::npos, command << "\n" << help);
    const size_t begin = help.find("s2s-run ", at) + 8;
    const std::string line = help.substr(begin, help.find('\n', begin) - begin);
    const bool starts_processes =
        line.starts_with("launch local") || line.starts_with("launch node");
    if (starts_processes) continue;
    // Whatever is wrong with the files that are not there, the words are right.
    const CommandResult result = run_cli(line, "cd " + folder.path().string() + " &&");
    CHECK_MESSAGE(!has(result, "[usage/arguments]"), line << "\n" << result.output);
    CHECK_MESSAGE(!has(result, "[usage/command]"), line << "\n" << result.output);
  }
}

TEST_CASE("a configuration may come from standard input") {
  const std::string tiny = s2s::test::source_dir() + "/configs/tiny.yaml";
  const CommandResult shown = run_cli("config show - trainer.max_steps=3 < " + tiny);
  CHECK(shown.exit_code == 0);
  CHECK(has(shown, "# standard input:"));
  const CommandResult piped = run_cli("config check - trainer.max_steps=x", "cat " + tiny + " |");
  CHECK(piped.exit_code == 3);
  CHECK_MESSAGE(has(piped, "trainer.max_steps (command line: trainer.max_steps=x)"), piped.output);
}

TEST_CASE("output that cannot be written is an error of every command") {
  const std::string tiny = s2s::test::source_dir() + "/configs/tiny.yaml";
  for (const std::string& words :
       {std::string("--help"), std::string("--version"), std::string("plugin list"),
        std::string("launch --help"), "config show " + tiny, "plan --json " + tiny}) {
    CAPTURE(words);
    const CommandResult lost = run_cli(words + " 3>&1 >/dev/full 2>&3 #");
    CHECK(lost.exit_code == 1);
    CHECK_MESSAGE(has(lost, "error: [io/output] standard output cannot be written: No space left"),
                  lost.output);
    CHECK(run_cli(words + " | head -0").exit_code == 0);  // a reader that goes away is none
  }
}

TEST_CASE("arguments that are missing or not known say which command wants what") {
  const CommandResult missing = run_cli("train");
  CHECK(missing.exit_code == 2);
  CHECK_MESSAGE(has(missing, "error: [usage/arguments] s2s-run train: config is required"),
                missing.output);
  CHECK(has(missing, "s2s-run train --help"));
  const CommandResult unknown = run_cli("plugin list --jsno");
  CHECK(unknown.exit_code == 2);
  CHECK_MESSAGE(has(unknown, "[usage/arguments] s2s-run plugin list: "), unknown.output);
  CHECK(has(unknown, "--jsno"));
}

TEST_CASE("every command explains itself") {
  for (const char* command : {"",
                              "train",
                              "deepspeed-args",
                              "validate",
                              "generate",
                              "plan",
                              "compare",
                              "config",
                              "config show",
                              "config check",
                              "data",
                              "data synth",
                              "data inspect",
                              "plugin",
                              "plugin list",
                              "plugin inspect",
                              "plugin path",
                              "plugin check",
                              "tokenizer",
                              "tokenizer encode",
                              "tokenizer decode",
                              "tokenizer train",
                              "bench",
                              "runs",
                              "explain",
                              "doctor",
                              "new",
                              "completion",
                              "completion bash"}) {
    const CommandResult result = run_cli(std::string(command) + " --help");
    CAPTURE(command);
    CHECK(result.exit_code == 0);
    CHECK(has(result, "Usage: s2s-run"));
  }
  CHECK(run_cli("--version").exit_code == 0);
}

TEST_CASE("a number that an option does not take is named with what it takes") {
  for (const std::string value : {"x", "0", "-3", "1e999"}) {
    const CommandResult result = run_cli("bench train some.yaml --steps " + value);
    CHECK(result.exit_code == 2);
    CHECK_MESSAGE(has(result, "--steps: '" + value + "'; expected a number above 0"),
                  result.output);
  }
}

TEST_CASE("a checkpoint that is not there is said before anything else is missed") {
  const std::string config = s2s::test::source_dir() + "/configs/tiny.yaml";
  const CommandResult result =
      run_cli("validate " + config + " tiny.data=no/such/data --checkpoint no/such/step=3");
  CHECK_MESSAGE(has(result, "error: [checkpoint/missing] no checkpoint at no/such/step=3"),
                result.output);
}
