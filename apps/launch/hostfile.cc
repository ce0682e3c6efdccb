#include "launch/hostfile.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "base/number_text.h"
#include "s2s/error.h"

namespace s2s::launch {
namespace {

constexpr int kMaxSlots = 1024;

Error hostfile_error(const std::string& name, int line, const std::string& text,
                     const std::string& reason) {
  return {ExitCode::kUsage, "launch/hostfile",
          name + ":" + std::to_string(line) + ": '" + text + "': " + reason +
              "\n  expected:  HOST slots=NUMBER, for example worker-0 slots=8"};
}

Error hosts_error(const std::string& message) {
  return {ExitCode::kUsage, "launch/hosts",
          message +
              "\n  expected:  HOST[:SLOT,SLOT...][@HOST...], for example "
              "worker-0@worker-1:0,2"};
}

std::string known_hosts(const std::vector<HostSlots>& hosts) {
  std::string out;
  for (const HostSlots& one : hosts) out += (out.empty() ? "" : ", ") + one.host;
  return out;
}

std::vector<std::string> split(const std::string& text, char delimiter) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, delimiter);) out.push_back(part);
  return out;
}

/// "worker-1:0,2" names slots of a host; "worker-1" names all.
HostSlots parse_spec(const std::string& spec, const std::vector<HostSlots>& hosts,
                     const std::string& option) {
  const std::vector<std::string> parts = split(spec, ':');
  const std::string host = parts.empty() ? "" : parts[0];
  const auto known = std::find_if(hosts.begin(), hosts.end(),
                                  [&](const HostSlots& one) { return one.host == host; });
  if (known == hosts.end() || parts.size() > 2) {
    throw hosts_error(option + " '" + spec + "': the hostfile has no such host; it has " +
                      known_hosts(hosts));
  }
  if (parts.size() == 1) return {host, known->slots, false};
  HostSlots out{host, {}, true};
  for (const std::string& text : split(parts[1], ',')) {
    const auto slot = read_number<int>(text);
    if (!slot || std::find(known->slots.begin(), known->slots.end(), *slot) == known->slots.end()) {
      throw hosts_error(option + " '" + spec + "': " + host + " has no slot '" + text +
                        "'; it has " + std::to_string(known->slots.size()) + ", from 0");
    }
    out.slots.push_back(*slot);
  }
  std::sort(out.slots.begin(), out.slots.end());
  out.slots.erase(std::unique(out.slots.begin(), out.slots.end()), out.slots.end());
  return out;
}

std::map<std::string, HostSlots> parse_filter(const std::string& text,
                                              const std::vector<HostSlots>& hosts,
                                              const std::string& option) {
  std::map<std::string, HostSlots> out;
  for (const std::string& spec : split(text, '@')) {
    HostSlots one = parse_spec(spec, hosts, option);
    if (!out.emplace(one.host, one).second) {
      throw hosts_error(option + " '" + text + "': " + one.host + " is named twice");
    }
  }
  return out;
}

void remove_slots(HostSlots& host, const HostSlots& removed) {
  const auto is_removed = [&](int slot) {
    return std::find(removed.slots.begin(), removed.slots.end(), slot) != removed.slots.end();
  };
  host.slots.erase(std::remove_if(host.slots.begin(), host.slots.end(), is_removed),
                   host.slots.end());
  host.is_filtered = true;
}

}  // namespace

std::vector<HostSlots> parse_hostfile(const std::string& text, const std::string& name) {
  std::vector<HostSlots> hosts;
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string host, slots, more;
    if (!(words >> host)) continue;
    words >> slots >> more;
    const auto count =
        slots.starts_with("slots=") ? read_number<int>(slots.substr(6)) : std::optional<int>();
    if (!count || *count < 1 || *count > kMaxSlots || !more.empty()) {
      throw hostfile_error(name, number, line, "not a host with its slots");
    }
    if (host.starts_with("-") || host.find_first_of("@:,%") != std::string::npos) {
      throw hostfile_error(name, number, line, "not the name of a host");
    }
    for (const HostSlots& one : hosts) {
      if (one.host == host) throw hostfile_error(name, number, line, "this host was listed before");
    }
    HostSlots one{host, {}, false};
    for (int slot = 0; slot < *count; ++slot) one.slots.push_back(slot);
    hosts.push_back(one);
  }
  if (hosts.empty()) throw hostfile_error(name, number, "", "no hosts");
  return hosts;
}

std::vector<HostSlots> filter_hosts(std::vector<HostSlots> hosts, const HostFilter& filter) {
  if (!filter.include.empty() && !filter.exclude.empty()) {
    throw hosts_error("--include and --exclude were both given; give one of them");
  }
  const auto included = parse_filter(filter.include, hosts, "--include");
  const auto excluded = parse_filter(filter.exclude, hosts, "--exclude");
  std::vector<HostSlots> out;
  for (HostSlots& host : hosts) {
    if (!included.empty()) {
      const auto found = included.find(host.host);
      if (found == included.end()) continue;
      host = found->second;
    }
    if (const auto found = excluded.find(host.host); found != excluded.end()) {
      remove_slots(host, found->second);
    }
    const auto limit = static_cast<size_t>(filter.num_slots.value_or(kMaxSlots));
    if (host.slots.size() > limit) host.slots.resize(limit);
    if (host.slots.empty()) continue;
    if (static_cast<int>(out.size()) == filter.num_nodes.value_or(kMaxSlots)) break;
    out.push_back(host);
  }
  if (out.empty()) throw hosts_error("no hosts are left after the filters");
  return out;
}

}  // namespace s2s::launch
