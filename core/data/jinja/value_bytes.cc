#include "jinja/value_bytes.h"

#include <limits>

#include "s2s/error.h"

namespace s2s::jinja {
namespace {

constexpr int kMostLevels = 250;  // more than a value may have

enum class Tag : int64_t { kUndefined, kNone, kBool, kInt, kDouble, kText, kList, kTuple, kDict };

void write_tag(Tag tag, ByteWriter& to) { to.number(static_cast<int64_t>(tag)); }

Value read_at_level(ByteReader& from, int level);

Values read_items(ByteReader& from, int level) {
  Values items;
  for (size_t left = from.count(); left > 0; --left) items.push_back(read_at_level(from, level));
  return items;
}

Value read_dict(ByteReader& from, int level) {
  Dict dict;
  for (size_t left = from.count(); left > 0; --left) {
    Value key = read_at_level(from, level);
    dict.set(std::move(key), read_at_level(from, level));
  }
  return Value::of(std::move(dict));
}

Value read_at_level(ByteReader& from, int level) {
  if (level > kMostLevels) ByteReader::fail();
  switch (static_cast<Tag>(from.number_up_to(static_cast<int64_t>(Tag::kDict)))) {
    case Tag::kUndefined:
      return Value::undefined(from.text());
    case Tag::kNone:
      return Value::none();
    case Tag::kBool:
      return Value::of(from.flag());
    case Tag::kInt:
      return Value::of(from.number());
    case Tag::kDouble:
      return Value::of(from.real());
    case Tag::kText:
      return Value::of(read_text(from));
    case Tag::kList:
      return Value::list(read_items(from, level + 1));
    case Tag::kTuple:
      return Value::tuple(read_items(from, level + 1));
    case Tag::kDict:
      return read_dict(from, level + 1);
  }
  ByteReader::fail();
}

void write_items(const List& list, ByteWriter& to) {
  write_tag(list.is_tuple ? Tag::kTuple : Tag::kList, to);
  to.number(static_cast<int64_t>(list.items.size()));
  for (const Value& item : list.items) write_value(item, to);
}

void write_dict(const Dict& dict, ByteWriter& to) {
  S2S_ASSERT(!dict.is_namespace, "data has no namespaces");
  write_tag(Tag::kDict, to);
  to.number(static_cast<int64_t>(dict.members.size()));
  for (const auto& [key, value] : dict.members) {
    write_value(key, to);
    write_value(value, to);
  }
}

}  // namespace

void write_text(const MarkedText& text, ByteWriter& to) {
  to.text(text.bytes());
  to.number(static_cast<int64_t>(text.marks().size()));
  for (const Mark& mark : text.marks()) {
    to.number(static_cast<int64_t>(mark.begin));
    to.number(static_cast<int64_t>(mark.end));
    to.number(mark.tag);
  }
}

MarkedText read_text(ByteReader& from) {
  std::string bytes(from.text());
  const auto size = static_cast<int64_t>(bytes.size());
  std::vector<Mark> marks(from.count());
  int64_t last_begin = 0;
  for (Mark& mark : marks) {
    const int64_t begin = from.number_up_to(size), end = from.number_up_to(size);
    if (begin < last_begin || end < begin) ByteReader::fail();
    mark = {static_cast<size_t>(begin), static_cast<size_t>(end), from.number()};
    last_begin = begin;
  }
  return MarkedText(std::move(bytes), std::move(marks));
}

void write_value(const Value& value, ByteWriter& to) {
  S2S_ASSERT(value.function() == nullptr, "data has no functions");
  if (const MarkedText* text = value.text()) {
    write_tag(Tag::kText, to);
    return write_text(*text, to);
  }
  if (const List* list = value.items()) return write_items(*list, to);
  if (const Dict* dict = value.dict()) return write_dict(*dict, to);
  if (value.is<bool>()) {
    write_tag(Tag::kBool, to);
    return to.number(value.integer());
  }
  if (value.is<int64_t>()) {
    write_tag(Tag::kInt, to);
    return to.number(value.integer());
  }
  if (value.is<double>()) {
    write_tag(Tag::kDouble, to);
    return to.real(value.number());
  }
  if (value.is<None>()) return write_tag(Tag::kNone, to);
  write_tag(Tag::kUndefined, to);
  to.text(value.undefined_name());
}

Value read_value(ByteReader& from) { return read_at_level(from, 0); }

}  // namespace s2s::jinja
