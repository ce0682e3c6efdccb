#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "core/plugin/fixtures.h"

using namespace s2s::test;
using nlohmann::json;

TEST_CASE("tokenizer train makes a model; encode and decode lead there and back") {
  const TemporaryFolder dir;
  write_text(dir / "texts.txt", "set a timer\nset a light\n");
  write_text(dir / "in.txt", "set a light\ntimer\n\n");
  const std::string model = dir / "m/words.model";
  const CommandResult made = run_cli("tokenizer train --json --input " + (dir / "texts.txt") +
                                     " --output " + model + " --vocab-size 50");
  INFO(made.output);
  REQUIRE(made.exit_code == 0);
  CHECK(json::parse(made.output)["vocab_size"] == 8);
  const CommandResult ids =
      run_cli("tokenizer encode --tokenizer " + model + " < " + (dir / "in.txt"));
  CHECK(ids.exit_code == 0);
  write_text(dir / "ids.txt", ids.output);
  const CommandResult texts =
      run_cli("tokenizer decode --tokenizer " + (dir / "m") + " < " + (dir / "ids.txt"));
  CHECK(texts.output == "set a light\ntimer\n\n");
  const CommandResult special =
      run_cli("tokenizer encode --special --tokenizer " + model + " < " + (dir / "in.txt"));
  const std::string first = special.output.substr(0, special.output.find('\n'));
  CHECK(json::parse(first).size() == 5);
  CHECK(json::parse(first)[0] == 1);
  CHECK(json::parse(first)[4] == 2);
}

TEST_CASE("tokenizer decode says which line is no list, encode what is no tokenizer") {
  const TemporaryFolder dir;
  write_text(dir / "texts.txt", "set a timer\n");
  const std::string model = dir / "words.model";
  const std::string make = "tokenizer train --input " + (dir / "texts.txt") + " --output " + model;
  run_cli(make);
  CHECK(has(run_cli(make), "[io/exists]"));
  CHECK(run_cli(make + " --force").exit_code == 0);
  write_text(dir / "ids.txt", "[4]\n{\"a\": 1}\n");
  const CommandResult bad =
      run_cli("tokenizer decode --tokenizer " + model + " < " + (dir / "ids.txt"));
  CHECK(bad.exit_code == 5);
  CHECK(contains(bad.output, "[tokenizer/ids] standard input:2"));
  for (const char* const ids : {" 4 5 6", " 4,5,6", " '[4, 5, 6]'"}) {
    const CommandResult words = run_cli("tokenizer decode " + model + ids);
    CHECK_MESSAGE(words.exit_code == 0, words.output);
    CHECK_MESSAGE(has(words, "a set timer"), words.output);
  }
  CHECK(has(run_cli("tokenizer decode " + model + " four"), "[tokenizer/ids] command line:1"));
  // The unknown token, as SentencePiece prints it, although the model takes it for PAD.
  CHECK(has(run_cli("tokenizer decode " + model + " 4 0"), "\xe2\x81\x87"));
  write_text(dir / "ids.txt", "[4, 99999]\n");
  const CommandResult beyond =
      run_cli("tokenizer decode --tokenizer " + model + " < " + (dir / "ids.txt"));
  CHECK(beyond.exit_code == 5);
  CHECK_MESSAGE(contains(beyond.output, "this tokenizer has no id 99999"), beyond.output);
  const CommandResult unknown =
      run_cli("tokenizer encode --tokenizer " + (dir / "texts.txt") + " < /dev/null");
  CHECK(unknown.exit_code == 3);
  CHECK(contains(unknown.output, "[tokenizer/unknown-format]"));
  const CommandResult nowhere = run_cli("tokenizer encode --tokenizer /nowhere < /dev/null");
  CHECK_MESSAGE(contains(nowhere.output, "'/nowhere' does not exist"), nowhere.output);
}

TEST_CASE("tokenizer encode takes words, and needs no special ids for text alone") {
  const TemporaryFolder dir;
  write_text(dir / "texts.txt", "set a timer\n");
  const std::string file_name = dir / "tokenizer.json";
  REQUIRE(run_cli("tokenizer train --input " + (dir / "texts.txt") + " --output " + file_name +
                  " --vocab-size 280")
              .exit_code == 0);
  const CommandResult lines =
      run_cli("tokenizer encode --tokenizer " + file_name + " < " + (dir / "texts.txt"));
  CHECK(run_cli("tokenizer encode " + file_name + " 'set a timer'").output == lines.output);
  std::ifstream file(file_name);
  auto without = json::parse(file);
  without["added_tokens"] = {{{"id", 256},
                              {"content", "<|start_here|>"},
                              {"special", true},
                              {"single_word", false},
                              {"lstrip", false},
                              {"rstrip", false},
                              {"normalized", false}}};
  without.erase("post_processor");
  std::filesystem::create_directories(dir / "other");
  write_text(dir / "other/tokenizer.json", without.dump());
  const CommandResult plain = run_cli("tokenizer encode " + (dir / "other") + " 'set a timer'");
  CHECK_MESSAGE(plain.exit_code == 0, plain.output);
  const CommandResult text = run_cli("tokenizer decode " + (dir / "other") + " '" +
                                     lines.output.substr(0, lines.output.find('\n')) + "'");
  CHECK_MESSAGE(text.output == "set a timer\n", text.output);
  const CommandResult special = run_cli("tokenizer encode --special " + (dir / "other") + " set");
  CHECK(special.exit_code == 3);
  CHECK_MESSAGE(has(special, "as 256 (<|start_here|>) of this file"), special.output);
  // One whose unknown token is no more than a name.
  json token = without["added_tokens"][0];
  without["added_tokens"] = json::array();
  for (const char* const name : {"<s>", "</s>", "<unk>"}) {
    token["id"] = 256 + without["added_tokens"].size();
    token["content"] = name;
    without["added_tokens"].push_back(token);
  }
  write_text(dir / "other/tokenizer.json", without.dump());
  // A command that pads nothing needs no PAD.
  const CommandResult pad = run_cli("tokenizer encode --special " + (dir / "other") + " set");
  CHECK_MESSAGE(pad.exit_code == 0, pad.output);
  CHECK(json::parse(pad.output).front() == 256);
  CHECK(json::parse(pad.output).back() == 257);
}

TEST_CASE("a folder with another form of tokenizer is told what it has, and what to write") {
  const TemporaryFolder dir;
  const auto check = [&] {
    return run_cli("config check " + s2s::test::source_dir() +
                   "/configs/text.yaml ~data.synth ~model.tokenizer.train model.tokenizer.path=" +
                   dir.path().string());
  };
  write_text(dir / "config.json", "{}");
  write_text(dir / "vocab.json", "{}");
  write_text(dir / "merges.txt", "");
  const CommandResult merges = check();
  CHECK_MESSAGE(has(merges, "has no tokenizer.json, but vocab.json and merges.txt"), merges.output);
  CHECK(has(merges, "save_pretrained("));
  write_text(dir / "tokenizer.model", "");
  const CommandResult model = check();
  CHECK_MESSAGE(has(model, "but the SentencePiece model 'tokenizer.model'"), model.output);
  CHECK(has(model, "write name: sentencepiece, path: " + (dir / "tokenizer.model")));
}

TEST_CASE("tokenizer train makes a tokenizer.json, whose texts may have lines with --json") {
  const TemporaryFolder dir;
  write_text(dir / "texts.txt", "set a timer\nset a light\nset a timer\n");
  const std::string file = dir / "m/tokenizer.json";
  const CommandResult made = run_cli("tokenizer train --json --input " + (dir / "texts.txt") +
                                     " --output " + file + " --vocab-size 265");
  INFO(made.output);
  REQUIRE(made.exit_code == 0);
  CHECK(json::parse(made.output)["vocab_size"] == 265);
  write_text(dir / "in.txt", "\"set a timer\\nset\"\n\"\\u00e9\"\n");
  const CommandResult ids =
      run_cli("tokenizer encode --json --tokenizer " + file + " < " + (dir / "in.txt"));
  CHECK_MESSAGE(ids.exit_code == 0, ids.output);
  write_text(dir / "ids.txt", ids.output);
  const CommandResult texts =
      run_cli("tokenizer decode --json --tokenizer " + (dir / "m") + " < " + (dir / "ids.txt"));
  CHECK(texts.output == "\"set a timer\\nset\"\n\"\u00e9\"\n");
  const CommandResult special = run_cli("tokenizer encode --special --plugin hf --tokenizer " +
                                        (dir / "m") + " < " + (dir / "texts.txt"));
  const std::string first = special.output.substr(0, special.output.find('\n'));
  CHECK_MESSAGE(json::parse(first).front() == 262, special.output);
  CHECK(json::parse(first).back() == 263);
  write_text(dir / "in.txt", "set\n");
  const CommandResult plain =
      run_cli("tokenizer encode --json --tokenizer " + file + " < " + (dir / "in.txt"));
  CHECK(plain.exit_code == 5);
  CHECK_MESSAGE(has(plain, "[tokenizer/text] standard input:1: 'set' is not a JSON string"),
                plain.output);
}

TEST_CASE("tokenizer train refuses a plugin that makes no tokenizers") {
  const TemporaryFolder dir;
  write_text(dir / "texts.txt", "set a timer\n");
  const CommandResult plain =
      run_cli("tokenizer train --plugin-path " + fixture_dir("plain_tokenizer") +
              " --plugin fixture_plain --input " + (dir / "texts.txt") + " --output " +
              (dir / "made.json"));
  CHECK(plain.exit_code == 3);
  CHECK_MESSAGE(has(plain,
                    "[tokenizer/cannot-train] the tokenizer 'fixture_plain' has no option "
                    "train.input; expected a plugin that can train tokenizers; choose another"),
                plain.output);
}
