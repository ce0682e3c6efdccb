// Checks the tokenizer, with and without pieces, against the requirements of all tokenizers. Prints
// the violations.

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "s2s/conformance.h"
#include "tokenizer.h"

namespace {

int num_wrong = 0;

void expect(bool holds, const char* what) {
  if (!holds) std::fprintf(stderr, "failed: %s\n", what);
  num_wrong += holds ? 0 : 1;
}

void ask(const s2s::Tokenizer& tokenizer) {
  const std::vector<std::string> texts = {"",
                                          "the light is now on",
                                          "  blanks \t and\nlines ",
                                          "na\xC3\xAFve \xE6\x97\xA5\xE6\x9C\xAC",
                                          "\xF0\x9F\x98\x80!",
                                          std::string("nul\0!", 5),
                                          "<s> is not a special id"};
  for (const std::string& answer : s2s::conformance::broken_promises(tokenizer, texts)) {
    expect(false, answer.c_str());
  }
}

}  // namespace

int main() {
  using PLUGIN_NAME::Tokenizer;
  const Tokenizer bytes("");
  ask(bytes);
  expect(bytes.vocab_size() == 259 && bytes.files().empty(), "bytes need no file");
  expect(bytes.encode("A") == std::vector<int64_t>{3 + 'A'}, "a byte's id is its value plus three");
  expect(bytes.decode({3 + 0xC3, 3 + 'A', 9999, -1}) ==
             "\xEF\xBF\xBD"
             "A",
         "broken UTF-8 becomes U+FFFD");

  const auto folder =
      std::filesystem::temp_directory_path() / ("PLUGIN_NAME_test_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "words.txt").string();
  std::ofstream(file) << " light\n the\n then\na\n";
  const Tokenizer words(file);
  ask(words);
  expect(words.encode(" then light").size() == 2, "the longest piece wins");
  expect(words.vocab_size() == 262 && words.files() == std::vector<std::string>{file},
         "pieces follow the bytes");
  std::filesystem::remove_all(folder);
  if (num_wrong == 0) std::puts("ok");
  return num_wrong == 0 ? 0 : 1;
}
