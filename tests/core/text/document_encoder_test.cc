#include "text/document_encoder.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "core/text/text_lines.h"

namespace {

using namespace s2s::test;
using s2s::Batch;
using s2s::data::TextSource;

/// Letters, and three control tokens that encode does not find, as SentencePiece's.
class ControlTokens : public s2s::test::LetterTokenizer {
 public:
  int64_t vocab_size() const override { return 303; }
  const s2s::SpecialIds& special_ids() const override { return special_; }
  std::string piece(int64_t id) const override {
    if (id == 300) return "<s>";
    if (id == 301) return "</s>";
    return id == 302 ? "<pad>" : LetterTokenizer::piece(id);
  }

 private:
  s2s::SpecialIds special_{300, 301, 302};
};

}  // namespace

TEST_CASE("a text is one BOS, its tokens and one EOS, and every token but the first is a label") {
  Sources sources;
  sources.lines = "{\"text\": \"abc\"}\n\n{\"text\": \"d\"}\n";
  sources.options.batch_size = 2;
  const auto batch = sources.open()->next();
  REQUIRE(batch);
  CHECK(row(batch->text_BT, 0) == std::vector<int64_t>{1, 'a', 'b', 'c', 2});
  CHECK(row(batch->text_labels_BT, 0) == std::vector<int64_t>{-100, 'a', 'b', 'c', 2});
  CHECK(row(batch->text_BT, 1) == std::vector<int64_t>{1, 'd', 2, 0, 0});
  CHECK(row(batch->text_labels_BT, 1) == std::vector<int64_t>{-100, 'd', 2, -100, -100});
  REQUIRE(batch->documents.size() == 2);
  CHECK(batch->documents[1].row == 1);
  CHECK(batch->documents[1].length == 3);
  CHECK(batch->ids == std::vector<std::string>{"train.jsonl:1", "train.jsonl:3"});
}

TEST_CASE("of a pair the response and EOS are labels") {
  Sources sources;
  sources.options.document.labels = "response";
  sources.options.batch_size = 1;
  sources.options.repeat = false;
  sources.lines =
      "{\"prompt\": \"ab\", \"response\": \"cd\"}\n"
      "{\"prompt\": \"a\", \"completion\": \"b\"}\n"
      "{\"instruction\": \"Add\", \"input\": \"\", \"output\": \"x\"}\n"
      "{\"text\": \"yz\"}\n";
  const auto source = sources.open();
  const Documents found = documents_of(*source);
  REQUIRE(found.size() == 4);
  CHECK(found[0].first == std::vector<int64_t>{1, 'a', 'b', 'c', 'd', 2});
  CHECK(found[0].second == std::vector<int64_t>{-100, -100, -100, 'c', 'd', 2});
  CHECK(found[1].second == std::vector<int64_t>{-100, -100, 'b', 2});
  const std::string prompt =
      "\x01"
      "Below is an instruction that describes a task. Write a response that appropriately "
      "completes the request.\n\n### Instruction:\nAdd\n\n### Response:x\x02";
  CHECK(found[2].first == letters(prompt));
  CHECK(std::count_if(found[2].second.begin(), found[2].second.end(),
                      [](int64_t label) { return label >= 0; }) == 2);
  CHECK(found[3].second == std::vector<int64_t>{-100, 'y', 'z', 2});
  CHECK(source->texts().front() == "abcd");
}

TEST_CASE("keys can have other names") {
  Sources sources;
  sources.options.document.format = "prompt_response";
  sources.options.document.prompt_key = "q";
  sources.options.document.response_key = "a";
  sources.lines = "{\"q\": \"x\", \"a\": \"y\", \"text\": 3}\n";
  CHECK(documents_of(*sources.open(), 1)[0].first == std::vector<int64_t>{1, 'x', 'y', 2});
}

TEST_CASE("chatml: contents of the assistant and the end of the turn are labels") {
  Sources sources;
  sources.options.document.chat_template = "chatml";
  sources.options.document.labels = "response";
  sources.options.batch_size = 1;
  sources.options.repeat = false;
  sources.lines =
      "{\"messages\": [{\"role\": \"user\", \"content\": \"Q\"}, "
      "{\"role\": \"assistant\", \"content\": \"A\"}]}\n"
      "{\"messages\": [{\"role\": \"user\", \"content\": \"Q\"}, "
      "{\"role\": \"assistant\", \"content\": \"A\", \"weight\": 0}]}\n"
      "{\"messages\": [{\"role\": \"user\", \"content\": \"Q\"}]}\n";
  const Documents found = documents_of(*sources.open());
  REQUIRE(found.size() == 3);
  CHECK(found[0].first == letters("\x01<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n"
                                  "A<|im_end|>\n\x02"));
  std::string learned;
  for (const int64_t label : found[0].second) {
    if (label >= 0) learned += static_cast<char>(label);
  }
  CHECK(learned == "A<|im_end|>");
  for (const size_t without : {size_t{1}, size_t{2}}) {
    CHECK(std::all_of(found[without].second.begin(), found[without].second.end(),
                      [](int64_t label) { return label == -100; }));
  }
}

TEST_CASE("a template's own BOS and EOS are not given twice") {
  Sources sources;
  sources.options.document.chat_template = "own.jinja";
  sources.options.document.labels = "response";
  sources.folder.write("own.jinja",
                       "{{ bos_token }}{% for m in messages %}{{ m.content }}{{ eos_token }}\n\n"
                       "{% endfor %}");
  sources.lines =
      "{\"messages\": [{\"role\": \"user\", \"content\": \"q\"}, "
      "{\"role\": \"assistant\", \"content\": \"a\"}]}\n";
  const Documents found = documents_of(*sources.open(), 1);
  CHECK(found[0].first == std::vector<int64_t>{1, 'q', 2, '\n', '\n', 'a', 2, '\n', '\n'});
  CHECK(found[0].second == std::vector<int64_t>{-100, -100, -100, -100, -100, 'a', 2, -100, -100});
}

TEST_CASE("BOS and EOS in a chat are found for a tokenizer that finds none in texts") {
  const ControlTokens tokenizer;
  s2s::data::DocumentOptions options;
  options.labels = "response";
  const s2s::test::TemporaryFolder folder;
  folder.write("own.jinja",
               "{{ bos_token }}{% for m in messages %}{{ m.content }} {{ eos_token }}"
               "{% endfor %}");
  options.chat_template = "own.jinja";
  const s2s::data::DocumentEncoder encoder(options, tokenizer, "data", folder.path().string());
  const std::string line =
      "{\"messages\": [{\"role\": \"user\", \"content\": \"q\"}, "
      "{\"role\": \"assistant\", \"content\": \"a\"}]}";
  const s2s::data::TokenDocument document = encoder.encode(line, {"a.jsonl", 1});
  CHECK(document.ids == std::vector<int64_t>{300, 'q', ' ', 301, 'a', ' ', 301});
  CHECK(document.is_label == std::vector<bool>{false, false, false, false, true, true, true});
}

TEST_CASE("long documents are cut, dropped or refused") {
  Sources sources;
  sources.options.max_seq_len = 5;
  sources.options.batch_size = 1;
  sources.options.repeat = false;
  sources.lines = growing_lines(7);
  Documents found = documents_of(*sources.open());
  REQUIRE(found.size() == 7);
  CHECK(found[6].first == std::vector<int64_t>{1, 'g', 'g', 'g', 'g'});
  sources.options.long_text = "drop";
  CHECK(documents_of(*sources.open()).size() == 3);
  sources.options.long_text = "error";
  const std::string error = sources.failure();
  CHECK(contains(error, "[data/text-too-long]"));
  CHECK(contains(error, "train.jsonl:4"));
  sources.options.long_text = "drop";
  sources.options.repeat = true;
  sources.lines = "{\"text\": \"too long\"}\n";
  CHECK(contains(sources.failure(), "[data/empty]"));
}
