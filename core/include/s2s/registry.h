#pragma once
// Typed registries: one template for every kind of component.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "s2s/build_context.h"
#include "s2s/config.h"
#include "s2s/options.h"

namespace s2s {

// The kinds; each is declared in s2s/kinds/NAME.h.
class Backbone;
class Codec;
class Communicator;
class DataSource;
class DeviceKernels;
class Encoder;
class Metric;
class Optimizer;
class ParallelStrategy;
class RunLogger;
class Schedule;
class Scorer;
class Model;
class Tokenizer;

struct ForeignClass;  // s2s/foreign_class.h
struct PromptFormat;  // s2s/data/prompt_format.h

/// What the code knows of a kind: its name in configs and notes ("llm", "encoder", ...), and the
/// context that its components are built with.
template <class T>
struct KindName;
#define S2S_KIND(type, text, context)          \
  template <>                                  \
  struct KindName<type> {                      \
    static constexpr const char* value = text; \
    using Context = context;                   \
  }
S2S_KIND(Backbone, "llm", BuildContext);
S2S_KIND(Encoder, "encoder", BuildContext);
S2S_KIND(Codec, "codec", ModelContext);
S2S_KIND(Model, "model", ModelContext);
S2S_KIND(ParallelStrategy, "strategy", ProcessContext);
S2S_KIND(Communicator, "communicator", ProcessContext);
S2S_KIND(DataSource, "data", DataContext);
S2S_KIND(Tokenizer, "tokenizer", BuildContext);
S2S_KIND(Metric, "metric", BuildContext);
S2S_KIND(Scorer, "scorer", ScorerContext);
S2S_KIND(RunLogger, "logger", BuildContext);
S2S_KIND(Optimizer, "optimizer", BuildContext);
S2S_KIND(Schedule, "schedule", BuildContext);
S2S_KIND(DeviceKernels, "kernels", BuildContext);
#undef S2S_KIND

/// The context type of a kind: BuildContext, or a type derived from it.
template <class T>
using ContextOf = typename KindName<T>::Context;

enum class Status { kStable, kAlpha, kWorkInProgress };

/// Published weights that a component reads.
struct PublishedWeights {
  std::string name;     // of the folder or archive, as its publisher calls it
  std::string license;  // an SPDX name, or the publisher's own; "": that of the folder
};

/// One entry of a registry: facts for `plugin list|inspect`, and the function that builds it.
template <class T>
struct Component {
  std::string name;     // [a-z0-9_]+, or vendor.name
  std::string summary;  // one line
  Status status = Status::kStable;
  std::unique_ptr<T> (*create)(const Config& options, const ContextOf<T>& context) = nullptr;
  OptionTable (*options)() = nullptr;
  /// Converts a foreign configuration (a Hugging Face config.json, a NeMo block) to options of this
  /// component. Null: not supported. Errors: [weights/config] for keys that change the result and
  /// are not implemented.
  Config (*translate)(const Config& foreign) = nullptr;
  /// Of models: the `data` component of data sets without a name. Null: they must name one.
  const char* data = nullptr;
  /// Of data sources: the keys that they read of the block `data` around their sets. Null: those of
  /// duplex data (DuplexDataOptions).
  OptionTable (*data_block)() = nullptr;
  /// Of models: the classes of other frameworks that it reads. Null: none.
  std::vector<ForeignClass> (*foreign)() = nullptr;
  /// Of language models: their prompt formats. Null: none.
  std::vector<PromptFormat> (*prompt_formats)() = nullptr;
  /// Options (JSON) of a tiny instance. `s2s-run plugin check` builds it and runs the checks of
  /// s2s::conformance (llm, encoder, codec, model; others if they require options). Null: none.
  const char* tiny = nullptr;
  /// For `plugin inspect`. Empty: it reads none, or its author lists none.
  std::vector<PublishedWeights> weights = {};
};

/// Called when a name is not registered yet: loads the plugin that provides it, or throws
/// [plugin/unknown] with suggestions, the available names and the searched folders.
using MissingHandler = std::function<void(const std::string& kind, const std::string& name,
                                          const Config& asked_at, const std::string& path)>;

/// Throws [plugin/duplicate-name].
[[noreturn]] void throw_duplicate_name(const std::string& kind, const std::string& name);

/// The components of one kind, by name.
template <class T>
class Registry {
 public:
  /// Errors: [plugin/duplicate-name].
  void add(Component<T> component) {
    const std::string name = component.name;
    if (!entries_.emplace(name, std::move(component)).second) {
      throw_duplicate_name(KindName<T>::value, name);
    }
  }
  /// The component with this name, or null. Does not load plugins.
  const Component<T>* find(const std::string& name) const {
    const auto it = entries_.find(name);
    return it == entries_.end() ? nullptr : &it->second;
  }
  /// Sorted by name.
  const std::map<std::string, Component<T>>& entries() const { return entries_; }

 private:
  std::map<std::string, Component<T>> entries_;
};

/// One registry per kind. Built at start-up on one thread; there are no global variables.
class Registries {
 public:
  using All =
      std::tuple<Registry<Backbone>, Registry<Encoder>, Registry<Codec>, Registry<Model>,
                 Registry<ParallelStrategy>, Registry<Communicator>, Registry<DataSource>,
                 Registry<Tokenizer>, Registry<Metric>, Registry<Scorer>, Registry<RunLogger>,
                 Registry<Optimizer>, Registry<Schedule>, Registry<DeviceKernels>>;

  /// The registry of a kind.
  template <class T>
  Registry<T>& of() {
    return std::get<Registry<T>>(all_);
  }
  /// The registry of a kind.
  template <class T>
  const Registry<T>& of() const {
    return std::get<Registry<T>>(all_);
  }

  /// Sets the handler that loads plugins on demand. Called by the plugin host.
  void set_missing_handler(MissingHandler handler) { missing_ = std::move(handler); }

  /// Names of a kind's components that plugins provide, loaded or not.
  using ProvidedNames = std::function<std::vector<std::string>(const std::string& kind)>;
  void set_provided_names(ProvidedNames provided) { provided_ = std::move(provided); }
  /// Those names, and those of registered components. Sorted.
  template <class T>
  std::vector<std::string> names() const {
    std::vector<std::string> names =
        provided_ ? provided_(KindName<T>::value) : std::vector<std::string>();
    for (const auto& [name, component] : of<T>().entries()) names.push_back(name);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }

  /// The component `name`; `asked_at` and `path` say where the config names it.
  template <class T>
  const Component<T>& get(const std::string& name, const Config& asked_at = {},
                          const std::string& path = {}) const {
    if (const Component<T>* found = of<T>().find(name)) return *found;
    if (missing_) missing_(KindName<T>::value, name, asked_at, path);
    const Component<T>* found = of<T>().find(name);
    S2S_ASSERT(found != nullptr, "the missing handler registers the name or throws");
    return *found;
  }

  /// Builds the component named by `node.name`, with `node`'s other keys as its options.
  /// Errors: those of `get`, of reading options, of the component.
  template <class T>
  std::unique_ptr<T> create(const Config& node, ContextOf<T> context) const {
    Config options = node;
    const std::string name = take_name(options, context.path);
    const Component<T>& component = get<T>(name, node, context.path);
    context.registries = this;
    return component.create(options, context);
  }

 private:
  /// Removes and returns the key `name`. Errors: [config/missing] when there is none.
  static std::string take_name(Config& node, const std::string& path);

  All all_;
  MissingHandler missing_;
  ProvidedNames provided_;
};

/// The interface of a plugin: it can only add components.
class Registrar {
 public:
  explicit Registrar(Registries& staging) : staging_(staging) {}
  /// Adds one component. Errors: [plugin/duplicate-name].
  template <class T>
  void add(Component<T> component) {
    staging_.of<T>().add(std::move(component));
  }

 private:
  Registries& staging_;
};

}  // namespace s2s
