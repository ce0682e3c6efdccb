// Cuts that the files of a set do not give: lines that are none, shards and archives cut off.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "common/contains.h"
#include "files/gzip_writer.h"
#include "plugins/data_cuts/small_set.h"
#include "shar/write_shar.h"

using namespace s2s;
using namespace s2s::test;
namespace fs = std::filesystem;

namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Ten cuts, of which `skip_bad` may be left out.
struct DamagedSet : SmallSet {
  explicit DamagedSet(int skip_bad) {
    set("skip_bad", std::to_string(skip_bad));
    set("shuffle", "true");
  }

  /// Writes the manifest anew with these lines put in before line `row`.
  void insert_lines(size_t row, const std::string& more) {
    std::string text = read_text(dir / "cuts.jsonl");
    size_t at = 0;
    for (; row > 0; --row) at = text.find('\n', at) + 1;
    write_text(dir / "cuts.jsonl", text.insert(at, more));
  }

  /// Reads the same cuts from a Shar directory with shards of four.
  std::string use_shar() {
    data::WriteSharOptions how;
    how.writer.folder = dir / "shar";
    how.writer.fields = data::parse_shar_fields("recording=wav,target_audio=wav");
    how.shard_size = 4;
    data::write_shar(*data::open_cut_rows(dir / "cuts.jsonl", {}), how);
    options["cuts_path"] = Config();
    set("shar_path", "shar");
    set("force_finite", "true");
    return dir / "shar/";
  }
};

std::set<std::string> ids_of(const Ids& batches) {
  std::set<std::string> ids;
  for (const auto& batch : batches) ids.insert(batch.begin(), batch.end());
  return ids;
}

void cut_off(const std::string& path, double share) {
  const auto size = static_cast<double>(fs::file_size(path));
  fs::resize_file(path, static_cast<uintmax_t>(size * share));
}

/// Reads twelve batches, without threads and with, and from every state again: always the same.
/// Returns the ids.
std::set<std::string> check_same_batches(DamagedSet& damaged, size_t num_bad) {
  Ids first;
  for (const std::string workers : {"0", "3"}) {
    damaged.set("num_workers", workers);
    const auto source = damaged.open();
    std::vector<std::string> states;
    Ids batches;
    for (int i = 0; i < 12; ++i) {
      states.push_back(source->state());
      const Ids one = take(*source, 1);
      REQUIRE(one.size() == 1);
      batches.push_back(one.front());
    }
    const std::vector<std::string> bad = source->left_out();
    CHECK(bad.size() == num_bad);
    if (first.empty()) first = batches;
    CHECK(batches == first);
    for (size_t i = 0; i < states.size(); i += 3) {
      const auto resumed = damaged.open();
      resumed->restore(states[i]);
      CHECK(take(*resumed, static_cast<int>(12 - i)) == Ids(batches.begin() + i, batches.end()));
      CHECK(resumed->left_out() == bad);
    }
  }
  return ids_of(first);
}

std::string failure_of(DamagedSet& damaged) {
  try {
    const auto source = damaged.open();
    take(*source, 12);
  } catch (const Error& error) {
    CHECK(error.exit_code() == ExitCode::kData);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("lines that are no cut count as bad cuts; the others are read") {
  DamagedSet damaged(2);
  damaged.insert_lines(3, "{\"id\": \"torn\nno json at all\n");
  CHECK(check_same_batches(damaged, 2).size() == 10);
  CHECK(std::any_of(damaged.warnings.begin(), damaged.warnings.end(), [](const auto& warning) {
    return contains(warning, "cuts.jsonl:4") && contains(warning, "[data/json]");
  }));
  damaged.set("skip_bad", "1");
  const std::string too_many = failure_of(damaged);
  CHECK(contains(too_many, "[data/too-many-bad] data.train_ds: 2 cuts cannot be used"));
  CHECK(contains(too_many, "cuts.jsonl:5"));
  damaged.set("skip_bad", "0");
  CHECK(contains(failure_of(damaged), "[data/json]"));
}

TEST_CASE("a manifest whose gzip file is cut off gives its whole lines and counts once") {
  DamagedSet damaged(1);
  std::string lines = read_text(damaged.dir / "cuts.jsonl");
  fs::remove(damaged.dir / "cuts.jsonl");
  std::string packed;
  files::GzipWriter writer([&](std::string_view bytes) { packed += bytes; });
  writer.write(lines);
  writer.finish();
  write_text(damaged.dir / "cuts.jsonl.gz", packed.substr(0, packed.size() - 100));
  damaged.set("cuts_path", "cuts.jsonl.gz");
  const size_t left = check_same_batches(damaged, 1).size();
  CHECK(left > 0);
  CHECK(left < 10);
  damaged.set("skip_bad", "0");
  CHECK(contains(failure_of(damaged), "[data/gzip]"));
}

TEST_CASE("a shard that is cut off costs the cuts that are not in it") {
  DamagedSet damaged(4);
  const std::string shar = damaged.use_shar();
  SUBCASE("a tar") {
    cut_off(shar + "recording.000001.tar", 0.6);
    const auto ids = check_same_batches(damaged, 2);
    CHECK(ids == std::set<std::string>{"c0", "c1", "c2", "c3", "c4", "c5", "c8", "c9"});
  }
  SUBCASE("a tar that is empty") {
    write_text(shar + "target_audio.000001.tar", "");
    CHECK(check_same_batches(damaged, 4).count("c5") == 0);
  }
  SUBCASE("its cuts") {
    cut_off(shar + "cuts.000002.jsonl.gz", 0.9);
    const auto ids = check_same_batches(damaged, 1);
    CHECK(ids.count("c8") == 1);
    CHECK(ids.count("c9") == 0);
  }
  damaged.set("skip_bad", "0");
  const std::string strict = failure_of(damaged);
  CHECK_MESSAGE((contains(strict, "[data/tar]") || contains(strict, "[data/gzip]") ||
                 contains(strict, "[data/shar-rows]")),
                strict);
}
