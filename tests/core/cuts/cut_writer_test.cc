#include <doctest/doctest.h>

#include <filesystem>

#include "common/full_disk.h"
#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "cuts/cut_files.h"
#include "files/json_text.h"
#include "s2s/error.h"

namespace {

using s2s::test::cut_json;
using s2s::test::TemporaryFolder;

s2s::Cut sample(const char* id = "d0") {
  return s2s::parse_cut(cut_json(id, 4, "user.wav", "agent.wav").dump(), "cuts.jsonl", 1);
}

}  // namespace

TEST_CASE("numbers are written as Python writes them") {
  const std::vector<std::pair<double, const char*>> cases = {
      {0.1, "0.1"},
      {1, "1.0"},
      {-0.0, "-0.0"},
      {1e16, "1e+16"},
      {123456789012345680, "1.2345678901234568e+17"},
      {9999999999999998, "9999999999999998.0"},
      {1e-5, "1e-05"},
      {0.0001, "0.0001"},
      {1.5e-7, "1.5e-07"},
      {1e22, "1e+22"},
      {0.1 + 0.2, "0.30000000000000004"},
      {1e300, "1e+300"},
      {100, "100.0"},
      {12.25, "12.25"}};
  for (const auto& [number, text] : cases) CHECK(s2s::data::python_number(number) == text);
}

TEST_CASE("a manifest is written and read again, plain and gzip") {
  const TemporaryFolder dir;
  for (const char* name : {"cuts.jsonl", "cuts.jsonl.gz"}) {
    s2s::ManifestWriter writer(dir / name);
    writer.write(sample("a"));
    writer.write(sample("b"));
    CHECK(writer.num_lines() == 2);
    CHECK_FALSE(std::filesystem::exists(dir / name));
    writer.close();
    const auto cuts = s2s::read_cuts({dir / name}).cuts;
    REQUIRE(cuts.size() == 2);
    CHECK(cuts[1].id == "b");
    s2s::Cut same = sample("b");
    s2s::resolve_paths(same);
    CHECK(s2s::to_json(cuts[1]).size() > 100);
  }
}

TEST_CASE("a manifest that is not closed leaves nothing, and what was there stays") {
  const TemporaryFolder dir;
  s2s::test::write_text(dir / "cuts.jsonl", "old");
  { s2s::ManifestWriter(dir / "cuts.jsonl").write(sample()); }
  CHECK(std::filesystem::file_size(dir / "cuts.jsonl") == 3);
  CHECK(std::distance(std::filesystem::directory_iterator(dir / "."), {}) == 1);
}

TEST_CASE("a manifest that cannot be written is [io/write]") {
  const auto write = [](const std::string& path) {
    s2s::ManifestWriter writer(path);
    for (int i = 0; i < 5000; ++i) writer.write(sample());
    writer.close();
  };
  CHECK_THROWS_WITH_AS(write("/nowhere/cuts.jsonl"), doctest::Contains("[io/write]"), s2s::Error);
  const TemporaryFolder dir;
  for (const char* name : {"cuts.jsonl", "cuts.jsonl.gz"}) {
    const s2s::test::FullDisk full(name == std::string("cuts.jsonl") ? 300000 : 3000);
    CHECK_THROWS_WITH_AS(write(dir / name),
                         doctest::Contains(("[io/write] " + (dir / name)).c_str()), s2s::Error);
  }
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("a cut whose audio is in memory is [data/in-memory]") {
  const TemporaryFolder dir;
  s2s::Cut cut = sample();
  cut.recording->sources[0].type = s2s::AudioSource::Type::kMemory;
  s2s::ManifestWriter writer(dir / "cuts.jsonl");
  CHECK_THROWS_WITH_AS(writer.write(cut), doctest::Contains("[data/in-memory]"), s2s::Error);
}
