// Option structs: read from a config map with all findings, written to a config tree, and listed in
// the table of `plugin inspect`.
#include "s2s/options.h"

#include <algorithm>

#include "config/config_errors.h"
#include "config/option_limits.h"
#include "config/option_values.h"
#include "config/yaml_writer.h"

namespace s2s {

OptionVisitor::~OptionVisitor() = default;

Bounds at_least(double min) { return {.min = min}; }

Bounds between(double min, double max) { return {.min = min, .max = max}; }

Bounds one_of(std::vector<std::string> choices) { return {.choices = std::move(choices)}; }

Bounds required(Bounds bounds) {
  bounds.required = true;
  return bounds;
}

Bounds program(Bounds bounds) {
  bounds.is_program = true;
  return bounds;
}

namespace {

const Config& empty_map() {
  static const Config kEmpty = Config::map();
  return kEmpty;
}

/// Turns the overloads of OptionVisitor into one template, `Derived::put(name, value, doc, bounds,
/// kind)`. Gives every integer an upper bound.
template <class Derived>
class UniformVisitor : public OptionVisitor {
 public:
  void operator()(const char* name, bool& value, const char* doc) override {
    self().put(name, value, doc, {}, "");
  }
  void operator()(const char* name, int64_t& value, const char* doc, const Bounds& b) override {
    self().put(name, value, doc, with_limit(name, b), "");
  }
  void operator()(const char* name, double& value, const char* doc, const Bounds& b) override {
    self().put(name, value, doc, b, "");
  }
  void operator()(const char* name, std::string& value, const char* doc, const Bounds& b) override {
    self().put(name, value, doc, b, "");
  }
  void operator()(const char* name, std::optional<int64_t>& value, const char* doc,
                  const Bounds& b) override {
    self().put(name, value, doc, with_limit(name, b), "");
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
    self().put(name, value, doc, with_limit(name, b), "");
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

class ReadingVisitor final : public UniformVisitor<ReadingVisitor> {
 public:
  ReadingVisitor(const Config& node, std::string path, Findings& findings) : findings_(findings) {
    push(&node, std::move(path));
  }

  template <class T>
  void put(const char* name, T& value, const char* doc, const Bounds& bounds,
           const char* /*kind*/) {
    const Config* node = claim(name);
    if (node != nullptr) return read_value({*node, child_path(name), bounds}, value, findings_);
    if (bounds.required) {
      findings_.add(missing_key_error(child_path(name), *levels_.back().node, doc));
    }
  }
  void put(const char* name, std::string& value, const char* doc, const Bounds& bounds,
           const char* kind) {
    const std::string before = value;
    put<>(name, value, doc, bounds, kind);
    if (value == before) return;
    check_program({*levels_.back().node->find(name), child_path(name), bounds}, findings_);
  }

  /// Ends the outermost level.
  void finish(const std::vector<std::string>& also_known) { pop(also_known); }

 protected:
  bool begin_group(const char* name, const char* /*doc*/) override {
    const Config* node = claim(name);
    if (node == nullptr || node->is_null()) return false;
    const std::string path = child_path(name);
    if (node->is_missing()) findings_.add(missing_value_error(path, *node));
    if (!node->is_map() && !node->is_missing()) {
      findings_.add(type_error(path, *node, "a map of options"));
    }
    push(node->is_map() ? node : &empty_map(), path);
    return true;
  }
  void end_group() override { pop({}); }

  int64_t begin_list(const char* name, const char* /*doc*/, int64_t current_count) override {
    const Config* node = claim(name);
    const std::string path = child_path(name);
    if (node != nullptr && node->is_missing()) findings_.add(missing_value_error(path, *node));
    if (node != nullptr && !node->is_list() && !node->is_null() && !node->is_missing()) {
      findings_.add(type_error(path, *node, "a list of maps"));
    }
    const bool given = node != nullptr && (node->is_list() || node->is_null());
    lists_.push_back({given ? node : nullptr, path, 0});
    return given ? static_cast<int64_t>(node->items().size()) : current_count;
  }
  void begin_item() override {
    List& list = lists_.back();
    const std::string path = list.path + "." + std::to_string(list.next);
    const Config* item = list.node == nullptr ? &empty_map() : &list.node->items()[list.next];
    ++list.next;
    if (!item->is_map()) findings_.add(type_error(path, *item, "a map of options"));
    push(item->is_map() ? item : &empty_map(), path);
  }
  void end_item() override { pop({}); }
  void end_list() override { lists_.pop_back(); }

 private:
  struct Level {
    const Config* node;
    std::string path;
    std::vector<std::string> claimed;
  };
  struct List {
    const Config* node;
    std::string path;
    size_t next;
  };

  void push(const Config* node, std::string path) {
    levels_.push_back({node, std::move(path), {}});
  }

  void pop(const std::vector<std::string>& also_known) {
    const Level& level = levels_.back();
    for (const auto& [key, node] : level.node->entries()) {
      const auto is_key = [&name = key](const std::string& known) { return known == name; };
      if (std::none_of(level.claimed.begin(), level.claimed.end(), is_key) &&
          std::none_of(also_known.begin(), also_known.end(), is_key)) {
        findings_.add(unknown_key_error(key, level.path, node, level.claimed));
      }
    }
    levels_.pop_back();
  }

  std::string child_path(const char* name) const {
    const std::string& path = levels_.back().path;
    return path.empty() ? name : path + "." + name;
  }

  const Config* claim(const char* name) {
    levels_.back().claimed.emplace_back(name);
    return levels_.back().node->find(name);
  }

  Findings& findings_;
  std::vector<Level> levels_;
  std::vector<List> lists_;
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
    return 1;  // one item is enough to show the names
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

OptionReader::OptionReader(const Config& node, std::string path, Findings& findings,
                           std::vector<std::string> also_known)
    : node_(node),
      path_(std::move(path)),
      findings_(findings),
      also_known_(std::move(also_known)) {}

void OptionReader::run(void (*visit)(OptionVisitor&, void*), void* object) {
  if (!node_.is_map() && !node_.is_null()) {
    findings_.add(type_error(path_, node_, "a map of options"));
    return;
  }
  ReadingVisitor visitor(node_.is_map() ? node_ : empty_map(), path_, findings_);
  visit(visitor, object);
  visitor.finish(also_known_);
}

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
