#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/contains.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"

using namespace s2s::test;

TEST_CASE("data synth --text makes prompts and chats, and finds them the second time") {
  const TemporaryFolder folder;
  const std::string out = folder / "set";
  const CommandResult made = run_cli("data synth " + out + " --text --tiny");
  CHECK_MESSAGE(made.exit_code == 0, made.output);
  CHECK_MESSAGE(contains(made.output, "lines: chat 256, chat_dev 16, dev 16, train 256"),
                made.output);
  const CommandResult again = run_cli("data synth " + out + " --text --tiny --json");
  CHECK(nlohmann::json::parse(again.output)["reused"] == true);
}

TEST_CASE("data inspect of a run on text counts documents, labels and padding") {
  const TemporaryFolder folder;
  const std::string config =
      source_dir() + "/configs/text.yaml data.synth.size=tiny text.data=" + (folder / "set");
  const auto inspect = [&](const std::string& more) {
    const CommandResult result = run_cli("data inspect --json " + config + " " + more);
    CHECK_MESSAGE(result.exit_code == 0, result.output);
    return nlohmann::json::parse(result.output);
  };
  const nlohmann::json packed = inspect("");
  CHECK(packed["documents"] == 256);
  CHECK(packed["documents_without_labels"] == 0);
  CHECK(packed["labels"] < packed["tokens"]);
  const nlohmann::json padded = inspect("data.train_ds.packing=none");
  CHECK(padded["tokens"] == packed["tokens"]);
  CHECK(padded["labels"] == packed["labels"]);
  CHECK(padded["rows"] == 256);
  CHECK(padded["padding"] > packed["padding"]);
  const CommandResult dev = run_cli("data inspect --set dev " + config);
  CHECK_MESSAGE(contains(dev.output, "16 documents"), dev.output);
  const CommandResult rows = run_cli("data inspect --batch 2 --set dev " + config);
  CHECK_MESSAGE(rows.exit_code == 0, rows.output);
  CHECK_MESSAGE(contains(rows.output, "row 0 (dev.jsonl:9), positions 0 to "), rows.output);
  CHECK_MESSAGE(contains(rows.output, "]]\n"), rows.output);
  CHECK(contains(run_cli("data inspect --batch 99 --set dev " + config).output,
                 "--batch 99: the data set has fewer batches of text"));
}

namespace {

/// Chats, a text, and lines that are neither, of which two are bad in the same way.
std::string write_chats(const TemporaryFolder& folder) {
  const std::string path = folder / "chats.jsonl";
  write_text(path, R"({"messages": [{"role": "user", "content": "one two"}, )"
                   R"({"role": "assistant", "content": "three"}]}
{"text": "two one"}

{"messages": [{"role": "user"}, {"role": "assistant", "content": "one"}]}
{"messages": [{"role": "user"}, {"role": "assistant", "content": "one"}]}
{"messages": 5}
)");
  return path;
}

std::string chat_tokenizer(const TemporaryFolder& folder) {
  write_text(folder / "texts.txt", "one two three\nuser assistant\n");
  const std::string path = folder / "words/tokenizer.json";
  const CommandResult made = run_cli("tokenizer train --input " + (folder / "texts.txt") +
                                     " --output " + path + " --vocab-size 300");
  REQUIRE_MESSAGE(made.exit_code == 0, made.output);
  return path;
}

}  // namespace

TEST_CASE("data inspect stops where a file is bad throughout, and keeps a number of findings") {
  const TemporaryFolder folder;
  std::string cuts, texts = "{\"text\": \"a\"}\n";
  for (int i = 0; i < 10100; ++i) cuts += "x\n";
  for (int i = 0; i < 300; ++i) texts += "{\"key" + std::to_string(i) + "\": 1}\n";
  write_text(folder / "cuts.jsonl", cuts);
  write_text(folder / "texts.jsonl", texts);
  const CommandResult of_cuts = run_cli("data inspect " + (folder / "cuts.jsonl"));
  INFO(of_cuts.output);
  CHECK(of_cuts.exit_code == 5);
  CHECK(contains(of_cuts.output, "(and 9999 more like it)"));
  CHECK(contains(of_cuts.output, "10000 findings in all; what follows was not read"));
  const CommandResult of_texts = run_cli("data inspect " + (folder / "texts.jsonl"));
  INFO(of_texts.output);
  CHECK(of_texts.exit_code == 1);
  CHECK(contains(of_texts.output, "'key99'"));
  CHECK(contains(of_texts.output, "200 other findings"));
}

TEST_CASE("data inspect of a file of chats counts documents, roles and equal findings") {
  const TemporaryFolder folder;
  const std::string path = write_chats(folder);
  const CommandResult plain = run_cli("data inspect " + path);
  INFO(plain.output);
  CHECK(plain.exit_code == 1);
  CHECK(contains(plain.output, "2 documents, 19 characters"));
  CHECK(contains(plain.output, "forms: 1 texts, 1 chats"));
  CHECK(contains(plain.output, "messages: 1 assistant, 1 user"));
  CHECK(contains(plain.output, "add --tokenizer PATH"));
  CHECK(contains(plain.output, "chats.jsonl:4"));
  CHECK(contains(plain.output, " (and 1 more like it)"));
  CHECK_FALSE(contains(plain.output, "chats.jsonl:5"));
  CHECK(contains(plain.output, "chats.jsonl:6"));
  const std::string tokenizer = " --tokenizer " + chat_tokenizer(folder);
  write_text(folder / "words/chat_template.jinja",
             "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}");
  const CommandResult counted = run_cli("data inspect --json " + path + tokenizer);
  const nlohmann::json report = nlohmann::json::parse(counted.output);
  CHECK(report["documents"] == 2);
  CHECK(report["chats"] == 1);
  CHECK(report["unit"] == "tokens");
  CHECK(report["labels"] < report["total"]);
  CHECK(report["findings"].size() == 2);
  CHECK(report["findings"][0]["count"] == 2);
  const CommandResult rows = run_cli("data inspect --batch 1 " + path + tokenizer);
  CHECK_MESSAGE(contains(rows.output, "assistant:[[ three</s>]]"), rows.output);
  CHECK(contains(run_cli("data inspect --batch 1 " + path).output, "needs --tokenizer PATH"));
}

TEST_CASE("tokenizer chat prints what the template makes of a conversation") {
  const TemporaryFolder folder;
  const std::string path = folder / "chat.jsonl";
  write_text(path, R"({"messages": [{"role": "user", "content": "one two"}, )"
                   R"({"role": "assistant", "content": "three"}]})"
                   "\n");
  const std::string tokenizer = chat_tokenizer(folder);
  write_text(folder / "words/chat_template.jinja",
             "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ eos_token }}{% endfor %}"
             "{% if add_generation_prompt %}<assistant>{% endif %}");
  const std::string words = "tokenizer chat " + tokenizer + " " + path;
  const CommandResult text = run_cli(words);
  INFO(text.output);
  CHECK(text.exit_code == 0);
  CHECK(contains(text.output, "chat.jsonl:1: "));
  CHECK(contains(text.output, "<user>one two"));
  CHECK(contains(text.output, "<assistant>three"));
  const CommandResult labels = run_cli(words + " --labels");
  CHECK_MESSAGE(contains(labels.output, "<assistant>[[three"), labels.output);
  const nlohmann::json out = nlohmann::json::parse(run_cli(words + " --json").output);
  CHECK(out["ids"].size() == out["labels"].size());
  CHECK(contains(out["text"].get<std::string>(), "<user>one two"));
  const CommandResult prompt = run_cli("tokenizer chat " + path + " --tokenizer " + tokenizer +
                                       " --prompt --chat-template chatml --line 1");
  CHECK_MESSAGE(contains(prompt.output, "<|im_start|>assistant\n"), prompt.output);
  CHECK(contains(run_cli("tokenizer chat " + path).output,
                 "expected a tokenizer and one file of conversations"));
  CHECK(contains(run_cli(words + " --line 7").output, "--line 7: the file has 1 line"));
  CHECK(contains(run_cli(words + " --prompt --labels").output, "--labels marks what"));
}
