#pragma once
// The syntax tree of a template. Each node evaluates itself.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jinja/value.h"

namespace s2s::jinja {

class Runtime;

struct Expression {
  virtual ~Expression() = default;
  /// Evaluates the expression and charges one unit. Errors: TemplateError when expressions and
  /// calls are nested too deeply, or when the work takes too long.
  Value value(Runtime& run) const;

 protected:
  virtual Value evaluate(Runtime& run) const = 0;
};
using ExpressionPtr = std::unique_ptr<const Expression>;

/// What a statement requests from the loop around it.
enum class Flow { kNext, kBreak, kContinue };

struct Statement {
  int64_t line = 0;
  int64_t column = 0;
  virtual ~Statement() = default;
  virtual Flow run(Runtime& run) const = 0;
};
using Body = std::vector<std::unique_ptr<const Statement>>;

struct Constant : Expression {
  Value held;
  Value evaluate(Runtime&) const override { return held; }
};
struct Name : Expression {
  std::string name;
  Value evaluate(Runtime& run) const override;
};
struct ListDisplay : Expression {
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  Value evaluate(Runtime& run) const override;
};
struct DictDisplay : Expression {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> members;
  Value evaluate(Runtime& run) const override;
};
struct Attribute : Expression {
  ExpressionPtr object;
  std::string name;
  Value evaluate(Runtime& run) const override;
};
struct Item : Expression {
  ExpressionPtr object, key;
  Value evaluate(Runtime& run) const override;
};
struct Slice : Expression {
  ExpressionPtr object, begin, end, step;  // the last three may be null
  Value evaluate(Runtime& run) const override;
};

/// Arguments of a call, a filter or a test.
struct CallArguments {
  std::vector<ExpressionPtr> values;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr rest, named_rest;  // *rest, **named_rest; may be null
  Arguments evaluate(Runtime& run) const;
};
struct Call : Expression {
  ExpressionPtr function;
  CallArguments arguments;
  Value evaluate(Runtime& run) const override;
};
struct Filter : Expression {
  ExpressionPtr input;
  std::string name;
  CallArguments arguments;
  Value evaluate(Runtime& run) const override;
};
struct Test : Expression {
  ExpressionPtr input;
  std::string name;
  CallArguments arguments;
  bool is_negated = false;
  Value evaluate(Runtime& run) const override;
};
struct Unary : Expression {
  std::string sign;  // "not", "-", "+"
  ExpressionPtr operand;
  Value evaluate(Runtime& run) const override;
};
struct Binary : Expression {
  std::string sign;  // "and", "or", "+", "~", ...
  ExpressionPtr left, right;
  Value evaluate(Runtime& run) const override;
};
/// a < b <= c: each value is evaluated once.
struct Comparison : Expression {
  ExpressionPtr first;
  std::vector<std::pair<std::string, ExpressionPtr>> others;  // sign ("<", "in", "not in"), value
  Value evaluate(Runtime& run) const override;
};
struct Conditional : Expression {
  ExpressionPtr condition, then, otherwise;  // otherwise may be null: undefined
  Value evaluate(Runtime& run) const override;
};

struct Data : Statement {
  std::string text;
  Flow run(Runtime& run) const override;
};
struct Output : Statement {
  ExpressionPtr shown;
  Flow run(Runtime& run) const override;
};
struct If : Statement {
  std::vector<std::pair<ExpressionPtr, Body>> branches;
  Body otherwise;
  Flow run(Runtime& run) const override;
};
struct For : Statement {
  std::vector<std::string> targets;
  ExpressionPtr items, condition;  // condition may be null
  Body body, otherwise;
  bool is_recursive = false;
  bool uses_loop = false;  // its body reads the variable `loop`
  Flow run(Runtime& run) const override;
  /// Runs the loop over `items`, at `depth` of a recursive loop.
  void run_over(Runtime& run, const Value& items, int64_t depth) const;
  void run_otherwise(Runtime& run) const;
};
/// {% set a, b = value %}, {% set ns.a = value %}, {% set a %} ... {% endset %}
struct Set : Statement {
  std::vector<std::string> targets;
  std::string member;    // a member of the namespace targets[0]
  ExpressionPtr stored;  // null: what the body writes is stored
  Body body;
  /// Applied to the body; they have no input of their own.
  std::vector<std::unique_ptr<Filter>> filters;
  Flow run(Runtime& run) const override;
};
struct Parameter {
  std::string name;
  ExpressionPtr otherwise;  // null: it has none
};
struct Macro : Statement {
  std::string name;
  std::vector<Parameter> parameters;
  Body body;
  bool takes_more_values = false, takes_more_names = false;  // the body reads varargs, kwargs
  Flow run(Runtime& run) const override;
};
/// {% call(x) f() %} ... {% endcall %}
struct CallBlock : Statement {
  ExpressionPtr call;
  Macro caller;
  Flow run(Runtime& run) const override;
};
struct FilterBlock : Statement {
  std::vector<std::unique_ptr<Filter>> filters;
  Body body;
  Flow run(Runtime& run) const override;
};
struct With : Statement {
  std::vector<std::pair<std::string, ExpressionPtr>> names;
  Body body;
  Flow run(Runtime& run) const override;
};
/// {% generation %}: its text gets the mark kGenerated.
struct Generation : Statement {
  Body body;
  Flow run(Runtime& run) const override;
};
struct Leave : Statement {
  Flow flow = Flow::kBreak;
  Flow run(Runtime&) const override { return flow; }
};

}  // namespace s2s::jinja
