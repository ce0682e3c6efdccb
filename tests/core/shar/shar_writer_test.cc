#include "shar/shar_writer.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <sstream>

#include "common/contains.h"
#include "common/data_error_of.h"
#include "common/failing_threads.h"
#include "common/full_disk.h"
#include "common/places.h"
#include "common/quiet_change.h"
#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "files/npy.h"
#include "s2s/error.h"
#include "shar/shar_fields.h"
#include "shar/shar_set.h"
#include "shar/write_shar.h"

namespace s2s::data {
namespace {

namespace fs = std::filesystem;
using test::contains;
using test::data_error_of;
using test::TemporaryFolder;

const std::string kSet = s2s::test::source_dir() + "/tests/reference/data/lhotse_shar/shar";
const std::string kFields =
    "recording=flac,target_audio=wav,embedding=numpy,steps=numpy,features=numpy,meta=jsonl";

WriteSharOptions options_for(const std::string& folder, const std::string& fields = kFields) {
  WriteSharOptions options;
  options.writer.folder = folder;
  options.writer.fields = parse_shar_fields(fields);
  options.shard_size = 3;
  return options;
}

WriteSharSummary write(const WriteSharOptions& options, const std::string& source = kSet) {
  return write_shar(*open_cut_rows(source, {}), options);
}

std::map<std::string, std::string> files_in(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    files[entry.path().filename().string()] = bytes.str();
  }
  return files;
}

void check_same_cut(const Cut& theirs, const Cut& ours) {
  CAPTURE(ours.id);
  REQUIRE(ours.id == theirs.id);
  CHECK(ours.start_s == 0);
  CHECK(ours.duration_s == theirs.duration_s);
  CHECK(ours.kind == theirs.kind);
  CutAudio audio;
  REQUIRE(ours.recording.has_value() == theirs.recording.has_value());
  if (ours.recording) CHECK(at::equal(audio.load(ours), audio.load(theirs)));
  const Recording* const target = ours.find_recording("target_audio");
  REQUIRE((target != nullptr) == (theirs.find_recording("target_audio") != nullptr));
  if (target != nullptr) {
    CHECK(at::equal(audio.load_custom(ours, "target_audio"),
                    audio.load_custom(theirs, "target_audio")));
  }
  for (const char* name : {"embedding", "steps", "features"}) {
    const SharField field{name, "numpy"};
    const auto one = shar_array(theirs, field);
    const auto other = shar_array(ours, field);
    REQUIRE(one.has_value() == other.has_value());
    if (one) CHECK(one->data == other->data);
  }
  const CustomValue* const meta = theirs.find_custom("meta");
  REQUIRE((ours.find_custom("meta") != nullptr) == (meta != nullptr));
  if (meta != nullptr) {
    CHECK(std::get<JsonText>(*ours.find_custom("meta")).text == std::get<JsonText>(*meta).text);
  }
}

TEST_CASE("what is written of every kind of field is what was read") {
  const TemporaryFolder folder;
  WriteSharOptions options = options_for(folder / "out");
  SUBCASE("compressed") {}
  SUBCASE("plain lines and index files") {
    options.writer.compress_jsonl = false;
    options.writer.make_indexes = true;
  }
  SUBCASE("several threads") { options.num_jobs = 3; }
  SUBCASE("one shard without a number") { options.shard_size = 0; }
  const auto summary = write(options);
  CHECK(summary.num_cuts == 10);
  CHECK(summary.num_shards == (options.shard_size == 0 ? 1 : 4));
  const auto theirs = open_cut_rows(kSet, {});
  const auto ours = open_cut_rows(folder / "out", {});
  REQUIRE(ours->size() == 10);
  for (int64_t row = 0; row < 10; ++row) check_same_cut(theirs->cut(row), ours->cut(row));
  CHECK_FALSE(fs::exists(folder / "out/.s2s-shar.json"));
  CHECK(fs::exists(folder / "out/recording.000001.tar.idx") == options.writer.make_indexes);
}

TEST_CASE("a run that was stopped goes on, and the set is the same in the end") {
  const TemporaryFolder folder;
  write(options_for(folder / "whole"));
  std::atomic<int> asked = 0;
  WriteSharOptions options = options_for(folder / "parts");
  options.stop = [&] { return ++asked > 6; };
  auto summary = write(options);
  CHECK(summary.stopped);
  CHECK(summary.num_shards == 1);
  CHECK(fs::exists(folder / "parts/cuts.000000.jsonl.gz"));
  CHECK_FALSE(fs::exists(folder / "parts/cuts.000001.jsonl.gz"));
  // As a run that was killed leaves it.
  folder.write("parts/recording.000001.tar.Xy12ab", "half");
  folder.write("parts/recording.000001.tar", "whole, but its cuts are not there");
  options.stop = nullptr;
  summary = write(options);
  CHECK(summary.kept_shards == 1);
  CHECK(summary.num_shards == 3);
  CHECK((files_in(folder / "parts") == files_in(folder / "whole")));
}

TEST_CASE("cuts are changed in groups before they are written, and errors of a change count") {
  const TemporaryFolder folder;
  WriteSharOptions options = options_for(folder / "out", "recording=flac,note=jsonl");
  std::vector<size_t> groups;
  options.change.num_cuts = 2;
  options.change.name = "a note";
  options.change.apply = [&](std::vector<CutToWrite>& cuts) {
    groups.push_back(cuts.size());
    for (CutToWrite& cut : cuts) cut.cut.set_custom("note", JsonText{"\"new\""});
    if (groups.size() == 1) cuts.back().error = data_error("data/test", "cannot be changed");
  };
  CHECK(contains(data_error_of([&] { write(options); }), "cannot be changed"));
  groups.clear();
  options.skip_bad = 1;
  const auto summary = write(options);
  CHECK(summary.num_cuts == 9);
  CHECK(groups == std::vector<size_t>{2, 1, 2, 1, 2, 1, 1});
  CHECK(open_cut_rows(folder / "out", {})->cut(0).custom_text("note") == "new");
  options.writer.folder = folder / "parts";
  options.num_parts = 2;
  options.stop = [] { return true; };
  CHECK(write(options).stopped);
  options.stop = nullptr;
  options.change.name = "another";
  CHECK(contains(data_error_of([&] { write(options); }), "change: \"a note\" there"));
}

TEST_CASE("parts of a set are written by several processes, in any order") {
  const TemporaryFolder folder;
  write(options_for(folder / "whole"));
  WriteSharOptions options = options_for(folder / "parts");
  options.num_parts = 3;
  CHECK(num_own_cuts(options, 10) == 4);
  for (const int64_t part : {2, 0, 1}) {
    options.part = part;
    const auto summary = write(options);
    CHECK(summary.num_cuts == num_own_cuts(options, 10));
    CHECK(fs::exists(folder / "parts/.s2s-shar.json") == (part != 1));
  }
  CHECK((files_in(folder / "parts") == files_in(folder / "whole")));
}

TEST_CASE("a shard whose cuts or audio have changed is written again; the others stay") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "set");
  std::string manifest;
  for (int i = 0; i < 4; ++i) {
    const std::string name = std::to_string(i);
    test::write_audio(folder / ("set/" + name + ".wav"), 8000, test::ramp(8000));
    manifest += R"({"id": ")" + name + R"(", "start": 0, "duration": 1.0, "channel": 0, )" +
                R"("supervisions": [], "custom": {"word": "hello"}, "type": "MonoCut", )" +
                R"("recording": {"id": "r)" + name + R"(", "sampling_rate": 8000, )" +
                R"("num_samples": 8000, "duration": 1.0, "sources": [{"type": "file", )" +
                R"("channels": [0], "source": "set/)" + name + ".wav\"}]}}\n";
  }
  const std::string cuts = folder.write("cuts.jsonl", manifest);
  WriteSharOptions options = options_for(folder / "out", "recording=wav");
  options.shard_size = 1;
  std::atomic<int> asked = 0;
  options.stop = [&] { return ++asked > 7; };
  CHECK(write(options, cuts).num_shards == 3);
  options.stop = nullptr;
  int64_t changed = 1;
  SUBCASE("a cut") { test::change_quietly(cuts, "hello", "jolly"); }
  SUBCASE("audio") {
    const std::string audio = test::whole_text(folder / "set/1.wav");
    test::change_quietly(folder / "set/1.wav", audio.substr(1000, 4), "\1\2\3\4");
  }
  SUBCASE("nothing") { changed = 0; }
  const WriteSharSummary summary = write(options, cuts);
  CHECK(summary.changed_shards == changed);
  CHECK(summary.kept_shards == 3 - changed);
  CHECK(summary.num_shards == 1 + changed);
  options.writer.folder = folder / "anew";
  write(options, cuts);
  CHECK(files_in(folder / "out") == files_in(folder / "anew"));
}

TEST_CASE("other settings and other folders are refused") {
  const TemporaryFolder folder;
  WriteSharOptions options = options_for(folder / "out");
  options.stop = [] { return true; };
  write(options);
  options.stop = nullptr;
  options.shard_size = 5;
  CHECK(contains(data_error_of([&] { write(options); }), "(shard_size: 3 there, 5 now)"));
  folder.write("other.txt", "mine");
  CHECK(contains(data_error_of([&] { write(options_for(folder.path().string())); }),
                 "[data/shar-out]"));
  folder.write("file", "");
  CHECK(contains(data_error_of([&] { write(options_for(folder / "file/x")); }), "[io/write]"));
  CHECK(contains(data_error_of([&] { write(options_for(folder / "new"), folder / "none.jsonl"); }),
                 "[data/missing-file]"));
  CHECK(contains(
      data_error_of([&] { write(options_for(folder / "new"), folder.write("e.jsonl", "")); }),
      "[data/empty]"));
}

TEST_CASE("fields and formats") {
  const std::vector<SharField> expected = {{"recording", "flac"}, {"x", "numpy"}};
  CHECK((parse_shar_fields("recording=flac,x=npy") == expected));
  for (const char* wrong : {"recording", "recording=flak", "=flac", "cuts=jsonl", ""}) {
    CAPTURE(wrong);
    CHECK(contains(data_error_of([&] { parse_shar_fields(wrong); }), "[data/shar-format]"));
  }
  CHECK(format_of_audio("fLaC\0\0") == "flac");
  CHECK(format_of_audio("\xff\xfb\x90") == "mp3");
  CHECK(format_of_audio("OggS....OpusHead") == "opus");
  CHECK(format_of_audio("OggS....vorbis").starts_with("ogg"));
  CHECK(format_of_audio("hello").empty());
}

TEST_CASE("opus is written at its own rate, as lhotse writes it") {
  const TemporaryFolder folder;
  write(options_for(folder / "out", "recording=opus"));
  const Cut cut = open_cut_rows(folder / "out", {})->cut(0);
  CHECK(cut.recording->sample_rate_hz == 48000);
  CHECK(cut.recording->num_samples == 9600);
  CutAudio audio;
  CHECK((audio.load(cut).sizes() == at::IntArrayRef{1, 9600}));
}

TEST_CASE("a disk that fills up is one message; no half file is left and a second run goes on") {
  const TemporaryFolder folder;
  const WriteSharOptions options = options_for(folder / "out");
  {
    const test::FullDisk full(15000);
    CHECK(contains(data_error_of([&] { write(options); }), "[io/write] " + (folder / "out")));
  }
  for (const auto& [name, bytes] : files_in(folder / "out")) {
    CAPTURE(name);
    CHECK((name.starts_with(".s2s-shar.") || name.ends_with(".tar") || name.ends_with(".gz")));
  }
  CHECK(write(options).num_shards > 0);
  write(options_for(folder / "whole"));
  CHECK(files_in(folder / "out") == files_in(folder / "whole"));
}

TEST_CASE("a writer's threads: one cannot be started, or has no memory; a second run goes on") {
  const TemporaryFolder folder;
  WriteSharOptions options = options_for(folder / "out");
  options.num_jobs = 3;
  for (const int num_good : {0, 1, 2}) {
    const test::FailingThreads failing(num_good);
    CHECK_THROWS_WITH_AS(write(options), doctest::Contains("[run/threads]"), Error);
  }
  options.stop = [] {
    throw std::bad_alloc();
    return false;
  };
  CHECK_THROWS_AS(write(options), std::bad_alloc);
  options.stop = nullptr;
  write(options);
  write(options_for(folder / "whole"));
  CHECK(files_in(folder / "out") == files_in(folder / "whole"));
}

std::string line_of(const std::string& id, const std::string& path, const std::string& start) {
  return R"({"id": ")" + id + R"(", "start": )" + start +
         R"(, "duration": 0.1, "channel": 0, "supervisions": [], "recording": {"id": "r", )"
         R"("sources": [{"type": "file", "channels": [0], "source": ")" +
         path +
         R"("}], "sampling_rate": 8000, "num_samples": 8000, "duration": 1.0, )"
         R"("channel_ids": [0]}, "type": "MonoCut"})"
         "\n";
}

TEST_CASE("cuts that cannot be written are errors with their place, or left out") {
  const TemporaryFolder folder;
  const auto source = folder.write("cuts.jsonl", line_of("a", "none.wav", "0.0"));
  WriteSharOptions options = options_for(folder / "out", "recording=flac");
  CHECK(contains(data_error_of([&] { write(options, source); }), source + ":1: cut 'a'"));
  options.skip_bad = 1;
  const auto summary = write(options, source);
  CHECK(summary.num_cuts == 0);
  REQUIRE(summary.skipped.size() == 1);
  CHECK(contains(summary.skipped[0], "none.wav"));

  // Cuts in Shar begin at 0; a recording that stays outside would not fit any more.
  const auto late = folder.write("late.jsonl", line_of("a", "none.wav", "0.5"));
  CHECK(contains(data_error_of([&] { write(options_for(folder / "b", "meta=jsonl"), late); }),
                 "[data/shar-value] " + late + ":1: cut 'a': the field 'recording' is not among"));
}

TEST_CASE("manifests of arrays with values of other types are errors with their place") {
  const auto refusal = [](const std::string& manifest, bool is_read) {
    Cut cut;
    cut.id = "a";
    cut.duration_s = 1.0;
    StoredArray array{{manifest}};
    if (is_read) array.bytes = std::make_shared<std::string>(files::format_npy(at::zeros({4, 2})));
    cut.set_custom("steps", array);
    return data_error_of([&] { shar_array(cut, {"steps", "numpy"}); });
  };
  CHECK(contains(refusal(R"({"temporal_dim": "0", "frame_shift": 0.25})", true),
                 "the field 'steps' has a temporal_dim that is no number"));
  CHECK(contains(refusal(R"({"temporal_dim": 0, "frame_shift": []})", true),
                 "has a frame_shift that is no number"));
  CHECK(contains(refusal(R"({"temporal_dim": 1e300, "frame_shift": 0.25})", true),
                 "has no valid frame_shift"));
  CHECK(contains(refusal(R"({"array": 5})", true), "is no manifest of an array"));
  CHECK(contains(refusal(R"({"storage_type": 5})", false), "in the storage 5, which is not read"));
}

}  // namespace
}  // namespace s2s::data
