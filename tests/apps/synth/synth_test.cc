#include "s2s_run/synth/synth.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "common/quiet_change.h"
#include "common/temporary_folder.h"
#include "s2s/error.h"

using namespace s2s::synth;
using s2s::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

void no_progress(size_t, size_t) {}

std::string id_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const s2s::Error& error) {
    return error.id();
  }
  return "no error";
}

/// Names and contents of every file below a folder.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    files[fs::relative(entry.path(), folder)] = text.str();
  }
  return files;
}

size_t count_entries(const fs::path& folder) {
  return static_cast<size_t>(std::distance(fs::directory_iterator(folder), {}));
}

SetOptions tiny(uint64_t seed = 1) {
  SetOptions options;
  options.size = Size::kTiny;
  options.seed = seed;
  return options;
}

}  // namespace

TEST_CASE("a set does not depend on the number of workers, and is reused when it is there") {
  const TemporaryFolder folder;
  const SetSummary one = make_set(folder.path() / "one", tiny(), 1, no_progress);
  const SetSummary three = make_set(folder.path() / "three", tiny(), 3, no_progress);
  const auto files = contents(one.folder);
  CHECK(files == contents(three.folder));
  for (const char* name : {"train.jsonl", "dev.jsonl", "dev_seen.jsonl", "dev_turns.jsonl",
                           "texts.txt", "synth.json"}) {
    CHECK_MESSAGE(files.count(name) == 1, name);
  }
  CHECK(one.cuts.at("train") >= 12);
  CHECK_FALSE(one.reused);
  CHECK(count_entries(folder.path()) == 2);  // nothing partial is left

  const SetSummary again = make_set(one.folder, tiny(), 1, no_progress);
  CHECK(again.reused);
  CHECK(again.cuts == one.cuts);
  CHECK(id_of([&] { make_set(one.folder, tiny(2), 1, no_progress); }) == "synth/other-set");
  CHECK(contents(one.folder) == files);
}

TEST_CASE("a set that was changed after it was made says what is not as it was") {
  const TemporaryFolder folder;
  const SetSummary made = make_set(folder.path() / "set", tiny(), 2, no_progress);
  const auto changed = [&] { return make_set(made.folder, tiny(), 1, no_progress).changed; };
  CHECK(changed().empty());
  // A copy has other times and the same content.
  fs::last_write_time(made.folder / "texts.txt", fs::file_time_type::clock::now());
  CHECK(changed().empty());
  const std::string first = (made.folder / "train.jsonl").string();
  s2s::test::change_quietly(first, "\"id\"", "\"iD\"");
  CHECK(changed() == std::vector<std::string>{"train.jsonl"});
  s2s::test::change_quietly(first, "\"iD\"", "\"id\"");
  CHECK(changed().empty());
  fs::remove(fs::directory_iterator(made.folder / "audio" / "dev")->path());
  fs::remove(made.folder / "dev.jsonl");
  CHECK(changed() == std::vector<std::string>{"audio", "dev.jsonl"});
}

TEST_CASE("a folder with something else in it is left alone") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "thesis.tex") << "years of work";
  CHECK(id_of([&] { make_set(folder.path(), tiny(), 1, no_progress); }) == "synth/folder-in-use");
  CHECK(count_entries(folder.path()) == 1);
}

TEST_CASE("an agent's rate that no frame fits is refused") {
  const TemporaryFolder folder;
  SetOptions options = tiny();
  for (const int64_t rate : {0, 4000, 16001, 96000}) {
    options.sample_rate_hz = rate;
    CHECK(id_of([&] { make_set(folder.path() / "x", options, 1, no_progress); }) ==
          "synth/sample-rate");
  }
}

TEST_CASE("a full disk ends in one message and leaves nothing") {
  const TemporaryFolder folder;
  // Files of more than 50 kB cannot be written, as on a disk that fills up.
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 50000;
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string id = id_of([&] { make_set(folder.path() / "x", tiny(), 2, no_progress); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, previous);
  CHECK(id == "synth/write");
  CHECK(count_entries(folder.path()) == 0);
}

TEST_CASE("workers return their results in order") {
  const auto start = [] {
    return [](size_t i) { return std::string(i * 1000, static_cast<char>('a' + i % 26)); };
  };
  for (const size_t workers : {1, 2, 5}) {
    size_t last = 0;
    const auto results = run_in_workers(
        23, workers, start, [&](size_t done, size_t) { last = done; }, "x");
    REQUIRE(results.size() == 23);
    for (size_t i = 0; i < 23; ++i) CHECK(results[i] == start()(i));
    CHECK(last == 23);
  }
}

TEST_CASE("a worker's error and a worker's death reach the user") {
  const auto failing = [] {
    return [](size_t i) -> std::string {
      if (i == 3) throw s2s::Error(s2s::ExitCode::kData, "synth/speech", "two\nlines");
      return "";
    };
  };
  const auto dying = [] {
    return [](size_t i) -> std::string {
      if (i == 3) raise(SIGKILL);
      return "";
    };
  };
  CHECK(id_of([&] { run_in_workers(9, 2, failing, no_progress, "x"); }) == "synth/speech");
  CHECK(id_of([&] { run_in_workers(9, 2, dying, no_progress, "x"); }) == "synth/worker");
}

TEST_CASE("a request to stop ends the workers and is said") {
  const auto slow = [] {
    return [](size_t) -> std::string {
      usleep(100000);
      return "";
    };
  };
  const auto ask = [](size_t, size_t) { raise(SIGINT); };
  CHECK(id_of([&] { run_in_workers(50, 2, slow, ask, "x"); }) == "synth/stopped");
}

TEST_CASE("a word that flite does not speak as one word is reported") {
  Speaker speaker;
  CHECK(id_of([&] { speaker.speak("at 5 pm", {3, 1, 1, true}); }) == "no error");
  CHECK(id_of([&] { speaker.speak("in 1999", {3, 1, 1, true}); }) == "synth/speech");
}
