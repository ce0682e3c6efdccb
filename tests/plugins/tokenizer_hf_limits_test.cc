#include <doctest/doctest.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "plugins/built_plugins.h"
#include "s2s/kinds/tokenizer.h"

namespace {

using nlohmann::json;
using s2s::Config;
using s2s::Tokenizer;

/// gpt2's tokenizer.json.
json plain_file() {
  std::ifstream file(s2s::test::source_dir() + "/tests/reference/data/hf_tokenizer_gpt2.json");
  return json::parse(file);
}

/// With a first step of the pre-tokenizer that splits at a pattern.
json with_pattern(const std::string& pattern) {
  json changed = plain_file();
  const json split = {{"type", "Split"},
                      {"pattern", {{"Regex", pattern}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  changed["pre_tokenizer"] = {{"type", "Sequence"},
                              {"pretokenizers", {split, changed["pre_tokenizer"]}}};
  return changed;
}

class Opened {
 public:
  explicit Opened(const json& definition) {
    Config config = Config::map();
    config["name"] = Config::scalar("hf");
    config["path"] = Config::scalar(dir_.write("tokenizer.json", definition.dump()));
    tokenizer_ = plugins_.create<Tokenizer>(config, s2s::BuildContext());
    CHECK(tokenizer_->decode(tokenizer_->encode("abc")) == "abc");
  }
  std::vector<int64_t> ids(const std::string& text) const { return tokenizer_->encode(text); }
  std::string failure(const std::string& text) const {
    try {
      tokenizer_->encode(text);
    } catch (const s2s::Error& error) {
      return error.what();
    }
    return "";
  }

 private:
  s2s::test::BuiltPlugins plugins_;
  s2s::test::TemporaryFolder dir_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

void check_message(const std::string& message, const std::string& id, const std::string& part) {
  INFO(message);
  CHECK(message.rfind("[" + id + "]", 0) == 0);
  CHECK(message.find(part) != std::string::npos);
}

std::string repeated(const std::string& part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

}  // namespace

TEST_CASE("a pattern that goes back without end is stopped") {
  check_message(Opened(with_pattern("(?:a|aa)+\\z")).failure(std::string(100, 'a') + "b"),
                "tokenizer/pattern-limit",
                "matching the pattern '(?:a|aa)+\\z' on a text of 101 bytes");
}

TEST_CASE("patterns that take the square of a text's length end with the time of a text") {
  // Minutes without a limit.
  const std::string text = std::string(300'000, 'a');
  for (const std::string& pattern :
       std::vector<std::string>{"a*[bc]|.", "a(?=.*[bc])", "(?:a*[bc]|a)"}) {
    CAPTURE(pattern);
    check_message(Opened(with_pattern(pattern)).failure(text + "d"), "tokenizer/pattern-limit",
                  "on a text of 300001 bytes");
  }
}

TEST_CASE("a long text without a match, or with a late one, is split as a short one") {
  const Opened split(with_pattern("x+\\d|\xC3\xA9y")), plain(plain_file());
  const std::string filler = repeated("\xC3\xA9\xE2\x82\xAC", 60'000);  // 300 kB, no match
  const std::vector<int64_t> ids = split.ids(filler + "xx7" + filler + "\xC3\xA9y" + filler);
  std::vector<int64_t> expected;
  for (const std::string& part :
       {filler, std::string("xx7"), filler, std::string("\xC3\xA9y"), filler}) {
    const std::vector<int64_t> more = plain.ids(part);
    expected.insert(expected.end(), more.begin(), more.end());
  }
  CHECK(ids.size() == expected.size());
  CHECK(ids == expected);
}

TEST_CASE("steps that make a text grow without end are stopped") {
  json changed = plain_file();
  const json twice = {{"type", "Replace"}, {"pattern", {{"String", "d"}}}, {"content", "dd"}};
  changed["normalizer"] = {{"type", "Sequence"}, {"normalizers", json(60, twice)}};
  check_message(Opened(changed).failure("dd"), "tokenizer/text-growth",
                "turn a text of 2 bytes into 2048 bytes; expected at most 64 times");
}
