#include "weights/distributed_folder.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <filesystem>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "core/weights/test_files.h"
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
