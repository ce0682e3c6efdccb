#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/contains.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "plugins/built_plugins.h"
#include "s2s/kinds/tokenizer.h"

namespace {

using s2s::Config;
using s2s::Tokenizer;
using s2s::test::TemporaryFolder;
using s2s::test::write_text;

constexpr const char* kTexts =
    "set a timer for ten minutes\nturn on the light in the kitchen\nok\nthe light is on now\n"
    "what is the weather in london\nit is sunny in london now\nset the light to ten\n";

Config node(const std::string& path) {
  Config config = Config::map();
  config["name"] = Config::scalar("sentencepiece");
  config["path"] = Config::scalar(path);
  return config;
}

Config training(const std::string& path, const std::string& input, const std::string& type = "word",
                const std::string& vocab_size = "100") {
  Config config = node(path);
  config["train"]["input"] = Config::scalar(input);
  config["train"]["model_type"] = Config::scalar(type);
  config["train"]["vocab_size"] = Config::scalar(vocab_size);
  return config;
}

s2s::BuildContext context() {
  s2s::BuildContext built;
  built.path = "model.tokenizer";
  return built;
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

void check_contains(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK_MESSAGE(text.find(part) != std::string::npos, "expected: ", part);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// What LibTorch keeps at a symbol of its own, of this many bytes.
std::string bytes_of(const char* symbol, size_t size) {
  const void* const address = dlsym(RTLD_DEFAULT, symbol);
  REQUIRE(address != nullptr);
  std::string bytes(size, '\0');
  std::memcpy(bytes.data(), address, size);
  return bytes;
}
#endif

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Both libraries have a flag of this name. Sentencepiece's has 32 bytes, LibTorch's has 4. The flag
// after it decides if a tensor without memory ends the process.
TEST_CASE("sentencepiece writes nothing into LibTorch's flags") {
  const std::string level = bytes_of("FLAGS_minloglevel", 4);
  const std::string fatal = bytes_of("FLAGS_caffe2_use_fatal_for_enforce", 1);
  CHECK(fatal == std::string(1, '\0'));
  check_contains(failure(node("/nowhere/x.model")), "/nowhere/x.model");
  CHECK(bytes_of("FLAGS_minloglevel", 4) == level);
  CHECK(bytes_of("FLAGS_caffe2_use_fatal_for_enforce", 1) == fatal);
}
#endif

TEST_CASE("a word model is made on first use, read on the second, and loses no word") {
  const TemporaryFolder dir;
  write_text(dir / "texts.txt", kTexts);
  s2s::test::BuiltPlugins plugins;
  const Config config = training(dir / "made/words.model", dir / "texts.txt");
  const auto made = plugins.create<Tokenizer>(config, context());
  const auto read = plugins.create<Tokenizer>(node(dir / "made"), context());
  const std::vector<int64_t> ids = made->encode("turn the light on in london");
  CHECK(ids.size() == 6);
  CHECK(read->encode("turn the light on in london") == ids);
  CHECK(made->decode(ids) == "turn the light on in london");
  CHECK(made->special_ids().bos == 1);
  CHECK(made->special_ids().eos == 2);
  CHECK(made->special_ids().pad == 3);
  CHECK(made->piece(2) == "</s>");
  CHECK(made->piece(1000) == "<1000>");
  CHECK(made->decode({1, ids[0], 3, 3, ids[1], 2, 1000}) == "turn the");
  CHECK(made->encode("unheardof") == std::vector<int64_t>{0});
  CHECK(made->encode("").empty());
  CHECK(made->vocab_size() == 4 + 21);
}

TEST_CASE("decoding shows unknown pieces as the library does, also where they are the PAD") {
  const TemporaryFolder dir;
  write_text(dir / "texts.txt", kTexts);
  s2s::test::BuiltPlugins plugins;
  const auto made =
      plugins.create<Tokenizer>(training(dir / "words.model", dir / "texts.txt"), context());
  Config config = node(dir / "words.model");
  config["pad_id"] = Config::scalar("0");  // as a file without PAD has it
  const auto read = plugins.create<Tokenizer>(config, context());
  CHECK(read->special_ids().pad == 0);
  const std::vector<int64_t> ids = made->encode("turn unheardof light");
  const std::string shown = "turn \xE2\x81\x87  light";  // SentencePiece's unk_surface
  CHECK(made->decode(ids) == shown);
  CHECK(read->decode(ids) == shown);
  CHECK(read->decode({1, ids[0], 2}) == "turn");
}

TEST_CASE("training on cuts takes the turns' texts, and the same texts give the same file") {
  const TemporaryFolder dir;
  write_text(dir / "cuts.jsonl", s2s::test::cut_json("a", 1, "u.wav", "a.wav").dump());
  s2s::test::BuiltPlugins plugins;
  const auto bytes = [&](const std::string& name) {
    plugins.create<Tokenizer>(training(dir / name, dir / "cuts.jsonl"), context());
    std::ifstream file(dir / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  CHECK(bytes("one.model") == bytes("two.model"));
  const auto tokenizer = plugins.create<Tokenizer>(node(dir / "one.model"), context());
  CHECK(tokenizer->encode("hello there you").size() == 3);
  CHECK(tokenizer->decode(tokenizer->encode("hello there you")) == "hello there you");
}

TEST_CASE("unigram, bpe and char models are made too") {
  const TemporaryFolder dir;
  write_text(dir / "texts.txt", kTexts);
  s2s::test::BuiltPlugins plugins;
  for (const char* type : {"unigram", "bpe", "char"}) {
    CAPTURE(type);
    const auto tokenizer = plugins.create<Tokenizer>(
        training(dir / (std::string(type) + ".model"), dir / "texts.txt", type, "40"), context());
    CHECK(tokenizer->decode(tokenizer->encode("the kitchen light")) == "the kitchen light");
  }
}

// tests/reference/sentencepiece_ids.py, sentencepiece 0.2.3 from PyPI.
TEST_CASE("ids and texts equal the Python package's on its own models") {
  const std::string data = s2s::test::source_dir() + "/tests/reference/data/";
  std::ifstream file(data + "sentencepiece.json");
  const auto golden = nlohmann::json::parse(file);
  s2s::test::BuiltPlugins plugins;
  size_t num_texts = 0;
  for (const auto& model : golden["models"]) {
    Config config = node(data + model["file"].get<std::string>());
    if (model["bos"].get<int64_t>() < 0) config["bos_id"] = Config::scalar("5");
    const auto tokenizer = plugins.create<Tokenizer>(config, context());
    CHECK(tokenizer->special_ids().pad == model["pad"].get<int64_t>());
    CHECK(tokenizer->vocab_size() == model["vocab_size"].get<int64_t>());
    for (const auto& row : model["texts"]) {
      CAPTURE(row.dump());
      CHECK(tokenizer->encode(row["text"].get<std::string>()) ==
            row["ids"].get<std::vector<int64_t>>());
      ++num_texts;
      if (model["bos"].get<int64_t>() < 0) continue;
      CHECK(tokenizer->decode(row["ids"]) == row["decoded"].get<std::string>());
    }
  }
  CHECK(num_texts == 27);
}

TEST_CASE("PAD falls back to the unknown id; equal or absent special ids are refused") {
  const std::string data = s2s::test::source_dir() + "/tests/reference/data/";
  s2s::test::BuiltPlugins plugins;
  Config config = node(data + "sentencepiece_bpe.model");
  CHECK(plugins.create<Tokenizer>(config, context())->special_ids().pad == 0);
  config["pad_id"] = Config::scalar("7");
  CHECK(plugins.create<Tokenizer>(config, context())->special_ids().pad == 7);
  config["pad_id"] = Config::scalar("2");
  check_contains(failure(config), "[tokenizer/special-ids]");
  config["pad_id"] = Config::scalar("100000");
  check_contains(failure(config), "model.tokenizer.pad_id is 100000");
  config = node(data + "sentencepiece_unigram.model");
  check_contains(failure(config), "has no bos_id of its own");
  config["bos_id"] = Config::scalar("5");
  CHECK(plugins.create<Tokenizer>(config, context())->special_ids().bos == 5);
}

TEST_CASE("a text of more than 16 MiB is not encoded in one piece") {
  const std::string data = s2s::test::source_dir() + "/tests/reference/data/";
  s2s::test::BuiltPlugins plugins;
  const auto tokenizer =
      plugins.create<Tokenizer>(node(data + "sentencepiece_bpe.model"), context());
  const std::string text((size_t{16} << 20) + 1, 'a');
  CHECK_THROWS_WITH_AS(tokenizer->encode(text),
                       doctest::Contains("[tokenizer/long-text] a text of 16777217 bytes"),
                       s2s::Error);
}

// tests/reference/sentencepiece_export_check.py asks transformers for the ids.
TEST_CASE("a model gives the files that transformers reads") {
  const std::string data = s2s::test::source_dir() + "/tests/reference/data/";
  s2s::test::BuiltPlugins plugins;
  const auto bpe = plugins.create<Tokenizer>(node(data + "sentencepiece_bpe.model"), context());
  const auto files = bpe->transformers_files();
  REQUIRE(files.size() == 2);
  const auto tokenizer = nlohmann::json::parse(files.at("tokenizer.json"));
  CHECK(tokenizer["model"]["type"] == "BPE");
  CHECK(tokenizer["model"]["vocab"].size() == static_cast<size_t>(bpe->vocab_size()));
  CHECK(tokenizer["model"]["merges"].size() > 10);
  const auto config = nlohmann::json::parse(files.at("tokenizer_config.json"));
  CHECK(config["bos_token"] == "<s>");
  CHECK(config["pad_token"] == "<unk>");  // its id is the PAD's, and has no text
  CHECK(config["unk_token"] == "<unk>");
  const auto word = plugins.create<Tokenizer>(node(data + "sentencepiece_word.model"), context());
  const auto words = word->transformers_files();
  CHECK_FALSE(s2s::test::contains(words.at("tokenizer_config.json"), "unk_token"));
  CHECK(nlohmann::json::parse(words.at("tokenizer.json"))["model"]["type"] == "Unigram");
}

TEST_CASE("a model that transformers cannot express says why") {
  const TemporaryFolder dir;
  std::ifstream file(s2s::test::source_dir() + "/tests/reference/data/sentencepiece_bpe.model",
                     std::ios::binary);
  std::string model(std::istreambuf_iterator<char>(file), {});
  model += "\x12\x03\xC0\x01\x01";  // trainer_spec { treat_whitespace_as_suffix: true }
  write_text(dir / "suffix.model", model);
  s2s::test::BuiltPlugins plugins;
  const auto tokenizer = plugins.create<Tokenizer>(node(dir / "suffix.model"), context());
  CHECK_THROWS_WITH_AS(tokenizer->transformers_files(),
                       doctest::Contains("[tokenizer/transformers] model.tokenizer: the "
                                         "SentencePiece model was made with treat_whitespace"),
                       s2s::Error);
}

TEST_CASE("a model that is missing or no model, and texts that are missing, have their messages") {
  const TemporaryFolder dir;
  check_contains(failure(node(dir / "none.model")), "[tokenizer/missing-file]");
  write_text(dir / "bad.model", "no model");
  check_contains(failure(node(dir / "bad.model")), "[tokenizer/unreadable]");
  std::filesystem::resize_file(dir / "bad.model", size_t{1} << 32);  // a hole, which nobody reads
  check_contains(failure(node(dir / "bad.model")), "too large");
  Config without_path = Config::map();
  without_path["name"] = Config::scalar("sentencepiece");
  check_contains(failure(without_path), "[tokenizer/no-path]");
  check_contains(failure(training(dir / "x.model", dir / "none.txt")),
                 "[tokenizer/training-input]");
  write_text(dir / "empty.txt", "\n \n");
  check_contains(failure(training(dir / "x.model", dir / "empty.txt")), "holds no text");
  write_text(dir / "short.txt", "ab ab\n");
  check_contains(failure(training(dir / "x.model", dir / "short.txt", "bpe", "5")),
                 "[tokenizer/training]");
  write_text(dir / "file", "x");
  write_text(dir / "texts.txt", kTexts);
  check_contains(failure(training(dir / "file/x.model", dir / "texts.txt")),
                 "[tokenizer/cannot-write]");
}
