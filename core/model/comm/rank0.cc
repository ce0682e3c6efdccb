#include "comm/rank0.h"

#include <unistd.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "base/foreign_json.h"
#include "comm/comm_errors.h"
#include "comm/rendezvous_store.h"
#include "s2s/threads.h"

namespace s2s {
namespace {

using Clock = std::chrono::steady_clock;
using nlohmann::json;
using std::chrono::milliseconds;

/// Interval between heartbeats of rank 0, and between checks by the other ranks.
constexpr milliseconds kBeat{1000};

/// Increments a counter in the store during its lifetime. A stopped process does not count.
class Heartbeat {
 public:
  Heartbeat(c10d::Store& store, std::string key) : store_(store), key_(std::move(key)) {
    thread_ = start_thread([this] { beat(); });
  }
  ~Heartbeat() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

 private:
  void beat() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kBeat, [this] { return ends_; })) {
      try {
        store_.add(key_, 1);
      } catch (const std::exception&) {  // the other ranks notice the failure, too
        return;
      }
    }
  }

  c10d::Store& store_;
  std::string key_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ends_ = false;
  std::thread thread_;
};

std::string text_of(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

/// Waits one heartbeat for the key. Returns false when the store does not answer because rank 0 is
/// stopped.
/// Errors: those of a store that is gone.
bool is_there(c10d::Store& store, const std::string& key) {
  try {
    store.wait({key}, kBeat);
    return true;
  } catch (const c10::DistNetworkError&) {
    throw;
  } catch (const std::exception&) {
    return false;
  }
}

/// Returns the heartbeat counter, or `last` when the store does not answer.
int64_t beat_of(c10d::Store& store, const std::string& key, int64_t last) {
  try {
    return store.add(key + "/beat", 0);
  } catch (const c10::DistNetworkError&) {
    throw;
  } catch (const std::exception&) {
    return last;
  }
}

}  // namespace

std::string Rank0::run(const std::string& what, const std::function<std::string()>& work) {
  if (process_.store == nullptr) return work();
  const std::string key = "first/" + std::to_string(num_works_++);
  return is_here() ? tell(key, work) : receive(key, what);
}

std::string Rank0::tell(const std::string& key, const std::function<std::string()>& work) const {
  c10d::Store& store = *process_.store;
  try {
    std::string result;
    {
      const Heartbeat heartbeat(store, key + "/beat");
      result = work();
    }
    store.set(key, json{{"result", result}}.dump());
    return result;
  } catch (const std::exception& error) {
    const json said = {{"error", text_of(error)}};
    store.set(key, said.dump(-1, ' ', false, json::error_handler_t::replace));
    const Clock::time_point end = Clock::now() + kPartingTimeout;
    while (store.add(key + "/heard", 0) < process_.size - 1 && Clock::now() < end) {
      ::usleep(10000);
    }
    throw;
  }
}

std::string Rank0::receive(const std::string& key, const std::string& what) const {
  c10d::Store& store = *process_.store;
  json said;
  try {
    int64_t last_beat = -1;
    Clock::time_point last_change = Clock::now();
    while (!is_there(store, key)) {
      const int64_t beat = beat_of(store, key, last_beat);
      if (beat != last_beat) {
        last_beat = beat;
        last_change = Clock::now();
      } else if (Clock::now() - last_change > process_.timeout) {
        throw comm_errors::rank0_halted(process_.rank, what, process_.timeout);
      }
    }
    said = parse_foreign_json(store.get_to_str(key));
    if (said.contains("result")) return said.at("result");
    said = said.at("error").get<std::string>();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw comm_errors::rank0_lost(process_.rank, what, reason_of(error));
  }
  store.add(key + "/heard", 1);
  throw comm_errors::rank0_failed(process_.rank, what, said);
}

}  // namespace s2s
