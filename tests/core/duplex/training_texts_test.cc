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
  std::string told(const std::string& name) const {
    return s2s::other_training_texts(tokenizer, input(name), "model.tokenizer",
                                     folder.path().string());
  }

  s2s::test::TemporaryFolder folder;
  std::string tokenizer = (folder.path() / "tokenizer.model").string();
};

}  // namespace

TEST_CASE("a tokenizer of other texts is told with both files and the way out") {
  const Made made;
  made.write("mine.txt", "tea for two\n");
  const std::string told = made.told("mine.txt");
  CAPTURE(told);
  CHECK(told.starts_with("[tokenizer/other-texts] model.tokenizer.train.input: '"));
  for (const char* part : {"mine.txt' is not what the tokenizer", "tokenizer.model' was made of",
                           "texts.txt)", "model.tokenizer.train.overwrite=true"}) {
    CHECK(told.find(part) != std::string::npos);
  }
}

TEST_CASE("texts are compared by content, not by name, time or size") {
  const Made made;
  CHECK(made.told("texts.txt").empty());
  made.write("copy.txt", "one two\n");
  CHECK(made.told("copy.txt").empty());
  made.write("same_size.txt", "six ten\n");
  CHECK_FALSE(made.told("same_size.txt").empty());
  made.write("texts.txt", "one two\n");  // another time
  CHECK(made.told("texts.txt").empty());
  const std::string path = (made.folder.path() / "texts.txt").string();
  s2s::test::change_quietly(path, "two", "ten");
  CHECK_FALSE(made.told("texts.txt").empty());
}

TEST_CASE("nothing is told of a tokenizer without a record, or of texts that are gone") {
  const Made made;
  CHECK(made.told("gone.txt").empty());
  made.write("mine.txt", "tea for two\n");
  made.write("tokenizer.model.texts.json", "{\"texts\": 3}");
  CHECK(made.told("mine.txt").empty());
  made.write("tokenizer.model.texts.json", "not JSON");
  CHECK(made.told("mine.txt").empty());
  fs::remove(made.tokenizer + ".texts.json");
  CHECK(made.told("mine.txt").empty());
}
