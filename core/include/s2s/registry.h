#pragma once
// Typed registries: one template and one vocabulary for every kind of component.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "s2s/config.h"
#include "s2s/options.h"

namespace s2s {

// The kinds, each in its header s2s/kinds/NAME.h.
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
class SpeechModel;
class Tokenizer;

struct ProcessPlace;
class Registries;

/// What every component gets while it is built, beside its own options.
struct BuildContext {
  const Registries* registries = nullptr;
  /// Where the options stand in the config ("model.llm"), for messages.
  std::string path;
  /// Relative paths in options are relative to this folder (the config file's).
  std::string base_dir = ".";
  /// Receives what the user should know although the run goes on; may be empty.
  std::function<void(const std::string& message)> warn;
};

/// For the kinds `model` and `codec`.
struct ModelContext : BuildContext {
  /// The `data` block of the config (frame_length, sample rates); null: it has none.
  const Config* data = nullptr;
  /// Of the text channel; null: there is none.
  const Tokenizer* tokenizer = nullptr;
};

/// For the kind `data`.
struct DataContext : BuildContext {
  /// The `data` block of the config (frame_length, sample rates, roles); null: it has none.
  const Config* data = nullptr;
  /// Of the text channel; null: there is none.
  const Tokenizer* tokenizer = nullptr;
  uint64_t seed = 0;
  /// Drawn anew at every start, the same on all ranks: for seeds that ask for it.
  uint64_t entropy = 0;
  /// Place on the data axis of the mesh.
  int64_t data_rank = 0;
  int64_t data_size = 1;
};

/// For the kinds `communicator` and `strategy`.
struct ProcessContext : BuildContext {
  /// Communicators: who this process is, and how to find the others. Null: it is the only one.
  const ProcessPlace* process = nullptr;
  /// Strategies: all ranks of the run. Null in a run of one process.
  Communicator* world = nullptr;
};

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
S2S_KIND(SpeechModel, "model", ModelContext);
S2S_KIND(ParallelStrategy, "strategy", ProcessContext);
S2S_KIND(Communicator, "communicator", ProcessContext);
S2S_KIND(DataSource, "data", DataContext);
S2S_KIND(Tokenizer, "tokenizer", BuildContext);
S2S_KIND(Metric, "metric", BuildContext);
S2S_KIND(Scorer, "scorer", BuildContext);
S2S_KIND(RunLogger, "logger", BuildContext);
S2S_KIND(Optimizer, "optimizer", BuildContext);
S2S_KIND(Schedule, "schedule", BuildContext);
S2S_KIND(DeviceKernels, "kernels", BuildContext);
#undef S2S_KIND

/// The context of a kind: BuildContext, or one with more in it.
template <class T>
using ContextOf = typename KindName<T>::Context;

enum class Status { kStable, kAlpha, kWorkInProgress };

/// One entry of a registry: facts for `plugin list|inspect`, and how to build it.
template <class T>
struct Component {
  std::string name;     // [a-z0-9_]+, or vendor.name
  std::string summary;  // one line
  Status status = Status::kStable;
  std::unique_ptr<T> (*create)(const Config& options, const ContextOf<T>& context) = nullptr;
  OptionTable (*options)() = nullptr;
  /// Turns a foreign configuration (a Hugging Face config.json, a NeMo block) into options of this
  /// component. Null when there is none. Errors: [weights/config] for keys that change the numbers
  /// and are not implemented.
  Config (*translate)(const Config& foreign) = nullptr;
  /// Options (JSON) of an instance that is built in a moment: `s2s-run plugin check` builds it and
  /// asks it for the promises of s2s::conformance (llm, encoder, codec). Null: not asked.
  const char* tiny = nullptr;
};

/// Called when a name is not registered yet: loads the plugin that provides it, or throws
/// [plugin/unknown] with suggestions, what is available and where was searched.
using MissingHandler = std::function<void(const std::string& kind, const std::string& name,
                                          const Config& asked_at, const std::string& path)>;

/// Registrations of a second component of one name; throws [plugin/duplicate-name].
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
  /// Null: no component of this name is registered; loads nothing.
  const Component<T>* find(const std::string& name) const {
    const auto it = entries_.find(name);
    return it == entries_.end() ? nullptr : &it->second;
  }
  /// Sorted by name.
  const std::map<std::string, Component<T>>& entries() const { return entries_; }

 private:
  std::map<std::string, Component<T>> entries_;
};

/// One registry per kind. Built at start-up by one thread; no globals.
class Registries {
 public:
  using All =
      std::tuple<Registry<Backbone>, Registry<Encoder>, Registry<Codec>, Registry<SpeechModel>,
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

  /// Loads on demand; set by the plugin host.
  void set_missing_handler(MissingHandler handler) { missing_ = std::move(handler); }

  /// The component `name`; `asked_at` and `path` say where in the config it was named.
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
  /// Removes and returns the key `name`; [config/missing] when there is none.
  static std::string take_name(Config& node, const std::string& path);

  All all_;
  MissingHandler missing_;
};

/// What a plugin gets: it may add components, nothing else.
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
