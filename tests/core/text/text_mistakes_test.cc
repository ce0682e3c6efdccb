#include <doctest/doctest.h>

#include "base/interrupt.h"
#include "core/duplex/table_tokenizer.h"
#include "core/text/text_lines.h"
#include "s2s/data/text_source.h"
#include "text/text_errors.h"

namespace {

using namespace s2s::test;
using s2s::Batch;
using s2s::data::TextSource;

}  // namespace

TEST_CASE("a checkpoint of other data is refused, unless that is allowed") {
  Sources sources;
  sources.lines = growing_lines(9);
  const auto before = sources.open();
  take(*before, 2);
  sources.lines = growing_lines(10);
  const auto after = sources.open();
  CHECK_THROWS_WITH_AS(after->restore(before->state()), doctest::Contains("[data/state]"),
                       s2s::Error);
  CHECK_THROWS_WITH_AS(after->restore("{\"batches\": 1}"), doctest::Contains("not a valid"),
                       s2s::Error);
  sources.options.allow_changed_data = true;
  const auto allowed = sources.open();
  allowed->restore(before->state());
  CHECK(take(*allowed, 1).front().front() == "train.jsonl:1");
}

TEST_CASE("a bad line is one message with its place") {
  const auto message = [](const std::string& line, const std::string& format = "auto") {
    Sources sources;
    sources.options.document.format = format;
    sources.options.document.chat_template = "chatml";
    sources.lines =
        "{\"text\": \"a\", \"prompt\": \"b\", \"response\": \"c\", \"messages\": "
        "[{\"role\": \"user\", \"content\": \"d\"}]}\n" +
        line + "\n";
    const std::string text = sources.failure();
    CHECK_MESSAGE(contains(text, "train.jsonl:2"), text);
    return text.substr(0, text.find(']') + 1);
  };
  CHECK(message("{\"text\": ") == "[data/json]");
  CHECK(message("[1]") == "[data/text-keys]");
  CHECK(message("{\"words\": \"x\"}") == "[data/text-keys]");
  CHECK(message("{\"text\": 3}", "text") == "[data/text-keys]");
  CHECK(message("{\"prompt\": \"x\"}", "prompt_response") == "[data/text-keys]");
  CHECK(message("{\"prompt\": \"x\", \"response\": \"\"}") == "[data/empty-response]");
  CHECK(message("{\"text\": \"x\"}", "messages") == "[data/text-keys]");
  CHECK(message("{\"messages\": []}") == "[data/chat-messages]");
  CHECK(message("{\"messages\": [{\"content\": \"x\"}]}") == "[data/chat-messages]");
  CHECK(message("{\"messages\": [{\"role\": \"user\"}]}") == "[data/chat-messages]");
  const std::string deep = std::string(300, '[') + std::string(300, ']');
  CHECK(message("{\"messages\": [{\"role\": \"user\", \"content\": " + deep + "}]}") ==
        "[data/chat-messages]");
  CHECK(message("{\"conversations\": [{\"from\": \"who\", \"value\": \"x\"}]}") ==
        "[data/chat-messages]");
  CHECK(
      message("{\"prompt\": [{\"role\": \"user\", \"content\": \"x\"}], \"completion\": \"y\"}") ==
      "[data/text-keys]");
  CHECK(message("{\"instruction\": \"x\", \"output\": \"y\", \"history\": [\"a\"]}") ==
        "[data/text-keys]");
  CHECK(message("{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}], \"tools\": \"{\"}") ==
        "[data/chat-messages]");
  CHECK(message("{\"messages\": [{\"role\": \"user\", \"content\": [1]}]}") ==
        "[data/chat-template]");
}

TEST_CASE("some bad lines may be skipped; they are listed") {
  Sources sources;
  sources.lines = growing_lines(3) + "nonsense\n" + growing_lines(2);
  sources.options.repeat = false;
  sources.options.batch_size = 1;
  sources.options.skip_bad = 1;
  const auto source = sources.open();
  CHECK(take(*source, 99).size() == 5);
  REQUIRE(source->left_out().size() == 1);
  CHECK(contains(source->left_out().front(), "train.jsonl:4"));
  sources.lines += "more\n";
  CHECK(contains(sources.failure(), "[data/too-many-bad]"));
}

TEST_CASE("what is missing is said before the first batch") {
  Sources sources;
  sources.lines = "";
  CHECK(contains(sources.failure(), "[data/empty]"));
  sources.lines = "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}\n";
  CHECK(contains(sources.failure(), "set chat_template: chatml"));
  sources.options.document.chat_template = "nowhere.jinja";
  CHECK(contains(sources.failure(), "no such file"));
  sources.folder.write("bad.jinja", "a\n{% for %}");
  sources.options.document.chat_template = "bad.jinja";
  const std::string syntax = sources.failure();
  CHECK(contains(syntax, "[data/chat-template]"));
  CHECK(contains(syntax, "bad.jinja, line 2, column 8: "));
  sources.folder.write("raises.jinja", "{{ raise_exception('roles must alternate') }}");
  sources.options.document.chat_template = "raises.jinja";
  CHECK(contains(sources.failure(), "refuses the messages: roles must alternate"));
  s2s::DataContext context;
  context.path = "data.train_ds";
  CHECK_THROWS_WITH_AS(TextSource({}, context), doctest::Contains("[data/text-path]"), s2s::Error);
  sources.options.path = s2s::Config::scalar("x");
  CHECK_THROWS_WITH_AS(TextSource(sources.options, context), doctest::Contains("missing-file"),
                       s2s::Error);
}

TEST_CASE("^C ends a document whose chat template takes long, and the line is not bad") {
  Sources sources;
  sources.lines = "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}\n";
  sources.options.skip_bad = 1;
  const std::string loop = "{% for i in range(99999) %}{% if range(999) | sum %}{% endif %}";
  sources.folder.write("long.jinja", "a\n  " + loop + "{% endfor %}");
  sources.options.document.chat_template = "long.jinja";
  s2s::InterruptWatch watch;
  watch.request(2);
  try {
    take(*sources.open(), 1);
    FAIL("the template ended");
  } catch (const s2s::Error& error) {
    CHECK(error.id() == "data/chat-template-stopped");
    CHECK(error.exit_code() == s2s::ExitCode::kStopped);
    CHECK(contains(error.message(), "long.jinja"));
    CHECK(contains(error.message(), "train.jsonl:1"));
  }
}

TEST_CASE("a chat template that needs too much is one message with its place") {
  Sources sources;
  sources.lines = "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}\n";
  sources.folder.write("large.jinja",
                       "a\n  {% set a = ['x' * 60000000, 'y' * 60000000, 'z' * 60000000, "
                       "'a' * 60000000] %}");
  sources.options.document.chat_template = "large.jinja";
  const std::string text = sources.failure();
  CHECK(contains(text, "[data/chat-template]"));
  CHECK(contains(text, "large.jinja, line 2, column 3) fails: the template needs too much memory"));
  CHECK(contains(text, "192 MiB"));
  CHECK(contains(text, "choose another chat_template"));
}

TEST_CASE("a tokenizer whose tokens do not show the text is refused for labels of responses") {
  const s2s::test::TableTokenizer words;
  const s2s::data::DocumentOptions all;
  s2s::data::DocumentOptions responses;
  responses.labels = "response";
  std::string text;
  for (int i = 0; i < 40; ++i) text += "some words ";
  const std::string line = "{\"prompt\": \"" + text + "\", \"response\": \"more\"}";
  const s2s::data::LineOrigin origin{"a.jsonl", 7};
  CHECK(s2s::data::DocumentEncoder(all, words, "data", ".").encode(line, origin).size() == 83);
  CHECK_THROWS_WITH_AS(
      s2s::data::DocumentEncoder(responses, words, "data", ".").encode(line, origin),
      doctest::Contains("[data/text-tokens] a.jsonl:7"), s2s::Error);
}
