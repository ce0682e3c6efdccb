#include <doctest/doctest.h>

#include <cstring>

#include "common/allowed_commands.h"
#include "common/cache_folder.h"
#include "common/contains.h"
#include "common/temporary_folder.h"
#include "core/files/gzip_bytes.h"
#include "files/tar_index.h"
#include "files/tar_writer.h"
#include "s2s/error.h"

namespace s2s::files {
namespace {

using test::CacheFolder;
using test::contains;
using test::TemporaryFolder;
using Members = std::vector<std::pair<std::string, std::string>>;

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string tar_of(const Members& members) {
  std::string bytes;
  TarWriter writer([&](std::string_view more) { bytes += more; });
  for (const auto& [name, data] : members) writer.add(name, data);
  writer.finish();
  return bytes;
}

Members some_members() {
  return {{"cut-0.flac", std::string(1000, 'x')},
          {"cut-0.json", "{\"id\": \"cut-0\"}\n"},
          {"cut-1.nodata", ""},
          {"cut-1.nometa", ""},
          {"a/b/" + std::string(120, 'n') + ".wav", std::string(512, 'y')},
          {"a/b/" + std::string(120, 'n') + ".json", "{}\n"},
          {"gr\xc3\xbc\xc3\x9f.npy", "12345"},
          {"gr\xc3\xbc\xc3\x9f.json", "{}\n"}};
}

void check_members(const TarIndex& tar, const Members& members) {
  REQUIRE(tar.members().size() == members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    CHECK(tar.members()[i].name == members[i].first);
    CHECK(tar.data(tar.members()[i]) == members[i].second);
    CHECK(tar.find(members[i].first) == &tar.members()[i]);
  }
  CHECK(tar.find("other") == nullptr);
}

TEST_CASE("members of a tar are found, plain and compressed") {
  const s2s::test::AllowedCommands allowed;
  const TemporaryFolder folder;
  const auto bytes = tar_of(some_members());
  CHECK(bytes.size() % 10240 == 0);
  const auto path = folder.write("x.tar", bytes);
  check_members(*TarIndex::open(path), some_members());
  check_members(*TarIndex::open(folder.write("x.tar.gz", test::gzipped(bytes))), some_members());
  check_members(*TarIndex::open("pipe:cat " + path), some_members());
  check_members(*TarIndex::open(folder.write("no_end.tar", bytes.substr(0, 7 * 512))),
                {some_members()[0], some_members()[1], some_members()[2], some_members()[3]});
}

TEST_CASE("a large compressed tar is read through an index") {
  const TemporaryFolder folder;
  Members members;
  uint32_t random = 1;
  for (int i = 0; i < 40; ++i) {
    std::string data(100000, '\0');
    for (char& c : data) c = static_cast<char>((random = random * 1664525 + 1013904223) >> 24);
    members.emplace_back(std::to_string(i) + ".flac", data);
    members.emplace_back(std::to_string(i) + ".json", "{}\n");
  }
  OpenOptions options;
  options.place = OpenOptions::Place::kMemory;
  const auto path = folder.write("x.tar.gz", test::gzipped(tar_of(members)));
  check_members(*TarIndex::open(path, options), members);
  CHECK_FALSE(std::filesystem::exists(path + ".gzidx"));
  const auto pairs = TarPairs::open(path, options);
  REQUIRE(pairs->size() == 40);
  CHECK(pairs->data(pairs->pair(33).data) == members[66].second);
}

TEST_CASE("archives of GNU tar: long names, folders, links") {
  const TemporaryFolder folder;
  const std::string name(150, 'n');
  std::filesystem::create_directories(folder.path() / "d");
  folder.write("d/" + name, "hello");
  folder.write("d/a", "x");
  for (const std::string format : {"gnu", "pax", "ustar"}) {
    CAPTURE(format);
    const std::string tar = folder / (format + ".tar");
    // ustar cannot hold a name of 150 characters without a folder to split it at.
    const std::string what = format == "ustar" ? "d/a" : "d";
    const std::string command = "cd " + folder.path().string() +
                                " && ln -sf a d/link && tar --format=" + format + " -cf " + tar +
                                " " + what;
    REQUIRE(std::system(command.c_str()) == 0);
    const auto index = TarIndex::open(tar);
    REQUIRE(index->find("d/a") != nullptr);
    CHECK(index->data(*index->find("d/a")) == "x");
    CHECK(index->find("d/link") == nullptr);
    if (format != "ustar") {
      REQUIRE(index->find("d/" + name) != nullptr);
      CHECK(index->data(*index->find("d/" + name)) == "hello");
    }
  }
}

TEST_CASE("pairs of a Shar archive, with and without an index file") {
  const TemporaryFolder folder;
  const auto path = folder.write("recording.000000.tar", tar_of(some_members()));
  for (const bool with_index : {false, true}) {
    if (with_index) write_tar_index(path);
    const auto pairs = TarPairs::open(path);
    REQUIRE(pairs->size() == 4);
    CHECK(pairs->data(pairs->pair(0).data) == std::string(1000, 'x'));
    CHECK(pairs->data(pairs->pair(0).manifest) == "{\"id\": \"cut-0\"}\n");
    CHECK(pairs->pair(1).is_absent());
    CHECK_FALSE(pairs->pair(2).is_absent());
    CHECK(tar_stem(pairs->pair(2).data.name) == "a/b/" + std::string(120, 'n'));
    CHECK(pairs->pair(2).end == pairs->pair(3).data.header);
  }
  // An index of another file is not used.
  folder.write("recording.000000.tar.idx", std::string(16, '\x07'));
  CHECK(TarPairs::open(path)->size() == 4);
}

TEST_CASE("offsets of very many pairs are kept in the cache folder where indexes go there") {
  const CacheFolder cache;
  const TemporaryFolder folder;
  constexpr int64_t kPairs = 20000;
  std::string bytes;
  TarWriter writer([&](std::string_view more) { bytes += more; });
  for (int64_t i = 0; i < kPairs; ++i) {
    writer.add(std::to_string(i) + ".wav", "");
    writer.add(std::to_string(i) + ".json", "");
  }
  writer.finish();
  const auto path = folder.write("x.tar", bytes);
  const auto num_kept = [&] {
    const auto index = cache.folder.path() / "s2s" / "index";
    return std::filesystem::exists(index)
               ? std::distance(std::filesystem::directory_iterator(index), {})
               : 0;
  };
  OpenOptions options;
  options.place = OpenOptions::Place::kMemory;
  CHECK(TarPairs::open(path, options)->size() == kPairs);
  CHECK(num_kept() == 0);
  options.place = OpenOptions::Place::kCacheFolder;
  for (int i = 0; i < 2; ++i) {
    const auto pairs = TarPairs::open(path, options);
    CHECK(pairs->size() == kPairs);
    CHECK(pairs->pair(kPairs - 1).data.name == "19999.wav");
    CHECK(num_kept() == 1);
  }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("names without their extension as Python's Path.stem") {
  CHECK(tar_stem("a.flac") == "a");
  CHECK(tar_stem("./a/b.c.json") == "a/b.c");
  CHECK(tar_stem("a.b/c") == "a.b/c");
  CHECK(tar_stem("a/.hidden") == "a/.hidden");
  CHECK(tar_stem("a.") == "a.");
}

TEST_CASE("damaged archives name the file and the byte") {
  const TemporaryFolder folder;
  const auto good = tar_of(some_members());
  const auto message = [&](const std::string& bytes) {
    const auto path = folder.write("x.tar", bytes);
    const auto text = error_of([&] { TarPairs::open(path); });
    CHECK(contains(text, "[data/tar] " + path + ": byte "));
    CHECK(error_of([&] { TarIndex::open(path); }).empty() == contains(text, "odd number"));
    return text;
  };
  CHECK(contains(message(good.substr(0, 700)), "cut off within 'cut-0.flac'"));
  CHECK(
      contains(message(good.substr(0, 1536 + 100)), "byte 1536: the archive is cut off within a"));
  auto flipped = good;
  flipped[1536 + 3] = '#';
  CHECK(contains(message(flipped), "byte 1536: this is no tar header"));
  CHECK(contains(message(tar_of({some_members()[0]})), "1 members, an odd number"));
  CHECK(contains(message(std::string(5000, 'z')), "byte 0: this is no tar header"));
  CHECK(contains(error_of([&] { TarIndex::open(folder / "none.tar"); }), "[data/missing-file]"));
  OpenOptions lenient;
  std::string reported;
  lenient.on_damage = [&](const Error& error) { reported = error.what(); };
  const auto whole = TarPairs::open(folder.write("w.tar", good));
  for (const size_t num_bytes : {size_t{700}, size_t{1536 + 100}, size_t{3584 + 700}}) {
    const auto path = folder.write("x.tar", good.substr(0, num_bytes));
    const auto part = TarPairs::open(path, lenient);
    CHECK(reported == error_of([&] { TarPairs::open(path); }));
    CHECK(part->size() < whole->size());
    for (int64_t row = 0; row < part->size(); ++row) {
      CHECK(part->data(part->pair(row).data) == whole->data(whole->pair(row).data));
    }
  }
  const auto mixed = folder.write("y.tar", tar_of({{"a.wav", "x"}, {"b.json", "{}"}}));
  CHECK(contains(error_of([&] { TarPairs::open(mixed)->pair(0); }),
                 "'b.json' is not the manifest of 'a.wav'"));
}

TEST_CASE("addresses of data in archives") {
  const TemporaryFolder folder;
  const auto path = folder.write("x.tar", tar_of(some_members()));
  const auto pairs = TarPairs::open(path);
  const auto pair = pairs->pair(2);
  const auto text =
      path + "?o=" + std::to_string(pair.data.header) + "&e=" + std::to_string(pair.end);
  const auto pointer = parse_shar_pointer(text);
  REQUIRE(pointer);
  CHECK(format_shar_pointer(*pointer) == text);
  CHECK(read_shar_pointer(*pointer) == std::string(512, 'y'));
  // A name that is elsewhere.
  const auto named = parse_shar_pointer(text + "&n=gr%C3%BC%C3%9F.npy");
  REQUIRE(named);
  CHECK(read_shar_pointer(*named) == "12345");
  CHECK(parse_shar_pointer(format_shar_pointer(*named))->member == named->member);
  CHECK(parse_shar_pointer(text + "&n=a&s=1"));
  for (const char* bad : {"x.tar", "x.tar?o=1", "x.tar?o=5&e=4", "?o=1&e=2", "x?o=1&e=2&q",
                          "x?o=-1&e=2", "x?o=1&e=2&n=%4", "x?o=99999999999999999999&e=1"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_shar_pointer(bad));
  }
  CHECK(contains(error_of([&] {
                   read_shar_pointer({path, pairs->pair(1).data.header, pair.end, ""});
                 }),
                 "says that this cut has no such data"));
  CHECK(contains(error_of([&] {
                   read_shar_pointer({path, pair.data.header, pair.end, "no"});
                 }),
                 "there is no 'no'"));
  CHECK(contains(error_of([&] {
                   read_shar_pointer({path, 1 << 30, 1 << 30, ""});
                 }),
                 "ends before"));
}

}  // namespace
}  // namespace s2s::files
