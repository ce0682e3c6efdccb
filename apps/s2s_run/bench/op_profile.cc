#include "s2s_run/bench/op_profile.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <chrono>
#include <map>

namespace s2s::run {
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

}  // namespace s2s::run
