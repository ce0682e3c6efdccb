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
  /// Loads the plugins of all models. Skips those that cannot be loaded.
  explicit NemoClasses(const Registries& registries);

  /// The class with this name, or null.
  const KnownClass* named(const std::string& name) const;
  /// The class whose keys a block `model` has, or null. `key`: receives that key.
  const KnownClass* of_keys(const Config& model, std::string& key) const;
  /// The class that wrote a checkpoint with these tensors; null if it is not of speechlm2. `type`:
  /// preferred if several fit.
  const KnownClass* of_tensors(const WeightFiles& files, const std::string& type = "") const;
  /// The readable classes: "SALM (salm), DuplexSTTModel (duplex_stt)".
  std::string readable() const;

  /// Throws [config/nemo-class]: no model.type reads the class of the configuration at `place`.
  [[noreturn]] void throw_no_class(const std::string& place, const std::string& name) const;
  /// Errors: [checkpoint/class] if the checkpoint is of another class than `model_type`, of an
  /// unknown class, or a .nemo archive of another collection (`target`: from its model_config.yaml,
  /// or ""). `place`: the source, for the message.
  void check(const std::string& place, const WeightFiles& files, const std::string& target,
             const std::string& model_type) const;

 private:
  const KnownClass* first_of(const std::string& type) const;
  [[noreturn]] void throw_class(const std::string& place, const std::string& found,
                                const std::string& model_type, const std::string& next) const;

  std::vector<KnownClass> known_;
};

/// The class as which a model of this configuration is written. Errors: [checkpoint/export] when
/// there is none.
ForeignClass written_class(const Registries& registries, const Config& config);
/// Its `cfg`: config.json of its folder for the hub. Errors: those of the model.
Config written_config(const ForeignClass& foreign, const ForeignExport& exported);

}  // namespace s2s::interop
