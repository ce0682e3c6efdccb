#include "plugin/system_libraries.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "base/mapped_file.h"
#include "core/plugin/fixtures.h"
#include "s2s/error.h"

using namespace s2s;
using namespace s2s::test;

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

TEST_CASE("a shared object's needed libraries and run path are read without loading it") {
  const std::string file = fixture_file("good");
  const MappedFile mapped(file);
  const DynamicNames names = read_dynamic_names(mapped.bytes(), file);
  CHECK(contains(names.needed, "libs2s_core.so.2"));
  CHECK(contains(names.needed, "libc.so.6"));
  CHECK(std::count(names.needed.begin(), names.needed.end(), "") == 0);
  CHECK_FALSE(names.run_path.empty());
}

TEST_CASE("a damaged shared object gives names or an error, and nothing else") {
  const std::string file = fixture_file("good");
  const MappedFile mapped(file);
  const auto good = mapped.bytes();
  std::mt19937 random(7);
  size_t num_errors = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> bytes(good.begin(), good.end());
    // The header and the section headers say where the names are.
    for (int i = 0; i < 4; ++i) bytes[random() % 64] = std::byte(random() % 256);
    for (int i = 0; i < 40; ++i) {
      bytes[bytes.size() - 1 - random() % 2500] = std::byte(random() % 256);
    }
    if (round % 3 == 0) bytes.resize(random() % bytes.size());
    try {
      read_dynamic_names(bytes, file);
    } catch (const Error& error) {
      CHECK(std::string(error.id()).starts_with("plugin/"));
      ++num_errors;
    }
  }
  CHECK(num_errors > 0);
}
