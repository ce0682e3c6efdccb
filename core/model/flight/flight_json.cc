#include <nlohmann/json.hpp>

#include "base/foreign_json.h"
#include "flight/flight_diagnosis.h"

namespace s2s {
namespace {

using nlohmann::ordered_json;

constexpr int kFormat = 1;

ordered_json to_json(const FlownCollective& collective) {
  ordered_json out = {{"group", collective.group},     {"sequence", collective.sequence},
                      {"kind", collective.kind},       {"name", collective.name},
                      {"details", collective.details}, {"step", collective.step},
                      {"phase", collective.phase},     {"started_s", collective.started_s},
                      {"finished_s", nullptr},         {"state", "started"}};
  if (collective.finished_s) {
    out["finished_s"] = *collective.finished_s;
    out["state"] = collective.failed ? "failed" : "finished";
  }
  return out;
}

FlownCollective collective_of(const ordered_json& object) {
  FlownCollective out;
  out.group = object.at("group");
  out.sequence = object.at("sequence");
  out.kind = object.at("kind");
  out.name = object.at("name");
  out.details = object.at("details");
  out.step = object.at("step");
  out.phase = object.at("phase");
  out.started_s = object.at("started_s");
  if (!object.at("finished_s").is_null()) out.finished_s = object.at("finished_s").get<double>();
  out.failed = object.at("state") == "failed";
  return out;
}

ordered_json to_json(const RankFlight& flight) {
  ordered_json out = {
      {"format", kFormat},          {"rank", flight.rank},       {"size", flight.size},
      {"host", flight.host},        {"process", flight.process}, {"written_s", flight.written_s},
      {"reason", flight.reason},    {"state", flight.state},     {"error", flight.error},
      {"step", flight.step},        {"phase", flight.phase},     {"idle_s", flight.idle_s},
      {"halted_s", flight.halted_s}};
  ordered_json &groups = out["groups"] = ordered_json::array(),
               &collectives = out["collectives"] = ordered_json::array();
  for (const FlownGroup& group : flight.groups) {
    groups.push_back({{"name", group.name},
                      {"ranks", group.ranks},
                      {"started", group.num_started},
                      {"finished", group.num_finished}});
  }
  for (const FlownCollective& one : flight.collectives) collectives.push_back(to_json(one));
  if (!flight.batch.empty()) out["batch"] = flight.batch;
  for (const FlownThread& thread : flight.threads) {
    out["threads"].push_back({{"id", thread.id},
                              {"name", thread.name},
                              {"state", thread.state},
                              {"stack", thread.stack}});
  }
  if (!flight.silent.empty()) out["silent"] = ordered_json::array();
  for (const RankFlight& other : flight.silent) out["silent"].push_back(to_json(other));
  return out;
}

RankFlight flight_of(const ordered_json& object) {
  if (object.at("format") != kFormat) throw std::runtime_error("the record has another version");
  RankFlight out;
  out.rank = object.at("rank");
  out.size = object.at("size");
  out.host = object.at("host");
  out.process = object.at("process");
  out.written_s = object.at("written_s");
  out.reason = object.at("reason");
  out.state = object.at("state");
  out.error = object.at("error");
  out.step = object.at("step");
  out.phase = object.at("phase");
  out.idle_s = object.at("idle_s");
  out.halted_s = object.at("halted_s");
  for (const ordered_json& group : object.at("groups")) {
    out.groups.push_back(
        {group.at("name"), group.at("ranks"), group.at("started"), group.at("finished")});
  }
  for (const ordered_json& one : object.at("collectives")) {
    out.collectives.push_back(collective_of(one));
    if (out.collectives.back().group >= out.groups.size()) {
      throw std::runtime_error("a collective has an invalid group");
    }
  }
  if (const auto batch = object.find("batch"); batch != object.end()) {
    out.batch = batch->get<std::vector<std::string>>();
  }
  if (const auto threads = object.find("threads"); threads != object.end()) {
    for (const ordered_json& thread : *threads) {
      out.threads.push_back({thread.at("id"), thread.at("name"), thread.at("state"),
                             thread.at("stack").get<std::vector<std::string>>()});
    }
  }
  if (const auto silent = object.find("silent"); silent != object.end()) {
    for (const ordered_json& other : *silent) out.silent.push_back(flight_of(other));
  }
  return out;
}

}  // namespace

RankFlight parse_flight(const std::string& json_text) {
  return flight_of(parse_foreign_json<ordered_json>(json_text, kListsJson));
}

std::string to_json_text(const RankFlight& flight, bool is_compact) {
  return to_json(flight).dump(is_compact ? -1 : 1, ' ', false,
                              ordered_json::error_handler_t::replace);
}

}  // namespace s2s
