#include "files/source_state.h"

#include <doctest/doctest.h>

#include "common/quiet_change.h"
#include "common/temporary_folder.h"

namespace s2s::files {
namespace {

TEST_CASE("content is hashed as xxHash's XXH64 does, in pieces of any size") {
  // Source: xxhsum -H1 of xxHash 0.8.
  CHECK(content_hash("") == 0xEF46DB3751D8E999);
  CHECK(content_hash("a") == 0xD24EC4F1A98C6E5B);
  CHECK(content_hash("abc") == 0x44BC2CF5AD770999);
  CHECK(content_hash("Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1);
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (const size_t step : {1, 7, 31, 32, 33, 100}) {
    ContentHash hash;
    for (size_t at = 0; at < text.size(); at += step) hash.add(text.substr(at, step));
    CHECK(hash.value() == content_hash(text));
  }
}

TEST_CASE("a stamp tells a change that size and time do not tell") {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("a.txt", "hello");
  const uint64_t stamp = stamp_of_file(path), content = content_hash_of_file(path);
  CHECK(stamp == stamp_of_file(path));
  CHECK(content == content_hash("hello"));
  test::change_quietly(path, "hello", "jolly");
  CHECK(stamp != stamp_of_file(path));
  CHECK(content != content_hash_of_file(path));
  CHECK(stamp_of_file(folder / "none") == 0);
}

TEST_CASE("a state depends on what is added, and where one text ends") {
  const auto of = [](const std::string& a, const std::string& b) {
    SourceState state;
    state.add(a);
    state.add(b);
    return state.value();
  };
  CHECK(of("ab", "c") == of("ab", "c"));
  CHECK(of("ab", "c") != of("a", "bc"));
}

}  // namespace
}  // namespace s2s::files
