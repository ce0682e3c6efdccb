#pragma once
// What the user should know although the run goes on.

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace s2s {

/// Passes each message on once, however often its reason occurs; holds messages back until
/// somebody listens. Thread-safe.
class Warnings {
 public:
  using Listener = std::function<void(const std::string& message)>;

  void add(const std::string& message);
  /// From now on messages go to `listener`, beginning with those held back; null: hold them.
  void send_to(Listener listener);

 private:
  std::mutex mutex_;
  Listener listener_;
  std::set<std::string> seen_;
  std::vector<std::string> held_;
};

}  // namespace s2s
