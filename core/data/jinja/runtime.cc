#include "jinja/runtime.h"

#include <utility>

#include "jinja/parser.h"
#include "jinja/template.h"

namespace s2s::jinja {
namespace {

// A template is a stranger's file: it may not run forever.
constexpr int64_t kMostSteps = 1'000'000;
constexpr int64_t kMostCalls = 200;
constexpr int64_t kMostExpressions = 4000;  // each takes some hundred bytes of the stack
constexpr size_t kMostWorkBytes = size_t{2} << 30;

}  // namespace

void check_length(size_t num_bytes) {
  if (num_bytes > kMostTextBytes) throw TemplateError("the text becomes longer than 64 MB");
}

void check_count(size_t num_items) {
  constexpr size_t kMostItems = 1'000'000;
  if (num_items > kMostItems) throw TemplateError("a list becomes longer than 1000000 items");
}

Runtime::Depth::Depth(Runtime& run) : run_(run) {
  if (++run_.num_expressions_ > kMostExpressions) {
    --run_.num_expressions_;
    throw TemplateError("the template calls itself too deep");
  }
}

void Runtime::work(size_t num_bytes) {
  work_bytes_ += num_bytes;
  if (work_bytes_ > kMostWorkBytes) throw TemplateError("the template runs too long");
}

void Runtime::work(const Value& value, bool deep) {
  constexpr size_t kItemBytes = 64, kSlow = 8;
  const MarkedText* text = value.text();
  const List* list = value.items();
  const Dict* dict = value.dict();
  if (text != nullptr) work(text->weight() * (deep ? kSlow : 1));
  if (list != nullptr) {
    work(deep ? static_cast<size_t>(list->extent.size) * kItemBytes * kSlow
              : list->items.size() * kItemBytes);
  }
  if (dict != nullptr) {
    work(deep ? static_cast<size_t>(dict->extent.size) * kItemBytes * kSlow
              : dict->members.size() * kItemBytes);
  }
}

Value Runtime::find(const std::string& name) const {
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    const auto found = scope->values.find(name);
    if (found != scope->values.end()) return found->second;
  }
  return Value::undefined(name);
}

void Runtime::write(const MarkedText& text) {
  check_length(output_.weight() + text.weight());
  work(text.weight());
  output_.append(text);
}

void Runtime::write(std::string_view text) {
  check_length(output_.weight() + text.size());
  work(text.size());
  output_.append(text);
}

void Runtime::step() {
  if (++num_steps_ > kMostSteps) throw TemplateError("the template runs too long");
}

Flow Runtime::run(const Body& body) {
  if (++depth_ > kMostCalls) throw TemplateError("the template calls itself too deep");
  Flow flow = Flow::kNext;
  for (const auto& statement : body) {
    line_ = statement->line;
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

MarkedText Template::render(const std::vector<std::pair<std::string, Value>>& variables) const {
  const auto globals = std::make_shared<Scope>();
  set_globals(*globals);
  const auto scope = std::make_shared<Scope>(globals);
  for (const auto& [name, value] : variables) scope->values[name] = value;
  Runtime run(scope);
  try {
    run.run(program_->body);
  } catch (const TemplateError& error) {
    // Macros refer to the scope that holds them.
    scope->values.clear();
    throw error.at(run.line());
  }
  scope->values.clear();
  return run.take_output();
}

}  // namespace s2s::jinja
