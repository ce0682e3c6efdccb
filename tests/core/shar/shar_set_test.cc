#include "shar/shar_set.h"

#include <doctest/doctest.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "common/allowed_commands.h"
#include "common/contains.h"
#include "common/data_error_of.h"
#include "common/places.h"
#include "common/temporary_folder.h"
#include "files/brace_expansion.h"
#include "files/npy.h"
#include "files/open_bytes.h"
#include "files/tar_index.h"
#include "files/tar_writer.h"
#include "s2s/error.h"

namespace s2s::data {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::contains;
using test::data_error_of;
using test::TemporaryFolder;

const std::string kData = s2s::test::source_dir() + "/tests/reference/data/lhotse_shar/";

json expected_cuts() {
  std::ifstream file(kData + "shar_expected.json");
  return json::parse(file);
}

std::string bytes_of(const AudioSource& source) {
  if (source.type == AudioSource::Type::kMemory) return *source.bytes;
  REQUIRE(source.type == AudioSource::Type::kSharPointer);
  return files::read_shar_pointer({source.source, source.begin, source.end, ""});
}

std::string bytes_of(const StoredArray& array) {
  if (array.bytes) return *array.bytes;
  const json manifest = json::parse(array.manifest.text);
  const json& storage = manifest.contains("array") ? manifest["array"] : manifest;
  CHECK(storage["storage_type"] == "shar_ptr_array");
  return files::read_shar_pointer(
      *files::parse_shar_pointer(storage["storage_key"].get<std::string>()));
}

void check_recording(const Recording* ours, const json& theirs, const std::string& magic) {
  REQUIRE((ours != nullptr) == !theirs.is_null());
  if (ours == nullptr) return;
  CHECK(ours->id == theirs["id"]);
  CHECK(ours->sample_rate_hz == theirs["sampling_rate"]);
  CHECK(ours->num_samples == theirs["num_samples"]);
  CHECK(ours->duration_s == theirs["duration"]);
  CHECK(ours->channel_ids == theirs["channel_ids"].get<std::vector<int64_t>>());
  CHECK(bytes_of(ours->sources[0]).starts_with(magic));
}

void check_cut(const Cut& ours, const json& theirs, bool with_fields) {
  CAPTURE(ours.id);
  CHECK(ours.id == theirs["id"]);
  CHECK(ours.start_s == 0);
  CHECK(ours.duration_s == theirs["duration"]);
  CHECK((ours.kind == Cut::Kind::kMulti) == (theirs["channel"].is_array()));
  CHECK(ours.supervisions.size() == 1);
  const json& custom = theirs["custom"];
  CHECK(ours.custom_number("shar_epoch") == 3);
  if (!with_fields) return;
  check_recording(ours.recording ? &*ours.recording : nullptr, theirs.value("recording", json()),
                  "fLaC");
  check_recording(ours.find_recording("target_audio"), custom.value("target_audio", json()),
                  "RIFF");
  const auto* embedding = std::get_if<StoredArray>(ours.find_custom("embedding"));
  REQUIRE(embedding != nullptr);
  const at::Tensor values = files::parse_npy(bytes_of(*embedding), "embedding");
  for (size_t i = 0; i < 4; ++i) {
    CHECK(values[static_cast<int64_t>(i)].item<float>() ==
          theirs["embedding_values"][i].get<float>());
  }
  CHECK((ours.find_custom("steps") != nullptr) == custom.contains("steps"));
  CHECK(ours.features.has_value() == theirs.contains("features"));
  const auto* meta = ours.find_custom("meta");
  REQUIRE((meta != nullptr) == custom.contains("meta"));
  if (meta != nullptr) CHECK(json::parse(std::get<JsonText>(*meta).text) == custom["meta"]);
}

TEST_CASE("a set that lhotse wrote is read as lhotse reads it, every field of every cut") {
  const SharSet set(list_shar(kData + "shar"));
  const json expected = expected_cuts();
  REQUIRE(set.num_shards() == 3);
  CHECK(set.num_cuts() == 10);
  for (size_t i = 0; i < 10; ++i) {
    const Cut cut = set.cut(static_cast<int64_t>(i / 4), static_cast<int64_t>(i % 4), 3);
    check_cut(cut, expected[i], true);
    CHECK(cut.custom_text("shard_origin") ==
          kData + "shar/cuts.00000" + std::to_string(i / 4) + ".jsonl.gz");
  }
}

TEST_CASE("fields are chosen by opening fewer files") {
  const SharSet set(list_shar(kData + "shar", std::vector<std::string>{"target_audio"}));
  const Cut cut = set.cut(0, 0, 3);
  CHECK(cut.find_recording("target_audio")->sources[0].type == AudioSource::Type::kSharPointer);
  CHECK(cut.recording->sources[0].type == AudioSource::Type::kShar);
  check_cut(cut, expected_cuts()[0], false);
  CHECK(contains(
      data_error_of([] { list_shar(kData + "shar", std::vector<std::string>{"target"}); }),
      "[data/shar-field] " + kData +
          "shar: there are no shards of the field 'target', "
          "the fields are: cuts, embedding, features, meta, recording, steps, target_audio"));
}

/// A copy of the reference set that can be changed.
struct Copy {
  TemporaryFolder folder;
  Copy() { fs::copy(kData + "shar", folder.path() / "set"); }
  std::string path(const std::string& name = "") const {
    return (folder.path() / "set" / name).string();
  }
  std::string bytes(const std::string& name) const {
    return files::read_all_bytes(path(name), "a shard");
  }
};

TEST_CASE("patterns, compressed tars and commands give the same cuts") {
  const s2s::test::AllowedCommands allowed;
  const Copy copy;
  const std::string gzip =
      "cd " + copy.path() + " && gzip -k recording.*.tar && gzip -dk cuts.*.gz";
  REQUIRE(std::system(gzip.c_str()) == 0);
  const auto expanded = [&](const std::string& pattern) {
    return files::expand_shard_pattern(pattern);
  };
  SharShards shards{expanded(copy.path("cuts.{000000..000002}.jsonl")),
                    {{"recording", expanded(copy.path("recording._OP_000000..000002_CL_.tar.gz"))},
                     {"meta", expanded(copy.path("meta.(000000..000002).jsonl.gz"))}}};
  for (const std::string field : {"target_audio", "embedding", "steps", "features"}) {
    shards.fields.emplace_back(field,
                               expanded("pipe:cat " + copy.path(field + ".{000000..000002}.tar")));
  }
  const SharSet set(std::move(shards));
  const json expected = expected_cuts();
  for (size_t i = 0; i < 10; ++i) {
    const Cut cut = set.cut(static_cast<int64_t>(i / 4), static_cast<int64_t>(i % 4), 3);
    check_cut(cut, expected[i], true);
    if (cut.recording) CHECK(cut.recording->sources[0].type == AudioSource::Type::kMemory);
  }
}

TEST_CASE("files of one shard without a number, and index files beside them") {
  const TemporaryFolder folder;
  for (const std::string name : {"cuts.000000.jsonl.gz", "recording.000000.tar"}) {
    fs::copy(kData + "shar/" + name,
             folder / (name.substr(0, name.find('.')) + name.substr(name.find('.') + 7)));
  }
  files::write_tar_index(folder / "recording.tar");
  folder.write("README.md", "not a field");
  const SharSet set(list_shar(folder.path().string()));
  CHECK(set.num_cuts() == 4);
  CHECK(bytes_of(set.cut(0, 1, 0).recording->sources[0]).starts_with("fLaC"));
}

/// What reading all cuts of a folder ends with; "" when they can be read.
std::string error_of_reading(const std::string& folder) {
  return data_error_of([&] {
    const SharSet set(list_shar(folder));
    for (int64_t shard = 0; shard < set.num_shards(); ++shard) {
      for (int64_t row = 0; row < set.num_cuts(shard); ++row) set.cut(shard, row, 0);
    }
  });
}

TEST_CASE("shards that do not fit together are one message with both places") {
  const Copy copy;
  const auto all = [&] { return error_of_reading(copy.path()); };
  CHECK(all().empty());
  SUBCASE("a missing shard") {
    fs::remove(copy.path("recording.000001.tar"));
    CHECK(contains(all(), "[data/shar-shards] " + copy.path() + ": the fields have different"));
    CHECK(contains(all(), "there is no recording of " + copy.path("cuts.000001.jsonl.gz")));
  }
  SUBCASE("a shard with another number") {
    fs::rename(copy.path("meta.000002.jsonl.gz"), copy.path("meta.000003.jsonl.gz"));
    CHECK(contains(all(), "there is no meta of " + copy.path("cuts.000002.jsonl.gz")));
  }
  SUBCASE("no cuts") {
    for (const char* name : {"0", "1", "2"}) {
      fs::remove(copy.path(std::string("cuts.00000") + name + ".jsonl.gz"));
    }
    CHECK(contains(all(), "[data/shar-field]"));
  }
  SUBCASE("another number of items") {
    fs::copy(copy.path("recording.000000.tar"), copy.path("recording.000002.tar"),
             fs::copy_options::overwrite_existing);
    CHECK(contains(all(), "[data/shar-rows] " + copy.path("cuts.000002.jsonl.gz") +
                              " has 2 cuts, " + copy.path("recording.000002.tar") +
                              " has 4 items"));
  }
  SUBCASE("items of other cuts") {
    fs::copy(copy.path("embedding.000000.tar"), copy.path("embedding.000001.tar"),
             fs::copy_options::overwrite_existing);
    CHECK(contains(all(), "[data/shar-id] " + copy.path("cuts.000001.jsonl.gz") + ":1: cut"));
    CHECK(contains(all(), "has 'plain-0.npy' in its place (byte 0)"));
  }
  SUBCASE("lines of other cuts") {
    fs::copy(copy.path("meta.000000.jsonl.gz"), copy.path("meta.000001.jsonl.gz"),
             fs::copy_options::overwrite_existing);
    CHECK(contains(all(), "[data/shar-id]"));
  }
  CHECK(contains(data_error_of([] { list_shar("/no/such/folder"); }), "[data/missing-file]"));
}

TEST_CASE("a damaged shard is one message with its place") {
  const Copy copy;
  const auto all = [&] { return error_of_reading(copy.path()); };
  SUBCASE("a tar that is cut off") {
    fs::resize_file(copy.path("recording.000001.tar"), 3000);
    CHECK(contains(all(), "[data/tar] " + copy.path("recording.000001.tar") + ": byte "));
  }
  SUBCASE("cuts that are cut off") {
    fs::resize_file(copy.path("cuts.000001.jsonl.gz"), 300);
    CHECK(contains(all(), "[data/gzip] " + copy.path("cuts.000001.jsonl.gz") + ":"));
  }
  SUBCASE("a manifest that is none") {
    std::string bytes;
    files::TarWriter writer([&](std::string_view more) { bytes += more; });
    for (const char* id : {"plain-0", "folder/na.me-1"}) {
      writer.add(std::string(id) + ".flac", "x");
      writer.add(std::string(id) + ".json", "{\"what\": 1}\n");
    }
    for (int i = 0; i < 2; ++i) {
      writer.add("x.nodata", "");
      writer.add("x.nometa", "");
    }
    writer.finish();
    copy.folder.write("set/recording.000000.tar", bytes);
    CHECK(contains(all(), "[data/shar-manifest] " + copy.path("recording.000000.tar") +
                              ": plain-0.json: it says nothing about"));
  }
}

TEST_CASE("threads read a set with few shards open and a small cache") {
  files::OpenOptions options;
  options.cache = std::make_shared<files::ByteCache>(2000);
  const SharSet set(list_shar(kData + "shar"), options, 1);
  const json expected = expected_cuts();
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (size_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      for (size_t i = 0; i < 60; ++i) {
        const size_t at = (i * 7 + seed * 3) % 10;
        const Cut cut = set.cut(static_cast<int64_t>(at / 4), static_cast<int64_t>(at % 4), 0);
        if (cut.id != expected[at]["id"]) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace s2s::data
