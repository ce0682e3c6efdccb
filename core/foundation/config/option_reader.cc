// OptionReader: a config map into an option struct, with every finding collected.

#include <algorithm>

#include "config/config_errors.h"
#include "config/option_values.h"
#include "s2s/options.h"

namespace s2s {

Bounds at_least(double min) {
  Bounds bounds;
  bounds.min = min;
  return bounds;
}

Bounds between(double min, double max) {
  Bounds bounds;
  bounds.min = min;
  bounds.max = max;
  return bounds;
}

Bounds one_of(std::vector<std::string> choices) {
  Bounds bounds;
  bounds.choices = std::move(choices);
  return bounds;
}

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

class ReadingVisitor final : public OptionVisitor {
 public:
  ReadingVisitor(const Config& node, std::string path, Findings& findings) : findings_(findings) {
    push(&node, std::move(path));
  }

  void operator()(const char* name, bool& value, const char* doc) override {
    read(name, value, doc, {});
  }
  void operator()(const char* name, int64_t& value, const char* doc, const Bounds& b) override {
    read(name, value, doc, b);
  }
  void operator()(const char* name, double& value, const char* doc, const Bounds& b) override {
    read(name, value, doc, b);
  }
  void operator()(const char* name, std::string& value, const char* doc, const Bounds& b) override {
    const std::string before = value;
    read(name, value, doc, b);
    if (value == before) return;
    check_program({*levels_.back().node->find(name), child_path(name), b}, findings_);
  }
  void operator()(const char* name, std::optional<int64_t>& value, const char* doc,
                  const Bounds& b) override {
    read(name, value, doc, b);
  }
  void operator()(const char* name, std::optional<double>& value, const char* doc,
                  const Bounds& b) override {
    read(name, value, doc, b);
  }
  void operator()(const char* name, std::optional<std::string>& value, const char* doc) override {
    read(name, value, doc, {});
  }
  void operator()(const char* name, std::vector<int64_t>& value, const char* doc,
                  const Bounds& b) override {
    read(name, value, doc, b);
  }
  void operator()(const char* name, std::vector<double>& value, const char* doc,
                  const Bounds& b) override {
    read(name, value, doc, b);
  }
  void operator()(const char* name, std::vector<std::string>& value, const char* doc,
                  const Bounds& b) override {
    read(name, value, doc, b);
  }
  void operator()(const char* name, Config& value, const char* doc, const char* /*kind*/) override {
    read(name, value, doc, {});
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

  template <class T>
  void read(const char* name, T& value, const char* doc, const Bounds& bounds) {
    const Config* node = claim(name);
    if (node != nullptr) return read_value({*node, child_path(name), bounds}, value, findings_);
    if (bounds.required) {
      findings_.add(missing_key_error(child_path(name), *levels_.back().node, doc));
    }
  }

  Findings& findings_;
  std::vector<Level> levels_;
  std::vector<List> lists_;
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

}  // namespace s2s
