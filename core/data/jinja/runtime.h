#pragma once
// The state of one rendering.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "jinja/syntax.h"
#include "jinja/value.h"

namespace s2s::jinja {

/// Names and their values. Names of the parent are visible, too.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> outer = nullptr) : parent(std::move(outer)) {}
  /// Errors: TemplateError when there is no memory for another name.
  void set(const std::string& name, Value value);

  std::shared_ptr<Scope> parent;
  std::map<std::string, Value, std::less<>> values;
  Held held;  // memory of the names and values
};

class Runtime {
 public:
  Runtime(std::shared_ptr<Scope> scope, Meter& meter) : scope_(std::move(scope)), meter_(meter) {}

  Value find(const std::string& name) const;
  void set(const std::string& name, Value value) { scope_->set(name, std::move(value)); }
  const std::shared_ptr<Scope>& scope() const { return scope_; }

  /// Marks that an expression is being evaluated, and charges it. Errors: TemplateError when
  /// expressions are nested too deeply.
  class Depth {
   public:
    explicit Depth(Runtime& run);
    ~Depth() { --run_.num_expressions_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    Runtime& run_;
  };
  /// Appends to the output. Errors: TemplateError when it becomes too long.
  void write(const MarkedText& text);
  void write(std::string_view text);
  Flow run(const Body& body);
  /// Charges a statement or an iteration of a loop.
  void step() { meter_.charge(kStepUnits); }
  /// Returns what `body` (`write`) writes.
  MarkedText capture(const Body& body);
  MarkedText capture(const std::function<void()>& write);
  MarkedText take_output() { return std::move(output_); }
  /// Line of the current statement.
  int64_t line() const { return line_; }
  int64_t column() const { return column_; }

  /// While it exists, names are set in a new inner scope.
  class Inner {
   public:
    Inner(Runtime& run, std::shared_ptr<Scope> parent);
    ~Inner();
    Inner(const Inner&) = delete;
    Inner& operator=(const Inner&) = delete;

   private:
    Runtime& run_;
    std::shared_ptr<Scope> outer_;
  };

 private:
  static constexpr size_t kStepUnits = 4;

  std::shared_ptr<Scope> scope_;
  Meter& meter_;
  MarkedText output_;
  int64_t line_ = 0;
  int64_t column_ = 0;
  int64_t depth_ = 0;
  int64_t num_expressions_ = 0;
};

/// Maximum length of a text that a template may write or make.
inline constexpr size_t kMostTextBytes = size_t{64} << 20;
/// Errors: TemplateError for more bytes than that.
void check_length(size_t num_bytes);
/// Errors: TemplateError for more items than a list may have.
void check_count(size_t num_items);

/// Returns object.name or object[key], or undefined if there is none. Errors: TemplateError if the
/// object is undefined.
Value attribute_of(const Value& object, const std::string& name);
Value item_of(const Value& object, const Value& key);
/// Returns a method of Python's str, dict or list, or undefined if there is none.
Value method_of(const Value& object, std::string_view name);

Value apply_filter(const std::string& name, const Value& input, const Arguments& arguments);
bool apply_test(const std::string& name, const Value& input, const Arguments& arguments);
/// Whether a filter or test of this name exists.
bool has_filter(std::string_view name);
bool has_test(std::string_view name);

/// Returns the items over which a loop iterates: those of a list, the keys of a dict, the
/// characters of a string, and nothing for an undefined name. Errors: TemplateError for other
/// values.
Values items_of(const Value& value);
/// Python's `item in all`.
bool is_in(const Value& item, const Value& all);
Value call(const Value& function, const Arguments& arguments);

/// Sets range, namespace, dict, raise_exception, strftime_now, ...
void set_globals(Scope& scope);

}  // namespace s2s::jinja
