#pragma once
// Warnings: what the user should know although the run continues.

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace s2s {

/// Passes each message on once, even if its reason occurs repeatedly. Keeps messages until there is
/// a listener. Thread-safe.
class Warnings {
 public:
  using Listener = std::function<void(const std::string& message)>;

  void add(const std::string& message);
  /// Sends messages to `listener`, first those that were kept; null: keeps them.
  void send_to(Listener listener);

 private:
  std::mutex mutex_;
  Listener listener_;
  std::set<std::string> seen_;
  std::vector<std::string> held_;
};

}  // namespace s2s
