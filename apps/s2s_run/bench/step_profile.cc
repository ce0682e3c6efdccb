#include "s2s_run/bench/step_profile.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

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

namespace {

using Clock = std::chrono::steady_clock;

struct OpenOp {
  Clock::time_point begin;
  double inside_s = 0;
  bool backward = false;
};

/// The callbacks of the profiler are plain functions, hence a place that they can reach.
struct Record {
  std::vector<OpenOp> open;
  std::map<std::string, OpTime> times;
};
thread_local Record record;

std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& op) {
  const bool inside = !record.open.empty() && record.open.back().backward;
  const bool backward = inside || op.scope() == at::RecordScope::BACKWARD_FUNCTION;
  record.open.push_back({Clock::now(), 0, backward});
  return nullptr;
}

void leave(const at::RecordFunction& op, at::ObserverContext*) {
  if (record.open.empty()) return;
  const OpenOp closed = record.open.back();
  record.open.pop_back();
  const double whole_s = std::chrono::duration<double>(Clock::now() - closed.begin).count();
  OpTime& time = record.times[std::string(op.name()) + (closed.backward ? " (backward)" : "")];
  time.own_s += whole_s - closed.inside_s;
  ++time.calls;
  if (!record.open.empty()) record.open.back().inside_s += whole_s;
}

}  // namespace

OpProfile::OpProfile() {
  record = {};
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(enter, leave));
}

OpProfile::~OpProfile() { at::removeCallback(handle_); }

std::vector<OpTime> OpProfile::sorted() const {
  std::vector<OpTime> out;
  for (const auto& [name, time] : record.times) out.push_back({name, time.own_s, time.calls});
  std::sort(out.begin(), out.end(),
            [](const OpTime& a, const OpTime& b) { return a.own_s > b.own_s; });
  return out;
}

namespace {

std::atomic<int64_t> operator_count;

std::unique_ptr<at::ObserverContext> count_operator(const at::RecordFunction&) {
  ++operator_count;
  return nullptr;
}

}  // namespace

// Backward passes on other threads take over the callbacks of the thread that started them.
OperatorCount::OperatorCount() {
  operator_count = 0;
  handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(count_operator).scopes({at::RecordScope::FUNCTION}));
}

OperatorCount::~OperatorCount() { at::removeCallback(handle_); }

int64_t OperatorCount::value() const { return operator_count; }

nlohmann::ordered_json split_json(const StepClock& clock) {
  nlohmann::ordered_json out;
  for (const auto& [name, seconds] : clock.medians()) out[name] = 1000 * seconds;
  return out;
}

nlohmann::ordered_json ops_json(const OpProfile& profile, int64_t count, int64_t steps) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const OpTime& op : profile.sorted()) {
    if (static_cast<int64_t>(out.size()) == count) break;
    out.push_back({{"op", op.name},
                   {"ms", 1000 * op.own_s / static_cast<double>(steps)},
                   {"calls", op.calls / steps}});
  }
  return out;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace s2s::run
