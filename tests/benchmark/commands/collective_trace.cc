#include "benchmark/commands/collective_trace.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "flight/flight_record.h"

namespace s2s::run {
namespace {

using nlohmann::ordered_json;

enum Track { kParts, kWaits };

ordered_json span(const std::string& name, int64_t rank, Track track, double begin_s,
                  double end_s) {
  return {{"name", name},        {"ph", "X"},
          {"pid", rank},         {"tid", static_cast<int>(track)},
          {"ts", 1e6 * begin_s}, {"dur", 1e6 * (end_s - begin_s)}};
}

ordered_json title(const char* kind, int64_t rank, int track, const std::string& name) {
  return {{"name", kind}, {"ph", "M"}, {"pid", rank}, {"tid", track}, {"args", {{"name", name}}}};
}

}  // namespace

double CollectiveTrace::now_s() const {
  return std::chrono::duration<double>(Clock::now() - origin_).count();
}

void CollectiveTrace::start() {
  open_.clear();
  collectives_.clear();
  parts_.clear();
  origin_ = Clock::now();
}

void CollectiveTrace::begin_part(const char* name) {
  end_parts();
  parts_.push_back({name, "", now_s(), -1, -1});
}

void CollectiveTrace::end_parts() {
  if (!parts_.empty() && parts_.back().end_s < 0) parts_.back().end_s = now_s();
}

void CollectiveTrace::started(const CollectiveRecord& record, const GroupPlace&) {
  const std::string name = to_string(record.kind) + (record.name.empty() ? "" : " " + record.name);
  open_[{record.group, record.sequence}] = {name, to_line(record), now_s(), 0, -1};
}

void CollectiveTrace::waiting(const CollectiveRecord& record) {
  const auto found = open_.find({record.group, record.sequence});
  if (found != open_.end()) found->second.wait_s = now_s();
}

void CollectiveTrace::finished(const CollectiveRecord& record, bool) {
  const auto found = open_.find({record.group, record.sequence});
  if (found == open_.end()) return;
  found->second.end_s = now_s();
  collectives_.push_back(found->second);
  open_.erase(found);
}

double CollectiveTrace::under_way_s() const {
  std::vector<std::pair<double, double>> spans;
  for (const Span& one : collectives_) spans.emplace_back(one.begin_s, one.end_s);
  std::sort(spans.begin(), spans.end());
  double covered = 0, until = 0;
  for (const auto& [begin, end] : spans) {
    covered += std::max(0.0, end - std::max(begin, until));
    until = std::max(until, end);
  }
  return covered;
}

double CollectiveTrace::waited_s() const {
  double sum = 0;
  for (const Span& one : collectives_) sum += one.wait_s < 0 ? 0 : one.end_s - one.wait_s;
  return sum;
}

std::string CollectiveTrace::to_json(int64_t rank) const {
  ordered_json events = ordered_json::array();
  events.push_back(title("process_name", rank, 0, "rank " + std::to_string(rank)));
  events.push_back(title("thread_name", rank, kParts, "step"));
  events.push_back(title("thread_name", rank, kWaits, "waiting for collectives"));
  for (const Span& part : parts_) {
    if (part.end_s >= 0) events.push_back(span(part.name, rank, kParts, part.begin_s, part.end_s));
  }
  int64_t id = 0;
  for (const Span& one : collectives_) {
    if (one.wait_s >= 0) events.push_back(span(one.name, rank, kWaits, one.wait_s, one.end_s));
    // Several may run at the same time: use asynchronous events.
    ordered_json event = {{"name", one.name},
                          {"cat", "collective"},
                          {"ph", "b"},
                          {"id", ++id},
                          {"pid", rank},
                          {"ts", 1e6 * one.begin_s},
                          {"args", {{"details", one.details}}}};
    events.push_back(event);
    event["ph"] = "e";
    event["ts"] = 1e6 * one.end_s;
    events.push_back(event);
  }
  return ordered_json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump(-1, ' ', false) +
         "\n";
}

}  // namespace s2s::run
