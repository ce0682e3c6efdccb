#include "files/line_reader.h"

#include <doctest/doctest.h>

#include "common/contains.h"
#include "common/temporary_folder.h"
#include "core/files/gzip_bytes.h"
#include "s2s/error.h"

using namespace s2s;

TEST_CASE("a gzip file that is cut off gives its whole lines, then the error names the last one") {
  const test::TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 30000; ++i) text += "line " + std::to_string(i * 7919 % 30011) + "\n";
  const std::string bytes = test::gzipped(text);
  const auto path = folder.write("x.jsonl.gz", bytes.substr(0, bytes.size() / 2));
  data::LineReader reader(path);
  int64_t count = 0;
  std::string message;
  try {
    for (std::string line; reader.next(line); ++count) {
      CHECK(line == "line " + std::to_string(count * 7919 % 30011));
    }
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK(count > 1000);
  CHECK(test::contains(message, "[data/gzip] " + path + ":" + std::to_string(count) + ":"));
}
