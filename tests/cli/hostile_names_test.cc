// Names and texts of files that somebody else made, as commands print them: no controls reach a
// terminal, and no name begins a line.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/places.h"
#include "common/temporary_folder.h"

using namespace s2s::test;
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

const std::string kName =
    "ev\x1b]0;x\x07\x1b[2J\ril\nerror: [fake/line] forged\u0085\u2028\u202e\x7f";

/// A word of a shell's command line.
std::string quoted(const std::string& text) { return "'" + text + "'"; }

bool has_controls(const std::string& text) {
  const auto is_control = [](unsigned char byte) {
    return (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
  };
  if (std::any_of(text.begin(), text.end(), is_control)) return true;
  for (const char* sequence : {"\u0085", "\u2028", "\u202e"}) {
    if (text.find(sequence) != std::string::npos) return true;
  }
  return false;
}

/// Runs it and checks that its output is clean and shows a part of the name, escaped.
void check_clean(const std::string& arguments, const std::string& shown = "ev") {
  CAPTURE(arguments);
  const CommandResult result = run_cli(arguments);
  CAPTURE(result.output);
  CHECK_FALSE(has_controls(result.output));
  CHECK_FALSE(has(result, "\nerror: [fake/line]"));
  CHECK(has(result, shown));
  CHECK_FALSE(has(result, "[internal]"));
}

struct HostileFolder {
  HostileFolder() {
    std::ofstream(path("bad.yaml")) << json(kName).dump() << ": " << json(kName).dump() << "\n";
    const json source = {{"type", "file"}, {"channels", {0}}, {"source", kName}};
    const json recording = {{"id", "r"},       {"sources", {source}},  {"sampling_rate", 16000},
                            {"duration", 1.0}, {"num_samples", 16000}, {"channel_ids", {0}}};
    const json turn = {{"id", kName},      {"recording_id", "r"}, {"start", 0.0},
                       {"duration", 1.0},  {"text", kName},       {"speaker", kName},
                       {"language", kName}};
    std::ofstream(path("cuts.jsonl"))
        << json{{"id", kName},           {"type", "MonoCut"}, {"start", 0.0},
                {"duration", 1.0},       {"channel", 0},      {"supervisions", {turn}},
                {"recording", recording}}
        << "\n";
    std::ofstream(path("nemo.jsonl"))
        << json{{"audio_filepath", kName}, {"duration", 1.0}, {"text", kName}} << "\n";
    const std::string header = json{
        {kName, {{"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {0, 4}}}},
        {"__metadata__",
         {{kName, kName}}}}.dump();
    std::ofstream file(path("model.safetensors"), std::ios::binary);
    for (size_t i = 0; i < 8; ++i) file << static_cast<char>((header.size() >> (8 * i)) & 0xFF);
    file << header << std::string(4, '\0');
    std::ofstream(path("flight.0.json")) << json(kName);
  }
  std::string path(const std::string& name) const { return folder / name; }
  std::string word(const std::string& name) const { return quoted(path(name)); }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE("names in configurations are printed escaped") {
  const HostileFolder hostile;
  check_clean("config check " + hostile.word("bad.yaml"));
  check_clean("config show " + hostile.word("bad.yaml"));
  check_clean("plan " + hostile.word("bad.yaml"));
  check_clean("train " + hostile.word("bad.yaml"));
  check_clean("train " + quoted(s2s::test::source_dir() + "/configs/tiny.yaml") + " " +
              quoted(kName + "=1"));
}

TEST_CASE("names in data are printed escaped") {
  const HostileFolder hostile;
  for (const char* name : {"cuts.jsonl", "nemo.jsonl"}) {
    check_clean("data inspect " + hostile.word(name));
    check_clean("data inspect --json " + hostile.word(name));
    check_clean("data estimate-bins -b 2 " + hostile.word(name), "");
    check_clean("data shar --force " + hostile.word(name) + " " + hostile.word("shar"), "");
  }
}

TEST_CASE("names in weights are printed escaped, and as JSON they are what they are") {
  const HostileFolder hostile;
  check_clean("checkpoint inspect " + quoted(hostile.folder.path().string()));
  check_clean("checkpoint verify " + quoted(hostile.folder.path().string()), "1 tensors");
  const std::string arguments =
      "checkpoint inspect --json " + quoted(hostile.folder.path().string());
  check_clean(arguments);
  const json printed = json::parse(run_cli(arguments).output, nullptr, false);
  REQUIRE_FALSE(printed.is_discarded());
  CHECK(printed.dump().find(json(kName).dump()) != std::string::npos);
}

TEST_CASE("arguments and names of files are printed escaped") {
  const HostileFolder hostile;
  const std::string name = quoted(kName);
  for (const char* command :
       {"", "data inspect ", "data convert ", "plan ", "config check ", "checkpoint inspect ",
        "checkpoint verify ", "launch diagnose ", "compare ", "plugin inspect ", "plugin check ",
        "tokenizer encode --tokenizer ", "--plugin-path=/none "}) {
    check_clean(command + name, "");
  }
  check_clean("launch diagnose " + quoted(hostile.folder.path().string()), "flight.0.json");
}

TEST_CASE("texts that are data leave a tokenizer as they are") {
  const HostileFolder hostile;
  const std::string model = hostile.word("tokenizer.json");
  const std::string text = "a\u2028b \x1b[2J\x7f\r c\n";
  std::ofstream(hostile.path("text"), std::ios::binary) << text;
  const CommandResult made = run_cli("tokenizer train --plugin hf --vocab-size 300 --input " +
                                     hostile.word("text") + " --output " + model);
  REQUIRE_MESSAGE(made.exit_code == 0, made.output);
  const CommandResult ids =
      run_cli("tokenizer encode --tokenizer " + model + " < " + hostile.word("text"));
  REQUIRE_MESSAGE(ids.exit_code == 0, ids.output);
  std::ofstream(hostile.path("ids")) << ids.output;
  const std::string decode = "tokenizer decode --tokenizer " + model + " < " + hostile.word("ids");
  CHECK(run_cli(decode).output == text);
}
