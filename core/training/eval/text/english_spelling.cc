#include "eval/text/english_spelling.h"

#include <array>
#include <sstream>
#include <unordered_map>

namespace s2s {

namespace {

using Spellings = std::unordered_map<std::string, std::string>;

/// "changes | endings | stems", each a list of strings.
using Family = std::array<std::vector<std::string>, 3>;

void spell_out(const Family& family, Spellings& spellings) {
  const auto& [change, endings, stems] = family;
  for (const std::string& stem : stems) {
    for (const std::string& ending : endings) {
      spellings[stem + change[0] + ending] = stem + change[1] + ending;
    }
  }
}

Spellings read_families() {
  Spellings spellings;
  Family family;
  size_t part = 0;
  std::istringstream text(kSpellingFamilies);
  for (std::string piece; text >> piece;) {
    if (piece == "|") {
      ++part;
    } else if (piece == ";") {
      spell_out(family, spellings);
      family = {};
      part = 0;
    } else {
      family.at(part).push_back(piece == "-" ? "" : piece);
    }
  }
  spell_out(family, spellings);
  return spellings;
}

}  // namespace

const std::string& american_spelling(const std::string& word) {
  static const Spellings spellings = read_families();
  const auto found = spellings.find(word);
  return found == spellings.end() ? word : found->second;
}

}  // namespace s2s
