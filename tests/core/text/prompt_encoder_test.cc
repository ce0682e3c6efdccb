#include "text/prompt_encoder.h"

#include <doctest/doctest.h>

#include "core/text/text_lines.h"

namespace {

using namespace s2s::test;
using s2s::data::AskedPrompt;
using s2s::data::DocumentOptions;
using s2s::data::PromptEncoder;

/// Letters, and a control token at the end of a turn that encode finds in texts.
class TurnTokens : public LetterTokenizer {
 public:
  int64_t vocab_size() const override { return 303; }
  std::vector<int64_t> encode(std::string_view text) const override {
    std::vector<int64_t> ids;
    while (!text.empty()) {
      const bool is_end = text.starts_with(kTurn);
      ids.push_back(is_end ? 300 : static_cast<unsigned char>(text.front()));
      text.remove_prefix(is_end ? kTurn.size() : 1);
    }
    return ids;
  }
  std::string decode(const std::vector<int64_t>& ids) const override {
    return ids == std::vector<int64_t>{300} ? "" : LetterTokenizer::decode(ids);
  }
  std::string piece(int64_t id) const override {
    return id == 300 ? std::string(kTurn) : LetterTokenizer::piece(id);
  }

 private:
  static constexpr std::string_view kTurn = "<turn>";
};

/// No BOS, and a PAD that is the EOS.
class NoBos : public LetterTokenizer {
 public:
  const s2s::SpecialIds& special_ids() const override { throw s2s::config_error("x/y", "none"); }
  s2s::SpecialIds known_special_ids() const override { return known_; }
  s2s::SpecialIds known_{-1, 2, 2};
};

PromptEncoder encoder(const s2s::Tokenizer& tokenizer, const std::string& chat_template,
                      const std::string& folder = ".") {
  DocumentOptions options;
  options.chat_template = chat_template;
  return PromptEncoder(options, tokenizer, "data.train_ds", folder);
}

std::string failure(const std::string& line) {
  const LetterTokenizer letters;
  try {
    encoder(letters, "chatml").of_line(line, {"a.jsonl", 4});
  } catch (const s2s::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("lines are prompts: texts, pairs, instructions and chats") {
  const LetterTokenizer letters;
  PromptEncoder prompts = encoder(letters, "chatml");
  CHECK(prompts.of_text("ab", "here").ids == std::vector<int64_t>{1, 'a', 'b'});
  CHECK(prompts.of_line("{\"prompt\": \"q\", \"response\": \"r\"}", {}).text == "q");
  const AskedPrompt task = prompts.of_line("{\"instruction\": \"Add\", \"output\": \"x\"}", {});
  CHECK(task.text.ends_with("### Instruction:\nAdd\n\n### Response:"));
  CHECK(prompts.turn_end().texts.empty());
  const std::string open = "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n";
  const AskedPrompt chat =
      prompts.of_line("{\"messages\": [{\"role\": \"user\", \"content\": \"Q\"}]}", {});
  CHECK(chat.text == open);
  CHECK(chat.asked == "Q");
  CHECK(chat.ids == letters.encode("\x01" + open));
  CHECK(prompts.of_message("Q", "here").ids == chat.ids);
  // What the assistant says last is what the model is to say.
  CHECK(prompts
            .of_line("{\"messages\": [{\"role\": \"user\", \"content\": \"Q\"}, "
                     "{\"role\": \"assistant\", \"content\": \"\"}]}",
                     {})
            .text == open);
}

TEST_CASE("the template says what ends a turn: a control token, or a text") {
  const LetterTokenizer letters;
  PromptEncoder texts = encoder(letters, "chatml");
  texts.of_message("Q", "here");
  CHECK(texts.turn_end().texts == std::vector<std::string>{"<|im_end|>"});
  CHECK(texts.turn_end().tokens.empty());
  const TemporaryFolder folder;
  folder.write("turn.jinja",
               "{% for m in messages %}{{ m.role }}: {{ m.content }} <turn>\n{% endfor %}");
  folder.write("none.jinja", "{% for m in messages %}{{ m.content }}\n{% endfor %}");
  folder.write("refuses.jinja",
               "{% for m in messages %}{{ m.content }}{% if loop.index > 1 %}"
               "{{ raise_exception('one') }}{% endif %}{% endfor %}");
  const TurnTokens turns;
  const auto end_of = [&](const std::string& name) {
    PromptEncoder tokens = encoder(turns, name, folder.path().string());
    tokens.of_message("Q", "here");
    return tokens.turn_end();
  };
  CHECK(end_of("turn.jinja").tokens == std::vector<int64_t>{300});
  CHECK(end_of("turn.jinja").texts.empty());
  for (const char* name : {"none.jinja", "refuses.jinja"}) {
    CHECK(end_of(name).tokens.empty());
    CHECK(end_of(name).texts.empty());
  }
}

TEST_CASE("a tokenizer without BOS writes none, and its documents end with EOS") {
  NoBos tokenizer;
  PromptEncoder prompts = encoder(tokenizer, "chatml");
  CHECK(prompts.of_text("ab", "here").ids == std::vector<int64_t>{'a', 'b'});
  CHECK_THROWS_WITH_AS(prompts.of_text("", "--prompt"), doctest::Contains("--prompt: the prompt"),
                       s2s::Error);
  CHECK(prompts.of_message("Q", "here").ids.front() == '<');
  const s2s::data::DocumentEncoder documents({}, tokenizer, "data", ".");
  const auto document = documents.encode("{\"text\": \"ab\"}", {"a.jsonl", 1});
  CHECK(document.ids == std::vector<int64_t>{'a', 'b', 2});
  CHECK(document.is_label == std::vector<bool>{false, true, true});
  tokenizer.known_ = {1, -1, 2};
  CHECK_THROWS_WITH_AS(s2s::data::DocumentEncoder({}, tokenizer, "data.train_ds", "."),
                       doctest::Contains("[tokenizer/special-ids] data.train_ds"), s2s::Error);
}

TEST_CASE("a line that is no prompt is one message with its place") {
  for (const char* line : {"[1]", "{\"text\": \"b\"}"}) {
    CHECK(contains(failure(line), "[data/prompt] a.jsonl:4: the line"));
    CHECK(contains(failure(line), "{\"messages\": [...]}"));
  }
  CHECK(contains(failure("{"), "[data/json]"));
  CHECK(contains(failure("{\"prompt\": 3}"), "[data/text-keys]"));
  CHECK(contains(failure("{\"messages\": [{\"role\": \"assistant\", \"content\": \"x\"}]}"),
                 "[data/chat-messages]"));
  CHECK(contains(failure("{\"messages\": [{\"role\": \"user\"}]}"), "has no content"));
}
