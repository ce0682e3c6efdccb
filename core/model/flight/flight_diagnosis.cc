#include "flight/flight_diagnosis.h"

#include <algorithm>
#include <map>
#include <set>

#include "comm/rank_list.h"

namespace s2s {
namespace {

using Ranks = std::vector<int64_t>;

std::string numbered(const FlownCollective& one, const RankFlight& flight) {
  return one.text() + ", number " + std::to_string(one.sequence) + " of group " +
         flight.groups[one.group].name;
}

bool is_open(const FlownCollective& one) { return !one.finished_s || one.failed; }

bool is_message(const FlownCollective& one) { return one.kind == "send" || one.kind == "recv"; }

/// Returns the oldest unfinished collective of the rank, or the one that failed.
const FlownCollective* open_in(const RankFlight& flight) {
  const auto found = std::find_if(flight.collectives.begin(), flight.collectives.end(), is_open);
  return found == flight.collectives.end() ? nullptr : &*found;
}

/// Returns true when the rank failed because other ranks were missing.
bool is_victim(const RankFlight& flight) {
  return flight.state == "failed" && flight.error.starts_with("[comm/");
}

std::string who(const RankFlight& flight) {
  return "rank " + std::to_string(flight.rank) + " (" + flight.host + ", process " +
         std::to_string(flight.process) + ")";
}

/// Returns "rank 1" or "ranks 1, 2".
std::string ranks_text(const Ranks& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + rank_list(ranks);
}

/// A group, combined from the records of its members.
struct SeenGroup {
  std::string name;
  Ranks ranks;
  struct Call {
    const RankFlight* flight;
    const FlownCollective* collective;
  };
  std::map<int64_t, std::vector<Call>> calls;  // by sequence number
  std::map<int64_t, int64_t> num_started;      // by rank
};

class Comparison {
 public:
  Comparison(const std::vector<RankFlight>& flights, int64_t size) : flights_(flights) {
    std::set<int64_t> missing;
    for (int64_t rank = 0; rank < size; ++rank) missing.insert(rank);
    for (const RankFlight& flight : flights) {
      missing.erase(flight.rank);
      add(flight);
    }
    silent_.assign(missing.begin(), missing.end());
  }

  FlightDiagnosis diagnose() {
    add_silent();
    add_halted();
    add_errors();
    for (const auto& [key, group] : groups_) add_difference(group);
    add_finished();
    for (const auto& [key, group] : groups_) add_late_ranks(group);
    drop_those_that_wait();
    out_.verdict = out_.findings.empty() ? nothing_found() : out_.findings.front().text;
    return out_;
  }

 private:
  void add(const RankFlight& flight) {
    std::vector<SeenGroup*> seen;
    for (const FlownGroup& group : flight.groups) {
      SeenGroup& to = groups_[group.name + "[" + rank_list(group.ranks) + "]"];
      to.name = group.name;
      to.ranks = group.ranks;
      to.num_started[flight.rank] = group.num_started;
      seen.push_back(&to);
    }
    for (const FlownCollective& one : flight.collectives) {
      seen[one.group]->calls[one.sequence].push_back({&flight, &one});
    }
  }

  void find(const char* kind, Ranks ranks, std::string text) {
    explained_.insert(ranks.begin(), ranks.end());
    out_.findings.push_back({kind, std::move(ranks), std::move(text)});
  }

  const RankFlight* last_heard_of(int64_t rank) const {
    const RankFlight* last = nullptr;
    for (const RankFlight& flight : flights_) {
      for (const RankFlight& other : flight.silent) {
        if (other.rank != rank) continue;
        if (last == nullptr || last->written_s < other.written_s) last = &other;
      }
    }
    return last;
  }

  /// Seconds between the last message of this rank and the last message of any rank.
  int64_t since(const RankFlight& last) const {
    double newest = last.written_s;
    for (const RankFlight& flight : flights_) newest = std::max(newest, flight.written_s);
    return static_cast<int64_t>(newest - last.written_s);
  }

  void add_silent() {
    for (const int64_t rank : silent_) {
      const RankFlight* const last = last_heard_of(rank);
      if (last == nullptr) {
        find("silent", {rank},
             "rank " + std::to_string(rank) +
                 " has not reported anything: it was killed, is stopped, or its machine is down");
      } else {
        find("silent", {rank},
             who(*last) +
                 " no longer reports: it was killed, is stopped, or its machine is down; its "
                 "last report was " +
                 std::to_string(std::max<int64_t>(0, since(*last))) + " s earlier, at " +
                 position_text(*last));
      }
    }
  }

  void add_halted() {
    for (const RankFlight& flight : flights_) {
      if (flight.halted_s == 0) continue;
      find("halted", {flight.rank},
           who(flight) + " was stopped for " +
               std::to_string(static_cast<int64_t>(flight.halted_s)) +
               " s (SIGSTOP, a debugger, or a suspended machine) at " + position_text(flight));
    }
  }

  void add_errors() {
    for (const RankFlight& flight : flights_) {
      if (flight.state != "failed" || is_victim(flight)) continue;
      find("error", {flight.rank},
           who(flight) + " ended with an error at " + position_text(flight) + ": " + flight.error);
    }
  }

  /// Reports the first sequence number of the group at which ranks called different collectives.
  void add_difference(const SeenGroup& group) {
    for (const auto& [number, calls] : group.calls) {
      std::map<std::string, Ranks> by_text;
      for (const SeenGroup::Call& call : calls) {
        if (!is_message(*call.collective)) {
          by_text[call.collective->text()].push_back(call.flight->rank);
        }
      }
      if (by_text.size() < 2) continue;
      std::string text = "ranks call different collectives as number " + std::to_string(number) +
                         " of group " + group.name + ": ";
      Ranks all;
      for (const auto& [what, ranks] : by_text) {
        text += (all.empty() ? "" : "; ") + what + " (" + ranks_text(ranks) + ")";
        all.insert(all.end(), ranks.begin(), ranks.end());
      }
      const FlownCollective& one = *calls.front().collective;
      if (one.step > 0) text += "; at step " + std::to_string(one.step);
      find("differs", std::move(all), std::move(text));
      return;
    }
  }

  void add_finished() {
    const auto is_finished = [](const RankFlight& flight) { return flight.state == "finished"; };
    if (std::all_of(flights_.begin(), flights_.end(), is_finished)) return;
    for (const RankFlight& flight : flights_) {
      if (!is_finished(flight)) continue;
      find("finished", {flight.rank},
           who(flight) +
               " ended without an error before the other ranks: did it have less work? It "
               "is at " +
               position_text(flight));
    }
  }

  /// Reports members that have not called the oldest collective that other members wait in.
  void add_late_ranks(const SeenGroup& group) {
    for (const auto& [number, calls] : group.calls) {
      Ranks waiting, late;
      const FlownCollective* awaited = nullptr;
      for (const SeenGroup::Call& call : calls) {
        if (!is_open(*call.collective) || is_message(*call.collective)) continue;
        waiting.push_back(call.flight->rank);
        awaited = call.collective;
      }
      if (waiting.empty()) continue;
      for (const RankFlight& flight : flights_) {
        const bool is_member =
            std::find(group.ranks.begin(), group.ranks.end(), flight.rank) != group.ranks.end();
        if (!is_member || explained_.contains(flight.rank)) continue;
        const auto started = group.num_started.find(flight.rank);
        if (started == group.num_started.end() || started->second <= number) {
          late.push_back(flight.rank);
        }
      }
      for (const int64_t rank : late) add_late_rank(rank, waiting, *awaited, group.name);
      if (!late.empty()) return;
    }
  }

  void add_late_rank(int64_t rank, const Ranks& waiting, const FlownCollective& awaited,
                     const std::string& group) {
    const auto is_it = [rank](const RankFlight& flight) { return flight.rank == rank; };
    const RankFlight& flight = *std::find_if(flights_.begin(), flights_.end(), is_it);
    out_.findings.push_back({"behind",
                             {rank},
                             who(flight) + " is behind: it has been at " + position_text(flight) +
                                 " for " + std::to_string(static_cast<int64_t>(flight.idle_s)) +
                                 " s, and " + ranks_text(waiting) +
                                 (waiting.size() == 1 ? " waits" : " wait") + " for it in " +
                                 awaited.text() + ", number " + std::to_string(awaited.sequence) +
                                 " of group " + group});
  }

  /// A rank that is behind and itself waits for another rank is not the cause. Removes it.
  void drop_those_that_wait() {
    const auto waits = [this](const FlightFinding& finding) {
      if (finding.kind != "behind") return false;
      return std::any_of(flights_.begin(), flights_.end(), [&](const RankFlight& flight) {
        return flight.rank == finding.ranks[0] && open_in(flight) != nullptr;
      });
    };
    const auto end = std::remove_if(out_.findings.begin(), out_.findings.end(), waits);
    if (end != out_.findings.begin()) out_.findings.erase(end, out_.findings.end());
  }

  std::string nothing_found() const {
    if (flights_.empty()) return "no rank has reported";
    const auto runs = [](const RankFlight& flight) { return flight.state == "running"; };
    if (std::all_of(flights_.begin(), flights_.end(), runs)) {
      const RankFlight& first = flights_.front();
      const std::string slow = first.threads.empty() ? "" : "; " + who(first) + ": " + first.reason;
      return "all ranks were running, and none has fallen behind" + slow;
    }
    const auto finished = [](const RankFlight& flight) { return flight.state == "finished"; };
    if (std::all_of(flights_.begin(), flights_.end(), finished)) return "all ranks finished";
    return "all ranks reported and called the same collectives: check the network between them and "
           "their messages";
  }

  const std::vector<RankFlight>& flights_;
  Ranks silent_;
  std::map<std::string, SeenGroup> groups_;
  std::set<int64_t> explained_;
  FlightDiagnosis out_;
};

}  // namespace

std::string FlownCollective::text() const {
  std::string out = kind;
  if (!name.empty()) out += " '" + name + "'";
  return details.empty() ? out : out + " (" + details + ")";
}

std::string position_text(const RankFlight& flight) {
  std::string out = flight.step > 0 ? "step " + std::to_string(flight.step) : "the start";
  if (!flight.phase.empty()) out += ", " + flight.phase;
  if (const FlownCollective* open = open_in(flight)) return out + ", in " + numbered(*open, flight);
  if (flight.collectives.empty()) return out + ", before any collective";
  return out + ", after " + numbered(flight.collectives.back(), flight);
}

FlightDiagnosis diagnose_flights(const std::vector<RankFlight>& flights, int64_t size) {
  std::vector<RankFlight> ordered = flights;
  std::sort(ordered.begin(), ordered.end(),
            [](const RankFlight& a, const RankFlight& b) { return a.rank < b.rank; });
  return Comparison(ordered, size).diagnose();
}

}  // namespace s2s
