#pragma once
// Options of a component. A struct lists them in one function:
//
//   struct LlamaOptions {
//     int64_t num_layers = 22;
//     void visit(s2s::OptionVisitor& v) {
//       v("num_layers", num_layers, "decoder blocks", at_least(1));
//     }
//   };
//
// This list serves parsing, errors for unknown keys, `plugin inspect` and the effective config.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "s2s/config.h"
#include "s2s/error.h"

namespace s2s {

/// The values that an option accepts. Numbers: min and max are inclusive.
struct Bounds {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices;  // strings (and the items of lists): the only values accepted
  bool required = false;             // the config must give a value: [config/missing]
  bool is_program = false;           // a checkpoint's config may not change it: [config/program]
};
/// Bounds of one option. `required` and `program` can be combined with others.
Bounds at_least(double min);
Bounds between(double min, double max);
Bounds one_of(std::vector<std::string> choices);
Bounds required(Bounds bounds = {});
/// A string that names a program that the component starts.
Bounds program(Bounds bounds = {});

class OptionVisitor;

/// A struct of options: it has the function `visit`.
template <class T>
concept HasOptions = requires(T& t, OptionVisitor& v) {
  t.visit(v);
};

/// Visits each option of a struct: name, variable, doc (with its unit), bounds.
class OptionVisitor {
 public:
  virtual ~OptionVisitor();
  virtual void operator()(const char* name, bool& value, const char* doc) = 0;
  virtual void operator()(const char* name, int64_t& value, const char* doc,
                          const Bounds& bounds = {}) = 0;
  virtual void operator()(const char* name, double& value, const char* doc,
                          const Bounds& bounds = {}) = 0;
  virtual void operator()(const char* name, std::string& value, const char* doc,
                          const Bounds& bounds = {}) = 0;
  virtual void operator()(const char* name, std::optional<int64_t>& value, const char* doc,
                          const Bounds& bounds = {}) = 0;
  virtual void operator()(const char* name, std::optional<double>& value, const char* doc,
                          const Bounds& bounds = {}) = 0;
  virtual void operator()(const char* name, std::optional<std::string>& value, const char* doc) = 0;
  virtual void operator()(const char* name, std::vector<int64_t>& value, const char* doc,
                          const Bounds& bounds = {}) = 0;
  virtual void operator()(const char* name, std::vector<double>& value, const char* doc,
                          const Bounds& bounds = {}) = 0;
  virtual void operator()(const char* name, std::vector<std::string>& value, const char* doc,
                          const Bounds& bounds = {}) = 0;
  /// A subtree that the component reads itself. With `kind` ("llm", "codec", ...) it contains the
  /// `name` and the options of another component, which `config check` validates. Otherwise its
  /// keys are not checked.
  virtual void operator()(const char* name, Config& value, const char* doc,
                          const char* kind = "") = 0;

  /// A nested struct of options. A member whose key is absent (or null) keeps its defaults.
  template <HasOptions T>
  void operator()(const char* name, T& nested, const char* doc) {
    if (begin_group(name, doc)) {
      nested.visit(*this);
      end_group();
    }
  }
  /// A list of such structs.
  template <HasOptions T>
  void operator()(const char* name, std::vector<T>& list, const char* doc) {
    const int64_t count = begin_list(name, doc, static_cast<int64_t>(list.size()));
    list.resize(static_cast<size_t>(count));
    for (T& item : list) {
      begin_item();
      item.visit(*this);
      end_item();
    }
    end_list();
  }

 protected:
  /// What the templates above call around nested options. begin_group: false skips the group.
  virtual bool begin_group(const char* name, const char* doc) = 0;
  virtual void end_group() = 0;
  /// Returns the number of items to visit (readers: the number in the config).
  virtual int64_t begin_list(const char* name, const char* doc, int64_t current_count) = 0;
  virtual void begin_item() = 0;
  virtual void end_item() = 0;
  virtual void end_list() = 0;
};

/// One row of `plugin inspect`.
struct OptionRow {
  std::string name;   // dotted for nested options, "list[].name" inside lists
  std::string type;   // bool int float string "list of ..." subtree; with "?": may be null
  std::string value;  // the default, as YAML
  std::string doc;
  Bounds bounds = {};
  std::string kind = {};  // the kind, if the subtree contains a component's options
};
using OptionTable = std::vector<OptionRow>;

/// Reads `node` (a map, or null for none) into an option struct by calling its `visit`. `path`
/// names the node in messages ("model.llm"). Findings: [config/unknown-key] with the nearest name
/// for keys that are no options, wrong types, values out of bounds, and `???`. Keys in `also_known`
/// are skipped. A null list is read as an empty list.
class OptionReader final {
 public:
  OptionReader(const Config& node, std::string path, Findings& findings,
               std::vector<std::string> also_known = {});
  /// Fills `options`; adds errors to the findings.
  template <HasOptions T>
  void read(T& options) {
    run([](OptionVisitor& v, void* object) { static_cast<T*>(object)->visit(v); }, &options);
  }

 private:
  void run(void (*visit)(OptionVisitor&, void*), void* object);
  const Config& node_;
  std::string path_;
  Findings& findings_;
  std::vector<std::string> also_known_;
};

/// Reads options; throws all findings together.
template <HasOptions T>
T read_options(const Config& node, const std::string& path) {
  T options;
  Findings findings;
  OptionReader(node, path, findings).read(options);
  findings.throw_if_any();
  return options;
}

/// The table of an option struct's names, types, defaults and docs.
OptionTable list_options(void (*visit)(OptionVisitor&, void*), void* object);
template <HasOptions T>
OptionTable list_options() {
  T options;
  return list_options([](OptionVisitor& v, void* object) { static_cast<T*>(object)->visit(v); },
                      &options);
}

/// The effective options as a config tree (defaults included), for the run folder.
Config write_options(void (*visit)(OptionVisitor&, void*), void* object);
template <HasOptions T>
Config write_options(T options) {
  return write_options([](OptionVisitor& v, void* object) { static_cast<T*>(object)->visit(v); },
                       &options);
}

}  // namespace s2s
