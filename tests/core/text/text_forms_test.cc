// Forms of lines and files that others write: each is read as what the common form says.

#include <doctest/doctest.h>

#include "core/text/text_lines.h"
#include "text/text_line.h"
#include "text/text_paths.h"

namespace s2s::test {
namespace {

using data::parse_text_line;
using data::TextLine;

/// "role: content" of each message; * after what the model learns.
std::string chat_of(const std::string& line) {
  const TextLine read = parse_text_line(line, {}, "a.jsonl", 1);
  CHECK(read.form == TextLine::Form::kChat);
  std::string text;
  const auto& messages = read.messages.items()->items;
  for (size_t i = 0; i < messages.size(); ++i) {
    const auto* message = messages[i].dict();
    const auto text_of = [&](std::string_view key) { return to_text(*message->find(key)).bytes(); };
    text += text_of("role") + ": " + text_of("content") + (read.is_trained[i] ? "*" : "") + "; ";
  }
  return text;
}

/// The only row that a source of this line gives, as text, and what is learned of it.
std::pair<std::string, std::string> row_of(const std::string& line) {
  Sources sources;
  sources.options.document.chat_template = "chatml";
  sources.options.document.labels = "response";
  sources.lines = line + "\n";
  const Documents found = documents_of(*sources.open(), 1);
  std::string text, learned;
  for (const int64_t id : found.at(0).first) text += static_cast<char>(id);
  for (const int64_t label : found.at(0).second) {
    if (label >= 0) learned += static_cast<char>(label);
  }
  return {text, learned};
}

}  // namespace

TEST_CASE("ShareGPT's conversations are chats") {
  CHECK(chat_of(R"({"conversations": [{"from": "human", "value": "Q"},
                   {"from": "gpt", "value": "A"}]})") == "user: Q; assistant: A*; ");
  CHECK(chat_of(R"({"id": "x", "system": "S", "conversations": [{"from": "human", "value": "Q"},
                   {"from": "gpt", "value": "A"}, {"from": "observation", "value": "O"},
                   {"from": "bing", "value": "B"}]})") ==
        "system: S; user: Q; assistant: A*; tool: O; assistant: B*; ");
  CHECK(chat_of(R"({"system": "S", "conversations": [{"from": "system", "value": "T"},
                   {"from": "human", "value": "Q"}]})") == "system: T; user: Q; ");
  CHECK(chat_of(R"({"conversations": [{"role": "user", "content": "Q"},
                   {"role": "assistant", "content": "A"}]})") == "user: Q; assistant: A*; ");
}

TEST_CASE("TRL's prompts and completions of messages are chats; the completion is learned") {
  CHECK(chat_of(R"({"prompt": [{"role": "user", "content": "Q"},
                   {"role": "assistant", "content": "A"}, {"role": "user", "content": "R"}],
                   "completion": [{"role": "assistant", "content": "B"}]})") ==
        "user: Q; assistant: A; user: R; assistant: B*; ");
}

TEST_CASE("Alpaca's keys with system, history or tools are a chat") {
  CHECK(chat_of(R"({"instruction": "I", "input": "x", "output": "O", "system": "S",
                   "history": [["Q", "A"]]})") ==
        "system: S; user: Q; assistant: A*; user: I\nx; assistant: O*; ");
  CHECK(chat_of(R"({"prompt": "P", "response": "O", "system": "S"})") ==
        "system: S; user: P; assistant: O*; ");
  const TextLine plain = parse_text_line(
      R"({"instruction": "I", "input": "", "output": "O", "system": "", "history": [],
          "tools": null})",
      {}, "a.jsonl", 1);
  CHECK(plain.form == TextLine::Form::kPair);
}

TEST_CASE("tools reach the template, as a list or as its JSON") {
  for (const char* const tools : {R"([{"type": "function"}])", R"("[{\"type\": \"function\"}]")"}) {
    const TextLine read = parse_text_line(
        std::string(R"({"messages": [{"role": "user", "content": "Q"}], "tools": )") + tools + "}",
        {}, "a.jsonl", 1);
    CHECK(jinja::repr(read.tools) == "[{'type': 'function'}]");
  }
  for (const char* const tools : {"null", "[]", "\"\""}) {
    const TextLine read = parse_text_line(
        std::string(R"({"messages": [{"role": "user", "content": "Q"}], "tools": )") + tools + "}",
        {}, "a.jsonl", 1);
    CHECK(read.tools.is<jinja::None>());
  }
  TemporaryFolder folder;
  Sources sources;
  sources.options.document.chat_template = folder.write(
      "t.jinja", "{% if tools %}T{{ tools|length }}{% endif %}{{ messages[0].content }}");
  sources.lines = R"({"messages": [{"role": "user", "content": "Q"}], "tools": [{"a": 1}]})"
                  "\n";
  CHECK(documents_of(*sources.open(), 1)[0].first == letters("\x01T1Q\x02"));
}

TEST_CASE("JSON's null in a message is the template's none") {
  TemporaryFolder folder;
  Sources sources;
  sources.options.document.chat_template = folder.write(
      "t.jinja",
      "{% for m in messages %}{% if m.content is none %}N{% else %}{{ m.content }}{% endif %}"
      "{{ 'name' in m }}{% endfor %}");
  sources.lines = R"({"messages": [{"role": "user", "content": "Q", "name": null},)"
                  R"( {"role": "assistant", "content": null, "tool_calls": [{}]}]})"
                  "\n";
  CHECK(documents_of(*sources.open(), 1)[0].first == letters("\x01QTrueNFalse\x02"));
}

TEST_CASE("an empty message of the assistant teaches the end of the turn") {
  const auto [text, learned] = row_of(
      R"({"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": ""}]})");
  CHECK(contains(text, "<|im_start|>assistant\n<|im_end|>"));
  CHECK(learned == "<|im_end|>");
}

TEST_CASE("a set of which nothing is learned ends at the start with the reason") {
  const auto reason = [](const std::string& lines, int64_t max_seq_len = 200) {
    Sources sources;
    sources.options.document.chat_template = "chatml";
    sources.options.document.labels = "response";
    sources.options.max_seq_len = max_seq_len;
    sources.lines = lines;
    const std::string message = sources.failure();
    CHECK(contains(message, "[data/no-labels] data.train_ds: none of the first"));
    return message;
  };
  const std::string human =
      R"({"messages": [{"role": "human", "content": "Q"}, {"role": "gpt", "content": "A"}]})"
      "\n";
  CHECK(
      contains(reason(human + human), "their roles are gpt, human, and 'assistant' is not among"));
  CHECK(contains(reason(R"({"messages": [{"role": "user", "content": "Q"},)"
                        R"( {"role": "assistant", "content": "A", "weight": 0}]})"
                        "\n"),
                 "what the assistant says has the weight 0"));
  CHECK(contains(reason("{\"prompt\": \"abcdefgh\", \"response\": \"x\"}\n", 5),
                 "in 1 the response begins after max_seq_len (5 tokens)"));
}

TEST_CASE("many documents of which nothing is learned are a warning") {
  Sources sources;
  std::vector<std::string> warnings;
  sources.context.warn = [&](const std::string& text) { warnings.push_back(text); };
  sources.options.document.labels = "response";
  sources.options.max_seq_len = 5;
  sources.lines =
      "{\"prompt\": \"abcdefgh\", \"response\": \"x\"}\n{\"prompt\": \"a\", \"response\": \"x\"}\n";
  sources.open();
  REQUIRE(warnings.size() == 1);
  CHECK(contains(warnings[0], "1 of the first 2 documents have no token that the model learns"));
}

TEST_CASE("a key with content of another form is reported, because the model does not see it") {
  const std::string chat =
      R"("messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])";
  const std::string with_system = R"("messages": [{"role": "system", "content": "s"},)"
                                  R"( {"role": "user", "content": "a"}])";
  const auto warnings_of = [](const std::string& line) {
    Sources sources;
    std::vector<std::string> warnings;
    sources.context.warn = [&](const std::string& text) { warnings.push_back(text); };
    sources.options.document.chat_template = "chatml";
    sources.lines = line + "\n";
    sources.open();
    return warnings;
  };
  const std::vector<std::pair<std::string, const char*>> unread = {
      {"{" + chat + R"(, "functions": [{"name": "f"}]})", "'functions'"},
      {"{" + chat + R"(, "documents": [{"text": "f"}]})", "'documents'"},
      {"{" + with_system + R"(, "system": "t"})", "'system'"},
      {R"({"text": "a", "system": "s"})", "'system'"},
      {R"({"text": "a", "tools": [{"name": "f"}]})", "'tools'"},
      {R"({"prompt": "a", "response": "b", "input": "c"})", "'input'"},
      {R"({"instruction": "a", "output": "b", "context": "c"})", "'context'"},
      {R"({"prompt": [{"role": "user", "content": "a"}], "completion": [{"role": "assistant",)"
       R"( "content": "b"}], "history": [["q", "a"]]})",
       "'history'"}};
  for (const auto& [line, key] : unread) {
    CAPTURE(line);
    const std::vector<std::string> warnings = warnings_of(line);
    REQUIRE(warnings.size() == 1);
    CHECK(contains(warnings[0], std::string("data.train_ds: ") + key + " is not read in 1 of"));
  }
  for (const std::string& line :
       {"{" + chat + R"(, "system": "s", "tools": [{"name": "f"}], "id": "3", "history": []})",
        std::string(R"({"instruction": "a", "input": "i", "output": "b", "history": [["q","a"]]})"),
        std::string(R"({"text": "a", "source": "web", "prompt": null, "label": ""})")}) {
    CAPTURE(line);
    CHECK(warnings_of(line).empty());
  }
}

TEST_CASE("path is a file, a folder or a pattern; Parquet is named with the way out") {
  const TemporaryFolder folder;
  const std::string b = folder.write("b.jsonl", "{}"), a = folder.write("a.json", "[]");
  const std::string z = folder.write("[z].jsonl", "{}");
  folder.write("notes.txt", "x");
  const auto paths = [&](const std::string& name) {
    return data::text_paths(folder / name, "data.train_ds");
  };
  using List = std::vector<std::string>;
  CHECK(paths("") == List{z, a, b});
  CHECK(paths("*.jsonl") == List{z, b});
  CHECK(paths("{a,b}.json*") == List{a, b});
  CHECK(paths("[z].jsonl") == List{z});  // its name, and not a pattern
  CHECK(paths("gone.jsonl") == List{folder / "gone.jsonl"});
  CHECK(data::text_paths("pipe:cat x*", "p") == List{"pipe:cat x*"});
  CHECK_THROWS_WITH_AS(paths("*.nothing"), doctest::Contains("no file matches"), Error);
  folder.write("t.parquet", "PAR1....");
  CHECK_THROWS_WITH_AS(paths("t.parquet"), doctest::Contains("pandas.read_parquet('"), Error);
  CHECK_THROWS_WITH_AS(paths("t.parquet"), doctest::Contains("[data/text-file]"), Error);
}

TEST_CASE("a JSON array of documents is a set") {
  Sources sources;
  sources.lines = "[\n  {\"text\": \"ab\"},\n  {\n    \"text\": \"c\"\n  }\n]\n";
  CHECK(documents_of(*sources.open(), 2)[1].first == letters("\x01"
                                                             "c\x02"));
}

}  // namespace s2s::test
