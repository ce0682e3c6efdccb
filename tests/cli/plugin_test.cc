#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "core/plugin/fixtures.h"

using namespace s2s::test;
using nlohmann::json;

TEST_CASE("plugin list shows what the notes say, and runs nothing of the plugins") {
  const CommandResult result = run_cli("plugin list --plugin-path " + fixture_dir("good"),
                                       "S2S_PLUGIN_PATH=" + fixture_dir("crashes") + ":" +
                                           fixture_dir("wrong_api") + ":" + fixture_dir("not_elf"));
  CHECK(result.exit_code == 0);
  for (const char* part : {"fixture_good", "fixture_crashes", "incompatible", "[plugin/abi]",
                           "[plugin/not-elf]", "0.1.0"}) {
    CHECK_MESSAGE(contains(result.output, part), result.output);
  }
}

TEST_CASE("plugin list --json is JSON, and --kind chooses") {
  const std::string path =
      "--plugin-path " + fixture_dir("shadowing") + " --plugin-path " + fixture_dir("good");
  const json all = json::parse(run_cli(path + " plugin list --json --kind metric").output);
  std::vector<json> good;  // beside the program's own metrics
  for (const json& component : all["components"]) {
    CHECK(component["kind"] == "metric");
    if (component["name"] == "fixture_good") good.push_back(component);
  }
  REQUIRE(good.size() == 2);
  CHECK(good[0]["state"] == "found");
  CHECK(good[1]["state"] == "shadowed");
  CHECK(all["shadowed"][0]["id"] == "metric:fixture_good");
  const json loggers = json::parse(run_cli(path + " plugin list --json --kind logger").output);
  for (const json& component : loggers["components"]) CHECK(component["kind"] == "logger");
  const CommandResult unknown = run_cli("plugin list --kind metrik");
  CHECK(unknown.exit_code == 2);
  CHECK(contains(unknown.output, "[plugin/kind]"));
  CHECK(contains(unknown.output, "did you mean 'metric'?"));
}

TEST_CASE("plugin list exits with 4 when one directory provides a name twice") {
  const CommandResult result = run_cli("plugin list --plugin-path " + fixture_dir("duplicate"));
  CHECK(result.exit_code == 4);
  CHECK(contains(result.output, "[plugin/duplicate]"));
}

TEST_CASE("a table fits the terminal, and is as it was where a program reads it") {
  const std::string inspect = s2s::test::binary_dir() + "/bin/s2s-run plugin inspect adamw";
  const auto longest_line = [](const std::string& command) {
    FILE* const pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    size_t longest = 0;
    bool is_table = false;
    char line[4096];
    while (fgets(line, sizeof line, pipe) != nullptr) {
      const std::string text = line;
      is_table = is_table || text.find("OPTION") != std::string::npos;
      if (is_table) longest = std::max(longest, text.find_last_not_of("\r\n") + 1);
    }
    pclose(pipe);
    return longest;
  };
  if (std::system("command -v script > /dev/null") != 0) return;  // it makes a terminal
  const size_t narrow =
      longest_line("script -qec 'stty cols 70; " + inspect + "' /dev/null < /dev/null");
  CHECK(narrow > 40);
  CHECK(narrow <= 70);
  CHECK(longest_line(inspect + " | cat") > 70);
}

TEST_CASE("plugin list answers without loading LibTorch") {
  const auto start = std::chrono::steady_clock::now();
  const CommandResult result = run_cli("plugin list", "LD_DEBUG=files");
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  CHECK(result.exit_code == 0);
  CHECK_FALSE(contains(result.output, "libtorch_cpu"));
  MESSAGE("plugin list: ", elapsed.count(), " s");
}

TEST_CASE("plugin inspect shows the note and the options with type, default, bounds and doc") {
  const std::string path = "--plugin-path " + fixture_dir("good");
  for (const char* name : {"fixture_good", "metric:fixture_good"}) {
    const CommandResult result = run_cli("plugin inspect " + path + " " + name);
    CHECK(result.exit_code == 0);
    for (const char* part : {"metric:fixture_good", "counts characters", "Apache-2.0", "weight",
                             "0 to 10", "0 to 1048576", "hypothesis | reference",
                             "fixtures/counts    MIT", "fixtures/unknown   see the folder"}) {
      CHECK_MESSAGE(contains(result.output, part), result.output);
    }
  }
  const json all = json::parse(run_cli("plugin inspect --json " + fixture_file("good")).output);
  const json& options = all[0]["components"][0]["options"];
  REQUIRE(options.size() == 3);
  CHECK(options[0]["name"] == "weight");
  CHECK(options[0]["max"] == 10);
  CHECK(options[2]["choices"] == json{"hypothesis", "reference"});
  const json& weights = all[0]["components"][0]["weights"];
  REQUIRE(weights.size() == 2);
  CHECK(weights[0] == json{{"name", "fixtures/counts"}, {"license", "MIT"}});
  CHECK(weights[1]["license"] == "");
}

TEST_CASE("plugin inspect names published weights of each part that reads some") {
  for (const auto& [part, line] : {std::pair{"codec:mimi", "kyutai/mimi"},
                                   {"codec:dac", "descript/dac_44khz"},
                                   {"encoder:fastconformer", "nvidia/parakeet"},
                                   {"llm:tinyllama", "TinyLlama/TinyLlama_v1.1"}}) {
    const CommandResult result = run_cli(std::string("plugin inspect ") + part);
    CHECK(result.exit_code == 0);
    CHECK_MESSAGE(contains(result.output, line), result.output);
    CHECK(contains(result.output, "LICENSE"));
  }
  CHECK_FALSE(contains(run_cli("plugin inspect codec:mel_fsq").output, "LICENSE"));
}

TEST_CASE("plugin inspect of an unknown name or a bad file exits with 4") {
  const CommandResult unknown =
      run_cli("plugin inspect fixture_goof --plugin-path " + fixture_dir("good"));
  CHECK(unknown.exit_code == 4);
  CHECK(contains(unknown.output, "did you mean 'fixture_good'?"));
  const CommandResult bad = run_cli("plugin inspect " + fixture_file("wrong_torch"));
  CHECK(bad.exit_code == 4);
  CHECK(contains(bad.output, "[plugin/abi]"));
}

TEST_CASE("plugin path tells the folders in order with their origins") {
  const CommandResult result = run_cli("plugin path --json --plugin-path " + fixture_dir("good"),
                                       "S2S_PLUGIN_PATH=/nowhere");
  CHECK(result.exit_code == 0);
  const json all = json::parse(result.output);
  REQUIRE(all.size() == 3);
  CHECK(all[0]["origin"] == "--plugin-path");
  CHECK(all[0]["files"] == 1);
  CHECK(all[1]["exists"] == false);
  CHECK(all[2]["path"] == s2s::test::binary_dir() + "/lib/s2s/plugins");
}

TEST_CASE("plugin check passes a good plugin with a line per check") {
  const CommandResult result = run_cli("plugin check " + fixture_file("good"));
  CHECK(result.exit_code == 0);
  CHECK(contains(result.output, " 5 ok "));
  CHECK(contains(result.output, " 6 -       tiny instances are built: not run: no component"));
  CHECK(
      contains(result.output,
               " 7 -       sharding plans are valid on small meshes: not run: no language model"));
  CHECK(contains(result.output, " 8 ok "));
}

TEST_CASE("plugin check builds tiny instances and asks for what their interfaces promise") {
  for (const char* plugin :
       {"llm_llama", "llm_tinyllama", "llm_gemma", "llm_qwen", "encoder_fastconformer",
        "encoder_whisper", "codec_mel_fsq", "codec_nemo_audio_codec", "codec_rvq_vae",
        "codec_encodec", "codec_dac", "codec_mimi"}) {
    const CommandResult result = run_cli("plugin check " + s2s::test::binary_dir() +
                                         "/lib/s2s/plugins/libs2s_" + plugin + ".so");
    CHECK_MESSAGE(result.exit_code == 0, result.output);
    const bool is_mimi = std::string(plugin) == "codec_mimi";  // an encoder, too
    CHECK(contains(result.output,
                   std::string("tiny instances are built: ") + (is_mimi ? "2" : "1") + " built"));
    CHECK(
        contains(result.output, " 8 ok      components meet the requirements of their interfaces"));
    const bool is_llm = std::string(plugin).starts_with("llm_");
    CHECK(contains(result.output, "on 1x1 2x1 1x2 2x2 4x2 1x4 (data x tensor)\n") == is_llm);
  }
}

TEST_CASE("plugin check says what it asked, and what it did not run") {
  const std::string folder = s2s::test::binary_dir() + "/lib/s2s/plugins/libs2s_";
  const std::string requirements = "components meet the requirements of their interfaces: ";
  const std::vector<std::pair<std::string, std::string>> all = {
      {"optimizer_adamw", " 8 ok      " + requirements + "optimizer:adamw\n"},
      {"schedule_cosine_annealing", " 8 ok      " + requirements + "schedule:cosine_annealing\n"},
      {"logger_trackers", " 8 ok      " + requirements + "logger:csv, "},
      {"model_causal_lm",
       " 8 -       " + requirements + "not run: model:causal_lm is tried by training with it\n"},
      {"model_two_level", " 8 ok      " + requirements + "model:csm, model:moshi\n"},
      {"data_text", "not run: data:text is asked by its own tests"},
      {"tokenizer_hf", "not run: tokenizer:hf is asked by its own tests"},
      {"scorer_pocketsphinx", requirements},
      {"strategy_single", "not run: strategy:single is tried by training with it"}};
  for (const auto& [plugin, expected] : all) {
    const CommandResult result = run_cli("plugin check " + folder + plugin + ".so");
    CHECK_MESSAGE(result.exit_code == 0, result.output);
    CHECK_MESSAGE(contains(result.output, expected), result.output);
    CHECK(contains(result.output, " 7 -       sharding plans are valid on small meshes: not run"));
  }
}

TEST_CASE("plugin check finds a metric that throws") {
  const CommandResult result = run_cli("plugin check " + fixture_file("fails_late"));
  CHECK(result.exit_code == 4);
  CHECK_MESSAGE(contains(result.output, " threw an exception while checking its components: bad"),
                result.output);
  CHECK(contains(run_cli("plugin check " + fixture_file("good")).output,
                 "interfaces: metric:fixture_good\n"));
}

TEST_CASE("plugin new makes a project, and refuses what it cannot make") {
  const s2s::test::TemporaryFolder folder;
  const std::string out = (folder.path() / "mine").string();
  const CommandResult made = run_cli("plugin new llm acme.tiny --out " + out);
  CHECK_MESSAGE(made.exit_code == 0, made.output);
  CHECK(contains(made.output, "a plugin for llm:acme.tiny"));
  // A build tree is no prefix: it is installed first.
  const std::string prefix = s2s::test::binary_dir() + "/installed\n  cmake ";
  CHECK_MESSAGE(contains(made.output, "--prefix " + prefix + "-S " + out), made.output);
  for (const char* file : {"CMakeLists.txt", "family.h", "family.cc", "plugin.cc", "test.cc",
                           "README.md", "tiny.yaml"}) {
    std::ifstream in(folder.path() / "mine" / file);
    const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    CHECK_MESSAGE(contains(text, "acme"), file);
    CHECK_FALSE(contains(text, "PLUGIN_NAME"));
    CHECK_FALSE(contains(text, "COMPONENT_NAME"));
  }
  const CommandResult again = run_cli("plugin new llm acme.tiny --out " + out);
  CHECK(again.exit_code == 5);
  CHECK(contains(again.output, "[io/exists]"));
  CHECK(run_cli("plugin new llm acme.tiny --force --out " + out).exit_code == 0);
  const CommandResult nowhere = run_cli("plugin new llm acme.tiny --out /proc/tiny");
  CHECK(nowhere.exit_code == 5);
  CHECK(contains(nowhere.output, "[io/write] /proc/tiny: cannot create the folder"));
  const CommandResult kind = run_cli("plugin new lmm acme.tiny --out " + out + "2");
  CHECK(contains(kind.output, "[plugin/new-kind] there is no template for the kind 'lmm'"));
  CHECK(contains(kind.output,
                 "one of codec, data, encoder, llm, logger, metric, model, optimizer, schedule, "
                 "scorer, strategy, tokenizer"));
  for (const char* name : {"tiny", "acme.", ".tiny", "Acme.tiny", "acme.3b", "a.b.c", "acme.x-y"}) {
    const CommandResult refused =
        run_cli(std::string("plugin new llm ") + name + " --out " + out + "3");
    CHECK_MESSAGE(contains(refused.output, "[plugin/new-name]"), name);
  }
}

TEST_CASE("plugin check survives a plugin that crashes, and says where it died") {
  // A sanitizer's own handler would turn the signal into an exit code.
  const CommandResult result =
      run_cli("plugin check " + fixture_file("crashes"), "ASAN_OPTIONS=handle_segv=0");
  CHECK(result.exit_code == 4);
  CHECK(contains(result.output, "[plugin/crashed] died with SIGSEGV while registering"));
  const CommandResult exits = run_cli("plugin check " + fixture_file("exits"));
  CHECK(exits.exit_code == 4);
  CHECK(contains(exits.output, "ended the process with exit code 0 while registering"));
}

TEST_CASE("plugin list, path and inspect search the folders of a config") {
  const TemporaryFolder folder;
  const std::string file = folder / "search.yaml";
  std::ofstream(file) << "plugins: { paths: [\"${vars.where}/good\"] }\nmodel: 3\n"
                      << "vars: { where: " << fixture_dir("") << " }\n";
  const CommandResult list = run_cli("plugin list --config " + file);
  CHECK(list.exit_code == 0);
  CHECK(contains(list.output, "fixture_good"));
  CHECK_FALSE(contains(run_cli("plugin list").output, "fixture_good"));
  const json folders = json::parse(run_cli("plugin path --json --config=" + file).output);
  CHECK(folders[0]["origin"] == "plugins.paths");
  CHECK(folders[0]["files"] == 1);
  CHECK(folders[1]["origin"] == "next to s2s-run");
  CHECK(run_cli("plugin inspect fixture_good --config " + file).exit_code == 0);
  CHECK(run_cli("plugin list --config no/such.yaml").exit_code == 3);
  std::ofstream(file) << "plugins: { pats: [good] }\n";
  const CommandResult wrong = run_cli("plugin list --config " + file);
  CHECK(wrong.exit_code == 3);
  CHECK(contains(wrong.output, "did you mean 'paths'?"));
}

TEST_CASE("every command that uses plugins searches --plugin-path and S2S_PLUGIN_PATH") {
  const std::string config = s2s::test::source_dir() + "/configs/tiny.yaml ";
  const std::string reference =
      s2s::test::source_dir() + "/tests/reference/data/hf_llama_plain.safetensors ";
  const std::string model =
      s2s::test::source_dir() + "/tests/reference/data/sentencepiece_word.model ";
  const std::vector<std::string> commands = {
      "plugin list",
      "plugin path",
      "plugin inspect llama",
      "config check " + config,
      "config show " + config,
      "train " + config,
      "plan " + config,
      "validate --checkpoint x " + config,
      "generate --checkpoint x --output x --input x -- " + config,
      "compare " + reference,
      "tokenizer encode --tokenizer " + model + "< /dev/null",
  };
  for (const std::string& command : commands) {
    // A name that one folder provides twice stops the search, wherever the folder was named.
    const CommandResult option =
        run_cli("--plugin-path " + fixture_dir("duplicate") + " " + command);
    const CommandResult variable = run_cli(command, "S2S_PLUGIN_PATH=" + fixture_dir("duplicate"));
    const bool lists_only = command == "plugin path" || command == "plugin inspect llama";
    CAPTURE(command);
    CAPTURE(option.output);
    CAPTURE(variable.output);
    CHECK(contains(option.output, lists_only ? "" : "[plugin/duplicate]"));
    CHECK(contains(variable.output, lists_only ? "" : "[plugin/duplicate]"));
    const CommandResult missing = run_cli("--plugin-path no/such/folder " + command);
    CHECK(contains(missing.output, "[plugin/directory]"));
    CHECK(missing.exit_code == 4);
  }
}

TEST_CASE("plugin check names the id of what is wrong, and exits with 4") {
  for (const auto& [fixture, id] :
       std::vector<std::pair<std::string, std::string>>{{"no_note", "no-note"},
                                                        {"truncated", "truncated"},
                                                        {"wrong_api", "abi"},
                                                        {"missing_symbol", "symbols"},
                                                        {"throws", "threw"},
                                                        {"not_declared", "provides"},
                                                        {"bad_options", "options"}}) {
    const CommandResult result = run_cli("plugin check --json " + fixture_file(fixture));
    CHECK(result.exit_code == 4);
    const json report = json::parse(result.output);
    CHECK(report["passed"] == false);
    CHECK(report["checks"].back()["id"] == "plugin/" + id);
  }
}
