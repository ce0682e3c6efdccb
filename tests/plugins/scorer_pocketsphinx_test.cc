#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "common/temporary_folder.h"
#include "plugin/plugin_host.h"
#include "s2s/error.h"
#include "s2s/kinds/scorer.h"

using namespace s2s;
using test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

std::unique_ptr<Scorer> make_scorer(const std::map<std::string, std::string>& options) {
  static PluginHost host{process_search_inputs({})};
  static Registries registries;
  static const bool installed = (host.install(registries), true);
  Config node = Config::map();
  node["name"] = Config::scalar("pocketsphinx");
  for (const auto& [key, value] : options) node[key] = Config::scalar(value);
  ScorerContext context;
  context.path = "trainer.scorer";
  return installed ? registries.create<Scorer>(node, context) : nullptr;
}

std::string id_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.id();
  }
  return "no error";
}

/// "" when nothing is thrown.
std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// A model folder with a small dictionary, and a program that plays the recognizer: it keeps the
/// language model and "recognizes" the name of each clip.
struct FakeRecogniser {
  TemporaryFolder folder;
  std::map<std::string, std::string> options;

  explicit FakeRecogniser(const std::string& ending = "exit 0") {
    const fs::path at = folder.path();
    fs::create_directories(at / "model" / "en-us");
    std::ofstream(at / "model" / "en-us" / "mdef") << "x";
    std::ofstream(at / "model" / "cmudict-en-us.dict")
        << "a AH\na(2) EY\nb B IY\nc S IY\nit's IH T S\n";
    std::ofstream(at / "fake") << "#!/bin/sh\n"
                               << "while [ $# -gt 1 ]; do\n"
                               << "  case $1 in\n"
                               << "    -lm) cp $2 " << (at / "lm").string() << ";;\n"
                               << "    -dict) cp $2 " << (at / "dict").string() << ";;\n"
                               << "    -cepdir) dirname $2 > /dev/null; echo $2 > "
                               << (at / "audio").string() << ";;\n"
                               << "    -ctl) ctl=$2;;\n"
                               << "    -hyp) hyp=$2;;\n"
                               << "  esac\n"
                               << "  shift 2\n"
                               << "done\n"
                               << "while read name; do echo \"heard $name ($name -12)\"; done < "
                                  "$ctl > $hyp\n"
                               << "echo the end of the log\n"
                               << ending << "\n";
    chmod((at / "fake").c_str(), 0755);
    options = {{"program", (at / "fake").string()}, {"model", (at / "model").string()}};
  }

  std::string text(const std::string& name) const {
    std::ifstream in(folder.path() / name);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
};

AudioClip tone(int64_t rate_hz) {
  return {at::sin(at::arange(rate_hz, at::kFloat) * 0.1) * 0.3, rate_hz};
}

/// Reads an ARPA file: P(word) and P(second | first) with backing off.
struct Arpa {
  std::map<std::string, double> unigram, back_off;
  std::map<std::pair<std::string, std::string>, double> bigram;

  explicit Arpa(const std::string& text) {
    std::istringstream in(text);
    int order = 0;
    for (std::string line; std::getline(in, line);) {
      if (line == "\\1-grams:") order = 1;
      if (line == "\\2-grams:") order = 2;
      std::istringstream fields(line);
      double p = 0, b = 0;
      std::string first, second;
      if (order == 1 && fields >> p >> first >> b) {
        unigram[first] = std::pow(10, p);
        back_off[first] = std::pow(10, b);
      } else if (order == 2 && fields >> p >> first >> second) {
        bigram[{first, second}] = std::pow(10, p);
      }
    }
  }
  double probability(const std::string& first, const std::string& second) const {
    const auto it = bigram.find({first, second});
    return it != bigram.end() ? it->second : back_off.at(first) * unigram.at(second);
  }
};

}  // namespace

TEST_CASE("the scorer's bigram model is a distribution after every word") {
  const FakeRecogniser fake;
  const auto scorer = make_scorer(fake.options);
  scorer->prepare({"A b, c!", "a b", "b b a it's", "c a", "zebra a c"});
  CHECK(scorer->transcribe({tone(16000)}).at(0) == "heard 000000");
  const Arpa model(fake.text("lm"));
  REQUIRE(model.unigram.size() == 6);  // a b c it's <s> </s>
  for (const auto& [first, ignored] : model.unigram) {
    if (first == "</s>") continue;
    double sum = 0;
    for (const auto& [second, p] : model.unigram) {
      if (second != "<s>") sum += model.probability(first, second);
    }
    CHECK_MESSAGE(sum == doctest::Approx(1).epsilon(1e-4), first);
  }
  // "a" is followed by b twice and by c, it's, </s> once each: (2 - 1/2) / 5.
  CHECK(model.probability("a", "b") == doctest::Approx(0.3).epsilon(1e-4));
  CHECK(fake.text("dict") == "a AH\na(2) EY\nb B IY\nc S IY\nit's IH T S\n");
  REQUIRE(scorer->notes().size() == 1);
  CHECK(scorer->notes()[0].find("1 of 5 words") != std::string::npos);
  CHECK(scorer->notes()[0].find("zebra") != std::string::npos);
}

TEST_CASE("the scorer answers every clip in order, and finds no words in silence") {
  const FakeRecogniser fake;
  auto options = fake.options;
  options["workers"] = "3";
  const auto scorer = make_scorer(options);
  scorer->prepare({"a b"});
  std::vector<AudioClip> clips(7, tone(22050));
  clips[2] = {at::zeros({8000}), 16000};
  clips[4] = {at::Tensor(at::zeros({0})), 16000};
  const auto texts = scorer->transcribe(clips);
  REQUIRE(texts.size() == 7);
  for (size_t i = 0; i < 7; ++i) {
    CHECK(texts[i] == (i == 2 || i == 4 ? "" : "heard 00000" + std::to_string(i)));
  }
  CHECK(scorer->transcribe({}).empty());
  std::string audio = fake.text("audio");
  audio.pop_back();
  CHECK_FALSE(fs::exists(audio));
}

TEST_CASE("the scorer says what is missing and which package has it") {
  FakeRecogniser fake;
  auto options = fake.options;
  options["program"] = "no_such_recognizer";
  CHECK(id_of([&] { make_scorer(options)->prepare({"a"}); }) == "scorer/program");
  options = fake.options;
  options["model"] = "/no/such/model";
  CHECK(id_of([&] { make_scorer(options)->prepare({"a"}); }) == "scorer/model");
  CHECK(id_of([&] { make_scorer(fake.options)->prepare({"zebra", ""}); }) == "scorer/no-texts");
  fs::remove(fake.folder.path() / "model" / "cmudict-en-us.dict");
  CHECK(id_of([&] { make_scorer(fake.options)->prepare({"a"}); }) == "scorer/model");
}

TEST_CASE("a recognizer that fails is reported with the end of its log, and leaves no files") {
  for (const char* ending : {"exit 3", "kill -9 $$"}) {
    const FakeRecogniser fake(ending);
    const auto scorer = make_scorer(fake.options);
    scorer->prepare({"a b"});
    const std::string message = message_of([&] { scorer->transcribe({tone(16000)}); });
    CHECK(message.starts_with("[scorer/failed]"));
    CHECK(message.find("the end of the log") != std::string::npos);
    std::string audio = fake.text("audio");
    audio.pop_back();
    CHECK_FALSE(fs::exists(audio));
  }
}

TEST_CASE("^C in the terminal is not for the recognizer") {
  // Field 5 of a process's line is its group; the terminal's signals go to groups.
  const FakeRecogniser fake("cut -d' ' -f5 /proc/$$/stat > $(dirname $0)/group; exit 3");
  const auto scorer = make_scorer(fake.options);
  scorer->prepare({"a b"});
  CHECK(id_of([&] { scorer->transcribe({tone(16000)}); }) == "scorer/failed");
  CHECK(std::stoi(fake.text("group")) != getpgrp());
}

TEST_CASE("a recognizer that hangs is ended") {
  const FakeRecogniser fake("echo $$ > $(dirname $0)/hanging; exec sleep 1000");
  auto options = fake.options;
  options["timeout_s"] = "0.5";
  const auto scorer = make_scorer(options);
  scorer->prepare({"a b"});
  const std::string message = message_of([&] { scorer->transcribe({tone(16000)}); });
  CHECK(message.starts_with("[scorer/failed]"));
  CHECK(message.find("printed nothing for 0.5 s") != std::string::npos);
  CHECK(kill(std::stoi(fake.text("hanging")), 0) == -1);
}

TEST_CASE("a recognizer that does not want to end is killed") {
  // The second one ignores SIGTERM; the first one fails when that is so.
  const FakeRecogniser fake(
      "here=$(dirname $0)\n"
      "case $ctl in\n"
      "  *part1*) trap '' TERM; echo $$ > $here/stubborn; exec sleep 1000;;\n"
      "esac\n"
      "while [ ! -s $here/stubborn ]; do sleep 0.01; done\n"
      "exit 3");
  auto options = fake.options;
  options["workers"] = "2";
  const auto scorer = make_scorer(options);
  scorer->prepare({"a b"});
  CHECK(id_of([&] { scorer->transcribe({tone(16000), tone(16000)}); }) == "scorer/failed");
  CHECK(kill(std::stoi(fake.text("stubborn")), 0) == -1);
}

TEST_CASE("the recognizer is not looked for in the current folder") {
  const FakeRecogniser fake;
  const std::string old_path = std::getenv("PATH");
  const fs::path old_folder = fs::current_path();
  fs::current_path(fake.folder.path());
  auto options = fake.options;
  options["program"] = "fake";
  for (const std::string path : {"", ":/usr/bin", "/usr/bin:", "/usr/bin::/bin", ".", "model/.."}) {
    setenv("PATH", path.c_str(), 1);
    CHECK_MESSAGE(id_of([&] { make_scorer(options)->prepare({"a"}); }) == "scorer/program", path);
  }
  setenv("PATH", fake.folder.path().c_str(), 1);
  CHECK(id_of([&] { make_scorer(options)->prepare({"a"}); }) == "no error");
  setenv("PATH", old_path.c_str(), 1);
  fs::current_path(old_folder);
}

TEST_CASE("the scorer says when it cannot write its files") {
  const FakeRecogniser fake;
  const char* before = std::getenv("TMPDIR");
  const std::string old = before == nullptr ? "" : before;
  setenv("TMPDIR", "/no/such/folder", 1);
  CHECK(id_of([&] { make_scorer(fake.options)->prepare({"a"}); }) == "scorer/write");
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", old.c_str(), 1);
}
