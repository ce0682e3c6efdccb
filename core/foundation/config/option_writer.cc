// Option structs to a config tree, and to the table of `plugin inspect`.

#include "config/option_values.h"
#include "config/yaml_writer.h"
#include "s2s/options.h"

namespace s2s {

namespace {

/// Turns the overloads of OptionVisitor into one template, `Derived::put`.
template <class Derived>
class UniformVisitor : public OptionVisitor {
 public:
  void operator()(const char* name, bool& value, const char* doc) override {
    self().put(name, value, doc, {}, "");
  }
  void operator()(const char* name, int64_t& value, const char* doc, const Bounds& b) override {
    self().put(name, value, doc, b, "");
  }
  void operator()(const char* name, double& value, const char* doc, const Bounds& b) override {
    self().put(name, value, doc, b, "");
  }
  void operator()(const char* name, std::string& value, const char* doc, const Bounds& b) override {
    self().put(name, value, doc, b, "");
  }
  void operator()(const char* name, std::optional<int64_t>& value, const char* doc,
                  const Bounds& b) override {
    self().put(name, value, doc, b, "");
  }
  void operator()(const char* name, std::optional<double>& value, const char* doc,
                  const Bounds& b) override {
    self().put(name, value, doc, b, "");
  }
  void operator()(const char* name, std::optional<std::string>& value, const char* doc) override {
    self().put(name, value, doc, {}, "");
  }
  void operator()(const char* name, std::vector<int64_t>& value, const char* doc,
                  const Bounds& b) override {
    self().put(name, value, doc, b, "");
  }
  void operator()(const char* name, std::vector<double>& value, const char* doc,
                  const Bounds& b) override {
    self().put(name, value, doc, b, "");
  }
  void operator()(const char* name, std::vector<std::string>& value, const char* doc,
                  const Bounds& b) override {
    self().put(name, value, doc, b, "");
  }
  void operator()(const char* name, Config& value, const char* doc, const char* kind) override {
    self().put(name, value, doc, {}, kind);
  }

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
};

class TableVisitor final : public UniformVisitor<TableVisitor> {
 public:
  template <class T>
  void put(const char* name, const T& value, const char* doc, const Bounds& bounds,
           const char* kind) {
    table_.push_back(
        {prefix_ + name, type_name(value), write_yaml_inline(to_config(value)), doc, bounds, kind});
  }
  OptionTable take() { return std::move(table_); }

 protected:
  bool begin_group(const char* name, const char* doc) override {
    table_.push_back({prefix_ + name, kGroupType, "", doc, {}, ""});
    enter(std::string(name) + ".");
    return true;
  }
  void end_group() override { leave(); }
  int64_t begin_list(const char* name, const char* doc, int64_t /*current_count*/) override {
    table_.push_back({prefix_ + name, kGroupListType, "[]", doc, {}, ""});
    enter(std::string(name) + "[].");
    return 1;  // one item shows the names
  }
  void begin_item() override {}
  void end_item() override {}
  void end_list() override { leave(); }

 private:
  void enter(const std::string& step) {
    outer_.push_back(prefix_);
    prefix_ += step;
  }
  void leave() {
    prefix_ = outer_.back();
    outer_.pop_back();
  }

  OptionTable table_;
  std::string prefix_;
  std::vector<std::string> outer_;
};

class TreeVisitor final : public UniformVisitor<TreeVisitor> {
 public:
  TreeVisitor() { levels_.push_back(Config::map()); }
  template <class T>
  void put(const char* name, const T& value, const char* /*doc*/, const Bounds& /*bounds*/,
           const char* /*kind*/) {
    levels_.back()[name] = to_config(value);
  }
  Config take() { return std::move(levels_.back()); }

 protected:
  bool begin_group(const char* name, const char* /*doc*/) override {
    open(name, Config::map());
    return true;
  }
  void end_group() override { close(); }
  int64_t begin_list(const char* name, const char* /*doc*/, int64_t current_count) override {
    open(name, Config::list());
    return current_count;
  }
  void begin_item() override { open("", Config::map()); }
  void end_item() override { close(); }
  void end_list() override { close(); }

 private:
  void open(const char* name, Config node) {
    names_.emplace_back(name);
    levels_.push_back(std::move(node));
  }
  void close() {
    Config node = std::move(levels_.back());
    levels_.pop_back();
    if (levels_.back().is_list()) {
      levels_.back().items().push_back(std::move(node));
    } else {
      levels_.back()[names_.back()] = std::move(node);
    }
    names_.pop_back();
  }

  std::vector<Config> levels_;
  std::vector<std::string> names_;
};

}  // namespace

OptionTable list_options(void (*visit)(OptionVisitor&, void*), void* object) {
  TableVisitor visitor;
  visit(visitor, object);
  return visitor.take();
}

Config write_options(void (*visit)(OptionVisitor&, void*), void* object) {
  TreeVisitor visitor;
  visit(visitor, object);
  return visitor.take();
}

}  // namespace s2s
