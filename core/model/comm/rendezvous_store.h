#pragma once
// The store of a run. Rank 0 listens at its address, and the other ranks connect with the run's
// token. With torchrun, the launcher listens instead.

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "comm/launch_environment.h"
#include "comm/store_server.h"

namespace s2s {

/// Errors: [comm/port-busy] on rank 0, [comm/unreachable] when no store answers within `timeout`.
c10::intrusive_ptr<c10d::Store> open_store(const LaunchEnvironment& launch,
                                           std::chrono::milliseconds timeout);

/// Returns a store in this process's own memory, for the communicator of a single process.
c10::intrusive_ptr<c10d::Store> open_store_of_one();

/// Returns the text of a c10::Error without its stack trace.
std::string reason_of(const std::exception& error);

struct StoreAddress {
  std::string host;
  uint16_t port = 0;
  std::string token;
};

/// A c10d store that requires the run's token: the client of a StoreServer. LibTorch's TCPStore
/// answers every client, and even lists its keys.
class GuardedStore : public c10d::Store {
 public:
  /// Connects within `timeout`, which is also the time limit of `get` and `wait`. `server`: kept
  /// alive by this store; null when it runs in another process. Clones do not keep it alive.
  /// Errors: std::runtime_error with what answered instead.
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
  std::mutex mutex_;  // guards the connection
  int socket_ = -1;
  int64_t num_owed_ = 0;  // number of answers still to be received
  std::string broken_;    // reason why the connection is unusable
};

}  // namespace s2s
