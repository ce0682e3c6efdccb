// Rows that files do not give are reported and skipped, equally from every position.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "common/contains.h"
#include "common/loader_cases.h"
#include "common/temporary_folder.h"
#include "s2s/error.h"
#include "streams/input_source.h"

using namespace s2s;
using namespace s2s::data;
using s2s::test::contains;
using s2s::test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

/// A copy of NeMo's files, to be damaged.
struct NemoFiles {
  TemporaryFolder folder;
  NemoFiles() {
    fs::copy(loader_cases::folder() + "/tarred", folder / "tarred");
    fs::copy(loader_cases::folder() + "/wavs", folder / "wavs");
    fs::copy(loader_cases::folder() + "/plain.json", folder / "plain.json");
    std::ofstream(folder / "set.yaml")
        << "- {type: nemo_tarred, manifest_filepath: 'tarred/manifest_{0..3}.json', "
           "tarred_audio_filepaths: 'tarred/audio_{0..3}.tar'}\n";
  }
};

/// Ids of a pass, which has to be the same from each of its positions.
std::vector<std::string> ids_of(const std::string& source, std::vector<std::string>& reported) {
  const auto open = [&] {
    return open_input(source, false,
                      [&](const Error& error) { reported.emplace_back(error.what()); });
  };
  std::vector<std::string> ids;
  std::vector<StreamState> states;
  const StreamPtr stream = open();
  for (states.push_back(stream->state()); const auto item = stream->next();) {
    ids.push_back(item->cut->id);
    CHECK(stream->make(item->key)->id == item->cut->id);
    states.push_back(stream->state());
  }
  const std::vector<std::string> once = reported;
  for (size_t i = 0; i < states.size(); ++i) {
    const StreamPtr resumed = open();
    resumed->restore(states[i]);
    std::vector<std::string> rest;
    while (const auto item = resumed->next()) rest.push_back(item->cut->id);
    CHECK(rest == std::vector<std::string>(ids.begin() + static_cast<ptrdiff_t>(i), ids.end()));
  }
  reported = once;
  return ids;
}

std::vector<std::string> all_ids(const std::string& source) {
  std::vector<std::string> none;
  auto ids = ids_of(source, none);
  CHECK(none.empty());
  return ids;
}

void read_strictly(const std::string& source) {
  const StreamPtr stream = open_input(source);
  while (stream->next()) {
  }
}

}  // namespace

TEST_CASE("of a NeMo tar that is cut off, the entries whose audio is lost are reported") {
  const NemoFiles files;
  const std::string source = files.folder / "set.yaml";
  const auto whole = all_ids(source);
  const std::string tar = files.folder / "tarred/audio_1.tar";
  SUBCASE("cut off") { fs::resize_file(tar, 4500); }
  SUBCASE("missing") { fs::remove(tar); }
  CHECK_THROWS_WITH_AS(read_strictly(source), doctest::Contains("audio_1.tar"), Error);
  std::vector<std::string> reported;
  const auto ids = ids_of(source, reported);
  CHECK(ids.size() < whole.size());
  CHECK_FALSE(reported.empty());
  CHECK(ids.size() + reported.size() >= whole.size());
  for (const std::string& message : reported) {
    CHECK_MESSAGE(contains(message, "tarred/manifest_1.json:"), message);
    CHECK_MESSAGE(contains(message, "audio_1.tar"), message);
  }
}

TEST_CASE("a NeMo entry with a name of any length is one that its tar does not have") {
  const NemoFiles files;
  const std::string source = files.folder / "set.yaml";
  const auto whole = all_ids(source);
  const std::string name = std::string(90'000, 'u') + "-sub1.wav";
  std::ofstream(files.folder / "tarred/manifest_1.json", std::ios::app)
      << R"({"audio_filepath": ")" + name + R"(", "duration": 1, "shard_id": 1})" + "\n";
  CHECK(all_ids(source) == whole);
}

TEST_CASE("a number of a NeMo shard that no integer holds is none") {
  const NemoFiles files;
  const std::string number(30, '9');
  fs::rename(files.folder / "tarred/audio_3.tar", files.folder / ("audio_" + number + ".tar"));
  const std::string source =
      files.folder.write("huge.yaml",
                         "- {type: nemo_tarred, manifest_filepath: 'tarred/manifest_{0..3}.json', "
                         "tarred_audio_filepaths: 'audio_" +
                             number + ".tar'}\n");
  CHECK_THROWS_WITH_AS(read_strictly(source), doctest::Contains("has no shard number"), Error);
}

TEST_CASE("lines of NeMo's manifests that are no entry, or whose audio is missing, are reported") {
  const NemoFiles files;
  const std::string source = files.folder / "plain.json";
  const auto whole = all_ids(source);
  std::ifstream in(source);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  text.insert(text.find('\n') + 1, "{\"audio_filepath\": \n");
  std::ofstream(source) << text;
  fs::remove(files.folder / "wavs/a1.flac");
  std::vector<std::string> reported;
  const auto ids = ids_of(source, reported);
  REQUIRE(reported.size() == 2);
  CHECK(contains(reported[0], "plain.json:2"));
  CHECK(contains(reported[1], "plain.json:3"));
  CHECK(ids.size() == whole.size() - 1);
}

TEST_CASE("a line that is nested without end is a bad line, wherever one is read") {
  const TemporaryFolder folder;
  const std::string nest = std::string(90'000, '[') + std::string(90'000, ']');
  const std::string nemo = folder.write(
      "deep.json",
      R"({"audio_filepath": "a.wav", "duration": 1, "offset": 0, "sampling_rate": 8000})"
      "\n"
      R"({"audio_filepath": "a.wav", "duration": 1, "x": )" +
          nest + "}\n");
  CHECK_THROWS_WITH_AS(read_strictly(nemo), doctest::Contains("deep.json:2"), Error);
  // The first line says what kind of manifest it is.
  const std::string first = folder.write("first.jsonl", nest + "\n");
  CHECK_THROWS_WITH_AS(read_strictly(first), doctest::Contains("nested deeper"), Error);
  const std::string talks = folder.write("talks.jsonl", R"({"conversations": )" + nest + "}\n");
  const std::string list = folder.write(
      "talks.yaml", "- {type: multimodal_conversation, manifest_filepath: '" + talks + "'}\n");
  CHECK_THROWS_WITH_AS(read_strictly(list), doctest::Contains("talks.jsonl:1"), Error);
}

TEST_CASE("a list of sources that is a named pipe is not waited for") {
  const TemporaryFolder folder;
  REQUIRE(mkfifo((folder / "list.yaml").c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(read_strictly("input_cfg=" + (folder / "list.yaml")),
                       doctest::Contains("list.yaml' cannot be read"), Error);
}

TEST_CASE("a Shar directory without one of its shards gives the others") {
  const TemporaryFolder folder;
  fs::copy(loader_cases::folder() + "/shar/first", folder / "shar", fs::copy_options::recursive);
  const auto whole = all_ids(folder / "shar");
  std::string missing;
  SUBCASE("of recordings") { missing = "recording.000001.tar"; }
  SUBCASE("of cuts") { missing = "cuts.000001.jsonl.gz"; }
  REQUIRE(fs::remove(fs::path(folder / "shar") / missing));
  CHECK_THROWS_WITH_AS(open_input(folder / "shar"), doctest::Contains("[data/shar-shards]"), Error);
  std::vector<std::string> reported;
  const auto ids = ids_of(folder / "shar", reported);
  CHECK_FALSE(ids.empty());
  CHECK(ids.size() + reported.size() == whole.size());
  for (const std::string& message : reported) CHECK_MESSAGE(contains(message, missing), message);
}
