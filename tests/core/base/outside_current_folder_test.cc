#include "base/outside_current_folder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <stdexcept>

#include "common/temporary_folder.h"

namespace fs = std::filesystem;

TEST_CASE("libraries are loaded with / as the current folder, and the folder of before stays") {
  const s2s::test::TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder / ".");
  const fs::path here = fs::current_path();
  fs::path seen;
  s2s::outside_current_folder([&] { seen = fs::current_path(); });
  CHECK(seen == "/");
  CHECK(fs::current_path() == here);
  CHECK_THROWS_AS(s2s::outside_current_folder([] { throw std::runtime_error("no library"); }),
                  std::runtime_error);
  CHECK(fs::current_path() == here);
  fs::current_path(before);
}
