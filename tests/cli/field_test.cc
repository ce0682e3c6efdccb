// Configurations in the forms of public files (tests/fixtures/field): what the program says of
// each.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command.h"
#include "common/places.h"
#include "common/temporary_folder.h"

using nlohmann::json;
using s2s::test::CommandResult;
using s2s::test::has;
using s2s::test::run_shell;
using s2s::test::TemporaryFolder;

namespace fs = std::filesystem;

namespace {

fs::path field() { return fs::path(s2s::test::source_dir()) / "tests/fixtures/field"; }

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

CommandResult run_in(const fs::path& folder, const std::string& words) {
  return run_shell("cd '" + folder.string() + "' && " + s2s::test::binary_dir() + "/bin/s2s-run " +
                   words);
}

/// `config show` of the model of all cases with `trainer`, in the folder of the cases.
CommandResult show_field(const std::string& trainer, const std::string& words) {
  const TemporaryFolder folder;
  folder.write("run.yaml", text_of(field() / "model.yaml") + trainer);
  return run_in(field(), "config show " + (folder / "run.yaml") + " " + words);
}

CommandResult encode_with(const fs::path& settings) {
  const TemporaryFolder folder;
  folder.write("tokenizer.json", text_of(field() / "tokenizer/tokenizer.json"));
  folder.write("tokenizer_config.json", text_of(settings));
  return run_in(folder.path(), "tokenizer encode . ab --special");
}

CommandResult run_case(const std::string& file, const std::string& words) {
  const std::string plain = "trainer: {max_steps: 100, accelerator: cpu, strategy: {name: ddp}}\n";
  const std::string kind = file.substr(0, file.find('/'));
  const std::string folder = fs::path(file).parent_path().string();
  if (kind == "lightning") return show_field(text_of(field() / file), words);
  if (kind == "nemo") return run_in(field(), "config show " + file + " " + words);
  if (kind == "peft") return show_field(plain, "model.lora.path=" + folder + " " + words);
  if (kind == "hf") return show_field(plain, "'~model.llm' model.llm.path=" + folder + " " + words);
  if (kind == "tokenizer") return encode_with(field() / file);
  return show_field("trainer: {max_steps: 100, accelerator: cpu}\n",
                    "'trainer.strategy={name: " + kind + ", config: " + file + "}' " + words);
}

}  // namespace

TEST_CASE("configurations of public forms are read, noted or refused as their cases say") {
  const json cases = json::parse(text_of(field() / "cases.json"));
  CHECK(cases.size() >= 50);
  for (const json& one : cases) {
    const std::string file = one.at("file");
    CAPTURE(file);
    REQUIRE(fs::exists(field() / file));
    const CommandResult result = run_case(file, one.value("words", ""));
    CAPTURE(result.output);
    CHECK(result.exit_code == one.at("code").get<int>());
    for (const std::string text : one.at("says")) CHECK_MESSAGE(has(result, text), text);
    for (const std::string text : one.at("never")) CHECK_FALSE_MESSAGE(has(result, text), text);
  }
}

TEST_CASE("every configuration of the field has a case") {
  const std::string cases = text_of(field() / "cases.json");
  for (const auto& entry : fs::recursive_directory_iterator(field())) {
    const std::string name = fs::relative(entry.path(), field()).string();
    const bool is_shared =
        name.find('/') == std::string::npos || name == "tokenizer/tokenizer.json";
    if (!entry.is_regular_file() || is_shared) continue;
    CHECK_MESSAGE(cases.find("\"" + name + "\"") != std::string::npos, name);
  }
}
