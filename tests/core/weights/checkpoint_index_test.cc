// Spans, checksums and the index of a checkpoint.

#include "weights/checkpoint_index.h"

#include <doctest/doctest.h>

#include <fstream>

#include "common/temporary_folder.h"
#include "s2s/error.h"
#include "weights/block_checksums.h"
#include "weights/tensor_runs.h"

using s2s::SpanRun;
using s2s::TensorSpan;

namespace {

bool same(const std::vector<TensorSpan>& a, const std::vector<TensorSpan>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.begin == y.begin && x.count == y.count;
  });
}

s2s::CheckpointIndex example() {
  s2s::CheckpointIndex index;
  index.num_ranks = 2;
  index.files["a.safetensors"] = {s2s::kChecksumBlockBytes + 1, {1, 0xFFFFFFFF}};
  index.files["b.safetensors"] = {64, {7}};
  s2s::TensorEntry tensor{at::kBFloat16, {4, 6}, {}};
  tensor.shards.push_back({"a.safetensors", {{0, 2, 6, 4}}});
  tensor.shards.push_back({"b.safetensors", {{2, 4, 6, 4}}});
  index.groups["model"]["w"] = tensor;
  return index;
}

}  // namespace

TEST_CASE("spans become few runs and come back") {
  struct Case {
    std::vector<TensorSpan> spans;
    size_t runs;
    std::vector<TensorSpan> merged;
  };
  const Case cases[] = {
      {{}, 0, {}},
      {{{3, 0}}, 0, {}},
      {{{0, 2}, {2, 3}}, 1, {{0, 5}}},
      {{{1, 2}, {7, 2}, {13, 2}}, 1, {{1, 2}, {7, 2}, {13, 2}}},
      {{{4, 1}, {6, 2}, {12, 2}, {18, 2}, {24, 1}}, 3, {{4, 1}, {6, 2}, {12, 2}, {18, 2}, {24, 1}}},
      {{{9, 2}, {3, 2}}, 2, {{9, 2}, {3, 2}}},  // backwards is no run
  };
  for (const Case& c : cases) {
    const std::vector<SpanRun> runs = s2s::to_runs(c.spans);
    CHECK(runs.size() == c.runs);
    CHECK(same(s2s::to_spans(runs), c.merged));
    CHECK(s2s::fits(runs, 26));
  }
  CHECK(s2s::element_at({{4, 1}, {6, 2}}, 2) == 7);
  CHECK(s2s::coordinates({2, 3, 4}, 23) == std::vector<int64_t>{1, 2, 3});
}

TEST_CASE("runs that a tensor does not have are refused") {
  const int64_t huge = int64_t{1} << 62;
  for (const SpanRun& run : std::vector<SpanRun>{{-1, 1, 0, 1},
                                                 {0, 0, 0, 1},
                                                 {0, 25, 0, 1},
                                                 {24, 1, 0, 1},
                                                 {0, 2, 6, 5},
                                                 {0, 1, huge, 4},
                                                 {0, 1, 0, huge},
                                                 {0, 1, -1, 2},
                                                 {huge, huge, 0, 1},
                                                 {0, 1, 0, 0}}) {
    CHECK_FALSE(s2s::fits({run}, 24));
  }
}

TEST_CASE("shards have to be every element once") {
  s2s::TensorEntry tensor = example().groups["model"]["w"];
  CHECK(s2s::tiling_fault(tensor).empty());
  tensor.shards[1].runs[0].count = 3;
  CHECK(s2s::tiling_fault(tensor) == "no rank has element 5");
  tensor.shards[1].runs[0] = {1, 5, 6, 4};
  CHECK(s2s::tiling_fault(tensor) == "two ranks have element 1");
  tensor.shards.clear();
  CHECK(s2s::tiling_fault(tensor) == "no rank has element 0");
  tensor.sizes = {0, 6};
  CHECK(s2s::tiling_fault(tensor).empty());
}

TEST_CASE("an index is read as it was written, and every flipped character is found") {
  const std::string text = s2s::format_checkpoint_index(example());
  CHECK(s2s::format_checkpoint_index(s2s::parse_checkpoint_index("i", text)) == text);
  for (size_t i = 0; i < text.size(); ++i) {
    std::string flipped = text;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    CHECK_THROWS_WITH_AS(s2s::parse_checkpoint_index("here/index.json", flipped),
                         doctest::Contains("[checkpoint/damaged] here/index.json"), s2s::Error);
  }
  CHECK_THROWS_AS(s2s::parse_checkpoint_index("i", ""), s2s::Error);
  CHECK_THROWS_AS(s2s::parse_checkpoint_index("i", "[]"), s2s::Error);
}

TEST_CASE("checksums do not depend on how bytes come") {
  std::string bytes(3 * s2s::kChecksumBlockBytes + 5, 'x');
  for (size_t i = 0; i < bytes.size(); i += 997) bytes[i] = static_cast<char>(i);
  const s2s::test::TemporaryFolder folder;
  const std::string path = folder / "file";
  std::ofstream(path, std::ios::binary) << bytes;
  const s2s::FileChecksums whole = s2s::checksums_of_file(path);
  CHECK(whole.bytes == bytes.size());
  CHECK(whole.blocks.size() == 4);
  s2s::ChecksumStream stream;
  for (size_t i = 0; i < bytes.size(); i += 1'000'003) {
    stream.add(bytes.data() + i, std::min<size_t>(1'000'003, bytes.size() - i));
  }
  CHECK(stream.sums().blocks == whole.blocks);
  CHECK(s2s::checksum_of("123456789", 9) == 0xCBF43926);  // the check value of CRC-32
  std::vector<uint32_t> read;
  CHECK(s2s::parse_checksums(s2s::checksums_text(whole.blocks), read));
  CHECK(read == whole.blocks);
  CHECK_FALSE(s2s::parse_checksums("1234567", read));
  CHECK_FALSE(s2s::parse_checksums("1234567g", read));
}
