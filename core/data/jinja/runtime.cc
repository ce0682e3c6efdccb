#include "jinja/runtime.h"

#include <utility>

#include "jinja/parser.h"
#include "jinja/template.h"

namespace s2s::jinja {
namespace {

// A template may come from a stranger. Meter limits what it may cost.
constexpr int64_t kMostCalls = 200;
constexpr int64_t kMostExpressions = 4000;  // each takes some hundred bytes of the stack

}  // namespace

void check_length(size_t num_bytes) {
  if (num_bytes > kMostTextBytes) throw TemplateError("the text becomes longer than 64 MB");
}

void check_count(size_t num_items) {
  constexpr size_t kMostItems = 1'000'000;
  if (num_items > kMostItems) throw TemplateError("a list becomes longer than 1000000 items");
}

Runtime::Depth::Depth(Runtime& run) : run_(run) {
  run_.meter_.charge();
  if (++run_.num_expressions_ > kMostExpressions) {
    --run_.num_expressions_;
    throw TemplateError("the template calls itself too deep");
  }
}

void Scope::set(const std::string& name, Value value) {
  constexpr size_t kNodeBytes = 112;
  const auto found = values.lower_bound(name);
  if (found != values.end() && found->first == name) {
    found->second = std::move(value);
    return;
  }
  held.add(kNodeBytes + name.size());
  values.emplace_hint(found, name, std::move(value));
}

Value Runtime::find(const std::string& name) const {
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    meter_.charge();
    const auto found = scope->values.find(name);
    if (found != scope->values.end()) return found->second;
  }
  return Value::undefined(name);
}

void Runtime::write(const MarkedText& text) {
  check_length(output_.weight() + text.weight());
  output_.append(text);
}

void Runtime::write(std::string_view text) {
  check_length(output_.weight() + text.size());
  charge(text.size() / 64);
  output_.append(text);
}

Flow Runtime::run(const Body& body) {
  if (++depth_ > kMostCalls) throw TemplateError("the template calls itself too deep");
  Flow flow = Flow::kNext;
  for (const auto& statement : body) {
    line_ = statement->line;
    column_ = statement->column;
    step();
    flow = statement->run(*this);
    if (flow != Flow::kNext) break;
  }
  --depth_;
  return flow;
}

MarkedText Runtime::capture(const Body& body) {
  return capture([&] { run(body); });
}

MarkedText Runtime::capture(const std::function<void()>& write) {
  MarkedText outer = std::exchange(output_, MarkedText());
  write();
  return std::exchange(output_, std::move(outer));
}

Runtime::Inner::Inner(Runtime& run, std::shared_ptr<Scope> parent)
    : run_(run), outer_(std::exchange(run.scope_, std::make_shared<Scope>(std::move(parent)))) {}

Runtime::Inner::~Inner() { run_.scope_ = std::move(outer_); }

Template::Template(std::string_view source)
    : program_(std::make_unique<const Program>(parse_template(source))) {}
Template::~Template() = default;
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;

bool Template::has_generation_blocks() const { return program_->has_generation_blocks; }

MarkedText Template::render(const std::vector<std::pair<std::string, Value>>& variables,
                            const MeterLimits& limits, RenderCost* cost) const {
  Meter meter(limits);  // outlives everything that the rendering makes
  const auto globals = std::make_shared<Scope>();
  const auto scope = std::make_shared<Scope>(globals);
  Runtime run(scope, meter);
  const auto end = [&] {
    scope->values.clear();  // macros refer to the scope that contains them
    if (cost != nullptr) *cost = {meter.work(), meter.most_live_bytes()};
  };
  try {
    set_globals(*globals);
    for (const auto& [name, value] : variables) scope->set(name, value);
    run.run(program_->body);
  } catch (const TemplateError& error) {
    end();
    throw error.at(run.line(), run.column());
  } catch (...) {
    end();
    throw;
  }
  end();
  return run.take_output();
}

}  // namespace s2s::jinja
