#include "comm/rendezvous.h"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "base/foreign_json.h"
#include "base/interrupt.h"
#include "base/machine.h"
#include "comm/comm_errors.h"
#include "comm/rank0.h"
#include "comm/rank_list.h"
#include "comm/rendezvous_store.h"
#include "comm/store_generation.h"

namespace s2s {
namespace {

constexpr size_t kMaxLines = 20;

/// The value of a fact on each rank.
using Values = std::vector<std::string>;

/// Returns "1 (ranks 0, 2), 2 (rank 1)", with the value of the lowest rank first.
std::string values_text(const Values& values) {
  std::vector<std::string> distinct;
  std::map<std::string, std::vector<int64_t>> ranks_of;
  for (size_t rank = 0; rank < values.size(); ++rank) {
    std::vector<int64_t>& ranks = ranks_of[values[rank]];
    if (ranks.empty()) distinct.push_back(values[rank]);
    ranks.push_back(static_cast<int64_t>(rank));
  }
  std::string text;
  for (const std::string& value : distinct) {
    const std::vector<int64_t>& ranks = ranks_of[value];
    text += fmt::format("{}{} (rank{} {})", text.empty() ? "" : ", ", value,
                        ranks.size() == 1 ? "" : "s", rank_list(ranks));
  }
  return text;
}

bool agree(const Values& values) {
  for (const std::string& value : values) {
    if (value != values.front()) return false;
  }
  return true;
}

using Clock = std::chrono::steady_clock;
using nlohmann::json;
using std::chrono::milliseconds;

/// How much longer than rank 0 the other ranks wait. So rank 0 reports the reason first.
constexpr milliseconds kVerdictGrace{10000};
/// How often a rank looks whether rank 0 was started again.
constexpr milliseconds kLookAgain{1000};

/// The data that a rank sends about itself.
struct Introduction {
  RankIdentity identity;
  std::vector<AgreedFact> facts;
};

std::string to_text(const Introduction& introduction) {
  json facts = json::array();
  for (const AgreedFact& fact : introduction.facts) facts.push_back({fact.name, fact.value});
  const RankIdentity& identity = introduction.identity;
  return json{{"host", identity.host},
              {"process", identity.process_id},
              {"local_rank", identity.local_rank},
              {"facts", facts}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Errors: std::exception for a text that no rank has written.
Introduction to_introduction(const std::string& text) {
  const json object = parse_foreign_json(text);
  Introduction out;
  out.identity = {object.at("host"), object.at("process"), object.at("local_rank")};
  for (const json& fact : object.at("facts")) out.facts.push_back({fact.at(0), fact.at(1)});
  return out;
}

/// The exchange between one rank and the others.
class Meeting {
 public:
  Meeting(c10d::Store& store, const LaunchEnvironment& launch, milliseconds timeout)
      : store_(store), launch_(launch), timeout_(timeout), deadline_(Clock::now() + timeout) {}

  /// Errors: [comm/duplicate-rank].
  void introduce(const Introduction& self) {
    if (store_.add(key(kSeatKey, launch_.rank), 1) > 1) {
      const Error error = comm_errors::duplicate_rank(launch_.rank, who_sits(launch_.rank),
                                                      to_string(self.identity));
      store_.set("duplicate", error.message());
      throw error;
    }
    store_.set(key("rank", launch_.rank), to_text(self));
  }

  /// On rank 0: waits for all ranks, compares their facts and reports. Errors: those it reports.
  std::vector<RankIdentity> judge() {
    try {
      std::vector<RankIdentity> identities = compare(gather());
      json all = json::array();
      for (const RankIdentity& one : identities) {
        all.push_back({one.host, one.process_id, one.local_rank});
      }
      store_.set("verdict", json{{"identities", all}}.dump());
      part();
      return identities;
    } catch (const Error& error) {
      const std::string first_line = error.message().substr(0, error.message().find('\n'));
      const json verdict = {{"id", error.id()}, {"message", first_line}};
      // The texts of other ranks may be invalid UTF-8.
      store_.set("verdict", verdict.dump(-1, ' ', false, json::error_handler_t::replace));
      part();
      throw;
    }
  }

  /// On the other ranks. Nothing when `generation` is over before rank 0 answers. Errors: those
  /// that rank 0 reports.
  std::vector<RankIdentity> receive(const StoreGeneration* generation) {
    std::string text;
    try {
      if (!await_verdict(generation)) return {};
      text = store_.get_to_str("verdict");
      store_.add("parted", 1);
    } catch (const std::exception& error) {
      throw comm_errors::no_verdict(launch_.rank, reason_of(error));
    }
    std::vector<RankIdentity> identities;
    try {
      const json verdict = parse_foreign_json(text);
      if (verdict.contains("id")) {
        throw comm_errors::start_refused(verdict.at("id"), launch_.rank, verdict.at("message"));
      }
      for (const json& one : verdict.at("identities")) {
        identities.push_back({one.at(0), one.at(1), one.at(2)});
      }
    } catch (const json::exception& error) {
      throw comm_errors::introduction(0, error.what());
    }
    const auto size = static_cast<int64_t>(identities.size());
    if (size != launch_.size) {  // rank 0 did not wait for this rank
      throw comm_errors::ranks_differ({fmt::format("number of ranks: {} (rank 0), {} (rank {})",
                                                   size, launch_.size, launch_.rank)});
    }
    return identities;
  }

 private:
  /// False when the generation is over. Errors: those of the store, after the time limit.
  bool await_verdict(const StoreGeneration* generation) {
    const Clock::time_point end = Clock::now() + timeout_ + kVerdictGrace;
    while (generation != nullptr && Clock::now() + kLookAgain < end) {
      try {
        store_.wait({"verdict"}, kLookAgain);
        return true;
      } catch (const std::exception&) {  // not available yet
        if (generation->is_over()) return false;
      }
    }
    store_.wait({"verdict"}, std::chrono::duration_cast<milliseconds>(end - Clock::now()));
    return true;
  }

  static std::string key(const char* name, int64_t rank) {
    return std::string(name) + "/" + std::to_string(rank);
  }

  /// The process that joined first with this rank. It may not have sent its introduction yet.
  std::string who_sits(int64_t rank) {
    try {
      store_.wait({key("rank", rank)}, milliseconds(1000));
      return to_string(to_introduction(store_.get_to_str(key("rank", rank))).identity);
    } catch (const std::exception&) {
      return "a process that joined earlier";
    }
  }

  /// Waits for the introductions of all ranks. Errors: [comm/missing-rank], [comm/duplicate-rank].
  std::vector<Introduction> gather() {
    std::vector<Introduction> out;
    std::vector<int64_t> missing;
    for (int64_t rank = 0; rank < launch_.size; ++rank) {
      if (!wait_for(key("rank", rank))) {
        missing.push_back(rank);
      } else {
        out.push_back(introduction_of(rank));
      }
    }
    if (store_.check({"duplicate"})) {
      throw Error(ExitCode::kCommunication, "comm/duplicate-rank", store_.get_to_str("duplicate"));
    }
    if (!missing.empty()) {
      std::vector<std::string> present;
      for (size_t i = 0; i < std::min<size_t>(out.size(), 8); ++i) {
        present.push_back(to_string(out[i].identity));
      }
      throw comm_errors::missing_rank(missing, launch_.size,
                                      std::chrono::duration<double>(timeout_).count(), present);
    }
    return out;
  }

  /// Errors: [comm/introduction].
  Introduction introduction_of(int64_t rank) {
    const std::string text = store_.get_to_str(key("rank", rank));
    try {
      return to_introduction(text);
    } catch (const std::exception& error) {
      throw comm_errors::introduction(rank, error.what());
    }
  }

  bool wait_for(const std::string& name) {
    const std::vector<std::string> names = {name};
    while (true) {
      const auto left = std::chrono::duration_cast<milliseconds>(deadline_ - Clock::now());
      if (left <= milliseconds(0) || store_.check({"duplicate"})) return store_.check(names);
      try {
        store_.wait(names, std::min(left, milliseconds(1000)));
        return true;
      } catch (const std::exception&) {  // not available yet
      }
    }
  }

  std::vector<RankIdentity> compare(const std::vector<Introduction>& introductions) {
    std::vector<std::vector<AgreedFact>> facts;
    std::vector<RankIdentity> identities;
    for (const Introduction& introduction : introductions) {
      facts.push_back(introduction.facts);
      identities.push_back(introduction.identity);
    }
    const std::vector<std::string> differences = fact_differences(facts);
    if (!differences.empty()) throw comm_errors::ranks_differ(differences);
    return identities;
  }

  /// Rank 0 keeps the store until the other ranks have read the result, up to a time limit.
  void part() {
    const Clock::time_point end = Clock::now() + kPartingTimeout;
    int64_t num_here = 0;
    for (int64_t rank = 1; rank < launch_.size; ++rank)
      num_here += store_.check({key("rank", rank)});
    while (store_.add("parted", 0) < num_here && Clock::now() < end) ::usleep(10000);
  }

  c10d::Store& store_;
  const LaunchEnvironment& launch_;
  milliseconds timeout_;
  Clock::time_point deadline_;
};

using StorePointer = c10::intrusive_ptr<c10d::Store>;

/// Meets the other ranks. Replaces `store` by its part for this start of the run. Returns nothing
/// when rank 0 was started again in the meantime.
std::vector<RankIdentity> meet(StorePointer& store, const LaunchEnvironment& launch,
                               const Introduction& self, milliseconds timeout) {
  std::optional<StoreGeneration> generation;
  if (launch.launcher_has_store) {
    generation.emplace(store, launch, timeout);
    store = generation->keys();
  }
  Meeting meeting(*store, launch, timeout);
  meeting.introduce(self);
  return launch.rank == 0 ? meeting.judge() : meeting.receive(generation ? &*generation : nullptr);
}

}  // namespace

std::vector<std::string> fact_differences(const std::vector<std::vector<AgreedFact>>& facts) {
  std::vector<std::string> names;
  std::map<std::string, Values> values;
  for (size_t rank = 0; rank < facts.size(); ++rank) {
    for (const AgreedFact& fact : facts[rank]) {
      Values& of_ranks = values[fact.name];
      if (of_ranks.empty()) {
        names.push_back(fact.name);
        of_ranks.resize(facts.size(), "missing");
      }
      of_ranks[rank] = fact.value;
    }
  }
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    if (!agree(values[name])) lines.push_back(name + ": " + values_text(values[name]));
  }
  if (lines.size() > kMaxLines) {
    const size_t left_out = lines.size() - kMaxLines;
    lines.resize(kMaxLines);
    lines.push_back(fmt::format("... and {} more", left_out));
  }
  return lines;
}

std::string to_string(const RankIdentity& identity) {
  return fmt::format("{}, process {}", identity.host, identity.process_id);
}

Rendezvous::Rendezvous(const LaunchEnvironment& launch, const std::vector<AgreedFact>& facts,
                       const RendezvousSettings& settings) {
  Introduction self{{host_name(), ::getpid(), launch.local_rank}, facts};
  self.facts.insert(self.facts.begin(), {"number of ranks", std::to_string(launch.size)});
  process_ = {launch.rank,       launch.size, launch.local_rank,
              launch.local_size, nullptr,     settings.collective_timeout};
  if (launch.size == 1) {
    identities_ = {self.identity};
    return;
  }
  outlive_readers();  // back ends expect that SIGPIPE is ignored when they write to sockets
  const StorePointer store = open_store(launch, settings.start_timeout);
  try {
    while (identities_.empty()) {
      store_ = store;
      identities_ = meet(store_, launch, self, settings.start_timeout);
    }
  } catch (const c10::Error& error) {
    throw comm_errors::no_verdict(launch.rank, reason_of(error));
  }
  process_.store = store_.get();
  keeps_store_ = launch.rank == 0 && !launch.launcher_has_store;
}

Rendezvous::~Rendezvous() {
  if (process_.size == 1 || std::uncaught_exceptions() > 0) return;
  try {
    store_->add("left", 1);
    const Clock::time_point end = Clock::now() + kPartingTimeout;
    while (keeps_store_ && store_->add("left", 0) < process_.size && Clock::now() < end) {
      ::usleep(1000);
    }
  } catch (const std::exception&) {  // rank 0 has already ended
  }
}

}  // namespace s2s
