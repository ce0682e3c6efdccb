#pragma once
// Values of a template: the types of Python that chat templates use.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "jinja/marked_text.h"
#include "jinja/meter.h"
#include "jinja/template_error.h"

namespace s2s::jinja {

class Value;
struct List;
struct Dict;
struct Arguments;

/// A list of values. Its memory is counted.
using Values = std::vector<Value, Metered<Value>>;

/// A name without a value. It prints as nothing, is false and has no attributes.
struct Undefined {
  std::shared_ptr<const MarkedText> name;  // null: ""
};
struct None {};
using Function = std::function<Value(const Arguments&)>;

class Value {
 public:
  using Data =
      std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const MarkedText>,
                   std::shared_ptr<List>, std::shared_ptr<Dict>, std::shared_ptr<const Function>>;

  Value() : data_(Undefined{}) {}
  /// Keeps only the beginning of a long name, which is for messages.
  static Value undefined(std::string_view name);
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
  static Value list(Values items);
  static Value tuple(Values items);

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(data_);
  }
  bool is_text() const { return text() != nullptr; }
  bool is_undefined() const { return is<Undefined>(); }
  /// Name of an undefined value, or "".
  const std::string& undefined_name() const;
  bool is_number() const { return is<bool>() || is<int64_t>() || is<double>(); }
  /// Returns null if the value is not a text.
  const MarkedText* text() const;
  List* items() const;
  Dict* dict() const;
  const Function* function() const;
  const Data& data() const { return data_; }

  /// Python's bool().
  bool is_true() const;
  /// Returns an int or a bool. Errors: TemplateError for another type.
  int64_t integer() const;
  /// Returns any number. Errors: as above.
  double number() const;
  /// Errors: as above.
  const MarkedText& require_text() const;
  /// "str", "list", "NoneType", ...
  std::string type_name() const;

 private:
  explicit Value(Data data) : data_(std::move(data)) {}
  Data data_;
};

/// The size of a list or dict. It is limited, so that no template makes one that cannot be printed
/// or compared.
struct Extent {
  int64_t depth = 1;
  int64_t size = 1;  // values at any depth; a text counts as one per 32 bytes
  bool has_namespace = false;
  bool has_function = false;

  /// Errors: TemplateError when the value becomes too deep or too large.
  void add(const Value& part);
};

struct List {
  Values items;
  bool is_tuple = false;
  Extent extent = {};
};

using Members = std::vector<std::pair<Value, Value>, Metered<std::pair<Value, Value>>>;

/// Keeps the order of insertion. Members are added only by `set` and `add_new`.
struct Dict {
  Members members;
  bool is_namespace = false;  // its members may be assigned
  Extent extent = {};         // its extent when it was made

  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  void set(Value key, Value value);
  void set(const char* key, Value value) { set(Value::of(key), std::move(value)); }
  /// Works like `set` for a key that is not in the dict.
  void add_new(Value key, Value value);
  void add_new(const char* key, Value value) { add_new(Value::of(key), std::move(value)); }

 private:
  template <class IsKey>
  size_t place_of(size_t hash, const IsKey& is_key) const;
  void enter(size_t place, size_t hash);

  /// A hash table of indexes into `members`, each plus 1, if there are many members; 0: free.
  std::vector<uint32_t, Metered<uint32_t>> slots_;
};

/// Arguments of a call.
struct Arguments {
  Values values;
  std::vector<std::pair<std::string, Value>, Metered<std::pair<std::string, Value>>> named;
  Held held = {};  // memory of long names

  /// Returns the argument with this index or name, or null if it is not given.
  const Value* find(size_t index, std::string_view name) const;
  Value get(size_t index, std::string_view name, Value otherwise) const;
  /// Errors: TemplateError when the argument is not given.
  const Value& require(size_t index, std::string_view name) const;
};

/// Python's ==. This and the next function charge each comparison, at any depth.
bool equal(const Value& a, const Value& b);
/// Python's <. Errors: TemplateError for types without an order.
bool less(const Value& a, const Value& b);
/// Python's str(); "" for Undefined.
MarkedText to_text(const Value& value);
/// Python's repr().
std::string repr(const Value& value);

/// Options of json.dumps.
struct JsonStyle {
  bool ascii_only = false;
  bool sort_keys = false;
  int64_t indent = -1;  // -1: none
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
/// Errors: TemplateError for a value that JSON cannot represent.
std::string to_json(const Value& value, const JsonStyle& style);

}  // namespace s2s::jinja
