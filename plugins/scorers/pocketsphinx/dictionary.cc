#include "dictionary.h"

#include <sstream>
#include <system_error>

#include "s2s/foreign_text.h"
#include "scorer_errors.h"

namespace s2s::pocketsphinx {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool part = (lower >= 'a' && lower <= 'z') || lower == '\'' ||
                      (static_cast<unsigned char>(lower) & 0x80U) != 0;
    if (part) {
      word += lower;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

namespace {

std::string text_of(const std::filesystem::path& path) {
  try {
    return read_small_file(path.string());
  } catch (const std::system_error&) {
    throw model_missing(path.string());
  }
}

}  // namespace

Dictionary read_dictionary(const std::filesystem::path& path, const std::set<std::string>& wanted) {
  std::istringstream in(text_of(path));
  Dictionary dictionary;
  for (std::string line; std::getline(in, line);) {
    // A second pronunciation is written as "word(2)".
    const std::string word = line.substr(0, line.find_first_of(" \t("));
    if (wanted.count(word) == 0) continue;
    dictionary.lines += line + "\n";
    dictionary.words.insert(word);
  }
  return dictionary;
}

}  // namespace s2s::pocketsphinx
