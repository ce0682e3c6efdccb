// Streams that read files: manifests and Shar sets.

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "common/allowed_commands.h"
#include "common/contains.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "core/files/gzip_bytes.h"
#include "s2s/error.h"
#include "streams/leaf_streams.h"

namespace s2s::data {
namespace {

using nlohmann::json;
using test::TemporaryFolder;

const std::string kData = s2s::test::source_dir() + "/tests/reference/data/lhotse_shar/";

json read_json(const std::string& name) {
  std::ifstream file(kData + name);
  return json::parse(file);
}

std::string cut_line(const std::string& id) {
  return R"({"id": ")" + id +
         R"(", "start": 0, "duration": 1, "channel": 0, "supervisions": [], "type": "MonoCut"})"
         "\n";
}

std::vector<std::string> rest_of(CutStream& stream) {
  std::vector<std::string> ids;
  while (const auto item = stream.next()) {
    ids.push_back(item->cut->id);
    CHECK(stream.make(item->key)->id == item->cut->id);
  }
  CHECK_FALSE(stream.next());
  return ids;
}

/// A stream stopped anywhere goes on as it would have.
void check_restore(CutStream& stream, CutStream& other) {
  stream.rewind(1);
  const auto all = rest_of(stream);
  for (size_t stop = 0; stop <= all.size(); ++stop) {
    stream.rewind(1);
    for (size_t i = 0; i < stop; ++i) REQUIRE(stream.next());
    const auto state = json::parse(stream.state().dump());
    other.rewind(0);
    other.restore(state);
    CHECK(other.state() == state);
    const auto rest = rest_of(other);
    REQUIRE(std::vector<std::string>(all.begin() + static_cast<ptrdiff_t>(stop), all.end()) ==
            rest);
  }
}

TEST_CASE("manifests are read in order, plain and gzip, and go on where they were") {
  const s2s::test::AllowedCommands allowed;
  const TemporaryFolder folder;
  const std::vector<std::string> paths = {
      folder.write("a.jsonl", cut_line("a0") + "\n" + cut_line("a1") + "\n"),
      folder.write("b.jsonl.gz",
                   test::gzipped(cut_line("b0")) + test::gzipped(cut_line("b1") + cut_line("b2"))),
      folder.write("empty.jsonl", ""), "pipe:cat " + (folder / "a.jsonl")};
  const StreamPtr stream = open_manifests(paths);
  const auto ids = rest_of(*stream);
  CHECK(ids == std::vector<std::string>{"a0", "a1", "b0", "b1", "b2", "a0", "a1"});
  stream->rewind(0);
  stream->next();
  CHECK(stream->next()->cut->place() == paths[0] + ":3: cut 'a1'");
  CHECK(stream->next()->key == CutKey{1, 0});
  const StreamPtr other = open_manifests(paths);
  check_restore(*stream, *other);
  const uint64_t fingerprint = stream->fingerprint();
  CHECK(other->fingerprint() == fingerprint);
  folder.write("a.jsonl", cut_line("a0"));
  CHECK(open_manifests(paths)->fingerprint() != fingerprint);
}

TEST_CASE("faults of manifests come with their place") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(open_manifests({folder / "none.jsonl"}),
                       doctest::Contains("[data/missing-file]"), Error);
  CHECK_THROWS_WITH_AS(open_manifests({"s3://bucket/x.jsonl"}), doctest::Contains("[data/url]"),
                       Error);
  const StreamPtr stream = open_manifests({folder.write("x.jsonl", cut_line("a") + "{\"id\": \n")});
  CHECK(stream->next());
  CHECK_THROWS_WITH_AS(stream->next(), doctest::Contains("x.jsonl:2"), Error);
}

TEST_CASE("positions of something else are refused") {
  const TemporaryFolder folder;
  const StreamPtr stream = open_manifests({folder.write("x.jsonl", cut_line("a"))});
  for (const json& wrong :
       {json::object(), json{{"file", 7}, {"row", 0}}, json{{"file", 0}, {"row", "x"}}}) {
    CHECK_THROWS_WITH_AS(stream->restore(wrong), doctest::Contains("[data/position]"), Error);
  }
}

/// A set of cuts only.
InputFiles set_of(const TemporaryFolder& folder, int shards, int length) {
  for (int shard = 0; shard < shards; ++shard) {
    std::string text;
    for (int row = 0; row < length; ++row) {
      text += cut_line(std::to_string(shard) + "-" + std::to_string(row));
    }
    const std::string number = std::to_string(shard);
    folder.write("cuts." + std::string(6 - number.size(), '0') + number + ".jsonl", text);
  }
  InputFiles files;
  files.directory = folder.path().string();
  return files;
}

TEST_CASE("shuffled shards and slices come in lhotse's order, pass after pass") {
  for (const json& order : read_json("shar_orders.json")) {
    const TemporaryFolder folder;
    const InputFiles files = set_of(folder, order["shards"].get<int>(), order["length"].get<int>());
    InputAttributes attributes;
    attributes.shard_seed = order["seed"].get<int64_t>();
    if (!order["slice_length"].is_null()) {
      attributes.slice_length = order["slice_length"].get<int64_t>();
    }
    const StreamPtr stream = open_shar(files, attributes);
    for (size_t pass = 0; pass < order["passes"].size(); ++pass) {
      stream->rewind(static_cast<int64_t>(pass));
      CHECK(rest_of(*stream) == order["passes"][pass].get<std::vector<std::string>>());
    }
    const StreamPtr other = open_shar(files, attributes);
    check_restore(*stream, *other);
  }
}

TEST_CASE("epochs are marked in the cuts of Shar sets") {
  const TemporaryFolder folder;
  const StreamPtr stream = open_shar(set_of(folder, 5, 2), {});
  CHECK(rest_of(*stream).size() == 10);
  stream->rewind(4);
  const auto item = stream->next();
  CHECK(item->key[2] == 4);
  CHECK(stream->make(item->key)->custom_number("shar_epoch") == 4);
}

}  // namespace
}  // namespace s2s::data
