#include "jinja/value_bytes.h"

#include <doctest/doctest.h>

#include <cmath>

namespace s2s::jinja {
namespace {

Value copy(const Value& value) {
  ByteWriter bytes;
  write_value(value, bytes);
  const std::string whole = bytes.take();
  ByteReader reader(whole);
  Value read = read_value(reader);
  CHECK(reader.at_end());
  return read;
}

}  // namespace

TEST_CASE("values of every type are the same after their way through bytes") {
  Dict dict;
  dict.set("role", Value::of("user"));
  dict.set(Value::of(int64_t{3}), Value::tuple({Value::none(), Value::of(true)}));
  dict.set("n", Value::list({Value::of(int64_t{-7}), Value::of(0.25), Value::of("")}));
  const Value value = Value::of(std::move(dict));
  CHECK(equal(copy(value), value));
  CHECK(repr(copy(value)) == repr(value));
  CHECK(copy(Value::undefined("who")).undefined_name() == "who");
  CHECK(std::isnan(copy(Value::of(std::nan(""))).number()));
}

TEST_CASE("marks of a text stay where they are") {
  MarkedText text("before ");
  text.append(MarkedText::from("caf\xc3\xa9", 4));
  text.append(MarkedText::from("", 5));
  const Value read = copy(Value::of(text));
  REQUIRE(read.text() != nullptr);
  CHECK(read.text()->bytes() == text.bytes());
  REQUIRE(read.text()->marks().size() == text.marks().size());
  for (size_t i = 0; i < text.marks().size(); ++i) {
    CHECK(read.text()->marks()[i].begin == text.marks()[i].begin);
    CHECK(read.text()->marks()[i].end == text.marks()[i].end);
    CHECK(read.text()->marks()[i].tag == text.marks()[i].tag);
  }
}

TEST_CASE("bytes that are no value are an error") {
  ByteWriter bytes;
  write_value(Value::list({Value::of("text"), Value::of(int64_t{1})}), bytes);
  const std::string whole = bytes.take();
  for (size_t size = 0; size < whole.size(); ++size) {
    ByteReader reader(std::string_view(whole).substr(0, size));
    CHECK_THROWS_AS(read_value(reader), std::runtime_error);
  }
  ByteWriter text;  // "ab" with a mark beyond it
  text.text("ab");
  for (const int64_t number : {1, 1, 3, 0}) text.number(number);
  const std::string marked = text.take();
  ByteReader reader(marked);
  CHECK_THROWS_AS(read_text(reader), std::runtime_error);
}

}  // namespace s2s::jinja
