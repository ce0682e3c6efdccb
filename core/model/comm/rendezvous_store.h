#pragma once
// The store of a run: rank 0 listens where it was told, the others connect with the run's token; or
// the launcher listens (torchrun).

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "comm/launch_environment.h"
#include "comm/store_server.h"

namespace s2s {

/// Errors: [comm/port-busy] on rank 0, [comm/unreachable] when nobody answers within `timeout`.
c10::intrusive_ptr<c10d::Store> open_store(const LaunchPlace& place,
                                           std::chrono::milliseconds timeout);

/// c10's text without the stack that it carries.
std::string reason_of(const std::exception& error);

/// Where a store listens, and what it wants to hear.
struct StoreAddress {
  std::string host;
  uint16_t port = 0;
  std::string token;
};

/// A c10d store for those that know the run's token: a connection to a StoreServer. LibTorch's own
/// TCPStore answers everybody who connects, also with the list of its keys.
class GuardedStore : public c10d::Store {
 public:
  /// Connects within `timeout`, which is also how long `get` and `wait` take at most. server: kept
  /// as long as this store lives, null where another process has it; clones do not keep it.
  /// Errors: std::runtime_error with what is there instead.
  GuardedStore(StoreAddress address, std::chrono::milliseconds timeout,
               std::shared_ptr<StoreServer> server = nullptr);
  ~GuardedStore() override;

  using c10d::Store::compareSet;
  using c10d::Store::set;
  c10::intrusive_ptr<c10d::Store> clone() override;
  void set(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& expected,
                                  const std::vector<uint8_t>& wanted) override;
  std::vector<uint8_t> get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t value) override;
  bool deleteKey(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  int64_t getNumKeys() override;
  void wait(const std::vector<std::string>& keys) override;
  void wait(const std::vector<std::string>& keys,
            const std::chrono::milliseconds& timeout) override;
  void append(const std::string& key, const std::vector<uint8_t>& value) override;
  std::vector<std::vector<uint8_t>> multiGet(const std::vector<std::string>& keys) override;
  void multiSet(const std::vector<std::string>& keys,
                const std::vector<std::vector<uint8_t>>& values) override;
  bool hasExtendedApi() const override { return true; }

 private:
  StoreFrame ask(const StoreFrame& request, std::chrono::milliseconds limit);
  StoreFrame ask(const StoreFrame& request) { return ask(request, timeout_); }
  std::string value_of(const StoreFrame& answer) const;

  StoreAddress address_;
  std::shared_ptr<StoreServer> server_;
  std::mutex mutex_;  // of the connection
  int socket_ = -1;
  int64_t num_owed_ = 0;  // answers that have not come yet
  std::string broken_;    // why the connection is of no more use
};

}  // namespace s2s
