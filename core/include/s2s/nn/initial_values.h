#pragma once
// Initial values of parameters, created together with their memory. A model that is too large for
// one process is first built as a meta model; then each rank creates its shards of a few parameters
// at a time.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "s2s/nn/block.h"

namespace s2s {

/// On which device parameters get memory, and the source of their values.
struct InitialValuesSettings {
  /// Source of the values.
  enum class From {
    kNowhere,  // uninitialized memory, to be filled from a checkpoint of all parameters
    kInit,     // drawn according to the parameters' Init
    kFiles,    // stored values where blocks have some (Block::initial_values), else as kInit
  };
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;
  uint64_t seed = 0;
  From from = From::kFiles;
};

/// The initial values of a model whose parameters have no memory yet.
class InitialValues {
 public:
  /// Turns `model`, which must outlive this object, into a meta model: each parameter becomes a
  /// tensor on the meta device with sizes, dtype and requires_grad but no memory. Buffers are
  /// computed, moved to the device and, if files contain them, read.
  /// Errors: those of Block::initial_values; also reports files that do not fit the model.
  InitialValues(Block& model, const InitialValuesSettings& settings);
  ~InitialValues();
  InitialValues(const InitialValues&) = delete;
  InitialValues& operator=(const InitialValues&) = delete;

  /// Adds another source of values. It takes precedence over earlier ones.
  void add(std::unique_ptr<WeightSource> values);

  /// The device of the parameters.
  at::Device device() const { return settings_.device; }
  /// False when there are no values (kNowhere); then `write` changes nothing.
  bool any() const { return settings_.from != InitialValuesSettings::From::kNowhere; }
  /// Writes all values of a parameter (a member of the model, NamedTensor::tensor) to
  /// `destination`, which has the parameter's sizes, is contiguous, and may have any dtype and
  /// device. The values are bit-identical on all ranks.
  /// Errors: those of reading, such as [weights/not-finite].
  void write(const at::Tensor* parameter, const at::Tensor& destination) const;
  /// Allocates parameters that have no memory, on the device and with their dtype, and writes their
  /// values.
  void fill(const std::vector<NamedTensor>& parameters) const;

 private:
  void describe(Block& model);
  void read_buffers(Block& model) const;
  /// Memory for those parameters that have none.
  std::vector<at::Tensor> allocate(const std::vector<NamedTensor>& parameters) const;

  InitialValuesSettings settings_;
  std::unordered_map<const at::Tensor*, NamedTensor> parameters_;
  std::vector<std::unique_ptr<WeightSource>> sources_;
  // the source that takes precedence
  std::unordered_map<const at::Tensor*, const WeightSource*> stored_;
};

}  // namespace s2s
