// Files that Lhotse and the writers it uses made, and ours of the same content.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "common/places.h"
#include "common/temporary_folder.h"
#include "files/line_file.h"
#include "files/npy.h"
#include "files/tar_index.h"
#include "files/tar_writer.h"

namespace s2s::files {
namespace {

const std::string kFolder = s2s::test::source_dir() + "/tests/reference/data/lhotse_shar/files/";

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("tars are byte for byte those of Python's tarfile") {
  const auto tar = TarIndex::open(kFolder + "members.tar");
  REQUIRE(tar->members().size() == 8);
  std::string ours;
  TarWriter writer([&](std::string_view bytes) { ours += bytes; });
  for (const TarMember& member : tar->members()) writer.add(member.name, tar->data(member));
  writer.finish();
  CHECK(ours == bytes_of(kFolder + "members.tar"));
  CHECK(tar->find("gr\xc3\xbc\xc3\x9f.npy") != nullptr);
  CHECK(tar->find("f/" + std::string(130, 'n') + ".wav") != nullptr);
}

TEST_CASE("index files are byte for byte those of lhotse, and lhotse's are read") {
  const test::TemporaryFolder folder;
  const auto lines = folder.write("lines.jsonl", bytes_of(kFolder + "lines.jsonl"));
  write_line_index(lines);
  CHECK(bytes_of(lines + ".idx") == bytes_of(kFolder + "lines.jsonl.idx"));
  const auto tar = folder.write("members.tar", bytes_of(kFolder + "members.tar"));
  write_tar_index(tar);
  CHECK(bytes_of(tar + ".idx") == bytes_of(kFolder + "members.tar.idx"));

  folder.write("members.tar.idx", bytes_of(kFolder + "members.tar.idx"));
  CHECK(TarPairs::open(tar)->pair(1).data.name == "gr\xc3\xbc\xc3\x9f.npy");
  folder.write("lines.jsonl.idx", bytes_of(kFolder + "lines.jsonl.idx"));
  const auto file = open_line_file(lines);
  CHECK(file->size() == 50);
  CHECK(file->line(49).starts_with("{\"id\": 49"));
}

TEST_CASE("arrays are byte for byte those of numpy.save") {
  const auto numbers = at::arange(12).reshape({3, 4});
  const auto check = [&](const char* name, const at::Tensor& expected) {
    CAPTURE(name);
    const auto bytes = bytes_of(kFolder + name);
    CHECK(at::equal(parse_npy(bytes, name), expected));
    if (!std::string(name).starts_with("big_") && std::string(name) != "fortran.npy") {
      CHECK(format_npy(expected) == bytes);
    }
  };
  check("f4.npy", numbers.to(at::kFloat));
  check("f8.npy", numbers.to(at::kDouble));
  check("i8.npy", numbers.to(at::kLong));
  check("u1.npy", numbers.to(at::kByte));
  check("big_f4.npy", numbers.to(at::kFloat));
  check("fortran.npy", numbers.to(at::kFloat));
  check("scalar.npy", at::scalar_tensor(2.5, at::kDouble));
  check("wide.npy", at::zeros({2, 100000000000, 0}, at::kShort));
}

}  // namespace
}  // namespace s2s::files
