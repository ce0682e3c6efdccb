#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/contains.h"
#include "common/places.h"
#include "common/reference_json.h"
#include "common/temporary_folder.h"
#include "plugins/built_plugins.h"
#include "s2s/kinds/tokenizer.h"

namespace {

using nlohmann::json;
using s2s::Config;
using s2s::Tokenizer;
using s2s::test::contains;
using s2s::test::TemporaryFolder;

const std::string kData = s2s::test::source_dir() + "/tests/reference/data/";

Config node(const std::string& path) {
  Config config = Config::map();
  config["name"] = Config::scalar("hf");
  config["path"] = Config::scalar(path);
  return config;
}

s2s::BuildContext context() {
  s2s::BuildContext built;
  built.path = "model.tokenizer";
  return built;
}

json read(const std::string& path) {
  std::ifstream file(path);
  return json::parse(file);
}

json style_file(const std::string& style) {
  return read(kData + "hf_tokenizer_" + style + ".json");
}

std::unique_ptr<Tokenizer> load(s2s::test::BuiltPlugins& plugins, const std::string& style) {
  Config config = node(kData + "hf_tokenizer_" + style + ".json");
  if (style == "qwen2") {
    config["bos_id"] = Config::scalar("901");
    config["eos_id"] = Config::scalar("902");
    config["pad_id"] = Config::scalar("900");
  }
  return plugins.create<Tokenizer>(config, context());
}

std::string failure(const Config& config) {
  s2s::test::BuiltPlugins plugins;
  try {
    plugins.create<Tokenizer>(config, context())->special_ids();
  } catch (const s2s::Error& error) {
    return error.what();
  }
  return "";
}

/// The message for `changed`, a style's file with a part replaced.
std::string failure_of(const json& changed) {
  const TemporaryFolder dir;
  return failure(node(dir.write("tokenizer.json", changed.dump())));
}

void check_message(const std::string& message, const std::string& id, const std::string& part) {
  INFO(message);
  CHECK(message.rfind("[" + id + "]", 0) == 0);
  CHECK_MESSAGE(contains(message, part), "expected: ", part);
  CHECK(message.find('\n') == std::string::npos);
}

}  // namespace

// tests/reference/hf_tokenizers.py, tokenizers 0.23.3 from PyPI.
TEST_CASE("ids and texts of every style equal the tokenizers package's") {
  const json golden = s2s::test::reference_json("hf_tokenizers.json.gz");
  s2s::test::BuiltPlugins plugins;
  size_t num_texts = 0;
  for (const json& style : golden["styles"]) {
    const std::string name = style["style"];
    CAPTURE(name);
    const auto tokenizer = load(plugins, name);
    CHECK(tokenizer->vocab_size() == style["vocab_size"].get<int64_t>());
    for (const json& row : style["texts"]) {
      CAPTURE(row.dump());
      const auto ids = row["ids"].get<std::vector<int64_t>>();
      CHECK(tokenizer->encode(row["text"].get<std::string>()) == ids);
      CHECK(tokenizer->decode(ids) == row["decoded"].get<std::string>());
      ++num_texts;
    }
    for (const json& row : style["lists"]) {
      CAPTURE(row.dump());
      CHECK(tokenizer->decode(row["ids"]) == row["decoded"].get<std::string>());
    }
  }
  CHECK(golden["styles"].size() == 8);
  CHECK(num_texts == 1600);
}

TEST_CASE("a second time, from the cache, and from several threads the ids are the same") {
  s2s::test::BuiltPlugins plugins;
  const json golden = s2s::test::reference_json("hf_tokenizers.json.gz");
  const auto tokenizer = load(plugins, "llama3");
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&tokenizer, &golden, &count] {
      for (int round = 0; round < 2; ++round) {
        for (const json& row : golden["styles"][1]["texts"]) {
          count += tokenizer->encode(row["text"].get<std::string>()) !=
                   row["ids"].get<std::vector<int64_t>>();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

TEST_CASE("a word of 100 kB is merged as its text is, and comes back whole") {
  s2s::test::BuiltPlugins plugins;
  for (const char* style : {"gpt2", "tinyllama"}) {
    const auto tokenizer = load(plugins, style);
    std::string word;
    while (word.size() < 100000) word += "wordlessly";
    const auto ids = tokenizer->encode(word);
    CHECK(ids.size() < word.size());
    CHECK(tokenizer->decode(ids) == word);
  }
}

TEST_CASE("bytes that are no UTF-8 count as U+FFFD; an empty text has no ids") {
  s2s::test::BuiltPlugins plugins;
  const auto tokenizer = load(plugins, "gpt2");
  CHECK(tokenizer->encode("").empty());
  CHECK(tokenizer->encode("a\xFFz") == tokenizer->encode("a\xEF\xBF\xBDz"));
  CHECK(tokenizer->encode("\xE2\x82") == tokenizer->encode("\xEF\xBF\xBD"));
  CHECK(tokenizer->encode("\xED\xA0\x80") ==
        tokenizer->encode("\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"));
  CHECK(tokenizer->decode({-1, 100000}).empty());
  CHECK(tokenizer->piece(700) == "<|endoftext|>");
  CHECK(tokenizer->piece(5000) == "<5000>");
}

TEST_CASE("special ids come from the options, the files beside it, the template, usual names") {
  const TemporaryFolder dir;
  s2s::test::BuiltPlugins plugins;
  const auto ids = [&](const Config& config) {
    const s2s::SpecialIds special = plugins.create<Tokenizer>(config, context())->special_ids();
    return std::vector<int64_t>{special.bos, special.eos, special.pad};
  };
  const std::string file = dir.write("tokenizer.json", style_file("llama3").dump());
  CHECK(ids(node(file)) == std::vector<int64_t>{901, 902, 903});
  dir.write("special_tokens_map.json", R"({"eos_token": {"content": "<|eot_id|>"}})");
  CHECK(ids(node(dir.path().string())) == std::vector<int64_t>{901, 904, 903});
  dir.write("tokenizer_config.json", R"({"eos_token": "<|end_of_text|>", "pad_token": null})");
  CHECK(ids(node(file)) == std::vector<int64_t>{901, 902, 903});
  Config config = node(file);
  config["pad_id"] = Config::scalar("7");
  CHECK(ids(config) == std::vector<int64_t>{901, 902, 7});
  CHECK(plugins.create<Tokenizer>(config, context())->files().size() == 3);
  dir.write("chat_template.jinja", "{{ messages }}");  // kept for an export
  CHECK(plugins.create<Tokenizer>(config, context())->files().size() == 4);
  // The unknown token is PAD when nothing says another.
  CHECK(ids(node(kData + "hf_tokenizer_tinyllama.json")) == std::vector<int64_t>{1, 2, 0});
}

TEST_CASE("special tokens may be named by their texts, and ids come before them") {
  s2s::test::BuiltPlugins plugins;
  const auto ids = [&](const Config& config) {
    const s2s::SpecialIds special = plugins.create<Tokenizer>(config, context())->special_ids();
    return std::vector<int64_t>{special.bos, special.eos, special.pad};
  };
  Config config = node(kData + "hf_tokenizer_tinyllama.json");
  config["bos_token"] = Config::scalar("</s>");
  config["eos_token"] = Config::scalar("<s>");
  CHECK(ids(config) == std::vector<int64_t>{2, 1, 0});
  config["eos_id"] = Config::scalar("5");
  CHECK(ids(config) == std::vector<int64_t>{2, 5, 0});
  config["pad_token"] = Config::scalar("<nothing>");
  check_message(failure(config), "tokenizer/special-ids",
                "model.tokenizer.pad_token is '<nothing>', which the tokenizer does not have");
}

TEST_CASE("a text needs less: the special ids that there are, also where two are equal") {
  const TemporaryFolder dir;
  s2s::test::BuiltPlugins plugins;
  const std::string qwen2 = dir.write("tokenizer.json", style_file("qwen2").dump());
  dir.write("tokenizer_config.json",
            R"({"eos_token": "<|im_end|>", "pad_token": "<|im_end|>", "bos_token": null})");
  const auto tokenizer = plugins.create<Tokenizer>(node(qwen2), context());
  const s2s::SpecialIds known = tokenizer->known_special_ids();
  CHECK(known.bos == -1);
  CHECK(known.eos == 902);
  CHECK(known.pad == 902);
  check_message(failure(node(qwen2)), "tokenizer/special-ids", "do not define the bos_id");
  Config config = node(qwen2);
  config["pad_id"] = Config::scalar("900");  // one of them may be set alone
  CHECK(plugins.create<Tokenizer>(config, context())->known_special_ids().pad == 900);
  dir.write("tokenizer_config.json", R"({"bos_token": "<nothing>"})");
  const auto broken = plugins.create<Tokenizer>(node(qwen2), context());
  CHECK_THROWS_AS(broken->known_special_ids(), s2s::Error);
  CHECK(broken->decode(broken->encode("a text")) == "a text");
}

TEST_CASE("special ids that are absent, equal, too large or unknown are refused") {
  const TemporaryFolder dir;
  const std::string qwen2 = dir.write("tokenizer.json", style_file("qwen2").dump());
  const std::string id = "tokenizer/special-ids";
  check_message(failure(node(qwen2)), id, "do not define the bos_id");
  Config config = node(qwen2);
  config["bos_id"] = Config::scalar("900");
  config["pad_id"] = Config::scalar("3");
  check_message(failure(config), id, "bos_id is 900, eos_id 900, pad_id 3");
  config["bos_id"] = Config::scalar("906");
  check_message(failure(config), id, "model.tokenizer.bos_id is 906; expected an id");
  dir.write("tokenizer_config.json", R"({"bos_token": "<nothing>"})");
  check_message(failure(node(qwen2)), id, "bos_token is '<nothing>'");
}

TEST_CASE("a file that is missing, broken off or of another kind has its message") {
  const TemporaryFolder dir;
  check_message(failure(node(dir / "none.json")), "tokenizer/missing-file",
                "there is no tokenizer");
  check_message(failure(node(dir.path().string())), "tokenizer/missing-file", "no tokenizer at");
  const std::string whole = style_file("gpt2").dump();
  const std::string half = dir.write("half.json", whole.substr(0, whole.size() / 2));
  check_message(failure(node(half)), "tokenizer/unreadable", "is not valid JSON");
  std::string broken = whole;
  broken[whole.size() / 2] = '\xAE';
  broken.replace(whole.size() / 3, 1, "\xE2\x82");
  const std::string message = failure(node(dir.write("broken.json", broken)));
  check_message(message, "tokenizer/unreadable", "is not valid JSON");
  CHECK_NOTHROW(static_cast<void>(json(message).dump()));  // it is UTF-8
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "[";
  check_message(failure(node(dir.write("deep.json", deep))), "tokenizer/unreadable",
                "is not valid JSON");
  // A whole one, which a parser, a copy or the end of its value would follow down the stack.
  const std::string nest = std::string(100000, '[') + std::string(100000, ']');
  check_message(failure(node(dir.write("nest.json", "{\"model\": " + nest + "}"))),
                "tokenizer/unreadable", "nested deeper than 128 levels");
  check_message(failure(node(dir.write("list.json", "[]"))), "tokenizer/definition", "is a list");
  check_message(failure(node(dir.write("empty.json", "{}"))), "tokenizer/definition",
                "model is missing");
  Config without_path = Config::map();
  without_path["name"] = Config::scalar("hf");
  check_message(failure(without_path), "tokenizer/no-path", "model.tokenizer.path is missing");
}

TEST_CASE("a file beside the tokenizer that is a link to elsewhere is refused") {
  const TemporaryFolder parent;
  const std::filesystem::path folder = parent.path() / "tokenizer";
  std::filesystem::create_directory(folder);
  const std::string elsewhere = parent.write("elsewhere.json", style_file("llama3").dump());
  const std::string secret = parent.write("id_rsa", "private");
  for (const auto& [name, target] :
       std::map<std::string, std::string>{{"chat_template.jinja", secret},
                                          {"special_tokens_map.json", secret},
                                          {"tokenizer.json", elsewhere}}) {
    std::filesystem::remove(folder / "tokenizer.json");
    std::filesystem::copy_file(elsewhere, folder / "tokenizer.json");
    std::filesystem::remove(folder / name);
    std::filesystem::create_symlink(target, folder / name);
    check_message(failure(node(folder.string())), "tokenizer/link", target);
    std::filesystem::remove(folder / name);
  }
  std::filesystem::create_symlink(elsewhere, folder / "named.json");  // by the user
  CHECK(failure(node((folder / "named.json").string())).empty());
}

TEST_CASE("what is not known is refused by its name and place") {
  const json gpt2 = style_file("gpt2");
  const auto with = [&](const char* pointer, const json& value) {
    json changed = gpt2;
    changed[json::json_pointer(pointer)] = value;
    return failure_of(changed);
  };
  const std::string id = "tokenizer/unsupported";
  check_message(with("/model/type", "Unigram"), id, "model.type is 'Unigram'");
  check_message(with("/version", "2.0"), id, "version is '2.0'");
  check_message(with("/extra", 1), id, "extra is 1");
  check_message(with("/model/dropout", 0.5), id, "model.dropout is 0.5");
  check_message(with("/model/end_of_word_suffix", "</w>"), id, "end_of_word_suffix is '</w>'");
  check_message(with("/normalizer", {{"type", "Nmt"}}), id, "normalizer.type is 'Nmt'");
  check_message(with("/normalizer", {{"type", "NFC"}, {"strength", 2}}), id,
                "normalizer.strength is 2");
  check_message(with("/pre_tokenizer", {{"type", "UnicodeScripts"}}), id,
                "pre_tokenizer.type is 'UnicodeScripts'");
  check_message(with("/decoder", {{"type", "CTC"}}), id, "decoder.type is 'CTC'");
  check_message(with("/post_processor", {{"type", "BertProcessing"}}), id,
                "post_processor.type is 'BertProcessing'");
  check_message(with("/added_tokens/0/color", "red"), id, "added_tokens[0].color is 'red'");
  for (const char* pattern :
       {"[a&&b]", "[[:alpha:]]", "(?~x)", "a(?i)b|c", "\\p{Greek_Extended}", "(unclosed", "[\\W]",
        "\\K", "x{3,1}", "(*ACCEPT)a", "(?\xC3\xA9:a)"}) {
    CAPTURE(pattern);
    check_message(with("/pre_tokenizer", {{"type", "Split"},
                                          {"pattern", {{"Regex", pattern}}},
                                          {"behavior", "Isolated"},
                                          {"invert", false}}),
                  id, "pre_tokenizer.pattern.Regex is '");
  }
}

TEST_CASE("Sequences nested twenty deep end in one message") {
  json nested = {{"type", "NFC"}};
  for (int level = 0; level < 20; ++level) {
    nested = {{"type", "Sequence"}, {"normalizers", json::array({nested})}};
  }
  json changed = style_file("gpt2");
  changed["normalizer"] = nested;
  check_message(failure_of(changed), "tokenizer/unsupported", "Sequences nested at most 8 deep");
  json nonsense = 1;
  for (int level = 0; level < 20; ++level) nonsense = {{"type", json::array({nonsense})}};
  changed["normalizer"] = nonsense;
  check_message(failure_of(changed), "tokenizer/definition", "normalizer.type is a list");
}

TEST_CASE("a damaged definition is reported with its location") {
  const json gpt2 = style_file("gpt2");
  const auto with = [&](const char* pointer, const json& value) {
    json changed = gpt2;
    changed[json::json_pointer(pointer)] = value;
    return failure_of(changed);
  };
  const std::string id = "tokenizer/definition";
  check_message(with("/model/merges/3", "no piece"), id, "model.merges[3] is 'no piece'");
  check_message(with("/model/merges/3", {"a", 1}), id, "model.merges[3] is a list");
  check_message(with("/model/merges", "all"), id, "model.merges is 'all'");
  check_message(with("/model/vocab", json::object()), id, "model.vocab is an object");
  check_message(with("/model/vocab/a", -1), id, "'a' is -1");
  check_message(with("/model/vocab/a", 1 << 30), id, "'a' is 1073741824");
  check_message(with("/model/vocab/a", 1 << 20), id, "expected an id from 0 to ");
  check_message(with("/model/vocab/a", 5), id, "an id that no other piece has");
  check_message(with("/model/unk_token", "<none>"), id, "model.unk_token is '<none>'");
  check_message(with("/added_tokens/0/id", 1000), id, "the id of '<|endoftext|>' is 1000");
  check_message(with("/added_tokens", 3), id, "added_tokens is 3");
  check_message(with("/pre_tokenizer/use_regex", "yes"), id, "use_regex is 'yes'");
  check_message(with("/decoder", 7), id, "decoder is 7");
}

TEST_CASE("a byte-level tokenizer is made from texts, as the tokenizers package makes it") {
  const TemporaryFolder dir;
  const json golden = read(kData + "hf_trained.json");
  std::string lines;
  for (const json& line : golden["lines"]) lines += line.get<std::string>() + "\n";
  Config config = node(dir / "made/tokenizer.json");
  config["train"]["input"] = Config::scalar(dir.write("texts.txt", lines));
  config["train"]["vocab_size"] = Config::scalar(golden["vocab_size"].dump());
  s2s::test::BuiltPlugins plugins;
  const auto tokenizer = plugins.create<Tokenizer>(config, context());
  CHECK(read(dir / "made/tokenizer.json")["model"]["merges"] == golden["merges"]);
  CHECK(tokenizer->special_ids().bos == tokenizer->vocab_size() - 3);
  CHECK(tokenizer->decode(tokenizer->encode("set a timer, caf\xC3\xA9")) ==
        "set a timer, caf\xC3\xA9");
  const std::string text((size_t{16} << 20) + 1, 'a');
  CHECK_THROWS_WITH(tokenizer->encode(text), doctest::Contains("[tokenizer/long-text]"));
  const auto again = plugins.create<Tokenizer>(node(dir / "made"), context());
  CHECK(again->encode("the kitchen light") == tokenizer->encode("the kitchen light"));
}
