#include "s2s/data/training_texts.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "common/quiet_change.h"
#include "common/temporary_folder.h"

namespace {

namespace fs = std::filesystem;

/// A tokenizer that was made of a file, and what is said of other files.
struct Made {
  Made() {
    write("texts.txt", "one two\n");
    write("tokenizer.model", "model");
    s2s::record_training_texts(tokenizer, input("texts.txt"), folder.path().string());
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder.path() / name) << text;
  }
  static s2s::Config input(const std::string& name) { return s2s::Config::scalar(name); }
  std::string warning(const std::string& name) const {
    return s2s::other_training_texts(tokenizer, input(name), "model.tokenizer",
                                     folder.path().string());
  }

  s2s::test::TemporaryFolder folder;
  std::string tokenizer = (folder.path() / "tokenizer.model").string();
};

}  // namespace

TEST_CASE("a tokenizer of other texts is reported with both files and the way out") {
  const Made made;
  made.write("mine.txt", "tea for two\n");
  const std::string text = made.warning("mine.txt");
  CAPTURE(text);
  CHECK(text.starts_with("[tokenizer/other-texts] model.tokenizer.train.input: '"));
  for (const char* part : {"mine.txt' is not what the tokenizer", "tokenizer.model' was made of",
                           "texts.txt)", "model.tokenizer.train.overwrite=true"}) {
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("texts are compared by content, not by name, time or size") {
  const Made made;
  CHECK(made.warning("texts.txt").empty());
  made.write("copy.txt", "one two\n");
  CHECK(made.warning("copy.txt").empty());
  made.write("same_size.txt", "six ten\n");
  CHECK_FALSE(made.warning("same_size.txt").empty());
  made.write("texts.txt", "one two\n");  // another time
  CHECK(made.warning("texts.txt").empty());
  const std::string path = (made.folder.path() / "texts.txt").string();
  s2s::test::change_quietly(path, "two", "ten");
  CHECK_FALSE(made.warning("texts.txt").empty());
}

TEST_CASE("nothing is reported of a tokenizer without a record, or of texts that are gone") {
  const Made made;
  CHECK(made.warning("gone.txt").empty());
  made.write("mine.txt", "tea for two\n");
  made.write("tokenizer.model.texts.json", "{\"texts\": 3}");
  CHECK(made.warning("mine.txt").empty());
  made.write("tokenizer.model.texts.json", "not JSON");
  CHECK(made.warning("mine.txt").empty());
  fs::remove(made.tokenizer + ".texts.json");
  CHECK(made.warning("mine.txt").empty());
}
