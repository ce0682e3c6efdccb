// index.json and other JSON of checkpoints that somebody else wrote.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/temporary_folder.h"
#include "s2s/error.h"
#include "s2s/nn/weights.h"
#include "weights/checkpoint_index.h"
#include "weights/checkpoint_proof.h"
#include "weights/tensor_runs.h"
#include "weights/weight_folder.h"

namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

Json example_json() {
  s2s::CheckpointIndex index;
  index.files["a.safetensors"] = {64, {1}};
  index.groups["model"]["w"] = {at::kFloat, {4, 2}, {{"a.safetensors", {{0, 8, 0, 1}}}}};
  return Json::parse(s2s::format_checkpoint_index(index));
}

/// As its writer would have signed it.
std::string signed_text(Json json) {
  json.erase("checksum");
  const std::string text = json.dump();
  json["checksum"] = s2s::checksum_of(text.data(), text.size());
  return json.dump();
}

void set(Json& json, const char* place, const std::string& value) {
  json[Json::json_pointer(place)] = Json::parse(value);
}

std::string nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

}  // namespace

TEST_CASE("sizes, runs and names that an honest index does not have are damage") {
  CHECK_NOTHROW(s2s::parse_checkpoint_index("i", signed_text(example_json())));
  const std::pair<const char*, const char*> cases[] = {
      {"/tensors/model/w/shape", "[4294967296, 4294967296]"},
      {"/tensors/model/w/shape", "[4294967296, 4294967296, 0]"},
      {"/tensors/model/w/shape", "[4611686018427387904]"},  // as many bytes do not fit
      {"/tensors/model/w/shape", "[-4, -2]"},
      {"/tensors/model/w/shape", "[1e300]"},
      {"/tensors/model/w/shape", "[18446744073709551615]"},
      {"/tensors/model/w/pieces", "[[0, [[0, 1, 1, 1099511627776]]]]"},
      {"/tensors/model/w/pieces", "[[0, [[9223372036854775807, 1]]]]"},
      {"/tensors/model/w/pieces", "[[0, [[0, 8]]], [0, [[0, 8]]]]"},  // one file again and again
      {"/tensors/model/w/pieces", "[[-1, [[0, 8]]]]"},
      {"/tensors/model/w/pieces", "[[1, [[0, 8]]]]"},
      {"/tensors/model/w/pieces", "[[0, [[0, 1e300]]]]"},
      {"/num_ranks", "0"},
      {"/num_ranks", "1e300"},
      {"/files/0/bytes", "-1"},
      {"/files/0/bytes", "16"},  // less than the shard has
      {"/files/0/name", R"("../a.safetensors")"},
      {"/files/0/name", R"("b/../../a.safetensors")"},
      {"/files/0/name", R"("/etc/passwd")"},
      {"/files/0/name", R"("")"},
      {"/files/0/name", R"("./a")"},
      {"/files/0/name", R"("b/")"},
      {"/files/0/name", R"("index.json")"},
      {"/files/1", R"({"name": "a.safetensors", "bytes": 0, "crc32": ""})"},
  };
  for (const auto& [place, value] : cases) {
    Json json = example_json();
    set(json, place, value);
    CAPTURE(place);
    CAPTURE(value);
    CHECK_THROWS_WITH_AS(
        s2s::parse_checkpoint_index("i", signed_text(json)),
        doctest::Contains("[checkpoint/damaged] i has changed since it was written"), s2s::Error);
  }
}

TEST_CASE("a run is not repeated more often than its file has room for") {
  Json json = example_json();
  set(json, "/tensors/model/w/shape", "[1099511627776, 2]");
  set(json, "/tensors/model/w/pieces", "[[0, [[0, 1, 2, 1099511627776]]]]");
  CHECK_THROWS_WITH_AS(s2s::parse_checkpoint_index("i", signed_text(json)),
                       doctest::Contains("a shard is larger than its file"), s2s::Error);
}

TEST_CASE("an index of more ranks than files is refused at once") {
  s2s::CheckpointIndex index = s2s::parse_checkpoint_index("i", signed_text(example_json()));
  index.num_ranks = int64_t{1} << 62;
  const auto faults = s2s::index_faults(index, /*is_weights_only=*/true);
  REQUIRE(faults.size() == 2);
  CHECK(faults[1] == "it has 4611686018427387904 ranks and lists 1 files");
}

TEST_CASE("elements are counted with checks") {
  CHECK(s2s::try_count_elements({}) == 1);
  CHECK(s2s::try_count_elements({3, 4}) == 12);
  CHECK(s2s::try_count_elements({int64_t{1} << 62, 0}) == 0);
  CHECK_FALSE(s2s::try_count_elements({int64_t{1} << 62, 2}).has_value());
  CHECK_FALSE(s2s::try_count_elements({int64_t{1} << 62, 2, 0}).has_value());
  CHECK_FALSE(s2s::try_count_elements({-1}).has_value());
  CHECK_FALSE(s2s::fits({{INT64_MAX - 1, 1, INT64_MAX - 1, 2}}, INT64_MAX));
}

TEST_CASE("deep nests are refused where JSON of others is read") {
  const s2s::test::TemporaryFolder folder;
  const std::string deep = nested(300'000);
  CHECK_THROWS_WITH_AS(s2s::parse_checkpoint_index("i", deep), doctest::Contains("nested deeper"),
                       s2s::Error);
  std::ofstream(folder / "model.safetensors.index.json") << R"({"metadata": )" << deep << "}";
  CHECK_THROWS_WITH_AS(s2s::find_weights(folder.path()), doctest::Contains("[weights/json]"),
                       s2s::Error);
  std::ofstream(folder / "state.json") << R"({"mesh": )" << deep << "}";
  CHECK(s2s::try_read_state(folder.path()).is_discarded());
}

TEST_CASE("pipes and devices in place of small files are refused, not waited for") {
  const s2s::test::TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "index.json").c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(s2s::read_checkpoint_index(folder.path()),
                       doctest::Contains("[checkpoint/incomplete]"), s2s::Error);
  REQUIRE(::mkfifo((folder / "weights").c_str(), 0600) == 0);
  CHECK_FALSE(s2s::is_torch_file(folder / "weights"));
  for (const char* name : {"state.json", "config.json"}) {
    fs::create_symlink("/dev/zero", folder / name);
  }
  CHECK(s2s::try_read_state(folder.path()).is_discarded());
  CHECK_THROWS_WITH_AS(s2s::read_json(folder / "config.json"),
                       doctest::Contains("[weights/unreadable]"), s2s::Error);
}
