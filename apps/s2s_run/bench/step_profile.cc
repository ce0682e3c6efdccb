#include "s2s_run/bench/step_profile.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "s2s/scores/turn_taking.h"

namespace s2s::run {

StepClock::StepClock(Block* model, at::Device device, bool processor_time)
    : device_(device), processor_time_(processor_time) {
  const auto add = [&](const char* path, Hook hook) {
    Block* const block = model == nullptr ? nullptr : model->find_block(path);
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
  steps_.back().push_back({"", Moment(device_, processor_time_)});
}

void StepClock::mark(const std::string& name) {
  if (steps_.empty()) return;
  steps_.back().push_back({name, Moment(device_, processor_time_)});
  if (std::find(order_.begin(), order_.end(), name) == order_.end()) order_.push_back(name);
}

void StepClock::wait() const {
  if (!steps_.empty()) steps_.back().back().at.since(steps_.front().front().at);
}

std::vector<double> StepClock::step_s() const {
  wait();
  std::vector<double> out;
  for (const auto& marks : steps_) {
    if (marks.size() > 1) out.push_back(marks.back().at.since_passed(marks.front().at));
  }
  return out;
}

std::vector<std::pair<std::string, double>> StepClock::medians() const {
  wait();
  std::vector<std::map<std::string, double>> steps;
  for (const auto& marks : steps_) {
    if (marks.size() == 1) continue;  // started but not run
    steps.emplace_back();
    for (size_t i = 1; i < marks.size(); ++i) {
      steps.back()[marks[i].name] += marks[i].at.since_passed(marks[i - 1].at);
    }
  }
  std::vector<std::pair<std::string, double>> out;
  for (const std::string& name : order_) {
    std::vector<double> values;
    for (const auto& step : steps) {
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

/// One call of an operator. Times are read when the profile is.
struct OpCall {
  std::string name;
  Moment begin;
  std::optional<Moment> end;
  std::optional<size_t> caller;  // the operator that called it
  bool backward = false;
};

/// The profiler's callbacks are plain functions, so their state is global.
struct OpRecord {
  std::mutex mutex;
  std::optional<at::Device> device;
  std::vector<OpCall> calls;
} op_record;
/// The open calls of this thread. The backward pass of a device has a thread of its own.
thread_local std::vector<size_t> open_calls;

std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& op) {
  const std::lock_guard lock(op_record.mutex);
  std::optional<size_t> caller;
  if (!open_calls.empty()) caller = open_calls.back();
  const bool backward = (caller && op_record.calls[*caller].backward) ||
                        op.scope() == at::RecordScope::BACKWARD_FUNCTION;
  open_calls.push_back(op_record.calls.size());
  op_record.calls.push_back({op.name(), Moment(*op_record.device), {}, caller, backward});
  return nullptr;
}

void leave(const at::RecordFunction&, at::ObserverContext*) {
  if (open_calls.empty()) return;
  const std::lock_guard lock(op_record.mutex);
  op_record.calls[open_calls.back()].end.emplace(*op_record.device);
  open_calls.pop_back();
}

}  // namespace

OpProfile::OpProfile(at::Device device) {
  op_record.device = device;
  op_record.calls.clear();
  open_calls.clear();
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(enter, leave));
}

OpProfile::~OpProfile() {
  at::removeCallback(handle_);
  op_record.calls.clear();  // its events must not outlive the device's driver
}

std::vector<OpTime> OpProfile::sorted() const {
  const std::lock_guard lock(op_record.mutex);
  std::map<std::string, OpTime> times;
  const auto time_of = [&times](const OpCall& call) -> OpTime& {
    return times[call.backward ? call.name + " (backward)" : call.name];
  };
  for (const OpCall& call : op_record.calls) {
    if (!call.end) continue;
    const double whole_s = call.end->since(call.begin);
    OpTime& time = time_of(call);
    time.own_s += whole_s;
    ++time.calls;
    if (call.caller) time_of(op_record.calls[*call.caller]).own_s -= whole_s;
  }
  std::vector<OpTime> out;
  for (const auto& [name, time] : times) out.push_back({name, time.own_s, time.calls});
  std::sort(out.begin(), out.end(),
            [](const OpTime& a, const OpTime& b) { return a.own_s > b.own_s; });
  return out;
}

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

double median(std::vector<double> values) { return percentile(std::move(values), 50).value_or(0); }

}  // namespace s2s::run
