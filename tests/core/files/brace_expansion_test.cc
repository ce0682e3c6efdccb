#include "files/brace_expansion.h"

#include <doctest/doctest.h>

#include "common/contains.h"
#include "s2s/error.h"

namespace s2s::files {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("braces expand as in braceexpand") {
  CHECK(expand_shard_pattern("plain") == Names{"plain"});
  CHECK(expand_shard_pattern("item{1..3}") == Names{"item1", "item2", "item3"});
  CHECK(expand_shard_pattern("{a..c}") == Names{"a", "b", "c"});
  CHECK(expand_shard_pattern("i{,.bak}") == Names{"i", "i.bak"});
  CHECK(expand_shard_pattern("p{2.{5..6},3.{2,3}}") == Names{"p2.5", "p2.6", "p3.2", "p3.3"});
  CHECK(expand_shard_pattern("{07..10}") == Names{"07", "08", "09", "10"});
  CHECK(expand_shard_pattern("{a..g..2}") == Names{"a", "c", "e", "g"});
  CHECK(expand_shard_pattern("{4..1}") == Names{"4", "3", "2", "1"});
  CHECK(expand_shard_pattern("{2..-1}") == Names{"2", "1", "0", "-1"});
  CHECK(expand_shard_pattern("{-01..1}") == Names{"-01", "000", "001"});
  CHECK(expand_shard_pattern("x{one}y{}") == Names{"x{one}y{}"});
  CHECK(expand_shard_pattern("{x{1..2}y}") == Names{"{x1y}", "{x2y}"});
  CHECK(expand_shard_pattern("{a,b}{1,2}") == Names{"a1", "a2", "b1", "b2"});
  CHECK(expand_shard_pattern("\\{1,2}") == Names{"\\1", "\\2"});
  CHECK(expand_shard_pattern("{5..5}") == Names{"5"});
  CHECK(expand_shard_pattern("{0..5..-2}") == Names{"0", "2", "4"});
}

TEST_CASE("patterns of shards as in NeMo") {
  CHECK(expand_shard_pattern("d/a__OP_0..2_CL_.tar") ==
        Names{"d/a_0.tar", "d/a_1.tar", "d/a_2.tar"});
  CHECK(expand_shard_pattern("a_(0..1).tar") == Names{"a_0.tar", "a_1.tar"});
  CHECK(expand_shard_pattern("a_[0..1]<x,y>") == Names{"a_0x", "a_0y", "a_1x", "a_1y"});
  CHECK(expand_shard_pattern("my (copy)/a{0..1}") == Names{"my (copy)/a0", "my (copy)/a1"});
  CHECK(expand_shard_pattern("pipe:(cat a{0..1})") == Names{"pipe:(cat a0)", "pipe:(cat a1)"});
}

TEST_CASE("patterns that are none") {
  const auto message = [](const std::string& pattern) -> std::string {
    try {
      expand_shard_pattern(pattern);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(test::contains(message("a{0..2"), "[data/braces] 'a{0..2'"));
  CHECK(test::contains(message("a}b{"), "[data/braces]"));
  CHECK(test::contains(message("{0..99999999}"), "a million"));
  CHECK(test::contains(message("{0..9999}{0..9999}"), "a million"));
  CHECK(test::contains(message(std::string(1000, 'x') + "{0..999999}"), "256 MiB"));
  // Parts that wait for each other, side by side and inside of each other.
  std::string wide = "{a", deep;
  for (int i = 0; i < 15; ++i) wide += "," + std::string(3500, 'x') + "{0..65535}";
  CHECK(test::contains(message(wide + "}"), "256 MiB"));
  for (int i = 0; i < 45; ++i) deep += std::string(1000, 'x') + "{0..65535}{b,";
  CHECK(test::contains(message(deep + "c" + std::string(45, '}')), "256 MiB"));
  CHECK(expand_shard_pattern("cuts.{000000..999999}.jsonl.gz").size() == 1'000'000);
  CHECK(test::contains(message(std::string(70000, 'x')), "64 KiB"));
  CHECK(test::contains(message("{0..99999999999999999999}"), "too large"));
  CHECK(test::contains(message(std::string(100, '{') + std::string(100, '}')), "deep"));
  CHECK(expand_shard_pattern("{9223372036854775805..9223372036854775807}").size() == 3);
}

}  // namespace
}  // namespace s2s::files
