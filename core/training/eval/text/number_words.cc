#include "eval/text/number_words.h"

#include <array>
#include <unordered_map>

namespace s2s {

namespace {

using Kind = NumberWord::Kind;
using Table = std::unordered_map<std::string, NumberWord>;

constexpr std::array kUnits = {"one",     "two",       "three",    "four",     "five",
                               "six",     "seven",     "eight",    "nine",     "ten",
                               "eleven",  "twelve",    "thirteen", "fourteen", "fifteen",
                               "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array kTens = {"twen", "thir", "for", "fif", "six", "seven", "eigh", "nine"};

struct Power {
  const char* word;
  size_t zeros;
};
constexpr std::array<Power, 12> kPowers = {{{"hundred", 2},
                                            {"thousand", 3},
                                            {"million", 6},
                                            {"billion", 9},
                                            {"trillion", 12},
                                            {"quadrillion", 15},
                                            {"quintillion", 18},
                                            {"sextillion", 21},
                                            {"septillion", 24},
                                            {"octillion", 27},
                                            {"nonillion", 30},
                                            {"decillion", 33}}};

NumberWord unit(size_t value, std::string suffix = "") {
  return {Kind::kUnit, std::to_string(value), 0, std::move(suffix), ""};
}

/// whisper_normalizer's rule: "eightth" becomes "eighth", "nineth" stays. Kept for equal scores.
std::string ordinal_of(const std::string& unit_word) {
  return unit_word + (unit_word.back() == 't' ? "h" : "th");
}

void add_units(Table& table) {
  for (size_t i = 0; i < kUnits.size(); ++i) {
    const std::string word = kUnits[i];
    table[word] = unit(i + 1);
    table[word == "six" ? "sixes" : word + "s"] = unit(i + 1, "s");
    if (i + 1 > 3 && i + 1 != 5 && i + 1 != 12) table[ordinal_of(word)] = unit(i + 1, "th");
  }
  table["zeroth"] = unit(0, "th");
  table["first"] = unit(1, "st");
  table["second"] = unit(2, "nd");
  table["third"] = unit(3, "rd");
  table["fifth"] = unit(5, "th");
  table["twelfth"] = unit(12, "th");
  for (const char* word : {"o", "oh", "zero"}) table[word] = {Kind::kZero, "0", 0, "", ""};
}

void add_tens_and_powers(Table& table) {
  for (size_t i = 0; i < kTens.size(); ++i) {
    const std::string stem = kTens[i];
    const std::string digits = std::to_string((i + 2) * 10);
    table[stem + "ty"] = {Kind::kTens, digits, 0, "", ""};
    table[stem + "ties"] = {Kind::kTens, digits, 0, "s", ""};
    table[stem + "tieth"] = {Kind::kTens, digits, 0, "th", ""};
  }
  for (const auto& [word, zeros] : kPowers) {
    table[word] = {Kind::kMultiplier, "", zeros, "", ""};
    table[std::string(word) + "s"] = {Kind::kMultiplier, "", zeros, "s", ""};
    table[std::string(word) + "th"] = {Kind::kMultiplier, "", zeros, "th", ""};
  }
}

void add_symbols(Table& table) {
  for (const char* word : {"minus", "negative"}) table[word] = {Kind::kSign, "", 0, "", "-"};
  for (const char* word : {"plus", "positive"}) table[word] = {Kind::kSign, "", 0, "", "+"};
  const std::array<std::pair<const char*, const char*>, 4> currencies = {
      {{"pound", "\u00A3"}, {"euro", "\u20AC"}, {"dollar", "$"}, {"cent", "\u00A2"}}};
  for (const auto& [word, symbol] : currencies) {
    table[word] = {Kind::kCurrency, "", 0, "", symbol};
    table[std::string(word) + "s"] = {Kind::kCurrency, "", 0, "", symbol};
  }
  for (const char* word : {"percent", "per"}) table[word] = {Kind::kPercent, "", 0, "", "%"};
  for (const char* word : {"and", "double", "triple", "point"}) {
    table[word] = {Kind::kConnector, "", 0, "", ""};
  }
}

Table make_table() {
  Table table;
  add_units(table);
  add_tens_and_powers(table);
  add_symbols(table);
  return table;
}

}  // namespace

const NumberWord& number_word(const std::string& word) {
  static const Table table = make_table();
  static const NumberWord other;
  const auto found = table.find(word);
  return found == table.end() ? other : found->second;
}

}  // namespace s2s
