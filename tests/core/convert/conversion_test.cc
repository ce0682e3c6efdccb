#include "convert/conversion.h"

#include <fstream>

#include "common/failing_threads.h"
#include "common/full_disk.h"
#include "core/convert/convert_files.h"
#include "cuts/cut_files.h"

using namespace s2s;
using namespace s2s::convert;
using namespace s2s::test;

namespace {

/// Cuts "0", "1", ...; those of `bad` are errors, those of `bad_lines` already when they are named.
class Counter : public Importer {
 public:
  explicit Counter(int64_t count) : count_(count) {}
  std::optional<Piece> next() override {
    if (at_ == count_) return std::nullopt;
    const int64_t number = at_++;
    if (bad_lines.contains(number)) throw bad_piece(number);
    return Piece{"piece", [this, number] {
                   if (bad.contains(number)) throw bad_piece(number);
                   if (number == no_memory) throw std::bad_alloc();
                   Cut cut;
                   cut.id = std::to_string(same_ids ? 0 : number);
                   cut.duration_s = 3600;
                   cut.recording = Recording{.id = "r" + cut.id,
                                             .sources = {{.channels = {0}, .source = "x/a.wav"}},
                                             .sample_rate_hz = 1,
                                             .num_samples = 3600,
                                             .duration_s = 3600,
                                             .channel_ids = {},
                                             .transforms = {}};
                   return std::vector<Cut>{cut};
                 }};
  }
  void rewind() override { at_ = 0; }
  std::optional<int64_t> size() const override { return count_; }
  uint64_t fingerprint() const override { return source; }

  std::set<int64_t> bad;
  std::set<int64_t> bad_lines;
  int64_t no_memory = -1;
  bool same_ids = false;
  uint64_t source = 1;

 private:
  static Error bad_piece(int64_t number) {
    return Error(ExitCode::kData, "data/test", "piece " + std::to_string(number));
  }
  int64_t count_;
  int64_t at_ = 0;
};

ConversionResult run(
    Counter& source, const std::string& path, const ConversionOptions& options,
    const StopRequest& stop = [] { return false; }) {
  return convert::convert(source, path, options, stop, [](int64_t, int64_t) {});
}

std::vector<std::string> ids(const std::string& path) {
  std::vector<std::string> ids;
  for (const Cut& cut : read_cuts({path}).cuts) ids.push_back(cut.id);
  return ids;
}

}  // namespace

TEST_CASE("a conversion writes cuts in the source's order with any number of threads") {
  const TemporaryFolder dir;
  for (const char* name : {"a.jsonl", "a.jsonl.gz"}) {
    for (const int64_t threads : {1, 3}) {
      Counter source(200);
      const auto result = run(source, dir / name, {.threads = threads, .replace = true});
      CHECK(result.finished);
      CHECK(result.cuts == 200);
      CHECK(result.hours == doctest::Approx(200));
      CHECK(result.without_turns == 200);
      const auto written = ids(dir / name);
      REQUIRE(written.size() == 200);
      CHECK(written[0] == "0");
      CHECK(written[199] == "199");
    }
  }
  CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 2);
}

TEST_CASE("a conversion that was stopped goes on, and makes the same file") {
  const TemporaryFolder dir;
  for (const std::string name : {"a.jsonl", "a.jsonl.gz"}) {
    Counter whole(300);
    run(whole, dir / ("whole." + name), {});
    int64_t rounds = 0;
    ConversionResult result;
    for (int64_t resumed = 0; !result.finished; ++rounds) {
      REQUIRE(rounds < 50);
      Counter source(300);
      source.bad = {7};
      source.bad_lines = {250};
      std::atomic<int64_t> asked = 0;
      result = run(source, dir / name, {.threads = 2, .skip_bad = 2}, [&] { return ++asked > 45; });
      CHECK(result.resumed == resumed);
      CHECK(std::filesystem::exists(dir / name) == result.finished);
      resumed = result.pieces;
    }
    CHECK(rounds > 4);
    CHECK(result.skipped ==
          std::vector<std::string>{"[data/test] piece 7", "[data/test] piece 250"});
    auto expected = ids(dir / ("whole." + name));
    expected.erase(expected.begin() + 250);
    expected.erase(expected.begin() + 7);
    CHECK(ids(dir / name) == expected);
    CHECK_FALSE(std::filesystem::exists(dir / (name + ".part")));
    CHECK_FALSE(std::filesystem::exists(dir / (name + ".part.json")));
  }
}

TEST_CASE("what another source left is begun anew") {
  const TemporaryFolder dir;
  Counter first(100);
  std::atomic<int64_t> asked = 0;
  CHECK_FALSE(run(first, dir / "a.jsonl", {}, [&] { return ++asked > 40; }).finished);
  Counter second(10);
  second.source = 2;
  const auto result = run(second, dir / "a.jsonl", {});
  CHECK(result.resumed == 0);
  CHECK(ids(dir / "a.jsonl").size() == 10);
}

TEST_CASE("bad pieces are reported together, and the conversion goes on when they are fixed") {
  const TemporaryFolder dir;
  Counter source(100);
  source.bad = {3, 50, 60};
  const std::string message = message_of([&] { run(source, dir / "a.jsonl", {.skip_bad = 1}); });
  CHECK_FALSE(holds(message, "piece 3"));
  CHECK(holds(message, "piece 50"));
  CHECK(holds(message, "piece 60"));
  CHECK_FALSE(std::filesystem::exists(dir / "a.jsonl"));
  Counter fixed(100);
  const auto result = run(fixed, dir / "a.jsonl", {.skip_bad = 1});
  CHECK(result.resumed == 50);
  CHECK(result.skipped.size() == 1);
  CHECK(ids(dir / "a.jsonl").size() == 99);
}

TEST_CASE("repeated ids are an error or get a number, also across a stop") {
  const TemporaryFolder dir;
  Counter twice(3);
  twice.same_ids = true;
  const std::string message = message_of([&] { run(twice, dir / "a.jsonl", {}); });
  CHECK(holds(message, "[data/duplicate-id]"));
  CHECK(holds(message, "a.jsonl:1"));
  Counter again(3);
  again.same_ids = true;
  run(again, dir / "a.jsonl", {.rename_duplicates = true});
  CHECK(ids(dir / "a.jsonl") == std::vector<std::string>{"0", "0-2", "0-3"});
  ConversionResult result;
  int64_t rounds = 0;
  for (; !result.finished; ++rounds) {
    Counter stopped(70);
    stopped.same_ids = true;
    std::atomic<int64_t> asked = 0;
    result =
        run(stopped, dir / "b.jsonl", {.rename_duplicates = true}, [&] { return ++asked > 40; });
  }
  CHECK(rounds > 1);
  CHECK(ids(dir / "b.jsonl").back() == "0-70");
}

TEST_CASE("a result is not replaced, has a name of cuts, and is not empty") {
  const TemporaryFolder dir;
  const auto message = [&](const std::string& name, int64_t count = 1) {
    return message_of([&] {
      Counter source(count);
      run(source, dir / name, {});
    });
  };
  CHECK(message("a.jsonl").empty());
  CHECK(holds(message("a.jsonl"), "[data/convert-exists]"));
  CHECK(holds(message("a.json"), "[data/convert-result]"));
  CHECK(holds(message("none.jsonl", 0), "[data/empty]"));
  CHECK_FALSE(std::filesystem::exists(dir / "none.jsonl.part"));
  CHECK(holds(message("no/such/folder/a.jsonl"), "[io/write]"));
}

TEST_CASE("audio paths are absolute, or relative to the result") {
  const TemporaryFolder dir;
  std::filesystem::create_directories(dir / "out");
  for (const bool relative : {false, true}) {
    Counter source(1);
    run(source, dir / "out/a.jsonl", {.relative = relative, .replace = true});
    std::ifstream file(dir / "out/a.jsonl");
    const auto cut = nlohmann::json::parse(file);
    const std::filesystem::path path = cut["recording"]["sources"][0]["source"].get<std::string>();
    CHECK(path.is_absolute() != relative);
    const auto base = relative ? std::filesystem::path(dir / "out") : "/";
    CHECK((base / path).lexically_normal() == std::filesystem::absolute("x/a.wav"));
  }
}

TEST_CASE("a conversion whose disk fills up is one message, and goes on when there is room") {
  const TemporaryFolder dir;
  Counter whole(5000);
  run(whole, dir / "whole.jsonl", {});
  std::string message;
  {
    const FullDisk full(300000);
    Counter source(5000);
    message = message_of([&] { run(source, dir / "a.jsonl", {}); });
  }
  CHECK_MESSAGE(holds(message, "[io/write] " + (dir / "a.jsonl.part") + ": cannot write"), message);
  CHECK_FALSE(std::filesystem::exists(dir / "a.jsonl"));
  Counter source(5000);
  CHECK(run(source, dir / "a.jsonl", {}).finished);
  CHECK(ids(dir / "a.jsonl") == ids(dir / "whole.jsonl"));
  CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 2);
}

TEST_CASE("a conversion's threads: none can be started, or one has no memory") {
  const TemporaryFolder dir;
  ConversionOptions options;
  options.threads = 3;
  for (const int num_good : {0, 1}) {
    const FailingThreads failing(num_good);
    Counter source(20);
    CHECK(holds(message_of([&] { run(source, dir / "cuts.jsonl", options); }), "[run/threads]"));
  }
  Counter source(20);
  source.no_memory = 7;
  CHECK_THROWS_AS(run(source, dir / "cuts.jsonl", options), std::bad_alloc);
  Counter again(20);
  CHECK(run(again, dir / "cuts.jsonl", options).cuts == 20);
}
