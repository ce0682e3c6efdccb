#include "base/regex.h"

#include <doctest/doctest.h>

#include <stdexcept>

using s2s::Regex;
using Groups = std::vector<std::string>;

TEST_CASE("a pattern finds its first match and its groups") {
  const Regex pattern("([a-z]+)_([0-9]+)?");
  CHECK(pattern.find("1 ab_12 cd_3").value() == Groups{"ab_12", "ab", "12"});
  CHECK(pattern.find("ab_").value() == Groups{"ab_", "ab", ""});
  CHECK_FALSE(pattern.find("AB_1").has_value());
  CHECK(pattern.match("ab_12").has_value());
  CHECK_FALSE(pattern.match("ab_12 ").has_value());
  CHECK(pattern.matches_start("ab_12 "));
  CHECK_FALSE(pattern.matches_start(" ab_12"));
  CHECK(Regex("a|ab").match("ab").has_value());  // of all ways, the one that takes the whole
}

TEST_CASE("a pattern searches texts of any length and any bytes") {
  const std::string text = std::string(1'000'000, 'u') + "-sub1.wav";
  CHECK(Regex("(.+)-sub[0-9]+").find(text).value()[1].size() == 1'000'000);
  CHECK(Regex("b+").find(std::string("a\0\xff", 3) + "bb").value()[0] == "bb");
}

TEST_CASE("a pattern that is none says where") {
  CHECK_THROWS_WITH_AS(Regex("ab("), doctest::Contains("at byte 3"), std::invalid_argument);
}

TEST_CASE("a search without end is given up") {
  const Regex pattern("(a+)+$");
  const std::string text = std::string(60, 'a') + "!";
  CHECK_FALSE(pattern.find(text).has_value());
  CHECK_THROWS_AS(pattern.matches_start(text), std::runtime_error);
}
