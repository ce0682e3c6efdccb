#pragma once
// Initial values of a model's parameters, made together with their memory: a model that is too
// large for one process is described whole, and each rank makes its part of it, some parameters at
// a time.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "s2s/nn/block.h"

namespace s2s {

/// Where parameters get memory, and from where their values.
struct InitialValuesSettings {
  /// Source of the values.
  enum class From {
    kNowhere,  // memory with undefined content, which a checkpoint of all parameters replaces
    kInit,     // drawn as the parameters' Init says
    kFiles,    // the same, but what blocks have stored values for (Block::initial_values)
  };
  at::Device device = at::kCPU;
  at::ScalarType dtype = at::kFloat;
  uint64_t seed = 0;
  From from = From::kFiles;
};

/// The initial values of a model whose parameters have no memory yet.
class InitialValues {
 public:
  /// Describes `model`, which lives on: each parameter becomes a tensor on the meta device, which
  /// has sizes, type and requires_grad, but no memory. Buffers are computed, moved to the device
  /// and, where files hold some, read.
  /// Errors: those of Block::initial_values; files that do not fit the model are found here.
  InitialValues(Block& model, const InitialValuesSettings& settings);
  ~InitialValues();
  InitialValues(const InitialValues&) = delete;
  InitialValues& operator=(const InitialValues&) = delete;

  /// Further values of the model's parameters. They go before earlier ones.
  void add(std::unique_ptr<WeightSource> values);

  /// Where parameters are to live.
  at::Device device() const { return settings_.device; }
  /// False when nothing is known of them: `write` leaves everything as it is.
  bool any() const { return settings_.from != InitialValuesSettings::From::kNowhere; }
  /// Writes all values of a parameter (a member of the model, NamedTensor::tensor). destination: of
  /// the parameter's sizes, contiguous, of any type and device. The same bits on all ranks.
  /// Errors: those of reading, as [weights/not-finite].
  void write(const at::Tensor* parameter, const at::Tensor& destination) const;
  /// Gives those that have none memory of their type on the device, and their values.
  void fill(const std::vector<NamedTensor>& parameters) const;

 private:
  void describe(Block& model);
  void read_buffers(Block& model) const;

  InitialValuesSettings settings_;
  std::unordered_map<const at::Tensor*, NamedTensor> parameters_;
  std::vector<std::unique_ptr<WeightSource>> sources_;
  std::unordered_map<const at::Tensor*, const WeightSource*> stored_;  // the one that counts
};

}  // namespace s2s
