// Files that are larger than they look, or are none.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "common/cache_folder.h"
#include "common/contains.h"
#include "common/data_error_of.h"
#include "common/temporary_folder.h"
#include "core/files/gzip_bytes.h"
#include "files/gzip_stream.h"
#include "files/line_file.h"
#include "files/line_reader.h"
#include "files/npy.h"
#include "files/open_bytes.h"
#include "s2s/error.h"

namespace s2s::files {
namespace {

using test::CacheFolder;
using test::contains;
using test::data_error_of;
using test::gzipped;
using test::TemporaryFolder;

constexpr size_t kMegabyte = size_t{1} << 20;

/// A gzip file of `count` members with a megabyte of `text` each: about a thousandth of that.
std::string bomb(size_t count, const std::string& text) {
  std::string megabyte;
  while (megabyte.size() < kMegabyte) megabyte += text;
  const std::string member = gzipped(megabyte, 9);
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes += member;
  return bytes;
}

TEST_CASE("content is inflated up to a limit") {
  const auto bytes = std::make_shared<const std::string>(gzipped(std::string(100000, 'x')));
  const MemoryFile file("x.gz", bytes);
  CHECK(inflate_whole(file, {.most_bytes = 100000}).size() == 100000);
  CHECK_THROWS_AS(inflate_whole(file, {.most_bytes = 99999}), TooMuchContent);
  CHECK(most_content_bytes(0) == kContentBytes);
  CHECK(most_content_bytes(10 << 20) == 1000 << 20);
  CHECK(most_content_bytes(int64_t{1} << 40) == kMostHeldBytes);
}

TEST_CASE("a small file with much content is read through an index, not held") {
  const TemporaryFolder folder;
  const std::string line = R"({"id": "a cut that says always the same"})";
  const auto path = folder.write("x.jsonl.gz", bomb(20, line + "\n"));
  REQUIRE(std::filesystem::file_size(path) < kMegabyte);
  const auto file = open_line_file(path);
  CHECK(std::filesystem::exists(path + ".gzidx"));
  CHECK(file->size() > 400000);
  CHECK(file->line(file->size() - 1) == line);
}

TEST_CASE("what is compressed a thousandfold is refused before it fills the memory") {
  const TemporaryFolder folder;
  const CacheFolder cache;
  const std::string blanks = folder.write("blanks.gz", bomb(257, "    "));
  const std::string lines = folder.write("lines.gz", bomb(31, "\n"));  // 8 bytes of index each
  for (const std::string& path : {blanks, lines}) {
    const std::string message = data_error_of([&] { open_line_file(path); });
    CHECK_MESSAGE(contains(message, "[data/gzip] " + path), message);
    CHECK_MESSAGE(contains(message, "more than 268435456"), message);
    CHECK_FALSE(std::filesystem::exists(path + ".gzidx"));
  }
  CHECK(contains(data_error_of([&] { read_all_bytes(blanks, "bytes"); }), "[data/gzip] " + blanks));
}

int64_t num_lines(const std::string& path) {
  data::LineReader reader(path);
  for (std::string line; reader.next(line);) {
  }
  return reader.line();
}

TEST_CASE("a reader of lines gives no more than a compressed file of its size may have") {
  const TemporaryFolder folder;
  const std::string blanks = folder.write("blanks.txt", bomb(257, std::string(1023, ' ') + "\n"));
  const std::string lines = folder.write("lines.txt", bomb(5, "\n"));
  for (const auto& [path, what] : {std::pair(blanks, "more than 268435456;"),
                                   std::pair(lines, "lines; expected fewer in a file")}) {
    const std::string message = data_error_of([&] { num_lines(path); });
    CHECK_MESSAGE(contains(message, "[data/gzip] " + path), message);
    CHECK_MESSAGE(contains(message, what), message);
  }
}

TEST_CASE("a reader of lines reads plain files of any size, and manifests that compress well") {
  const TemporaryFolder folder;
  const std::string plain = folder.write("plain.txt", std::string(5 * kMegabyte, '\n'));
  CHECK(num_lines(plain) == 5 * kMegabyte);
  std::string megabyte;
  uint64_t number = 1;
  for (; megabyte.size() < kMegabyte;
       number = number * 6364136223846793005U + 1442695040888963407U) {
    const std::string digits = std::to_string(number);
    megabyte += R"({"id": ")" + digits + R"(", "note": ")" + std::string(1000, 'a') + "\"}\n";
  }
  const std::string member = gzipped(megabyte, 9);
  REQUIRE(megabyte.size() > 30 * member.size());
  REQUIRE(megabyte.size() < 90 * member.size());
  std::string bytes;
  for (int i = 0; i < 260; ++i) bytes += member;
  const int64_t in_megabyte = std::count(megabyte.begin(), megabyte.end(), '\n');
  CHECK(num_lines(folder.write("large.jsonl.gz", bytes)) == 260 * in_megabyte);
}

TEST_CASE("a line without end is an error") {
  const TemporaryFolder folder;
  const std::string plain = folder.write("x.jsonl", "");
  std::filesystem::resize_file(plain, 257 * kMegabyte);  // a hole
  const std::string message = data_error_of([&] { num_lines(plain); });
  CHECK_MESSAGE(contains(message, "[data/json] " + plain + ":1"), message);
  CHECK(contains(message, "without a line end"));
  const auto file = open_line_file(plain);
  CHECK(contains(data_error_of([&] { file->line(0); }), "[data/json] " + plain + ":1"));
}

TEST_CASE("named pipes and devices are refused and not waited for") {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe.jsonl";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {pipe, std::string("/dev/zero")}) {
    CHECK(contains(data_error_of([&] { data::LineReader reader(path); }), "[io/file] " + path));
    CHECK(contains(data_error_of([&] { open_line_file(path); }), "[io/file] " + path));
  }
}

TEST_CASE("an array without elements has sizes that can be multiplied, too") {
  const std::string shape = "(0, 4611686018427387904, 4611686018427387904)";
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }\n";
  std::string bytes = "\x93NUMPY";
  bytes += {'\x01', '\x00', static_cast<char>(header.size()), '\x00'};
  CHECK(contains(data_error_of([&] { parse_npy(bytes + header, "x.npy"); }), "it is too large"));
}

}  // namespace
}  // namespace s2s::files
