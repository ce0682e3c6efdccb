#include "s2s/nn/initial_values.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/fnv.h"
#include "base/machine.h"
#include "base/parallel_rows.h"
#include "s2s/error.h"

namespace s2s {
namespace {

/// The random stream depends only on the seed and the name, not on the platform or the order.
uint64_t stream_seed(uint64_t seed, const std::string& name) {
  return fnv1a(name, kFnvStart ^ (seed * 0x9E3779B97F4A7C15ULL));
}

void draw(const NamedTensor& parameter, uint64_t seed, const at::Tensor& destination) {
  const Init& init = parameter.init;
  if (init.kind == Init::Kind::kZeros || init.kind == Init::Kind::kOnes) {
    destination.fill_(init.kind == Init::Kind::kOnes ? 1 : 0);
    return;
  }
  // Draw in float32 on the CPU, for every dtype and device.
  const bool is_direct = destination.is_cpu() && destination.scalar_type() == at::kFloat;
  const at::Tensor value =
      is_direct ? destination
                : at::empty(destination.sizes(), at::TensorOptions().dtype(at::kFloat));
  auto generator = at::make_generator<at::CPUGeneratorImpl>(stream_seed(seed, parameter.name));
  if (init.kind == Init::Kind::kNormal) {
    value.normal_(0, init.scale, generator);
  } else {
    value.uniform_(-init.scale, init.scale, generator);
  }
  if (!is_direct) destination.copy_(value);
}

/// Layers of one block with inputs of one size have the same key for their weights, and another one
/// for their biases. On a device they are adjacent, so that one product can compute all
/// (nn/joined_linear.h). Parameters that would misalign the next one get no key.
std::string sibling_key(const NamedTensor& parameter) {
  constexpr size_t kAlignment = 64;  // bytes
  const at::Tensor& tensor = *parameter.tensor;
  const size_t own = parameter.name.rfind('.');
  const size_t bytes = static_cast<size_t>(tensor.numel()) * tensor.element_size();
  if (own == std::string::npos || own == 0 || tensor.dim() == 0 || bytes % kAlignment != 0) {
    return parameter.name;
  }
  const size_t layer = parameter.name.rfind('.', own - 1);
  const std::string block = layer == std::string::npos ? "" : parameter.name.substr(0, layer);
  std::string key =
      block + "/" + parameter.name.substr(own) + "/" + c10::toString(tensor.scalar_type());
  for (const int64_t size : tensor.sizes().slice(1)) key += "/" + std::to_string(size);
  return key;
}

/// Writes what is drawn on all threads. Each parameter has a generator of its own, so the values do
/// not depend on the threads. The largest come first: no thread begins with one when the others
/// have nothing left.
void write_on_all_threads(const InitialValues& values,
                          std::vector<std::pair<at::Tensor*, at::Tensor>> drawn) {
  std::stable_sort(drawn.begin(), drawn.end(), [](const auto& a, const auto& b) {
    return a.second.numel() > b.second.numel();
  });
  std::atomic<size_t> next = 0;
  // As many rows as threads: each row takes parameters until there are none.
  parallel_rows(at::get_num_threads(), 1, [&](int64_t, int64_t) {
    for (size_t i = next++; i < drawn.size(); i = next++) {
      values.write(drawn[i].first, drawn[i].second);
    }
  });
}

/// The system promises more memory than there is, and ends the process when it is used.
void require_memory(const std::vector<NamedTensor>& parameters) {
  constexpr double kUnnoticed = 1e9;
  double bytes = 0;
  for (const NamedTensor& parameter : parameters) {
    if (!parameter.tensor->is_meta()) continue;
    bytes += static_cast<double>(parameter.tensor->numel()) *
             static_cast<double>(parameter.tensor->element_size());
  }
  if (bytes < kUnnoticed) return;
  const MachineMemory memory = machine_memory();
  const double most = memory.limit > 0 ? memory.limit : memory.total;
  if (most == 0 || bytes <= most) return;
  throw Error(ExitCode::kCheckFailed, "run/memory",
              "out of memory: the model's parameters need " + gigabytes_text(bytes) + "; " +
                  memory_text(memory) +
                  "\n"
                  "  next:      1. more ranks that share the model (trainer.strategy)\n"
                  "             2. a smaller model, or trainer.precision=bf16-true; s2s-run plan "
                  "CONFIG computes the memory needed");
}

}  // namespace

InitialValues::InitialValues(Block& model, const InitialValuesSettings& settings)
    : settings_(settings) {
  describe(model);
  if (settings_.from != InitialValuesSettings::From::kFiles) return;
  model.visit_all([this](Block& block) {
    if (std::unique_ptr<WeightSource> values = block.initial_values()) add(std::move(values));
  });
  read_buffers(model);
}

InitialValues::~InitialValues() = default;

void InitialValues::describe(Block& model) {
  const auto options = at::TensorOptions().dtype(settings_.dtype).device(at::kMeta);
  for (NamedTensor& parameter : model.named_parameters()) {
    *parameter.tensor = at::empty(parameter.sizes, options).set_requires_grad(true);
    parameters_.emplace(parameter.tensor, std::move(parameter));
  }
  model.visit_all([](Block& block) { block.reset_buffers(); });
  for (NamedTensor& buffer : model.named_buffers()) {
    if (!buffer.tensor->defined()) continue;
    const auto type = buffer_type(*buffer.tensor, settings_.dtype);
    *buffer.tensor = buffer.tensor->to(settings_.device, type);
  }
}

void InitialValues::read_buffers(Block& model) const {
  const at::NoGradGuard no_grad;
  for (const NamedTensor& buffer : model.named_buffers()) {
    const auto stored = stored_.find(buffer.tensor);
    if (stored != stored_.end()) stored->second->write(buffer.tensor, *buffer.tensor);
  }
}

void InitialValues::add(std::unique_ptr<WeightSource> values) {
  for (const at::Tensor* member : values->members()) {
    stored_.insert_or_assign(member, values.get());
  }
  sources_.push_back(std::move(values));
}

void InitialValues::write(const at::Tensor* parameter, const at::Tensor& destination) const {
  const at::NoGradGuard no_grad;
  const auto known = parameters_.find(parameter);
  S2S_ASSERT(known != parameters_.end(), "a parameter of the meta model");
  S2S_ASSERT(destination.sizes() == at::IntArrayRef(known->second.sizes), "all of the parameter");
  if (!any()) return;
  const auto stored = stored_.find(parameter);
  if (stored != stored_.end()) {
    stored->second->write(parameter, destination);
  } else {
    draw(known->second, settings_.seed, destination);
  }
}

std::vector<at::Tensor> InitialValues::allocate(const std::vector<NamedTensor>& parameters) const {
  if (settings_.device.is_cpu()) require_memory(parameters);
  std::vector<at::Tensor> memory(parameters.size());
  std::map<std::string, std::vector<size_t>> siblings;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& member = *parameters[i].tensor;
    if (!member.is_meta()) continue;
    if (settings_.device.is_cpu()) {
      memory[i] = at::empty(member.sizes(), member.options().device(settings_.device));
    } else {
      siblings[sibling_key(parameters[i])].push_back(i);
    }
  }
  for (const auto& [key, members] : siblings) {
    int64_t numel = 0;
    for (const size_t i : members) numel += parameters[i].tensor->numel();
    const at::TensorOptions options = parameters[members.front()].tensor->options();
    const at::Tensor all = at::empty({numel}, options.device(settings_.device));
    int64_t begin = 0;
    for (const size_t i : members) {
      const at::IntArrayRef sizes = parameters[i].tensor->sizes();
      memory[i] = at::empty({0}, all.options());
      memory[i].set_(all.storage(), begin, sizes, c10::contiguous_strides(sizes));
      begin += parameters[i].tensor->numel();
    }
  }
  return memory;
}

void InitialValues::fill(const std::vector<NamedTensor>& parameters) const {
  const std::vector<at::Tensor> memory = allocate(parameters);
  std::vector<std::pair<at::Tensor*, at::Tensor>> values, drawn;
  for (size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor& member = *parameters[i].tensor;
    if (!member.is_meta()) continue;
    const at::Tensor& value = memory[i];
    if (stored_.contains(&member)) {
      write(&member, value);
    } else {
      drawn.emplace_back(&member, value);
    }
    values.emplace_back(&member, value);
  }
  write_on_all_threads(*this, std::move(drawn));
  for (auto& [member, value] : values) *member = value.set_requires_grad(member->requires_grad());
}

}  // namespace s2s
