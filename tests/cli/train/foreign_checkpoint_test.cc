// What a checkpoint of somebody else may do to whoever looks at it: nothing.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <sstream>

#include "cli/train/tiny_run.h"
#include "common/contains.h"
#include "common/places.h"

using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

/// A checkpoint of the tiny run in a folder of its own, whose configuration ends in `more`.
struct ForeignCheckpoint {
  explicit ForeignCheckpoint(const std::string& more = "") {
    const fs::path from = fs::canonical(uninterrupted_run() / "checkpoints/last");
    fs::copy(from, path, fs::copy_options::recursive);
    write_text(path / "config.yaml", read_text(path / "config.yaml") + more);
  }

  Outcome run(const Words& words) const {
    return run_s2s(words, {{"S2S_FIXTURE_FILE", marker.string()}});
  }
  Outcome export_to(const fs::path& output, const Words& more = {}) const {
    Words words = {"checkpoint", "export", path.string(), output.string()};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  TemporaryFolder folder;
  fs::path path = folder.path() / "step=24";
  fs::path marker = folder.path() / "ran";
};

const fs::path kFixtures = fs::path(s2s::test::binary_dir()) / "tests/fixtures/plugins/writes_file";
const std::string kPlugins = "plugins:\n  load: [" +
                             (kFixtures / "libs2s_metric_fixture_writes_file.so").string() +
                             "]\n  paths: [" + kFixtures.string() + "]\n";

/// `config` with `input` in place of the manifests of all its sets.
std::string with_input(const std::string& config, const std::string& input) {
  std::istringstream in(config);
  std::string text;
  for (std::string line; std::getline(in, line);) {
    const size_t at = line.find("cuts_path: ");
    const size_t end = std::min(line.find_first_of(",}", at), line.size());
    if (at != std::string::npos) line.replace(at, end - at, input);
    text += line + "\n";
  }
  return text;
}

/// `config`, whose data may run all commands.
std::string allowing(std::string config) {
  const size_t at = config.find("\ndata:\n");
  REQUIRE(at != std::string::npos);
  return config.insert(at + 7, "  allow_commands: true\n");
}

}  // namespace

TEST_CASE("no command loads the plugins that a checkpoint's own configuration names") {
  const ForeignCheckpoint checkpoint(kPlugins);
  const std::string config = (checkpoint.path / "config.yaml").string();
  const fs::path output = checkpoint.folder.path() / "out";
  const Outcome exported = checkpoint.export_to(output);
  CHECK_MESSAGE(exported.exit_code == 0, exported.output);
  CHECK(contains(exported.output, "the block 'plugins' of a checkpoint's configuration"));
  CHECK(contains(exported.output, "libs2s_metric_fixture_writes_file.so"));
  CHECK(contains(exported.output, "--plugin-path DIR"));
  CHECK(fs::exists(output / "model.safetensors"));
  const std::string run = "exp_manager.explicit_log_dir=" + (output / "run").string();
  const Words given = {config, "--checkpoint", checkpoint.path.string()};
  for (const Words& words :
       {Words{"checkpoint", "inspect", checkpoint.path.string()},
        Words{"checkpoint", "verify", checkpoint.path.string()}, Words{"config", "check", config},
        Words{"config", "show", config}, Words{"plan", config},
        Words{"plugin", "list", "--config", config}, Words{"data", "inspect", config},
        Words{"validate", given[0], given[1], given[2], run}}) {
    const Outcome outcome = checkpoint.run(words);
    CAPTURE(words[0] + " " + words[1]);
    CHECK_MESSAGE(outcome.exit_code != 4, outcome.output);
  }
  CHECK_FALSE(fs::exists(checkpoint.marker));
  // The same words in a YAML of one's own are obeyed: the fixture does what it is for.
  const fs::path own = checkpoint.folder.path() / "own.yaml";
  write_text(own, read_text(checkpoint.path / "config.yaml"));
  checkpoint.run({"config", "check", own.string()});
  CHECK(fs::exists(checkpoint.marker));
}

TEST_CASE("no command runs that a checkpoint's own configuration holds or allows") {
  const ForeignCheckpoint checkpoint;
  const fs::path config = checkpoint.path / "config.yaml", out = checkpoint.folder.path() / "out";
  const fs::path cuts = checkpoint.folder.path() / "cuts.jsonl";
  std::string lines = read_text(tiny_set() / "train.jsonl");
  const std::string relative = "\"audio/", absolute = "\"" + (tiny_set() / "audio/").string();
  REQUIRE(contains(lines, relative));
  for (size_t at = 0; (at = lines.find(relative, at)) != std::string::npos; ++at) {
    lines.replace(at, relative.size(), absolute);
  }
  write_text(cuts, lines);
  const std::string pipe = "pipe:touch " + checkpoint.marker.string() + "; cat " + cuts.string();
  const std::string good = read_text(config), quoted = "\"" + pipe + "\"";
  const std::string evil = with_input(good, "cuts_path: " + quoted);
  const std::string run = "exp_manager.explicit_log_dir=" + out.string();
  const fs::path list = checkpoint.path / "list.yaml";
  write_text(list, "- {type: lhotse, cuts_path: " + quoted + "}\n");
  for (const std::string& text :
       {evil, allowing(evil),
        with_input(good, "cuts_path: \"${evil.cuts}\"") + "evil: {cuts: " + quoted + "}\n",
        with_input(good, "cuts_path: \"${oc.env:S2S_TEST_NOTHING, " + pipe + "}\""),
        allowing(with_input(good, "input_cfg: " + list.string()))}) {
    write_text(config, text);
    for (const Words& words :
         {Words{"data", "inspect", config.string()},
          Words{"validate", config.string(), run, "--checkpoint", checkpoint.path.string()},
          Words{"train", config.string(), run, "trainer.max_steps=1",
                "model.lr_scheduler.warmup_steps=0"}}) {
      const Outcome outcome = checkpoint.run(words);
      CAPTURE(words[0]);
      CHECK_MESSAGE(contains(outcome.output, "[data/command-refused]"), outcome.output);
      CHECK_FALSE(fs::exists(checkpoint.marker));
      fs::remove_all(out);
    }
  }
  // What the user types or allows runs, and so does a YAML of his own.
  const auto runs = [&](const fs::path& file, const Words& more) {
    Words words = {"data", "inspect", file.string()};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = checkpoint.run(words);
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.output);
    CHECK(fs::remove(checkpoint.marker));
  };
  write_text(config, allowing(good));
  runs(config, {"data.train_ds.cuts_path='" + pipe + "'"});
  write_text(config, evil);
  runs(config, {"data.allow_commands=true"});
  runs(config, {"--allow-commands"});
  const fs::path own = checkpoint.folder.path() / "own.yaml";
  write_text(own, evil);
  runs(own, {});
}

TEST_CASE("no program runs that a checkpoint's own configuration names") {
  const ForeignCheckpoint checkpoint;
  const fs::path config = checkpoint.path / "config.yaml", out = checkpoint.folder.path() / "out";
  const fs::path program = checkpoint.path / "listen.sh";
  write_text(program, "#!/bin/sh\ntouch " + checkpoint.marker.string() + "\n");
  fs::permissions(program, fs::perms::owner_all);
  const std::string good = read_text(config), run = "exp_manager.explicit_log_dir=" + out.string();
  const auto with_scorer = [&](const std::string& options) {
    const size_t at = good.find("model:\n");
    REQUIRE(at != std::string::npos);
    std::string text = good;
    text.insert(at + 7, "  scoring_asr: {name: pocketsphinx, program: " + options + "}\n");
    return text;
  };
  const std::string path = checkpoint.path.string();
  for (const std::string& text :
       {with_scorer(program.string()),
        with_scorer("\"${evil.program}\"") + "evil: {program: " + program.string() + "}\n"}) {
    write_text(config, text);
    for (const Words& words : {Words{"validate", "--checkpoint", path},
                               Words{"validate", config.string(), run, "--checkpoint", path},
                               Words{"config", "check", config.string()}}) {
      const Outcome outcome = checkpoint.run(words);
      CAPTURE(words[0]);
      CHECK(outcome.exit_code == 3);
      CHECK_MESSAGE(contains(outcome.output, "[config/program]"), outcome.output);
      CHECK_FALSE(fs::exists(checkpoint.marker));
    }
  }
  // The default is no choice of the checkpoint's, and what the user types counts.
  write_text(config, with_scorer("pocketsphinx_batch"));
  CHECK(checkpoint.run({"config", "check", config.string()}).exit_code == 0);
  write_text(config, with_scorer(program.string()));
  const Outcome typed = checkpoint.run(
      {"validate", "--checkpoint", path, "model.scoring_asr.program=" + program.string()});
  CHECK_MESSAGE(fs::exists(checkpoint.marker), typed.output);
}

TEST_CASE("no tokenizer is made where a checkpoint's own configuration says") {
  const ForeignCheckpoint checkpoint;
  const fs::path config = checkpoint.path / "config.yaml";
  const fs::path made = checkpoint.folder.path() / "outside/tokenizer.model";
  fs::remove_all(checkpoint.path / "tokenizer");
  std::string text = read_text(config);
  REQUIRE(contains(text, "texts.txt"));
  const size_t end = text.find("/tokenizer.model"), begin = text.rfind("path: ", end);
  REQUIRE(begin < end);
  text.replace(begin, end - begin, "path: " + made.parent_path().string());
  write_text(config, text);
  const Outcome outcome = checkpoint.run({"validate", "--checkpoint", checkpoint.path.string()});
  CHECK(outcome.exit_code == 3);
  CHECK_MESSAGE(contains(outcome.output, "error: [tokenizer/missing-file]"), outcome.output);
  CHECK_FALSE(fs::exists(made.parent_path()));
}

TEST_CASE("a part that only a checkpoint's plugins provide is asked for with --plugin-path") {
  const ForeignCheckpoint checkpoint;
  std::string text = read_text(checkpoint.path / "config.yaml");
  const size_t at = text.find("name: llama");
  REQUIRE(at != std::string::npos);
  text.replace(at, 11, "name: acme.none");
  write_text(checkpoint.path / "config.yaml", text + kPlugins);
  const fs::path output = checkpoint.folder.path() / "out";
  const Outcome outcome = checkpoint.export_to(output);
  CHECK(outcome.exit_code == 4);
  CHECK(contains(outcome.output, "[plugin/unknown] no llm named 'acme.none'"));
  CHECK(contains(outcome.output, "give --plugin-path DIR"));
  CHECK_FALSE(fs::exists(checkpoint.marker));
  // A codec that is not there keeps nobody from the language model.
  write_text(checkpoint.path / "config.yaml",
             read_text(fs::canonical(uninterrupted_run() / "checkpoints/last") / "config.yaml") +
                 "data_root: '${oc.env:S2S_TEST_NOTHING}'\n");
  CHECK(checkpoint.export_to(output).exit_code == 0);
}

TEST_CASE("an export copies the tokenizer's files, and none through links out of the checkpoint") {
  const ForeignCheckpoint checkpoint;
  const fs::path tokenizer = checkpoint.path / "tokenizer", output = checkpoint.folder.path() / "o";
  const std::string private_text = "nobody else's business";
  write_text(checkpoint.folder.path() / "private", private_text);
  write_text(tokenizer / "config.json", "{\"auto_map\": 1}");
  write_text(tokenizer / "model.safetensors", "other weights");
  write_text(tokenizer / "modeling.py", "print()");
  write_text(tokenizer / "added_tokens.json", "{}");
  fs::create_symlink("added_tokens.json", tokenizer / "vocab.json");
  const Outcome good = checkpoint.export_to(output);
  REQUIRE_MESSAGE(good.exit_code == 0, good.output);
  CHECK(fs::exists(output / "tokenizer.model"));
  CHECK(read_text(output / "vocab.json") == "{}");
  CHECK_FALSE(contains(read_text(output / "config.json"), "auto_map"));
  CHECK_FALSE(contains(read_text(output / "model.safetensors"), "other weights"));
  CHECK_FALSE(fs::exists(output / "modeling.py"));
  CHECK(contains(good.output, "modeling.py' is skipped"));

  const fs::path special = tokenizer / "special_tokens_map.json";
  const auto refused = [&](const std::string& text) {
    const fs::path other = checkpoint.folder.path() / "other";
    const Outcome outcome = checkpoint.export_to(other);
    CHECK(outcome.exit_code == 3);
    CHECK_MESSAGE(contains(outcome.output, "[checkpoint/export]"), outcome.output);
    CHECK_MESSAGE(contains(outcome.output, text), outcome.output);
    CHECK_FALSE(fs::exists(other / "special_tokens_map.json"));
    CHECK_FALSE(fs::exists(other / "tokenizer.model"));
    fs::remove_all(special);
  };
  fs::create_symlink(checkpoint.folder.path() / "private", special);
  refused("is a link to a file outside the checkpoint");
  fs::create_symlink("../../private", special);
  refused("is a link to a file outside the checkpoint");
  REQUIRE(mkfifo(special.c_str(), 0600) == 0);
  refused("is not a regular file");
  fs::create_directory(special);
  refused("is not a regular file");
  fs::create_symlink("/dev/zero", special);
  refused("is a link to a file outside the checkpoint");
  // What a language model generates by.
  fs::create_directory(checkpoint.folder.path() / "defaults");
  write_text(checkpoint.folder.path() / "defaults/generation_config.json", private_text);
  fs::create_directory_symlink("../defaults", checkpoint.path / "llm");
  const fs::path third = checkpoint.folder.path() / "third";
  const Outcome by_link = checkpoint.export_to(third);
  CHECK(by_link.exit_code == 3);
  CHECK_MESSAGE(contains(by_link.output, "is a link to a file outside the checkpoint"),
                by_link.output);
  CHECK_FALSE(fs::exists(third / "generation_config.json"));
  fs::remove(checkpoint.path / "llm");
  // The whole folder, too.
  fs::rename(tokenizer, checkpoint.folder.path() / "moved");
  fs::create_directory_symlink("../moved", tokenizer);
  refused("is a link to a file outside the checkpoint");
}

TEST_CASE("sizes of a checkpoint's own configuration are not believed") {
  // Within the bounds of their options, but of no model that this file holds; and outside.
  const std::map<std::string, std::string> sizes = {{"d_model", "1048576"},
                                                    {"intermediate_size", "1048576"},
                                                    {"n_layers", "2147483648"},
                                                    {"n_fft", "2147483648"},
                                                    {"num_hidden_layers", "9223372036854775807"}};
  for (const auto& [key, value] : sizes) {
    const ForeignCheckpoint checkpoint;
    std::string config = read_text(checkpoint.path / "config.yaml");
    const size_t at = config.find(" " + key + ": ");
    REQUIRE(at != std::string::npos);
    const size_t begin = at + key.size() + 3;
    config.replace(begin, config.find_first_of(",}\n", begin) - begin, value);
    write_text(checkpoint.path / "config.yaml", config);
    const std::string path = checkpoint.path.string();
    const std::string output = (checkpoint.folder.path() / "out").string();
    const std::string wave = (tiny_set() / "audio/dev").string();
    for (const Words& words :
         {Words{"generate", "--checkpoint", path, "--input", wave, "--output", output},
          Words{"validate", path + "/config.yaml", "--checkpoint", path},
          Words{"plan", path + "/config.yaml"}, Words{"checkpoint", "inspect", path}}) {
      const Outcome outcome = checkpoint.run(words);
      CAPTURE(key);
      CAPTURE(words.front());
      CHECK_MESSAGE(!contains(outcome.output, "[internal]"), outcome.output);
      CHECK(outcome.exit_code != 2);
      if (words.front() == "generate" || words.front() == "validate") {
        CHECK_MESSAGE(outcome.exit_code == 3, outcome.output);
        CHECK_MESSAGE((contains(outcome.output, "[config/bounds]") ||
                       contains(outcome.output, "[checkpoint/model]")),
                      outcome.output);
      }
    }
  }
}
