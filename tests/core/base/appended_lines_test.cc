#include "base/appended_lines.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <random>
#include <vector>

#include "common/temporary_folder.h"
#include "s2s/error.h"

using s2s::AppendedLines;
using s2s::FileLine;
using s2s::test::TemporaryFolder;

namespace {

struct Seen {
  std::string text;
  size_t begin, end;
  bool is_complete;
  bool operator==(const Seen&) const = default;
};

Seen seen(const FileLine& line) {
  return {std::string(line.text), line.begin, line.end, line.is_complete};
}

std::vector<Seen> forward(const std::string& path) {
  AppendedLines file(path);
  std::vector<Seen> lines;
  while (const auto line = file.next()) lines.push_back(seen(*line));
  return lines;
}

std::vector<Seen> backward(const std::string& path) {
  AppendedLines file(path);
  std::vector<Seen> lines;
  while (const auto line = file.previous()) lines.insert(lines.begin(), seen(*line));
  return lines;
}

std::string joined(const std::vector<Seen>& lines) {
  std::string text;
  for (const Seen& line : lines) text += line.text + (line.is_complete ? "\n" : "");
  return text;
}

}  // namespace

TEST_CASE("a file of lines is read from both ends, with what is torn, empty or ends with CR LF") {
  const TemporaryFolder folder;
  const auto lines = [&](const std::string& text) {
    const std::string path = folder.write("lines", text);
    CHECK((forward(path) == backward(path)));
    CHECK(joined(forward(path)) == text);
    return forward(path);
  };
  CHECK(lines("").empty());
  CHECK((lines("one") == std::vector<Seen>{{"one", 0, 3, false}}));
  CHECK((lines("\n") == std::vector<Seen>{{"", 0, 1, true}}));
  CHECK((lines("a\r\nb\r\n") == std::vector<Seen>{{"a\r", 0, 3, true}, {"b\r", 3, 6, true}}));
  CHECK((lines("a\n\ntorn") ==
         std::vector<Seen>{{"a", 0, 2, true}, {"", 2, 3, true}, {"torn", 3, 7, false}}));
}

TEST_CASE("lines of every length around a block's end come back from both ends") {
  const TemporaryFolder folder;
  std::mt19937 random(7);
  const size_t block = AppendedLines::kBlockBytes;
  std::string text;
  for (const size_t length : {block - 2, block - 1, block, block + 1, size_t{0}, 3 * block}) {
    text += std::string(length, static_cast<char>('a' + random() % 26)) + "\n";
  }
  for (int i = 0; i < 2000; ++i) text += std::string(random() % 300, 'x') + "\n";
  const std::string path = folder.write("lines", text + "torn");
  CHECK((forward(path) == backward(path)));
  CHECK(joined(forward(path)) == text + "torn");
}

TEST_CASE("the last lines of a file cost a block, and a word is found from the end") {
  const TemporaryFolder folder;
  std::string text;
  while (text.size() < (size_t{2} << 20)) text += "{\"step\":1,\"loss\":2.5}\n";
  const size_t validation = text.size();
  text += "{\"validation\":\"a\"}\n" + text.substr(0, text.find('\n', size_t{1} << 20) + 1);
  const std::string path = folder.write("lines", text);
  AppendedLines file(path);
  for (int i = 0; i < 100; ++i) CHECK(file.previous()->is_complete);
  CHECK(file.bytes_read() == AppendedLines::kBlockBytes);
  CHECK(file.rfind("\"validation\"", file.size()) == validation + 1);
  CHECK_FALSE(file.rfind("\"validation\"", validation + 1));
  // A word over the border of two blocks.
  const size_t border = file.size() - (size_t{1} << 20);
  CHECK(file.rfind(text.substr(border - 3, 6), border) == border - 3);
}

TEST_CASE("a file with a hole in place of lines is one message, from both ends") {
  const TemporaryFolder folder;
  const std::string path = folder.write("lines", "one\n");
  REQUIRE(::truncate(path.c_str(), off_t{1} << 38) == 0);
  AppendedLines file(path);
  CHECK(file.next()->text == "one");
  CHECK_THROWS_WITH_AS(file.next(), doctest::Contains("[io/line]"), s2s::Error);
  CHECK_THROWS_WITH_AS(file.previous(), doctest::Contains("no line break in more than 16777216"),
                       s2s::Error);
  CHECK(file.bytes_read() < (size_t{80} << 20));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_AS(AppendedLines(folder / "pipe"), std::system_error);
}
