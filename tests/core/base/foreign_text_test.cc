#include "s2s/foreign_text.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/foreign_json.h"
#include "common/temporary_folder.h"

using namespace s2s;
using s2s::test::TemporaryFolder;

namespace {

/// errno of what reading throws; 0 when it does not.
int problem_of(const std::string& path, size_t max_bytes = kSmallFileBytes) {
  try {
    read_small_file(path, max_bytes);
    return 0;
  } catch (const std::system_error& error) {
    return error.code().value();
  }
}

std::string nested(int depth) {
  const auto levels = static_cast<size_t>(depth);
  return std::string(levels, '[') + std::string(levels, ']');
}

}  // namespace

TEST_CASE("small files are read whole, and nothing else is read") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "file").string();
  const std::string text("a\0b\n", 4);
  std::ofstream(path) << text;
  CHECK(read_small_file(path) == text);
  CHECK(read_small_file(path, 4) == text);
  CHECK(problem_of(path, 3) == EFBIG);
  CHECK(problem_of(path + ".none") == ENOENT);
  CHECK(problem_of(folder.path().string()) == EISDIR);
  CHECK(problem_of("/dev/zero") == EINVAL);
  const std::string fifo = (folder.path() / "fifo").string();
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(problem_of(fifo) == EINVAL);  // without waiting for somebody who writes
  CHECK(read_small_file("/proc/self/cmdline").find("test") != std::string::npos);  // has no size
}

TEST_CASE("JSON is parsed up to a depth, whatever its strings contain") {
  CHECK(is_json_depth_within(nested(kJsonDepth)));
  CHECK_FALSE(is_json_depth_within(nested(kJsonDepth + 1)));
  CHECK(is_json_depth_within("\"" + nested(1000) + "\\\"" + nested(1000) + "\""));
  CHECK(is_json_depth_within("[\"\\\\\"]", 1));
  CHECK_FALSE(is_json_depth_within("[\"\\\\\",[]]", 1));
  CHECK(parse_foreign_json(nested(100)).is_array());
  CHECK_THROWS_AS(parse_foreign_json(nested(300000)), nlohmann::json::parse_error);
  CHECK(try_parse_foreign_json(nested(300000)).is_discarded());
  CHECK(try_parse_foreign_json("{").is_discarded());
}

TEST_CASE("objects that keep their order have a limit of members together, others have none") {
  const auto wide = [](size_t members) {
    std::string text = "{";
    for (size_t i = 0; i < members; ++i) text += "\"" + std::to_string(i) + "\":[{\"a:\":1}],";
    text.back() = '}';
    return text;
  };
  const auto is_refused = [](const std::string& text) {
    return json_refusal(text, JsonLimit{.bytes_per_value = 1}, /*is_ordered=*/true).has_value();
  };
  CHECK_FALSE(is_refused(wide(kOrderedMembers)));
  CHECK(is_refused(wide(kOrderedMembers + 1)));
  const std::string half = wide(kOrderedMembers * 7 / 10);  // 0.49 of the comparisons
  CHECK_FALSE(is_refused("[" + half + "," + half + "]"));
  CHECK(is_refused("[" + half + "," + half + "," + half + "]"));
  CHECK_FALSE(is_refused("]]]}:"));  // no JSON
  const std::string text = wide(kOrderedMembers + 1);
  CHECK(parse_foreign_json(text).size() == kOrderedMembers + 1);
  CHECK(try_parse_foreign_json<nlohmann::ordered_json>(text).is_discarded());
  CHECK_THROWS_AS(parse_foreign_json<nlohmann::ordered_json>(text), nlohmann::json::parse_error);
}

TEST_CASE("a text of more values than its reader needs is refused before the first one is made") {
  using s2s::JsonLimit;
  const auto list = [](size_t values) {
    std::string text = "[0";
    for (size_t i = 1; i < values; ++i) text += ",0";
    return text + "]";
  };
  constexpr JsonLimit kFew{.any_values = 8, .bytes_per_value = 0};
  CHECK(parse_foreign_json(list(7), kFew).size() == 7);  // and the list itself
  CHECK_THROWS_WITH_AS(parse_foreign_json(list(8), kFew),
                       doctest::Contains("it has more than 8 values"), nlohmann::json::parse_error);
  CHECK(try_parse_foreign_json(list(8), kFew).is_discarded());
  CHECK(try_parse_foreign_json("[[],[],[],[],[]]", kFew).is_discarded());
  CHECK(try_parse_foreign_json("[{},{},{},{},{}]", kFew).is_discarded());
  CHECK(parse_foreign_json(R"({"a,[{": ",,,,,,,,,,[[[[{{{{"})", kFew).is_object());
  // In proportion to the text.
  constexpr JsonLimit kLong{.any_values = 8, .bytes_per_value = 4};
  CHECK(parse_foreign_json("[0,      0,      0,      0,      0,      0]", kLong).size() == 6);
  CHECK(try_parse_foreign_json(list(40), kLong).is_discarded());
  const std::string wide = R"({"a":)" + list(20'000'000) + "}";  // 40 MB, 165 times that as a tree
  CHECK(try_parse_foreign_json(wide).is_discarded());
  CHECK(try_parse_foreign_json<nlohmann::ordered_json>(wide, s2s::kVocabularyJson).is_discarded());
  CHECK(parse_foreign_json(list(199'999)).size() == 199'999);
}

TEST_CASE("what goes to a terminal has no controls of somebody else") {
  CHECK(printable("plain \xC3\xBC, two\n  lines\tand a tab") ==
        "plain \xC3\xBC, two\n  lines\tand a tab");
  CHECK(printable("\x1b]0;title\x07\x1b[2J\r\x7f") == "\\x1b]0;title\\x07\\x1b[2J\\x0d\\x7f");
  CHECK(printable("\xC2\x9B"
                  "31m") == "\\x9b31m");  // CSI of C1
  CHECK(printable("a\xE2\x80\xAE"
                  "b\xE2\x80\xA8") == "a\\u202eb\\u2028");
  CHECK(printable("\xFF\xC3") == "\\xff\\xc3");  // no UTF-8
  CHECK(printable("x\nerror: [fake/line]") == "x\n  error: [fake/line]");
  CHECK(printable("end\n") == "end\n");
  CHECK(printable_name("a\nb\tc\x1b") == "a\\nb\\tc\\x1b");
  CHECK(printable(std::string("\0", 1)) == "\\x00");
}

TEST_CASE("a link out of its folder differs from one inside it") {
  namespace fs = std::filesystem;
  const TemporaryFolder parent;
  const fs::path model = parent.path() / "models--a--b";
  const fs::path snapshot = model / "snapshots/1234";
  for (const fs::path& folder : {snapshot / "in", model / "blobs", parent.path() / "snapshots"}) {
    fs::create_directories(folder);
  }
  for (const fs::path& file :
       {snapshot / "in/file", model / "blobs/hash", model / "other", parent.path() / "secret"}) {
    std::ofstream(file) << "x";
  }
  const auto target = [&](const fs::path& folder, const fs::path& to) {
    fs::remove(folder / "link");
    fs::create_symlink(to, folder / "link");
    return link_out_of((folder / "link").string(), folder.string());
  };
  const std::string secret = fs::canonical(parent.path() / "secret").string();
  CHECK(link_out_of((snapshot / "in/file").string(), snapshot.string()).empty());
  CHECK(target(snapshot, "in/file").empty());
  CHECK(target(snapshot, "../../blobs/hash").empty());
  CHECK(target(snapshot / "in", "../../../blobs/hash").empty());
  CHECK(target(snapshot / "in", "../other") == "");  // leads nowhere
  CHECK(target(snapshot / "in", "../../../other") == fs::canonical(model / "other").string());
  CHECK(target(snapshot, "../../other") == fs::canonical(model / "other").string());
  CHECK(target(snapshot, "../../../secret") == secret);
  CHECK(target(snapshot, secret) == secret);
  CHECK(target(snapshot, "nowhere").empty());
  CHECK(target(snapshot, "link").empty());
  // Blobs that are themselves elsewhere, and a folder that only looks like a cache.
  fs::remove_all(model / "blobs");
  fs::create_directory_symlink(parent.path(), model / "blobs");
  CHECK(target(snapshot, "../../blobs/secret") == secret);
  CHECK(target(parent.path() / "snapshots", "../secret") == secret);
}
