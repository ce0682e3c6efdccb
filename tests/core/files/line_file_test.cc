#include "files/line_file.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "common/allowed_commands.h"
#include "common/cache_folder.h"
#include "common/contains.h"
#include "common/data_error_of.h"
#include "common/full_disk.h"
#include "common/quiet_change.h"
#include "common/temporary_folder.h"
#include "core/files/gzip_bytes.h"
#include "s2s/error.h"

namespace s2s::files {
namespace {

namespace fs = std::filesystem;
using test::CacheFolder;
using test::contains;
using test::data_error_of;
using test::FullDisk;
using test::gzipped;
using test::TemporaryFolder;

/// Lines of different lengths that do not compress well.
std::vector<std::string> some_lines(size_t count) {
  std::mt19937 random(1);
  std::vector<std::string> lines(count);
  for (size_t i = 0; i < count; ++i) {
    lines[i] = "{\"id\": \"cut-" + std::to_string(i) + "\", \"x\": \"";
    for (auto n = random() % 200; n > 0; --n) lines[i] += static_cast<char>('a' + random() % 26);
    lines[i] += "\"}";
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

void check_lines(const std::shared_ptr<const LineFile>& file,
                 const std::vector<std::string>& lines) {
  REQUIRE(file->size() == static_cast<int64_t>(lines.size()));
  LineCursor cursor(file);
  std::string line;
  for (const std::string& expected : lines) {
    REQUIRE(cursor.next(line));
    REQUIRE(line == expected);
  }
  CHECK_FALSE(cursor.next(line));
  for (size_t row = 0; row < lines.size(); row += 1 + lines.size() / 97) {
    REQUIRE(file->line(static_cast<int64_t>(row)) == lines[row]);
  }
  CHECK(file->line(file->size() - 1) == lines.back());
}

std::vector<uint64_t> offsets_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<uint64_t> offsets;
  uint64_t offset = 0;
  while (file.read(reinterpret_cast<char*>(&offset), sizeof offset)) offsets.push_back(offset);
  return offsets;
}

TEST_CASE("lines of a plain file are counted and found as lhotse does") {
  const TemporaryFolder folder;
  const auto path = folder.write("x.jsonl", "a\n\nbc\r\nlast");
  check_lines(open_line_file(path), {"a", "", "bc", "last"});
  check_lines(open_line_file(folder.write("y.jsonl", "a\n")), {"a"});
  CHECK(open_line_file(folder.write("empty.jsonl", ""))->size() == 0);
  CHECK_FALSE(fs::exists(path + ".idx"));  // too small to be worth one
  write_line_index(path);
  CHECK(offsets_in(path + ".idx") == std::vector<uint64_t>{0, 2, 3, 7, 11});
  check_lines(open_line_file(path), {"a", "", "bc", "last"});
}

TEST_CASE("a large plain file gets an index beside it, which is used again") {
  const TemporaryFolder folder;
  const auto lines = some_lines(20000);
  const auto path = folder.write("x.jsonl", joined(lines));
  const auto left_over = folder.write(".x.jsonl.idx.s2s-abc123", "of a process that was killed");
  int64_t seen = 0;
  OpenOptions options;
  options.on_progress = [&](const IndexProgress& progress) {
    CHECK(progress.path == path);
    seen = progress.done_bytes;
  };
  check_lines(open_line_file(path, options), lines);
  CHECK(seen > 0);
  CHECK_FALSE(fs::exists(left_over));
  REQUIRE(fs::exists(path + ".idx"));
  CHECK(offsets_in(path + ".idx").back() == fs::file_size(path));
  options.on_progress = [](const IndexProgress&) { FAIL("the index is there"); };
  check_lines(open_line_file(path, options), lines);
}

TEST_CASE("an index that does not fit any more is made again") {
  const TemporaryFolder folder;
  auto lines = some_lines(20000);
  const auto path = folder.write("x.jsonl", joined(lines));
  open_line_file(path);
  const auto index_time = fs::last_write_time(path + ".idx");

  SUBCASE("the file has grown") { lines.push_back("more"); }
  SUBCASE("a line was moved") { std::swap(lines[3], lines[15000]); }
  folder.write("x.jsonl", joined(lines));
  fs::last_write_time(path, index_time + std::chrono::seconds(5));
  check_lines(open_line_file(path), lines);
}

TEST_CASE("an index of a file that has changed in silence is made again") {
  const CacheFolder cache;
  const TemporaryFolder folder;
  std::string text;
  while (text.size() < size_t{2} << 20) text += "one\nthree 3\n";
  const std::string path = folder.write("x.jsonl", text);
  OpenOptions options;
  SUBCASE("beside the file") {}
  SUBCASE("in the cache folder") { options.place = OpenOptions::Place::kCacheFolder; }
  CHECK(open_line_file(path, options, "")->line(0) == "one");
  test::change_quietly(path, "one\nthree 3\n", "three 3\none\n");
  const auto changed = open_line_file(path, options, "");
  CHECK(changed->line(0) == "three 3");
  CHECK(changed->line(1) == "one");
}

TEST_CASE("an index of something else is not believed") {
  const TemporaryFolder folder;
  const auto lines = some_lines(20000);
  const auto text = joined(lines);
  const auto path = folder.write("x.jsonl", text);
  SUBCASE("no multiple of eight") { folder.write("x.jsonl.idx", std::string(13, 'x')); }
  SUBCASE("empty") { folder.write("x.jsonl.idx", ""); }
  SUBCASE("right size, wrong lines") {
    std::vector<uint64_t> offsets = {0, 7, 11, text.size()};
    folder.write("x.jsonl.idx",
                 std::string(reinterpret_cast<const char*>(offsets.data()), offsets.size() * 8));
  }
  check_lines(open_line_file(path), lines);
}

TEST_CASE("where nothing may be written beside the file, the index goes to the cache folder") {
  const CacheFolder cache;
  const TemporaryFolder folder;
  const auto lines = some_lines(20000);
  OpenOptions options;
  options.place = OpenOptions::Place::kCacheFolder;
  SUBCASE("plain") {
    const auto path = folder.write("x.jsonl", joined(lines));
    check_lines(open_line_file(path, options), lines);
    CHECK_FALSE(fs::exists(path + ".idx"));
  }
  SUBCASE("gzip") {
    const auto path = folder.write("x.jsonl.gz", gzipped(joined(lines)));
    check_lines(open_line_file(path, options), lines);
    CHECK_FALSE(fs::exists(path + ".gzidx"));
  }
  const auto kept = fs::directory_iterator(cache.folder.path() / "s2s" / "index");
  CHECK(std::distance(begin(kept), end(kept)) == 1);
  options.on_progress = [](const IndexProgress&) { FAIL("the index is there"); };
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    check_lines(open_line_file(entry.path(), options), lines);
  }
}

TEST_CASE("gzip files with several members, small and large") {
  const TemporaryFolder folder;
  const auto lines = some_lines(30000);
  std::string bytes;
  SUBCASE("one member") { bytes = gzipped(joined(lines)); }
  SUBCASE("stored, not compressed") { bytes = gzipped(joined(lines), 0); }
  SUBCASE("members of some lines") {
    for (size_t i = 0; i < lines.size(); i += 1000) {
      bytes += gzipped(joined({lines.begin() + static_cast<ptrdiff_t>(i),
                               lines.begin() + static_cast<ptrdiff_t>(i + 1000)}));
    }
  }
  SUBCASE("padded with zeros") { bytes = gzipped(joined(lines)) + std::string(1000, '\0'); }
  const auto path = folder.write("x.jsonl.gz", bytes);
  check_lines(open_line_file(path), lines);
  REQUIRE(fs::exists(path + ".gzidx"));
  OpenOptions options;
  options.on_progress = [](const IndexProgress&) { FAIL("the index is there"); };
  check_lines(open_line_file(path, options), lines);
  check_lines(open_line_file(folder.write("s.jsonl.gz", gzipped("a\n") + gzipped("b\n"))),
              {"a", "b"});
}

TEST_CASE("several threads read the lines of a large gzip file with little memory") {
  const TemporaryFolder folder;
  const auto lines = some_lines(40000);
  const auto path = folder.write("x.jsonl.gz", gzipped(joined(lines)));
  OpenOptions options;
  options.cache = std::make_shared<ByteCache>(int64_t{3} << 20);
  const auto file = open_line_file(path, options);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 50; ++i) {
        const size_t row = random() % lines.size();
        if (file->line(static_cast<int64_t>(row)) != lines[row]) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("a gzip file that is cut off or damaged names its last good line") {
  const TemporaryFolder folder;
  for (const size_t count : {100, 30000}) {
    const auto lines = some_lines(count);
    std::string bytes = gzipped(joined(lines));
    std::string reason = "ends within a member";
    size_t least = 0;
    SUBCASE("cut off") {
      bytes.resize(bytes.size() / 2);
      least = count / 3;
    }
    SUBCASE("damaged") {
      for (size_t i = 0; i < 8; ++i) bytes[bytes.size() / 2 + i] = '\xff';
      reason = "damaged";
    }
    SUBCASE("without its end") {
      bytes.resize(bytes.size() - 4);
      least = count;
    }
    const auto path = folder.write("x.jsonl.gz", bytes);
    const auto message = data_error_of([&] { open_line_file(path); });
    CHECK(contains(message, "[data/gzip] " + path + ":"));
    CHECK(contains(message, reason));
    CHECK_FALSE(fs::exists(path + ".gzidx"));
    const auto last_good = std::stoul(message.substr(message.find(path) + path.size() + 1));
    CHECK(last_good >= least);
    CHECK(last_good <= count);
    // Who allows damage gets the lines before it, and nobody else finds an index of them.
    std::vector<std::string> reported;
    OpenOptions options;
    options.on_damage = [&](const Error& error) { reported.emplace_back(error.what()); };
    const auto file = open_line_file(path, options);
    CHECK(reported == std::vector<std::string>{message});
    REQUIRE(file->size() >= static_cast<int64_t>(last_good));
    for (size_t row = 0; row < last_good; row += 97) {
      if (reason != "damaged") CHECK(file->line(static_cast<int64_t>(row)) == lines[row]);
    }
    CHECK(file->line(file->size() - 1).size() > 0);
    CHECK_FALSE(fs::exists(path + ".gzidx"));
  }
}

TEST_CASE("where no index can be written, the lines are read without") {
  const CacheFolder cache;
  const TemporaryFolder folder;
  const auto lines = some_lines(30000);
  const auto plain = folder.write("x.jsonl", joined(lines));
  const auto packed = folder.write("x.jsonl.gz", gzipped(joined(lines)));
  {
    const FullDisk full(1000);
    check_lines(open_line_file(plain), lines);
    check_lines(open_line_file(packed), lines);
  }
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 2);
  check_lines(open_line_file(plain), lines);
  CHECK(fs::exists(plain + ".idx"));
}

TEST_CASE("missing files, folders, URLs") {
  const TemporaryFolder folder;
  CHECK(contains(data_error_of([&] { open_line_file(folder / "x", {}, "cuts; look again"); }),
                 "[data/missing-file] the file '" + (folder / "x") +
                     "' does not exist; expected "
                     "cuts; look again"));
  CHECK(contains(data_error_of([&] { open_line_file(folder.path().string()); }), "[io/file]"));
  const auto message = data_error_of([] { open_line_file("s3://bucket/cuts.jsonl"); });
  CHECK(contains(message, "[data/url] 's3://bucket/cuts.jsonl'"));
  CHECK(contains(message, "pipe:curl"));
}

TEST_CASE("commands: their output is read, their failure is an error") {
  const s2s::test::AllowedCommands allowed;
  const TemporaryFolder folder;
  check_lines(open_line_file("pipe:printf 'a\\nb\\n'"), {"a", "b"});
  const auto path = folder.write("x.gz", gzipped("a\nb\n"));
  check_lines(open_line_file("pipe:cat " + path), {"a", "b"});
  const auto message = data_error_of([] { open_line_file("pipe:echo it broke >&2; exit 3"); });
  CHECK(contains(message, "[data/pipe]"));
  CHECK(contains(message, "exit status 3: it broke"));
  CHECK(contains(data_error_of([] { open_line_file("pipe:kill -9 $$"); }), "ended by Killed"));
  CHECK(contains(data_error_of([] { open_line_file("pipe:no-such-command-here"); }), "status 127"));
}

TEST_CASE("a file that changes under an open index is an error, not another line") {
  const TemporaryFolder folder;
  const auto path = folder.write("x.jsonl", "a\nbb\nccc\n");
  const auto file = open_line_file(path);
  {
    std::fstream same(path, std::ios::in | std::ios::out);
    same << "aaaaaaaa";
  }
  CHECK(contains(data_error_of([&] { file->line(0); }), "[data/index] " + path + ": row 0"));
  fs::resize_file(path, 4);
  CHECK(contains(data_error_of([&] { file->line(2); }), "[io/file]"));
}

TEST_CASE("the cache holds what fits and lets others wait for what is being made") {
  ByteCache cache(10000);
  int made = 0;
  const auto make = [&] { return ++made, std::string(4000, 'x'); };
  cache.get("a", make);
  cache.get("b", make);
  cache.get("a", make);
  CHECK(made == 2);
  cache.get("c", make);  // "b" goes
  cache.get("a", make);
  CHECK(made == 3);
  cache.get("b", make);
  CHECK(made == 4);
  CHECK_THROWS_AS(cache.get("d", []() -> std::string { throw std::runtime_error("no"); }),
                  std::runtime_error);
  CHECK(cache.get("d", make)->size() == 4000);
  CHECK(cache.get("large", [] { return std::string(20000, 'x'); })->size() == 20000);
}

}  // namespace
TEST_CASE("a JSON array and objects over several lines are lines of their values") {
  const TemporaryFolder folder;
  const std::vector<std::string> values = {R"({"a":1,"b":[1,{"c":"x , ] } \\ \" y"}]})",
                                           R"({"a":2,"b":[]})", R"({"a":3})"};
  const std::string first = "{\n  \"a\": 1,\n  \"b\": [1, {\"c\": \"x , ] } \\\\ \\\" y\"}]\n}";
  const std::string rest = "{\"a\" : 2, \"b\":\t[ ]},\r\n{\"a\":3}";
  const std::string several = first + "\n{\"a\":2,\n\"b\":[]}  {\"a\":3}\n";
  for (const std::string& text :
       {"[" + first + "," + rest + "]", "\xef\xbb\xbf [\n" + first + " ,\n" + rest + "\n]\n\n",
        several, "[" + values[0] + "," + values[1] + "," + values[2] + "]\n"}) {
    CAPTURE(text);
    check_lines(open_line_file(folder.write("a.json", text)), values);
    check_lines(open_line_file(folder.write("a.json.gz", gzipped(text))), values);
  }
  CHECK(open_line_file(folder.write("none.json", "[]"))->size() == 0);
  CHECK(open_line_file(folder.write("none.json", "[ \n ]\n"))->size() == 0);
}

TEST_CASE("JSON lines stay what they are, also when they are arrays or no JSON") {
  const TemporaryFolder folder;
  for (const std::vector<std::string>& lines :
       std::vector<std::vector<std::string>>{{"[1, 2]", "[3]"},
                                             {"{\"a\": 1}", "{ \"b\":2 }"},
                                             {"[" + std::string(9000, ' ') + "1]", "[2]"},
                                             {"[speech] hello", "x"}}) {
    CAPTURE(lines[0]);
    check_lines(open_line_file(folder.write("a.jsonl", joined(lines))), lines);
  }
}

TEST_CASE("an array or object without an end is named with its value") {
  const TemporaryFolder folder;
  for (const char* const text :
       {"[{\"a\": 1}, {\"a\"", "[{\"a\": 1},\n {", "{\n\"a\": 1}\n{\"a\": \n"}) {
    CAPTURE(text);
    const std::string message =
        data_error_of([&] { open_line_file(folder.write("a.json", text)); });
    CHECK(contains(message, "a.json, value 2: the file ends within it"));
    CHECK(contains(message, "expected a JSON array of objects, or one JSON object on each line"));
  }
}

}  // namespace s2s::files
