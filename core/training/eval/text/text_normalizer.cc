#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/regex.h"
#include "base/text.h"
#include "eval/text/english_spelling.h"
#include "eval/text/number_reader.h"
#include "eval/text/number_words.h"
#include "eval/text/unicode_text.h"
#include "s2s/scores/texts.h"

namespace s2s {

namespace {

using Pair = std::pair<const char*, const char*>;

constexpr auto kContractions = std::to_array<Pair>({
    {"won't", "will not"},
    {"can't", "can not"},
    {"let's", "let us"},
    {"ain't", "aint"},
    {"y'all", "you all"},
    {"wanna", "want to"},
    {"kinda", "kind of"},
    {"sorta", "sort of"},
    {"dunno", "do not know"},
    {"gotta", "got to"},
    {"gonna", "going to"},
    {"i'ma", "i am going to"},
    {"imma", "i am going to"},
    {"woulda", "would have"},
    {"coulda", "could have"},
    {"shoulda", "should have"},
    {"cause", "because"},
    {"ma'am", "madam"},
});

constexpr auto kTitles = std::to_array<Pair>({
    {"mr", "mister"},      {"mrs", "missus"},    {"st", "saint"},           {"dr", "doctor"},
    {"prof", "professor"}, {"capt", "captain"},  {"gov", "governor"},       {"ald", "alderman"},
    {"gen", "general"},    {"sen", "senator"},   {"rep", "representative"}, {"pres", "president"},
    {"rev", "reverend"},   {"hon", "honorable"}, {"asst", "assistant"},     {"assoc", "associate"},
    {"lt", "lieutenant"},  {"col", "colonel"},   {"jr", "junior"},          {"sr", "senior"},
    {"esq", "esquire"},
});

/// Word endings. Longer ones come first, because they contain shorter ones.
constexpr auto kEndings = std::to_array<Pair>({
    {"'d been", "had been"},
    {"'s been", "has been"},
    {"'d gone", "had gone"},
    {"'s gone", "has gone"},
    {"'d done", "had done"},
    {"'s got", "has got"},
    {"n't", "not"},
    {"'re", "are"},
    {"'s", "is"},
    {"'d", "would"},
    {"'ll", "will"},
    {"'t", "not"},
    {"'ve", "have"},
    {"'m", "am"},
});

/// Letters that NFKD does not decompose.
constexpr auto kPlainLetters = std::to_array<std::pair<char32_t, const char*>>({
    {0x153, "oe"},
    {0x152, "OE"},
    {0xF8, "o"},
    {0xD8, "O"},
    {0xE6, "ae"},
    {0xC6, "AE"},
    {0xDF, "ss"},
    {0x1E9E, "SS"},
    {0x111, "d"},
    {0x110, "D"},
    {0xF0, "d"},
    {0xD0, "D"},
    {0xFE, "th"},
    {0xDE, "th"},
    {0x142, "l"},
    {0x141, "L"},
});

constexpr auto kNumericSymbols = std::to_array<char32_t>({'.', '%', '$', 0xA2, 0x20AC, 0xA3});

std::string lower_case(std::string_view text) {
  std::vector<char32_t> code_points = to_lower(decode_utf8(text));
  for (char32_t& c : code_points) {
    if (is_white_space(c)) c = ' ';
  }
  return encode_utf8(code_points);
}

/// Compatibility decomposition (NFKD) or, with UTF8PROC_COMPOSE, composition (NFKC).
std::vector<char32_t> compatible(const std::string& text, utf8proc_option_t form) {
  utf8proc_uint8_t* raw = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &raw,
                   static_cast<utf8proc_option_t>(form | UTF8PROC_COMPAT | UTF8PROC_STABLE));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(raw, std::free);
  if (size < 0) return decode_utf8(text);
  return decode_utf8({reinterpret_cast<const char*>(raw), static_cast<size_t>(size)});
}

bool is_symbol(utf8proc_category_t category) {
  switch (category) {
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return true;
    default:
      return false;
  }
}

/// One decomposed code point without diacritics. Symbols become blanks unless numbers use them.
std::string plain(char32_t c) {
  if (std::find(kNumericSymbols.begin(), kNumericSymbols.end(), c) != kNumericSymbols.end()) {
    return encode_utf8({c});
  }
  for (const auto& [letter, text] : kPlainLetters) {
    if (letter == c) return text;
  }
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  if (category == UTF8PROC_CATEGORY_MN) return "";
  return is_symbol(category) ? " " : encode_utf8({c});
}

std::string drop_symbols_and_diacritics(const std::string& text) {
  std::string out;
  for (const char32_t c : compatible(text, UTF8PROC_DECOMPOSE)) out += plain(c);
  return out;
}

bool can_have_a_half(const std::string& word) {
  const NumberWord& meaning = number_word(word);
  const bool counts =
      meaning.kind == NumberWord::Kind::kZero || meaning.kind == NumberWord::Kind::kUnit ||
      meaning.kind == NumberWord::Kind::kTens || meaning.kind == NumberWord::Kind::kMultiplier;
  return counts && meaning.suffix.empty();
}

/// "two and a half" -> "two point five".
std::vector<std::string> rewrite_halves(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool half =
        i + 2 < words.size() && words[i] == "and" && words[i + 1] == "a" && words[i + 2] == "half";
    if (!half) {
      out.push_back(words[i]);
      continue;
    }
    const bool follows_number = i > 0 && can_have_a_half(words[i - 1]);
    for (const char* word : {"point", "five"}) {
      if (follows_number) out.emplace_back(word);
    }
    for (const char* word : {"and", "a", "half"}) {
      if (!follows_number && i > 0) out.emplace_back(word);
    }
    i += 2;
  }
  return out;
}

std::string bounded(const char* word) { return std::string("\\b") + word + "\\b"; }

class BasicNormalizer {
 public:
  std::string operator()(std::string_view text) const {
    const std::string spoken = round_.replace(angular_.replace(lower_case(text), ""), "");
    std::vector<char32_t> clean;
    for (const char32_t c : compatible(spoken, UTF8PROC_COMPOSE)) {
      const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
      const bool is_blank = is_symbol(category) || category == UTF8PROC_CATEGORY_MN;
      clean.push_back(is_blank || is_white_space(c) ? U' ' : c);
    }
    return blanks_.replace(encode_utf8(to_lower(clean)), " ");
  }

 private:
  Regex angular_{"[<\\[][^>\\]]*[>\\]]"}, round_{"\\(([^)]+?)\\)"}, blanks_{" +"};
};

class EnglishNormalizer {
 public:
  EnglishNormalizer();
  std::string operator()(std::string_view text) const;

 private:
  struct Rule {
    Regex pattern;
    std::string replacement;
  };
  static std::string apply(const std::vector<Rule>& rules, std::string text);

  std::vector<Rule> speech_rules_;    // before symbols are dropped
  std::vector<Rule> digit_rules_;     // before number words are read
  std::vector<Rule> currency_rules_;  // after number words are read
  std::vector<Rule> leftover_rules_;  // last
};

EnglishNormalizer::EnglishNormalizer() {
  speech_rules_.push_back({Regex("[<\\[][^>\\]]*[>\\]]"), ""});
  speech_rules_.push_back({Regex("\\(([^)]+?)\\)"), ""});
  speech_rules_.push_back({Regex("\\b(hmm|mm|mhm|mmm|uh|um)\\b"), ""});
  speech_rules_.push_back({Regex(" +'"), "'"});
  for (const auto& [from, to] : kContractions) speech_rules_.push_back({Regex(bounded(from)), to});
  for (const auto& [from, to] : kTitles) {
    speech_rules_.push_back({Regex(bounded(from)), std::string(to) + " "});
  }
  for (const auto& [from, to] : kEndings) {
    speech_rules_.push_back({Regex(std::string(from) + "\\b"), std::string(" ") + to});
  }
  speech_rules_.push_back({Regex("(\\d),(\\d)"), "$1$2"});
  speech_rules_.push_back({Regex("\\.([^0-9]|$)"), " $1"});

  digit_rules_.push_back({Regex("([a-z])([0-9])"), "$1 $2"});
  digit_rules_.push_back({Regex("([0-9])([a-z])"), "$1 $2"});
  digit_rules_.push_back({Regex("([0-9]) +(st|nd|rd|th|s)\\b"), "$1$2"});

  // Dollars and cents become one amount; an amount below one dollar becomes cents.
  const std::string amount = "([\u20AC\u00A3$])([0-9]+) (?:and )?\u00A2";
  currency_rules_.push_back({Regex(amount + "([0-9])\\b"), "$1$2.0$3"});
  currency_rules_.push_back({Regex(amount + "([0-9]{2})\\b"), "$1$2.$3"});
  currency_rules_.push_back({Regex("[\u20AC\u00A3$]0.0([0-9])\\b"), "\u00A2$1"});
  currency_rules_.push_back({Regex("[\u20AC\u00A3$]0.([0-9]{1,2})\\b"), "\u00A2$1"});
  currency_rules_.push_back({Regex("\\b1(s?)\\b"), "one$1"});

  leftover_rules_.push_back({Regex("[.$\u00A2\u20AC\u00A3]([^0-9])"), " $1"});
  leftover_rules_.push_back({Regex("([^0-9])%"), "$1 "});
  leftover_rules_.push_back({Regex(" +"), " "});
}

std::string EnglishNormalizer::apply(const std::vector<Rule>& rules, std::string text) {
  for (const Rule& rule : rules) text = rule.pattern.replace(text, rule.replacement);
  return text;
}

std::string EnglishNormalizer::operator()(std::string_view text) const {
  std::string spoken = apply(speech_rules_, lower_case(text));
  spoken = drop_symbols_and_diacritics(spoken);
  spoken = apply(digit_rules_, joined(rewrite_halves(split_words(spoken)), " "));
  std::string counted = joined(rewrite_numbers(split_words(spoken)), " ");
  counted = apply(currency_rules_, counted);
  std::vector<std::string> words = split_words(counted);
  for (std::string& word : words) word = american_spelling(word);
  return apply(leftover_rules_, joined(words, " "));
}

}  // namespace

std::string normalize_english(std::string_view text) {
  static const EnglishNormalizer kNormalizer;
  return kNormalizer(text);
}

std::string normalize_basic(std::string_view text) {
  static const BasicNormalizer kNormalizer;
  return kNormalizer(text);
}

std::string with_unknown_words(std::string_view text) {
  constexpr std::string_view kUnknown = "\xE2\x81\x87";  // U+2047
  std::string words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t found = std::min(text.find(kUnknown, begin), text.size());
    words += text.substr(begin, found - begin);
    begin = found;
    if (begin == text.size()) break;
    words += " unknownpiece ";
    begin += kUnknown.size();
  }
  return words;
}

std::string collapse_white_space(std::string_view text) { return joined(split_words(text), " "); }

}  // namespace s2s
