#include "s2s/nn/block.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <set>

#include "nn/model_size.h"
#include "s2s/error.h"
#include "s2s/nn/initial_values.h"

namespace s2s {

BlockHooks::~BlockHooks() = default;
WeightSource::~WeightSource() = default;

Block::~Block() {
  for (const Slot& slot : slots_) leave_model_size(slot.sizes);
  leave_model_parts(children_.size() + slots_.size());
}

namespace {

std::string join(const std::string& prefix, const std::string& name) {
  if (prefix.empty()) return name;
  return name.empty() ? prefix : prefix + "." + name;
}

}  // namespace

at::ScalarType buffer_type(const at::Tensor& buffer, at::ScalarType dtype) {
  return buffer.is_floating_point() ? at::promote_types(at::kFloat, dtype) : buffer.scalar_type();
}

void Block::register_parameter(std::string name, at::Tensor& slot, std::vector<int64_t> sizes,
                               Init init) {
  join_model_size(name, sizes);
  slots_.push_back({std::move(name), &slot, std::move(sizes), init, true, true});
}

void Block::register_buffer(std::string name, at::Tensor& slot, bool persistent) {
  join_model_part(name);
  slots_.push_back({std::move(name), &slot, {}, {}, false, persistent});
}

void Block::register_block(std::string name, Block& child) {
  S2S_ASSERT(&child != this, "a block is not its own child");
  join_model_part(name);
  children_.push_back({std::move(name), &child});
}

void Block::release_block(std::string_view name) {
  const auto it = std::find_if(children_.begin(), children_.end(),
                               [&](const Child& child) { return child.name == name; });
  S2S_ASSERT(it != children_.end(), "only a registered child is released");
  children_.erase(it);
  leave_model_parts(1);
}

void Block::collect(const std::string& prefix, bool parameters, std::vector<NamedTensor>& out) {
  for (const Slot& slot : slots_) {
    if (slot.is_parameter != parameters) continue;
    out.push_back({join(prefix, slot.name), slot.tensor, slot.sizes, slot.init, slot.is_parameter,
                   slot.persistent});
  }
  for (const Child& child : children_) {
    child.block->collect(join(prefix, child.name), parameters, out);
  }
}

namespace {

std::vector<NamedTensor> without_repeats(std::vector<NamedTensor> all) {
  std::set<at::Tensor*> seen;
  std::vector<NamedTensor> unique;
  for (NamedTensor& entry : all) {
    if (seen.insert(entry.tensor).second) unique.push_back(std::move(entry));
  }
  return unique;
}

}  // namespace

std::vector<NamedTensor> Block::named_parameters() {
  std::vector<NamedTensor> all;
  collect("", true, all);
  return without_repeats(std::move(all));
}

std::vector<NamedTensor> Block::named_buffers() {
  std::vector<NamedTensor> all;
  collect("", false, all);
  return without_repeats(std::move(all));
}

void Block::for_each_block(const std::function<void(const std::string&, Block&)>& visit) {
  visit("", *this);
  for (const Child& child : children_) {
    child.block->for_each_block([&](const std::string& path, Block& block) {
      if (path.empty() && child.name.empty()) return;  // spliced: the child has no name
      visit(join(child.name, path), block);
    });
  }
}

Block* Block::find_block(std::string_view path) {
  Block* found = nullptr;
  for_each_block([&](const std::string& at, Block& block) {
    if (at == path && found == nullptr) found = &block;
  });
  return found;
}

void Block::visit_all(const std::function<void(Block&)>& visit) {
  visit(*this);
  for (const Child& child : children_) child.block->visit_all(visit);
}

std::unique_ptr<WeightSource> Block::initial_values() { return nullptr; }

void Block::materialize(at::Device device, at::ScalarType dtype, uint64_t seed, bool pretrained) {
  using From = InitialValuesSettings::From;
  const InitialValues values(*this, {device, dtype, seed, pretrained ? From::kFiles : From::kInit});
  values.fill(named_parameters());
}

void Block::to(at::Device device, at::ScalarType dtype) {
  const auto move = [&](at::Tensor& tensor, at::ScalarType type) {
    const bool requires_grad = tensor.requires_grad();
    const at::Device where = tensor.is_meta() ? at::Device(at::kMeta) : device;
    tensor = tensor.detach().to(where, type).set_requires_grad(requires_grad);
  };
  for (NamedTensor& parameter : named_parameters()) {
    if (parameter.tensor->defined()) move(*parameter.tensor, dtype);
  }
  for (NamedTensor& buffer : named_buffers()) {
    if (buffer.tensor->defined()) move(*buffer.tensor, buffer_type(*buffer.tensor, dtype));
  }
}

void Block::train(bool on) {
  training_ = on;
  for (const Child& child : children_) child.block->train(on);
}

void Block::set_requires_grad(bool on) {
  for (NamedTensor& parameter : named_parameters()) parameter.tensor->set_requires_grad(on);
}

}  // namespace s2s
