#include "weights/distributed_folder.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <filesystem>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "core/weights/test_files.h"
#include "core/weights/torch_zip.h"
#include "weights/piece_layout.h"
#include "weights/safetensors.h"

using namespace s2s::test;

namespace {

namespace fs = std::filesystem;

const std::string kFolders = s2s::test::source_dir() + "/tests/reference/data/";

/// The error of reading every tensor of the folder of two ranks after `spoil` changed its copy.
template <class Spoil>
std::string error_after(Spoil spoil) {
  const TemporaryFolder folder;
  const fs::path copy = fs::path(folder.path()) / "copy";
  fs::copy(kFolders + "torch_distributed", copy);
  spoil(copy);
  return error_of([&] {
    const s2s::WeightFiles files = s2s::WeightFiles::open(copy.string());
    for (const auto& entry : files.facts()) files.tensor(entry.first);
  });
}

void replace(const fs::path& file, const std::string& from, const std::string& to) {
  std::string text = read_bytes(file.string());
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  write_bytes(file.string(), text);
}

using Sizes = std::vector<int64_t>;

struct TestPiece {
  Sizes offsets, sizes;
  int64_t begin = 0, length = 0;
};

std::string pickled_dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string text = "}(";
  for (const auto& [key, value] : items) text += pickled_text(key) + value;
  return text + "u";
}

/// A `.metadata` of one tensor "w" of floats, with plain dictionaries in place of records.
std::string metadata_of(const Sizes& size, const std::vector<TestPiece>& pieces) {
  std::string chunks = "](", places = "}(";
  for (const TestPiece& piece : pieces) {
    const std::string offsets = pickled_sizes(piece.offsets);
    chunks += pickled_dict({{"offsets", offsets}, {"sizes", pickled_sizes(piece.sizes)}});
    places += pickled_dict({{"fqn", pickled_text("w")}, {"offset", offsets}}) +
              pickled_dict({{"relative_path", pickled_text("f.distcp")},
                            {"offset", pickled_number(piece.begin)},
                            {"length", pickled_number(piece.length)}});
  }
  const std::string tensor =
      pickled_dict({{"properties", pickled_dict({{"dtype", "ctorch\nfloat32\n"}})},
                    {"size", pickled_sizes(size)},
                    {"chunks", chunks + "e"}});
  return "\x80\x02" +
         pickled_dict({{"state_dict_metadata", pickled_dict({{"w", tensor}})},
                       {"storage_data", places + "u"}}) +
         ".";
}

std::string error_of_pieces(const Sizes& size, const std::vector<TestPiece>& pieces) {
  const TemporaryFolder folder;
  folder.write("f.distcp", "x");
  folder.write(".metadata", metadata_of(size, pieces));
  return error_of([&] {
    const s2s::WeightFiles files = s2s::WeightFiles::open(folder.path());
    files.tensor("w");
  });
}

/// rows x columns pieces of one element.
std::vector<TestPiece> grid(int64_t rows, int64_t columns) {
  std::vector<TestPiece> pieces;
  for (int64_t i = 0; i < rows * columns; ++i) {
    pieces.push_back({{i % rows, i / rows}, {1, 1}, 4 * i, 4});
  }
  return pieces;
}

bool are_separate(const std::vector<TestPiece>& pieces) {
  s2s::ReadingBudget budget("test");
  budget.admit(100 * pieces.size());  // as their records have
  std::vector<s2s::PieceBox> boxes;
  for (const TestPiece& piece : pieces) boxes.push_back({&piece.offsets, &piece.sizes});
  return s2s::are_separate(std::move(boxes), budget);
}

}  // namespace

TEST_CASE("a folder that two ranks wrote holds the whole tensors of the model, and nothing else") {
  const auto expected =
      s2s::SafetensorsFile::open(kFolders + "torch_distributed.safetensors").tensors();
  const s2s::TensorMap found = s2s::read_weights(kFolders + "torch_distributed");
  CHECK(found.size() == expected.size());
  for (const auto& [name, tensor] : expected) {
    INFO(name);
    REQUIRE(found.count(name) == 1);
    CHECK((found.at(name).scalar_type() == tensor.scalar_type()));
    CHECK(at::equal(found.at(name), tensor));
  }
}

TEST_CASE("a slice of a tensor in pieces is read, and released tensors are read again") {
  const s2s::WeightFiles files = s2s::WeightFiles::open(kFolders + "torch_distributed");
  const at::Tensor rows = files.tensor("rows").clone();
  CHECK(at::equal(files.read("rows", {0, 2, 2}), rows.narrow(0, 2, 2)));
  files.release("rows");
  CHECK(at::equal(files.tensor("rows"), rows));
  CHECK(has(error_of([&] { files.tensor("row"); }), "did you mean 'rows'?"));
}

TEST_CASE("a folder that lacks a part, or whose metadata would run code, is refused") {
  CHECK(has(error_after([](const fs::path& copy) { fs::remove(copy / "__1_0.distcp"); }),
            "weights/unreadable"));
  CHECK(has(error_after([](const fs::path& copy) { fs::resize_file(copy / "__1_0.distcp", 100); }),
            "the file ends inside tensor"));
  CHECK(has(error_after([](const fs::path& copy) {
              replace(copy / ".metadata", "__1_0.distcp", "../_0.distcp");
            }),
            "is not that of a file in its folder"));
  CHECK(has(error_of([] { s2s::WeightFiles::open(kFolders + "torch_distributed_hostile"); }),
            "weights/refused"));
}

TEST_CASE("60,000 pieces are compared with their neighbors, not each with each") {
  // All the same, only that their file has no such bytes.
  CHECK(has(error_of_pieces({250, 240}, grid(250, 240)), "the file ends inside tensor 'w'"));
  std::vector<TestPiece> rows;
  for (int64_t i = 0; i < 60'000; ++i) rows.push_back({{i}, {1}, 4 * i, 4});
  CHECK(has(error_of_pieces({60'000}, rows), "the file ends inside tensor 'w'"));
  rows[30'000].offsets = {29'999};
  CHECK(has(error_of_pieces({60'000}, rows), "is not inside the tensor or is there twice"));
}

TEST_CASE("pieces that overlap are found in every arrangement") {
  CHECK(are_separate(grid(100, 100)));
  CHECK(are_separate({}));
  // Around one in the middle: no plane separates them.
  std::vector<TestPiece> wheel = {
      {{0, 0}, {2, 1}}, {{2, 0}, {1, 2}}, {{1, 2}, {2, 1}}, {{0, 1}, {1, 2}}, {{1, 1}, {1, 1}}};
  CHECK(are_separate(wheel));
  wheel[4].sizes = {2, 1};
  CHECK_FALSE(are_separate(wheel));
  for (const int64_t spoiled : {0, 57, 4999, 9999}) {
    std::vector<TestPiece> pieces = grid(100, 100);
    pieces[spoiled].sizes[spoiled % 2] = 101;
    pieces[spoiled].offsets[spoiled % 2] = 0;
    CAPTURE(spoiled);
    CHECK_FALSE(are_separate(pieces));
  }
  std::vector<TestPiece> empty = grid(100, 100);
  for (int i = 0; i < 100; ++i) empty.push_back({{0, 0}, {0, 100}});
  CHECK(are_separate(empty));
  const std::vector<TestPiece> scalars(100, TestPiece{});
  CHECK_FALSE(are_separate(scalars));
  // 30,000 planes within planes: refused, not compared each with each.
  std::vector<TestPiece> stairs;
  constexpr int64_t kEnd = 1 << 20;
  for (int64_t i = 0; i < 30'000; ++i) {
    stairs.push_back({{i, i}, {1, kEnd - i}});
    stairs.push_back({{i + 1, i}, {kEnd - i - 1, 1}});
  }
  CHECK_FALSE(are_separate(stairs));
}

TEST_CASE("pieces have no more elements than bytes in their file, and no bytes in common") {
  constexpr int64_t kMany = int64_t{1} << 40;
  CHECK(has(error_of_pieces({kMany}, {{{0}, {kMany}, 0, 400}}),
            "a piece of 1099511627776 elements has 400 bytes of its file"));
  // Nothing is allocated for bytes that are not there.
  CHECK(has(error_of_pieces({kMany}, {{{0}, {kMany / 2}, 0, 4 * kMany},
                                      {{kMany / 2}, {kMany / 2}, 4 * kMany, 4 * kMany}}),
            "the file ends inside tensor 'w'"));
  CHECK(has(error_of_pieces({20}, {{{0}, {10}, 0, 400}, {{10}, {10}, 399, 400}}),
            "have bytes of 'f.distcp' in common"));
}
