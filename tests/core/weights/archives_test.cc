#include "weights/archives.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "core/weights/tar_file.h"
#include "core/weights/test_files.h"
#include "s2s/nn/weights.h"

using namespace s2s::test;

namespace {

const std::string kArchives = s2s::test::source_dir() + "/tests/reference/data/";

/// As NeMo packs a model: configuration, weights, and a tokenizer after them.
std::string nemo_archive() {
  return tar_entry("./model_config.yaml", "target: some.Model\n") +
         tar_entry("./model_weights.ckpt", read_bytes(kArchives + "torch_state.bin")) +
         tar_entry("./tokenizer.model", "pieces") + tar_end();
}

void check_same_archive(const s2s::TensorMap& read,
                        const std::string& file = "torch_state.safetensors") {
  const s2s::TensorMap expected = s2s::read_weights(kArchives + file);
  CHECK(read.size() == expected.size());
  for (const auto& [name, tensor] : expected) {
    REQUIRE(read.count(name) == 1);
    CHECK_MESSAGE(at::equal(read.at(name).to(at::kDouble), tensor.to(at::kDouble)), name);
  }
}

std::string archive_error(const std::string& bytes) {
  const TemporaryFolder folder;
  return error_of([&] { s2s::read_weights(folder.write("x.nemo", bytes)); });
}

}  // namespace

TEST_CASE("the weights of a .nemo archive are read where they lie in it, packed or not") {
  const TemporaryFolder folder;
  const std::string plain = folder.write("plain.nemo", nemo_archive());
  check_same_archive(s2s::read_weights(plain));
  const s2s::ArchiveMember member = s2s::open_archive_member(plain, "model_weights.ckpt");
  CHECK(member.begin == 1536);  // header and data of the configuration, and its own header
  CHECK(s2s::read_archive_text(plain, "model_config.yaml", 100) == "target: some.Model\n");
  check_same_archive(s2s::read_weights(folder.write("packed.nemo", gzip(nemo_archive()))));
}

TEST_CASE("an archive that NeMo saved holds the tensors that NeMo had") {
  check_same_archive(s2s::read_weights(kArchives + "archive.nemo"), "archive.safetensors");
}

TEST_CASE("a folder's only .nemo archive is read") {
  const TemporaryFolder folder;
  folder.write("one.nemo", nemo_archive());
  check_same_archive(s2s::read_weights(folder.path()));
  folder.write("two.nemo", nemo_archive());
  CHECK(has(error_of([&] { s2s::read_weights(folder.path()); }), "[weights/unreadable]"));
}

TEST_CASE("parts of tensors are read out of an archive, and released") {
  const TemporaryFolder folder;
  const auto files = s2s::WeightFiles::open(folder.write("m.nemo", nemo_archive()));
  const at::Tensor whole = files.tensor("whole").clone();
  files.release("whole");
  CHECK(at::equal(files.read("whole", {0, 1, 3}), whole.narrow(0, 1, 3)));
}

TEST_CASE("an archive that would fill the disk is refused before anything is unpacked") {
  const std::string bomb = tar_header("model_weights.ckpt", size_t{300} << 20) + tar_end();
  CHECK(has(archive_error(gzip(bomb)), "bytes contains a member of 314572800 bytes"));
}

TEST_CASE("what is skipped in a packed archive counts as unpacked") {
  // 4 GiB of zeros before the weights, said and really there.
  std::string before = tar_header("a", size_t{4} << 30) + nemo_archive();
  CHECK(has(archive_error(gzip(before)), "contains a member of 4294967296 bytes, 'a', which ends"));
  // Many members that are small enough one by one.
  std::string many;
  const std::string zeros(size_t{1} << 20, '\0');
  for (int i = 0; i < 300; ++i) many += tar_entry("a" + std::to_string(i), zeros);
  CHECK(has(archive_error(gzip(many + nemo_archive())), "of the content; at most 100 times"));
  // As many that are worth their size.
  const TemporaryFolder folder;
  many.clear();
  for (int i = 0; i < 10; ++i) many += tar_entry("a" + std::to_string(i), zeros);
  check_same_archive(s2s::read_weights(folder.write("m.nemo", gzip(many + nemo_archive()))));
}

TEST_CASE("archives that are damaged, or hold something else, say so") {
  const std::string good = nemo_archive();
  CHECK(has(archive_error(gzip(gzip(good))), "the archive is compressed more than once"));
  CHECK(has(archive_error(tar_entry("other.txt", "x") + tar_end()),
            "the archive has no model_weights.ckpt; it has 'other.txt'"));
  CHECK(has(archive_error(good.substr(0, 3000)), "[weights/format]"));
  CHECK(has(archive_error(gzip(good).substr(0, 900)), "[weights/format]"));
  std::string checksum = good;
  checksum[1024 + 150] = 'x';
  CHECK(has(archive_error(checksum), "[weights/format]"));
  // Whatever a name says, nothing is written anywhere.
  const std::string outside = tar_entry("../../../tmp/s2s_outside", "x") + good;
  const TemporaryFolder folder;
  check_same_archive(s2s::read_weights(folder.write("m.nemo", outside)));
  CHECK_FALSE(std::filesystem::exists("/tmp/s2s_outside"));
  const TemporaryFolder other;
  const std::string path = other.write("m.nemo", good);
  CHECK(has(error_of([&] { s2s::read_archive_text(path, "model_config.yaml", 3); }),
            "expected at most 3"));
}
