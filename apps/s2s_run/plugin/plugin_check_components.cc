#include "s2s_run/plugin/plugin_check_components.h"

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>

#include "base/text.h"
#include "plugin/plugin_errors.h"
#include "s2s/conformance.h"

namespace s2s::run {
namespace {

constexpr const char* kByTraining = "is tried by training with it";

/// A folder for the files of a logger.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_(std::filesystem::temp_directory_path() /
              ("s2s-plugin-check-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// Calls ask_one(make) for each component of a kind that can be built.
template <class T, class Ask>
void ask_kind(const Registries& staging, AskedComponents& asked, const Ask& ask_one) {
  for (const auto& [name, component] : staging.of<T>().entries()) {
    const std::string id = std::string(KindName<T>::value) + ":" + name;
    ContextOf<T> context;
    context.registries = &staging;
    context.path = id;
    const Config options =
        component.tiny == nullptr ? Config::map() : parse_json(component.tiny, "options of " + id);
    const std::function<std::unique_ptr<T>()> make = [&] {
      return component.create(options, context);
    };
    try {
      make();
    } catch (const Error& error) {
      if (component.tiny != nullptr) throw;
      const bool needs_options = error.id() == "config/missing";
      asked.leave_out(id, needs_options ? "needs options" : "[" + error.id() + "] without options");
      continue;
    }
    asked.add(id, ask_one(make));
  }
}

template <class T>
void leave_out_kind(const Registries& staging, AskedComponents& asked, const char* reason) {
  for (const auto& [name, component] : staging.of<T>().entries()) {
    asked.leave_out(std::string(KindName<T>::value) + ":" + name, reason);
  }
}

/// Most models are built from parts of other plugins, and have no tiny options.
void ask_models(const Registries& staging, AskedComponents& asked) {
  for (const auto& [name, component] : staging.of<Model>().entries()) {
    const std::string id = "model:" + name;
    if (component.tiny == nullptr) {
      asked.leave_out(id, kByTraining);
      continue;
    }
    ModelContext context;
    context.registries = &staging;
    context.path = id;
    const auto model =
        component.create(parse_json(component.tiny, "tiny options of " + id), context);
    model->materialize(at::kCPU, at::kFloat, 1);
    asked.add(id, conformance::broken_promises(*model));
  }
}

}  // namespace

void AskedComponents::add(const std::string& id, const std::vector<std::string>& answers) {
  asked_.push_back(id);
  for (const std::string& answer : answers) findings_.push_back(id + ": " + answer);
}

void AskedComponents::leave_out(const std::string& id, const std::string& reason) {
  left_out_.push_back(id + " " + reason);
}

std::string AskedComponents::result() const {
  if (!findings_.empty()) throw promises_error(findings_);
  const std::string left_out = joined(left_out_, ", ");
  if (asked_.empty()) return "not run: " + (left_out.empty() ? "no components" : left_out);
  return joined(asked_, ", ") + (left_out.empty() ? "" : "; not run: " + left_out);
}

void ask_other_components(const Registries& staging, AskedComponents& asked) {
  ask_kind<Optimizer>(staging, asked,
                      [](const auto& make) { return conformance::broken_promises(make); });
  ask_kind<Schedule>(staging, asked, [](const auto& make) {
    return conformance::broken_promises(*make(), /*base_learning_rate=*/1e-3);
  });
  ask_kind<Metric>(staging, asked,
                   [](const auto& make) { return conformance::broken_promises(make); });
  ask_kind<RunLogger>(staging, asked, [](const auto& make) {
    const ScratchFolder folder;
    return conformance::broken_promises(make, folder.path());
  });
  ask_kind<Scorer>(staging, asked,
                   [](const auto& make) { return conformance::broken_promises(*make()); });
  constexpr const char* kInTests = "is asked by its own tests (s2s/conformance.h)";
  leave_out_kind<Tokenizer>(staging, asked, kInTests);
  leave_out_kind<DataSource>(staging, asked, kInTests);
  ask_models(staging, asked);
  leave_out_kind<ParallelStrategy>(staging, asked, kByTraining);
  leave_out_kind<Communicator>(staging, asked, kByTraining);
  leave_out_kind<DeviceKernels>(staging, asked, kByTraining);
}

}  // namespace s2s::run
