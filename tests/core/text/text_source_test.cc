#include "text/text_source.h"

#include <ATen/Functions.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "common/contains.h"
#include "common/temporary_folder.h"
#include "core/duplex/table_tokenizer.h"
#include "core/loader/letter_tokenizer.h"
#include "s2s/conformance.h"
#include "s2s/data/text_source.h"

namespace {

using s2s::Batch;
using s2s::data::TextSource;
using s2s::data::TextSourceOptions;
using s2s::test::contains;

/// Opens sources over lines in a file.
struct Sources {
  Sources() { context.path = "data.train_ds"; }
  std::unique_ptr<TextSource> open(int64_t rank = 0, int64_t size = 1) {
    folder.write("train.jsonl", lines);
    options.path = s2s::Config::scalar("train.jsonl");
    context.base_dir = folder.path().string();
    context.tokenizer = &tokenizer;
    context.data_rank = rank;
    context.data_size = size;
    return std::make_unique<TextSource>(options, context);
  }
  std::string failure() {
    try {
      const auto source = open();
      for (int i = 0; i < 100; ++i) source->next();
    } catch (const s2s::Error& error) {
      CHECK(contains(error.what(), "expected"));
      return error.what();
    }
    return "";
  }

  s2s::test::TemporaryFolder folder;
  s2s::test::LetterTokenizer tokenizer;
  s2s::DataContext context;
  TextSourceOptions options;
  std::string lines;
};

/// Texts of 1, 2, ... letters, one in each line.
std::string growing_lines(int64_t count) {
  std::string lines;
  for (int64_t i = 0; i < count; ++i) {
    const std::string text(static_cast<size_t>(i % 7 + 1), static_cast<char>('a' + i % 26));
    lines += "{\"text\": \"" + text + "\"}\n";
  }
  return lines;
}

std::vector<int64_t> row(const at::Tensor& values, int64_t index) {
  const at::Tensor one = values[index].contiguous();
  return {one.data_ptr<int64_t>(), one.data_ptr<int64_t>() + one.numel()};
}

/// Documents of a batch: their ids and labels.
using Documents = std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>;
void append_documents(const Batch& batch, Documents& found) {
  for (const s2s::DocumentSpan& span : batch.documents) {
    const auto part = [&](const at::Tensor& values) {
      const auto whole = row(values, span.row);
      return std::vector<int64_t>(whole.begin() + span.begin,
                                  whole.begin() + span.begin + span.length);
    };
    found.emplace_back(part(batch.text_BT), part(batch.text_labels_BT));
  }
}

Documents documents_of(s2s::DataSource& source, int64_t num_batches = 1000) {
  Documents found;
  for (int64_t i = 0; i < num_batches; ++i) {
    const auto batch = source.next();
    if (!batch) break;
    append_documents(*batch, found);
  }
  return found;
}

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

using Ids = std::vector<std::vector<std::string>>;
Ids take(s2s::DataSource& source, int64_t count) {
  Ids ids;
  for (int64_t i = 0; i < count; ++i) {
    const auto batch = source.next();
    if (!batch) break;
    ids.push_back(batch->ids);
  }
  return ids;
}

std::vector<int64_t> letters(const std::string& text) { return {text.begin(), text.end()}; }

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

TEST_CASE("packed rows hold the documents of unpacked ones, in order, as many as fit") {
  for (const bool shuffle : {false, true}) {
    CAPTURE(shuffle);
    Sources sources;
    sources.lines = growing_lines(50);
    sources.options.repeat = false;
    sources.options.shuffle = shuffle;
    sources.options.max_seq_len = 20;
    sources.options.batch_size = 3;
    const Documents plain = documents_of(*sources.open());
    sources.options.packing = "sequential";
    const auto source = sources.open();
    Documents packed;
    std::vector<int64_t> row_lengths, first_lengths;
    while (const auto batch = source->next()) {
      append_documents(*batch, packed);
      CHECK(batch->text_BT.size(1) <= 20);
      std::vector<int64_t> lengths(static_cast<size_t>(batch->size()), 0);
      for (const s2s::DocumentSpan& span : batch->documents) {
        auto& length = lengths[static_cast<size_t>(span.row)];
        CHECK(span.begin == length);
        if (length == 0) first_lengths.push_back(span.length);
        length += span.length;
      }
      row_lengths.insert(row_lengths.end(), lengths.begin(), lengths.end());
    }
    CHECK(packed == plain);
    CHECK(plain.size() == 50);
    for (size_t i = 0; i + 1 < row_lengths.size(); ++i) {
      CHECK(row_lengths[i] + first_lengths[i + 1] > 20);
    }
  }
}

TEST_CASE("each epoch has every document once, in an order that seed and epoch determine") {
  Sources sources;
  sources.lines = growing_lines(12);
  sources.options.shuffle = true;
  sources.options.batch_size = 3;
  const auto source = sources.open();
  const Ids first = take(*source, 4), second = take(*source, 4);
  std::set<std::string> seen;
  for (const auto& batch : first) seen.insert(batch.begin(), batch.end());
  CHECK(seen.size() == 12);
  CHECK(first != second);
  CHECK(take(*sources.open(), 4) == first);
  sources.options.seed = 5;
  CHECK(take(*sources.open(), 4) != first);
}

TEST_CASE("data ranks share one order of batches, and resume exactly on any number of them") {
  for (const char* packing : {"none", "sequential"}) {
    CAPTURE(packing);
    Sources sources;
    sources.lines = growing_lines(40);
    sources.options.shuffle = true;
    sources.options.packing = packing;
    sources.options.max_seq_len = 16;
    sources.options.batch_size = 2;
    const Ids whole = take(*sources.open(), 60);
    std::vector<std::unique_ptr<TextSource>> ranks;
    for (int64_t rank = 0; rank < 3; ++rank) ranks.push_back(sources.open(rank, 3));
    Ids shared;
    for (int round = 0; round < 10; ++round) {
      for (const auto& rank : ranks) shared.push_back(take(*rank, 1).front());
    }
    CHECK(shared == Ids(whole.begin(), whole.begin() + 30));
    CHECK(ranks[0]->state() == ranks[2]->state());
    const auto alone = sources.open();
    alone->restore(ranks[1]->state());
    CHECK(take(*alone, 30) == Ids(whole.begin() + 30, whole.end()));
    alone->restore("");
    CHECK(take(*alone, 5) == Ids(whole.begin(), whole.begin() + 5));
  }
}

TEST_CASE("a finite source ends, and stays at its end") {
  Sources sources;
  sources.lines = growing_lines(5);
  sources.options.repeat = false;
  sources.options.batch_size = 2;
  const auto source = sources.open();
  CHECK(take(*source, 9).size() == 3);
  CHECK_FALSE(source->next());
  const std::string end = source->state();
  source->restore("");
  CHECK(take(*source, 9).size() == 3);
  source->restore(end);
  CHECK_FALSE(source->next());
  const auto second = sources.open(1, 2);
  CHECK(take(*second, 9).size() == 1);
}

TEST_CASE("the source keeps the promises of data sources") {
  Sources sources;
  sources.lines = growing_lines(30);
  sources.options.shuffle = true;
  sources.options.packing = "sequential";
  sources.options.max_seq_len = 12;
  const auto open = [&] { return sources.open(); };
  const auto broken = s2s::conformance::broken_promises(open, 20);
  CHECK_MESSAGE(broken.empty(), broken.front());
}

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
  CHECK(message("{\"messages\": [{\"role\": \"assistant\", \"content\": \"\"}]}") ==
        "[data/empty-response]");
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
  CHECK(contains(syntax, "bad.jinja, line 2"));
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

TEST_CASE("a prompt for the assistant is written by the template") {
  const s2s::test::LetterTokenizer tokenizer;
  s2s::BuildContext context;
  context.path = "messages";
  CHECK(s2s::chat_prompt("[{\"role\": \"user\", \"content\": \"hi\"}]", "chatml", tokenizer,
                         context) == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
}
