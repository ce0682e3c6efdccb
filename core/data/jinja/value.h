#pragma once
// Values of a template: Python's, as far as chat templates use them.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "jinja/marked_text.h"
#include "jinja/template_error.h"

namespace s2s::jinja {

class Value;
struct List;
struct Dict;
struct Arguments;

/// A name without a value: prints as nothing, is false, and has no attributes.
struct Undefined {
  std::string name;
};
struct None {};
using Function = std::function<Value(const Arguments&)>;

class Value {
 public:
  using Data =
      std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const MarkedText>,
                   std::shared_ptr<List>, std::shared_ptr<Dict>, std::shared_ptr<const Function>>;

  Value() : data_(Undefined{}) {}
  static Value undefined(std::string name) { return Value(Data(Undefined{std::move(name)})); }
  static Value none() { return Value(Data(None{})); }
  static Value of(bool flag) { return Value(Data(flag)); }
  static Value of(int64_t number) { return Value(Data(number)); }
  static Value of(size_t number) { return of(static_cast<int64_t>(number)); }
  static Value of(double number) { return Value(Data(number)); }
  static Value of(MarkedText text);
  static Value of(std::string text) { return of(MarkedText(std::move(text))); }
  static Value of(const char* text) { return of(std::string(text)); }
  static Value of(Function function);
  static Value of(Dict members);
  static Value list(std::vector<Value> items);
  static Value tuple(std::vector<Value> items);

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(data_);
  }
  bool is_text() const { return text() != nullptr; }
  bool is_undefined() const { return is<Undefined>(); }
  bool is_number() const { return is<bool>() || is<int64_t>() || is<double>(); }
  /// Null when it is something else.
  const MarkedText* text() const;
  List* items() const;
  Dict* dict() const;
  const Function* function() const;
  const Data& data() const { return data_; }

  /// As Python's bool().
  bool is_true() const;
  /// An int or a bool. Errors: TemplateError for another type.
  int64_t integer() const;
  /// Any number. Errors: as above.
  double number() const;
  /// Errors: as above.
  const MarkedText& require_text() const;
  /// "str", "list", "NoneType", ...
  std::string type_name() const;

 private:
  explicit Value(Data data) : data_(std::move(data)) {}
  Data data_;
};

/// How much a list or dict holds, so that no template makes one that cannot be printed or compared.
struct Extent {
  int64_t depth = 1;
  int64_t size = 1;  // values, at any depth; a text counts as one for each 32 bytes
  bool has_namespace = false;
  bool has_function = false;

  /// Errors: TemplateError when it becomes too deep or too large.
  void add(const Value& part);
};

struct List {
  std::vector<Value> items;
  bool is_tuple = false;
  Extent extent = {};
};

/// Keeps the order of insertion.
struct Dict {
  std::vector<std::pair<Value, Value>> members;
  bool is_namespace = false;  // its members may be assigned
  Extent extent = {};         // when it was made

  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(Value key, Value value);
  void set(const char* key, Value value) { set(Value::of(key), std::move(value)); }
};

/// Of a call.
struct Arguments {
  std::vector<Value> values;
  std::vector<std::pair<std::string, Value>> named;

  /// The argument with this index or name; null when it is not given.
  const Value* find(size_t index, std::string_view name) const;
  Value get(size_t index, std::string_view name, Value otherwise) const;
  /// Errors: TemplateError when it is not given.
  const Value& require(size_t index, std::string_view name) const;
};

/// Python's ==.
bool equal(const Value& a, const Value& b);
/// Python's <. Errors: TemplateError for types without an order.
bool less(const Value& a, const Value& b);
/// Python's str(); of Undefined "".
MarkedText to_text(const Value& value);
/// Python's repr().
std::string repr(const Value& value);

/// How json.dumps writes.
struct JsonStyle {
  bool ascii_only = false;
  bool sort_keys = false;
  int64_t indent = -1;  // none
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
/// Errors: TemplateError for a value that JSON does not have.
std::string to_json(const Value& value, const JsonStyle& style);

}  // namespace s2s::jinja
