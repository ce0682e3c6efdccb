#pragma once
// The store of a run, as rank 0 keeps it: texts by key, for those that know the run's token. A
// stranger's connection is closed at its first wrong byte, without an answer.

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/store_frames.h"

namespace s2s {

class StoreServer {
 public:
  /// listeners: sockets that listen; the server closes them, also when this fails. Errors:
  /// [run/threads], std::system_error.
  StoreServer(std::vector<int> listeners, const std::string& token);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  struct Connection {
    int socket = -1;
    bool is_known = false;  // it has said the token
    bool is_over = false;
    Clock::time_point begun;
    std::string input, output;
    std::vector<std::string> awaited;  // empty: it does not wait
    Clock::time_point wait_until;
  };

  void run();
  void serve_all();
  void close_all();
  int poll_timeout_ms() const;
  void accept_from(int listener);
  void drop_oldest_stranger();
  void read_from(Connection& connection) const;
  void write_to(Connection& connection) const;
  void check_hello(Connection& connection) const;
  void serve(Connection& connection);
  std::optional<StoreFrame> answer(Connection& connection, StoreFrame request);
  std::optional<StoreFrame> answer_one_key(StoreFrame request);
  bool has_all(const std::vector<std::string>& keys) const;
  void look_at_waiting();
  void remove_ended();

  std::vector<int> listeners_;
  std::string hello_;
  int wake_ = -1;  // an eventfd: the server ends
  std::map<std::string, std::string> values_;
  std::list<Connection> connections_;
  size_t num_strangers_ = 0;
  bool has_new_keys_ = false;
  std::thread thread_;
};

}  // namespace s2s
