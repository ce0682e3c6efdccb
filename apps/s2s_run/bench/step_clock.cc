#include "s2s_run/bench/step_clock.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <ctime>

#include "s2s_run/bench/median.h"

namespace s2s::run {

double now_s(bool processor_time) {
  timespec now{};
  clock_gettime(processor_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

StepClock::StepClock(Block& model, bool processor_time) : processor_time_(processor_time) {
  const auto add = [&](const char* path, Hook hook) {
    Block* const block = model.find_block(path);
    if (block == nullptr || block->hooks() != nullptr) return;
    block->set_hooks(this);
    blocks_.push_back(block);
    hooks_[block] = std::move(hook);
  };
  add("perception.encoder.pre_encode",
      {"mel features", "subsampling", "", "encoder layers, backward"});
  add("perception.proj", {"", "encoder layers", "", "embeddings, backward"});
  add("llm", {"embeddings", "decoder", "decoder, backward", "losses, both ways"});
}

StepClock::~StepClock() {
  for (Block* block : blocks_) block->set_hooks(nullptr);
}

void StepClock::start() {
  steps_.emplace_back();
  last_s_ = now_s(processor_time_);
}

void StepClock::mark(const std::string& name) {
  if (steps_.empty()) return;
  const double now = now_s(processor_time_);
  steps_.back()[name] += now - last_s_;
  last_s_ = now;
  if (std::find(order_.begin(), order_.end(), name) == order_.end()) order_.push_back(name);
}

double StepClock::step_s() const {
  double sum = 0;
  for (const auto& [name, seconds] : steps_.back()) sum += seconds;
  return sum;
}

std::vector<std::pair<std::string, double>> StepClock::medians() const {
  std::vector<std::pair<std::string, double>> out;
  for (const std::string& name : order_) {
    std::vector<double> values;
    for (const auto& step : steps_) {
      if (step.empty()) continue;  // begun, not run
      const auto found = step.find(name);
      values.push_back(found == step.end() ? 0 : found->second);
    }
    if (!values.empty()) out.emplace_back(name, median(std::move(values)));
  }
  return out;
}

void StepClock::mark_gradient(const at::Tensor& x, const std::string& name) {
  if (name.empty() || !x.requires_grad()) return;
  x.register_hook([this, name](const at::Tensor&) { mark(name); });
}

at::Tensor StepClock::call(Block& block, const at::Tensor& x, const Forward& forward) {
  const Hook& hook = hooks_.at(&block);
  if (!hook.before.empty()) mark(hook.before);
  mark_gradient(x, hook.gradient_in);
  const at::Tensor y = forward(x);
  if (!hook.after.empty()) mark(hook.after);
  mark_gradient(y, hook.gradient_out);
  return y;
}

}  // namespace s2s::run
