#pragma once
// The classes of NeMo speechlm2 that models read, and how their checkpoints are distinguished. A
// checkpoint does not name its class (config.json of the hub's folder has the same `architectures`
// for all), so the names of its tensors decide.

#include <string>
#include <vector>

#include "s2s/foreign_class.h"
#include "s2s/nn/weights.h"
#include "s2s/registry.h"

namespace s2s::interop {

/// A class, and the component of kind `model` that knows it.
struct KnownClass {
  std::string type;
  ForeignClass foreign;
};

/// The classes of NeMo that models know.
class NemoClasses {
 public:
  /// Loads the plugins of all models. One that cannot be loaded is left out.
  explicit NemoClasses(const Registries& registries);

  /// The class with this name, or null.
  const KnownClass* named(const std::string& name) const;
  /// The class whose keys a block `model` has, or null. `key`: receives that key.
  const KnownClass* of_keys(const Config& model, std::string& key) const;
  /// The class that wrote a checkpoint with these tensors, or null: it is of no class of speechlm2.
  /// `type`: the model that is preferred, if several fit.
  const KnownClass* of_tensors(const WeightFiles& files, const std::string& type = "") const;
  /// "SALM (salm), DuplexSTTModel (duplex_stt)": those that are read.
  std::string readable() const;

  /// Throws [config/nemo-class]: the configuration at `place` is that of a class that no model.type
  /// reads.
  [[noreturn]] void throw_no_class(const std::string& place, const std::string& name) const;
  /// Errors: [checkpoint/class] when the checkpoint is of another class than `model_type`, of a
  /// class that no model.type reads, or a .nemo archive (`target`: of its model_config.yaml, or "")
  /// of another collection. `place`: the source, for the message.
  void check(const std::string& place, const WeightFiles& files, const std::string& target,
             const std::string& model_type) const;

 private:
  const KnownClass* first_of(const std::string& type) const;
  [[noreturn]] void throw_class(const std::string& place, const std::string& found,
                                const std::string& model_type, const std::string& next) const;

  std::vector<KnownClass> known_;
};

/// The `cfg` of the class that reads model.type: config.json of its folder for the hub. Errors:
/// [checkpoint/export] for a model that writes none, and those of the model.
Config written_config(const Registries& registries, const ForeignExport& exported);

}  // namespace s2s::interop
