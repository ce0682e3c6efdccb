#include "jinja/meter.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>

#include "base/interrupt.h"
#include "jinja/runtime.h"
#include "jinja/substring.h"
#include "jinja/template.h"
#include "jinja/text_builder.h"

namespace {

using namespace s2s::jinja;

std::string failure_of(const std::string& source, const MeterLimits& limits,
                       RenderCost* cost = nullptr) {
  try {
    Template(source).render({}, limits, cost);
  } catch (const TemplateError& error) {
    return std::to_string(error.line()) + ":" + std::to_string(error.column()) + " " + error.what();
  }
  return "";
}

const std::string kEndless =
    "a\n b{% for i in range(9999) %}\n {{ range(9999) | sum }}{% endfor %}";

}  // namespace

TEST_CASE("work, live memory and time of a document are limited, and the place is named") {
  MeterLimits limits;
  limits.work = 500'000;
  CHECK(failure_of(kEndless, limits) ==
        "3:2 the template runs too long: it needs more than 500000 units of work for one document");
  limits = {};
  limits.live_bytes = 2 << 20;
  CHECK(failure_of("{% set a = 'x' * 3000000 %}", limits) ==
        "1:1 the template needs too much memory: it holds more than 2 MiB for one document");
  limits = {};
  limits.work = int64_t{1} << 60;
  limits.seconds = 0.01;
  CHECK(failure_of(kEndless, limits) ==
        "3:2 the template runs too long: more than 0.01 s of processor time for one document");
}

TEST_CASE("the limits of a document are those of the manual") {
  const MeterLimits limits;
  CHECK(limits.work == 25'000'000);
  CHECK(limits.live_bytes == 192 << 20);
  CHECK(limits.seconds == 1);
  CHECK(limits.process_bytes == 512 << 20);
  CHECK(limits.fair_bytes == 8 << 20);
  CHECK(limits.units_per_check == 4096);
}

TEST_CASE("memory that is given back may be used again") {
  RenderCost cost;
  const std::string loop = "{% for i in range(200) %}{% set a = 'x' * 1000000 %}{% endfor %}";
  CHECK(failure_of(loop, {}, &cost) == "");
  CHECK(cost.most_live_bytes > 1'000'000);
  CHECK(cost.most_live_bytes < 4'000'000);
  CHECK(cost.work > 200 * 1'000'000 / 64);
}

TEST_CASE("documents that are rendered at the same time share a limit") {
  MeterLimits limits;
  limits.process_bytes = 24 << 20;
  limits.fair_bytes = 4 << 20;
  Meter other(limits);
  other.hold(20 << 20);
  CHECK(failure_of("{% set a = 'x' * 3000000 %}", limits) == "");  // a fair share
  CHECK(failure_of("{% set a = 'x' * 9000000 %}", limits) ==
        "1:1 the template needs too much memory: the documents that are rendered at the same time "
        "hold more than 24 MiB");
}

TEST_CASE("what a meter has reserved is free when it ends") {
  MeterLimits limits;
  limits.process_bytes = 24 << 20;
  limits.fair_bytes = 4 << 20;
  for (int i = 0; i < 9; ++i) CHECK(failure_of("{% set a = 'x' * 9000000 %}", limits) == "");
}

TEST_CASE("^C ends a template that has run for long, and no other") {
  MeterLimits limits;
  limits.seconds_before_interrupt = 0.01;
  limits.seconds = 60;
  limits.work = int64_t{1} << 60;
  s2s::InterruptWatch watch;
  CHECK_FALSE(s2s::interrupt_requested());
  watch.request(2);
  CHECK(s2s::interrupt_requested());
  CHECK(failure_of("{% for i in range(99) %}{{ i }}{% endfor %}", limits) == "");
  CHECK_THROWS_AS(failure_of(kEndless, limits), Interrupted);
}

TEST_CASE("the meter sees the clock at least every 4096 units, also within one operation") {
  // Each of these is one filter or method of a long text. The clock has run out before.
  for (const char* call :
       {"upper", "wordcount", "tojson", "list", "title", "escape", "string | upper"}) {
    MeterLimits limits;
    limits.seconds = -1;
    RenderCost cost;
    const std::string text = failure_of(
        "{% set a = 'a b' * 300000 %}{% set b = a | " + std::string(call) + " %}", limits, &cost);
    CHECK_MESSAGE(text.find("processor time") != std::string::npos, call);
    CHECK(cost.work < 100'000);
  }
}

TEST_CASE("the members of a large dict are found without comparing all") {
  Meter meter;
  Dict dict;
  for (int64_t i = 0; i < 50'000; ++i) {
    dict.set(Value::of("key" + std::to_string(i)), Value::of(i));
    dict.set(Value::of(i), Value::of(-i));
  }
  dict.set(Value::of(7.0), Value::of("seven"));
  dict.set(Value::of(true), Value::of("one"));
  dict.set(Value::tuple({Value::of(int64_t{1})}), Value::of("tuple"));
  dict.set(Value::none(), Value::of("none"));
  CHECK(meter.work() < 5'000'000);
  CHECK(dict.members.size() == 100'002);
  CHECK(dict.find("key49999")->integer() == 49'999);
  CHECK(dict.find(Value::of(int64_t{7}))->text()->bytes() == "seven");
  CHECK(dict.find(Value::of(1.0))->text()->bytes() == "one");
  CHECK(dict.find(Value::of(-0.0))->integer() == 0);
  CHECK(dict.find(Value::tuple({Value::of(1.0)}))->text()->bytes() == "tuple");
  CHECK(dict.find(Value::none())->text()->bytes() == "none");
  CHECK(dict.find("key") == nullptr);
  CHECK(dict.find(Value::of(0.5)) == nullptr);
  CHECK(dict.members.front().first.text()->bytes() == "key0");
  const Dict copy = dict;
  CHECK(copy.find("key123")->integer() == 123);
}

TEST_CASE("parts are found where std::string finds them") {
  std::mt19937 random(7);
  const auto text_of = [&](size_t size) {
    std::string text(size, 'a');
    for (char& c : text) c = static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::string text = text_of(random() % 60), part = text_of(random() % 14);
    const size_t from = random() % 60, end = random() % (text.size() + 1);
    CHECK(find_part(text, part, from) == text.find(part, from));
    CHECK(RightSearch(text, part).find_before(end) == text.substr(0, end).rfind(part));
  }
  // Longer than what memmem gets, and than a piece.
  const std::string text = std::string(3'000'000, 'a') + "b" + std::string(100'000, 'a');
  for (const size_t size : {size_t{3}, size_t{300}, size_t{70'000}, size_t{100'000}}) {
    const std::string part = "b" + std::string(size, 'a');
    CHECK(find_part(text, part) == 3'000'000);
    CHECK(RightSearch(text, part).find_before(text.size()) == 3'000'000);
    CHECK(find_part(text, part, 3'000'001) == std::string::npos);
    CHECK(RightSearch(text, part).find_before(text.size() - 100'000) == std::string::npos);
  }
}

TEST_CASE("a search costs in proportion to both lengths") {
  Meter meter;
  const std::string text(3'000'000, 'a'), part = std::string(1'500'000, 'a') + "b";
  CHECK(find_part(text, part) == std::string::npos);
  CHECK(RightSearch(text, part).find_before(text.size()) == std::string::npos);
  CHECK(meter.work() < 5'000'000);
}
