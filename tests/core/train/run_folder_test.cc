#include "train/run_folder.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/temporary_folder.h"
#include "s2s/error.h"
#include "train/metrics_file.h"

namespace {

namespace fs = std::filesystem;
using s2s::test::TemporaryFolder;

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// What is left of metrics.jsonl when a run goes on after `steps_done` steps, and what it warns of.
std::pair<std::string, std::vector<std::string>> resumed(const std::string& text,
                                                         int64_t steps_done) {
  const TemporaryFolder folder;
  const std::string path = folder / "metrics.jsonl";
  std::ofstream(path) << text;
  std::vector<std::string> warnings;
  const s2s::MetricsLog log(path, steps_done,
                            [&](const std::string& what) { warnings.push_back(what); });
  for (std::string& what : warnings) what = what.substr(0, what.find(" and was dropped"));
  for (std::string& what : warnings) what = what.substr(what.rfind("metrics.jsonl"));
  return {read(path), warnings};
}

}  // namespace

TEST_CASE("metrics.jsonl loses the lines that its checkpoint does not have, and no word on it") {
  const auto [text, warnings] = resumed("{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n{\"st", 2);
  CHECK(text == "{\"step\":1}\n{\"step\":2}\n");
  CHECK(warnings.empty());
}

TEST_CASE("a line that is none of a step is dropped with a warning, and does not end the run") {
  const std::vector<std::string> lines = {R"({"step":"x"})", "[1]", R"({"loss":1})",
                                          R"({"step":1e300})", std::string(200'000, '[')};
  for (const std::string& line : lines) {
    const auto [text, warnings] = resumed("{\"step\":1}\n" + line + "\n{\"step\":2}\n", 2);
    CHECK(text == "{\"step\":1}\n{\"step\":2}\n");
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0] == "metrics.jsonl: line 2 is not the line of a step");
  }
}

TEST_CASE("lines lost in a power cut are reported when a run continues") {
  const auto [text, warnings] = resumed("{\"step\":1}\n{\"step\":2}\n", 5);
  CHECK(text == "{\"step\":1}\n{\"step\":2}\n");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].starts_with("metrics.jsonl lacks the lines of steps 3 to 5, which"));
}

TEST_CASE("a file that is empty, torn, without a last line break or with CR LF goes on") {
  CHECK(resumed("", 0).first.empty());
  CHECK(resumed("{\"step\":1}", 1).first == "{\"step\":1}\n");
  CHECK(resumed("{\"step\":1}", 0).first.empty());
  CHECK(resumed("{\"st", 0).first.empty());
  CHECK(resumed("{\"step\":1}\r\n{\"step\":2}\r\n", 1).first == "{\"step\":1}\r\n");
  const std::string torn = "{\"step\":1}\n{\"step\":2,\"lo{\"step\":2,\"loss\":1}\n{\"step\":2}\n";
  CHECK(resumed(torn, 2).first == "{\"step\":1}\n{\"step\":2}\n");
}

TEST_CASE("the step of a line is the same for lines of the program and for other JSON") {
  CHECK(s2s::step_of_metrics(R"({"step":7,"loss":1.5})") == 7);
  CHECK(s2s::step_of_metrics(R"({"step":7})") == 7);
  CHECK(s2s::step_of_metrics(R"({ "loss":1, "step" : 7 })") == 7);
  CHECK(s2s::step_of_metrics(R"({"step":7,"validation":"a{b}"})") == 7);
  for (const char* const none :
       {"", "{", "}", R"({"step":7.5})", R"({"step":7e2})", R"({"step":99999999999999999999})",
        R"({"step":)", R"({"step":7,"lo{"step":7})"}) {
    CHECK_MESSAGE(!s2s::step_of_metrics(none), none);
  }
  CHECK_FALSE(s2s::step_of_metrics(std::string_view("{\"step\":7,\"a\":\"\0\"}", 16)));
}

TEST_CASE("a resumed run reads the end of a long metrics.jsonl, and truncates it") {
  const TemporaryFolder folder;
  const std::string path = folder / "metrics.jsonl";
  std::string text, kept;
  for (int step = 1; text.size() < (size_t{9} << 20); ++step) {
    text += "{\"step\":" + std::to_string(step) + ",\"loss\":" + std::string(700, '1') + "}\n";
    if (step == 13000) kept = text;
  }
  folder.write("metrics.jsonl", text);
  const int before = ::open(path.c_str(), O_RDONLY);
  const s2s::MetricsCut cut = s2s::cut_metrics(path, 13000);
  CHECK((read(path) == kept));
  CHECK(cut.last_step > 13000);
  CHECK(cut.bytes_read < (size_t{4} << 20) + (text.size() - kept.size()) + (size_t{256} << 10));
  struct stat old {
  }, now{};
  CHECK(::fstat(before, &old) == 0);
  CHECK(::stat(path.c_str(), &now) == 0);
  CHECK(old.st_ino == now.st_ino);
  ::close(before);
  // Under a second name somebody keeps what was there.
  fs::create_hard_link(path, folder / "copy");
  s2s::cut_metrics(path, 1000);
  CHECK((read(folder / "copy") == kept));
  CHECK(read(path).size() < kept.size());
}

TEST_CASE("a validation that a resumed run does again is dropped, and no other one") {
  const TemporaryFolder folder;
  const std::string begin =
      "{\"step\":3,\"loss\":2}\n{\"step\":3,\"validation\":\"dev\",\"loss\":2}\n"
      "{\"step\":4,\"loss\":1}\n";
  const std::string validation = "{\"step\":4,\"validation\":\"dev\",\"loss\":1}\n";
  const std::string path =
      folder.write("metrics.jsonl", begin + validation + "{\"step\":5,\"loss\":1}\n");
  s2s::cut_metrics(path, 4);
  CHECK((read(path) == begin + validation));
  s2s::cut_metrics(path, 4, /*repeats_validation=*/true);
  CHECK((read(path) == begin));
}

TEST_CASE("a metrics.jsonl with a hole is one message") {
  const TemporaryFolder folder;
  const std::string path = folder.write("metrics.jsonl", "{\"step\":1}\n");
  REQUIRE(::truncate(path.c_str(), off_t{1} << 38) == 0);
  CHECK_THROWS_WITH_AS(s2s::MetricsLog(path, 1), doctest::Contains("[io/line]"), s2s::Error);
}

TEST_CASE("what a killed process left beside the files of a run is removed") {
  const TemporaryFolder folder;
  const s2s::RunFolder run(folder / "a/b");
  std::ofstream(run.file(".config.yaml.s2s-abc123")) << "half";
  std::ofstream(run.file("config.yaml")) << "whole";
  run.remove_left_overs();
  CHECK_FALSE(fs::exists(run.file(".config.yaml.s2s-abc123")));
  CHECK(fs::exists(run.file("config.yaml")));
}
