// Runs statements.

#include <algorithm>
#include <utility>

#include "jinja/runtime.h"
#include "jinja/template.h"

namespace s2s::jinja {
namespace {

void assign(Runtime& run, const std::vector<std::string>& targets, const Value& value) {
  if (targets.size() == 1) return run.set(targets.front(), value);
  const Values items = items_of(value);
  if (items.size() != targets.size()) {
    throw TemplateError("expected " + std::to_string(targets.size()) + " values to unpack, found " +
                        std::to_string(items.size()));
  }
  for (size_t i = 0; i < items.size(); ++i) run.set(targets[i], items[i]);
}

MarkedText filtered(Runtime& run, const std::vector<std::unique_ptr<Filter>>& filters,
                    MarkedText text) {
  Value value = Value::of(std::move(text));
  for (const auto& filter : filters) {
    value = apply_filter(filter->name, value, filter->arguments.evaluate(run));
  }
  return to_text(value);
}

Value cycle(const Arguments& arguments, int64_t index) {
  if (arguments.values.empty()) throw TemplateError("loop.cycle needs values");
  return arguments.values[static_cast<size_t>(index) % arguments.values.size()];
}

/// Returns the variable `loop`.
Dict loop_facts(const Values& items, size_t index, int64_t depth) {
  const size_t size = items.size();
  Dict loop;
  loop.add_new("index", Value::of(index + 1));
  loop.add_new("index0", Value::of(index));
  loop.add_new("revindex", Value::of(size - index));
  loop.add_new("revindex0", Value::of(size - index - 1));
  loop.add_new("first", Value::of(index == 0));
  loop.add_new("last", Value::of(index + 1 == size));
  loop.add_new("length", Value::of(size));
  loop.add_new("depth", Value::of(depth + 1));
  loop.add_new("depth0", Value::of(depth));
  const auto near = [&](bool exists, size_t place, const char* name) {
    loop.add_new(name, exists ? items[place] : Value::undefined(name));
  };
  near(index > 0, index - 1, "previtem");
  near(index + 1 < size, index + 1, "nextitem");
  loop.add_new("cycle", Value::of(Function([index](const Arguments& arguments) {
                 return cycle(arguments, static_cast<int64_t>(index));
               })));
  return loop;
}

/// Returns loop.changed. It compares with the last value, which all iterations of a loop share.
Function changed_function(const std::shared_ptr<Value>& last) {
  return [last](const Arguments& arguments) {
    const Value now = Value::list(arguments.values);
    if (now.items()->extent.has_function) throw TemplateError("loop.changed compares no functions");
    const bool has_changed = !equal(*last, now);
    *last = now;
    return Value::of(has_changed);
  };
}

/// Sets the parameters of a call.
void bind(Runtime& run, const Macro& macro, const Arguments& arguments) {
  const size_t count = macro.parameters.size();
  if (arguments.values.size() > count && !macro.takes_more_values) {
    throw TemplateError("'" + macro.name + "' takes at most " + std::to_string(count) +
                        " arguments");
  }
  for (size_t i = 0; i < count; ++i) {
    const Parameter& parameter = macro.parameters[i];
    const Value* given = arguments.find(i, parameter.name);
    if (given != nullptr) {
      run.set(parameter.name, *given);
    } else {
      run.set(parameter.name, parameter.otherwise ? parameter.otherwise->value(run)
                                                  : Value::undefined(parameter.name));
    }
  }
  Dict more;
  for (const auto& [name, value] : arguments.named) {
    charge(1 + count / 4);
    const bool is_parameter = std::any_of(
        macro.parameters.begin(), macro.parameters.end(),
        [&given = name](const Parameter& parameter) { return parameter.name == given; });
    if (name == "caller") {
      run.set("caller", value);
    } else if (!is_parameter && !macro.takes_more_names) {
      throw TemplateError("'" + macro.name + "' takes no argument '" + name + "'");
    } else if (!is_parameter) {
      more.set(Value::of(name), value);
    }
  }
  if (macro.takes_more_names) run.set("kwargs", Value::of(std::move(more)));
  if (!macro.takes_more_values) return;
  const auto& values = arguments.values;
  const auto first = values.begin() + static_cast<std::ptrdiff_t>(std::min(count, values.size()));
  run.set("varargs", Value::tuple(Values(first, values.end())));
}

/// Returns a macro as a function. It refers to its scope weakly, because the scope contains the
/// macro.
Value function_of(Runtime& run, const Macro& macro) {
  charge();
  const std::weak_ptr<Scope> defined_in = run.scope();
  return Value::of(Function([&run, &macro, defined_in](const Arguments& arguments) {
    const std::shared_ptr<Scope> parent = defined_in.lock();
    if (!parent) throw TemplateError("'" + macro.name + "' is called outside of its block");
    const Runtime::Inner inner(run, parent);
    bind(run, macro, arguments);
    return Value::of(run.capture(macro.body));
  }));
}

}  // namespace

Flow Data::run(Runtime& run) const {
  run.write(text);
  return Flow::kNext;
}

Flow Output::run(Runtime& run) const {
  run.write(to_text(shown->value(run)));
  return Flow::kNext;
}

Flow If::run(Runtime& run) const {
  for (const auto& [condition, body] : branches) {
    if (condition->value(run).is_true()) return run.run(body);
  }
  return run.run(otherwise);
}

Flow For::run(Runtime& run) const {
  run_over(run, items->value(run), 0);
  return Flow::kNext;
}

void For::run_over(Runtime& run, const Value& all, int64_t depth) const {
  Values kept;
  for (const Value& item : items_of(all)) {
    run.step();
    if (condition) {
      const Runtime::Inner inner(run, run.scope());
      assign(run, targets, item);
      if (!condition->value(run).is_true()) continue;
    }
    kept.push_back(item);
  }
  if (kept.empty()) return run_otherwise(run);
  const auto last = std::make_shared<Value>();
  bool is_completed = false;  // whether some iteration reached the end of the body
  for (size_t i = 0; i < kept.size(); ++i) {
    const Runtime::Inner inner(run, run.scope());
    if (uses_loop) {
      Dict loop = loop_facts(kept, i, depth);
      loop.add_new("changed", Value::of(changed_function(last)));
      run.set("loop", Value::of(std::move(loop)));
    }
    if (is_recursive) {
      // The value of the call loop(...) is what it writes.
      run.set("__loop__", Value::of(Function([this, &run, depth](const Arguments& arguments) {
                return Value::of(
                    run.capture([&] { run_over(run, arguments.require(0, "items"), depth + 1); }));
              })));
    }
    assign(run, targets, kept[i]);
    const Flow flow = run.run(body);
    is_completed = is_completed || flow == Flow::kNext;
    if (flow == Flow::kBreak) break;
  }
  // As in code that Jinja2 compiles, `else` also runs if every iteration ends with break or
  // continue.
  if (!is_completed) run_otherwise(run);
}

void For::run_otherwise(Runtime& run) const {
  const Runtime::Inner inner(run, run.scope());
  run.run(otherwise);
}

Flow Set::run(Runtime& run) const {
  Value value;
  if (stored) {
    value = stored->value(run);
  } else {
    const Runtime::Inner inner(run, run.scope());
    value = Value::of(filtered(run, filters, run.capture(body)));
  }
  if (member.empty()) {
    assign(run, targets, value);
    return Flow::kNext;
  }
  const Value owner = run.find(targets.front());
  if (owner.dict() == nullptr || !owner.dict()->is_namespace) {
    throw TemplateError("cannot assign " + targets.front() + "." + member + ": '" +
                        targets.front() + "' is no namespace");
  }
  Extent extent;
  extent.add(value);
  if (extent.has_namespace) throw TemplateError("a namespace cannot hold a namespace");
  owner.dict()->set(Value::of(member), value);
  return Flow::kNext;
}

Flow Macro::run(Runtime& run) const {
  run.set(name, function_of(run, *this));
  return Flow::kNext;
}

Flow CallBlock::run(Runtime& run) const {
  const auto* made = dynamic_cast<const Call*>(call.get());
  if (made == nullptr) throw TemplateError("expected a call after 'call'");
  Arguments arguments = made->arguments.evaluate(run);
  arguments.named.emplace_back("caller", function_of(run, caller));
  run.write(to_text(jinja::call(made->function->value(run), arguments)));
  return Flow::kNext;
}

Flow FilterBlock::run(Runtime& run) const {
  const Runtime::Inner inner(run, run.scope());
  run.write(filtered(run, filters, run.capture(body)));
  return Flow::kNext;
}

Flow With::run(Runtime& run) const {
  Values values;
  for (const auto& [name, value] : names) values.push_back(value->value(run));
  const Runtime::Inner inner(run, run.scope());
  for (size_t i = 0; i < names.size(); ++i) run.set(names[i].first, values[i]);
  return run.run(body);
}

Flow Generation::run(Runtime& run) const {
  const Runtime::Inner inner(run, run.scope());
  MarkedText text = run.capture(body);
  text.mark_from(0, kGenerated);
  run.write(text);
  return Flow::kNext;
}

}  // namespace s2s::jinja
