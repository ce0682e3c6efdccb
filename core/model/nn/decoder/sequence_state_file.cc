// A SequenceState in a .safetensors file.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "nn/decoder/fixed_keys.h"
#include "s2s/error.h"
#include "s2s/nn/sequence_state.h"
#include "s2s/nn/weights.h"
#include "weights/safetensors.h"

namespace s2s {
namespace {

constexpr const char* kLengths = "lengths";  // [R] int64
constexpr const char* kLayers = "num_layers";
constexpr const char* kState = "state.";

std::string layer_name(size_t layer) { return fmt::format("layers.{}.", layer); }
std::string row_name(size_t layer, int64_t row) {
  return fmt::format("{}rows.{}.", layer_name(layer), row);
}

/// [weights/sequence-state]
Error state_error(const std::string& path, const std::string& what, const std::string& expected) {
  return {
      ExitCode::kData, "weights/sequence-state",
      fmt::format("{}: {}; expected {}: give a file that SequenceState::save wrote for the same "
                  "model",
                  path, what, expected)};
}

/// Reads the tensors of a file and checks what they should be.
class StateFile {
 public:
  explicit StateFile(const std::string& path) : files_(WeightFiles::open(path)) {}

  bool has(const std::string& name) const { return files_.facts().contains(name); }
  std::map<std::string, TensorFacts> facts() const { return files_.facts(); }
  at::Tensor tensor(const std::string& name) const {
    if (!has(name)) throw error(fmt::format("there is no tensor '{}'", name), "one");
    return files_.tensor(name).clone();
  }
  std::vector<int64_t> integers(const std::string& name) const {
    const at::Tensor found = tensor(name);
    if (found.scalar_type() != at::kLong || found.dim() != 1) {
      throw error(fmt::format("'{}' is not a list of integers", name), "int64 [N]");
    }
    return {found.const_data_ptr<int64_t>(), found.const_data_ptr<int64_t>() + found.numel()};
  }
  Error error(const std::string& what, const std::string& expected) const {
    return state_error(files_.path(), what, expected);
  }

 private:
  WeightFiles files_;
};

/// Keys or values [1, heads, S, D] of a row that has seen `length` positions.
at::Tensor keys_of(const StateFile& file, const std::string& name, int64_t length) {
  at::Tensor found = file.tensor(name);
  if (found.dim() != 4 || found.size(0) != 1 || found.size(2) > length) {
    throw file.error(fmt::format("'{}' has {} dims, {} elements", name, found.dim(), found.numel()),
                     fmt::format("[1, heads, at most {} positions, width]", length));
  }
  return found;
}

}  // namespace

void SequenceState::save(const std::string& path) const {
  TensorMap tensors;
  tensors[kLengths] = at::tensor(lengths_, at::kLong);
  tensors[kLayers] = at::tensor({static_cast<int64_t>(keys_.size())}, at::kLong);
  for (size_t layer = 0; layer < keys_.size(); ++layer) {
    const auto number = static_cast<int64_t>(layer);
    const bool is_fixed = fixed_ && fixed_->has(number);
    if (is_fixed || keys_[layer].k.defined()) {
      const int64_t window = is_fixed ? fixed_->window_of(number) : keys_[layer].window;
      tensors[layer_name(layer) + "window"] = at::tensor({window}, at::kLong);
      for (int64_t row = 0; row < num_rows(); ++row) {
        const SeenKeys own = is_fixed ? fixed_->row_of(number, row) : row_of(keys_[layer], row);
        tensors[row_name(layer, row) + "keys"] = own.k.cpu().contiguous();
        tensors[row_name(layer, row) + "values"] = own.v.cpu().contiguous();
      }
    }
    for (const auto& [name, value] : recurrent_[layer]) {
      tensors[layer_name(layer) + kState + name] = value.cpu().contiguous();
    }
  }
  write_safetensors(path, tensors, {{"format", "pt"}});
}

void SequenceState::load(const std::string& path, at::Device device) {
  const at::NoGradGuard no_grad;
  const StateFile file(path);
  const std::vector<int64_t> lengths = file.integers(kLengths), layers = file.integers(kLayers);
  const auto count = static_cast<int64_t>(keys_.size());
  if (layers != std::vector{count} || lengths.empty()) {
    throw file.error(fmt::format("it is of {} layers and {} rows",
                                 layers.empty() ? 0 : layers.front(), lengths.size()),
                     fmt::format("{} layers", count));
  }
  SequenceState fresh(count, static_cast<int64_t>(lengths.size()));
  for (size_t layer = 0; layer < keys_.size(); ++layer) {
    const std::string name = layer_name(layer);
    const auto number = static_cast<int64_t>(layer);
    for (const auto& [tensor, facts] : file.facts()) {
      if (!tensor.starts_with(name + kState)) continue;
      const at::Tensor value = file.tensor(tensor);
      if (value.dim() == 0 || value.size(0) != fresh.num_rows()) {
        throw file.error(fmt::format("'{}' has not one part a row", tensor),
                         fmt::format("{} rows", fresh.num_rows()));
      }
      fresh.remember(number, tensor.substr((name + kState).size()), value.to(device));
    }
    if (!file.has(name + "window")) continue;
    const int64_t window = file.integers(name + "window").at(0);
    for (int64_t row = 0; row < fresh.num_rows(); ++row) {
      const int64_t length = lengths[static_cast<size_t>(row)];
      const at::Tensor k = keys_of(file, row_name(layer, row) + "keys", length);
      const at::Tensor v = keys_of(file, row_name(layer, row) + "values", length);
      fresh.append(number, k.to(device), v.to(device), window, {row});
    }
  }
  has_rows_ = true;
  lengths_ = lengths;
  keys_ = std::move(fresh.keys_);
  recurrent_ = std::move(fresh.recurrent_);
  if (!fixed_) return;
  const int64_t capacity = fixed_->capacity();
  fixed_.reset();
  reserve(capacity, device);
}

}  // namespace s2s
