#pragma once
// The server of a run's store on rank 0: texts by key, for clients with the run's token. A
// connection without the token is closed at its first wrong byte, without an answer.

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
  /// listeners: listening sockets. The server closes them, also when the constructor throws.
  /// Errors: [run/threads], std::system_error.
  StoreServer(std::vector<int> listeners, const std::string& token);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  struct Connection {
    int socket = -1;
    bool is_known = false;  // it has sent the token
    bool is_over = false;
    Clock::time_point begun;
    std::string input, output;
    std::vector<std::string> awaited;  // empty: it is not waiting
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
  int wake_ = -1;  // an eventfd that tells the server to end
  std::map<std::string, std::string> values_;
  std::list<Connection> connections_;
  size_t num_strangers_ = 0;
  bool has_new_keys_ = false;
  std::thread thread_;
};

}  // namespace s2s
