// What data inspect says about the sets of a run.

#include <doctest/doctest.h>

#include "cli/train/tiny_run.h"
#include "common/temporary_folder.h"

using s2s::test::run_s2s;
using s2s::test::TemporaryFolder;
using s2s::test::tiny_words;
using s2s::test::Words;

namespace {

s2s::test::Outcome inspect(const TemporaryFolder& folder, const std::string& set) {
  Words words = tiny_words("inspect", folder.path(), {"--set", set, "--no-audio"});
  words.insert(words.begin(), "data");
  return run_s2s(words);
}

}  // namespace

TEST_CASE("a validation set is read with what it inherits, and a wrong name with those there are") {
  const TemporaryFolder folder;
  for (const char* set : {"train_ds", "dev"}) {
    const auto found = inspect(folder, set);
    CHECK_MESSAGE(found.exit_code == 0, found.output);
    CHECK(found.output.find(" cuts, ") != std::string::npos);
  }
  const auto wrong = inspect(folder, "dve");
  CHECK(wrong.exit_code == 2);
  CHECK_MESSAGE(wrong.output.find("expected one of: train_ds, dev") != std::string::npos,
                wrong.output);
}
