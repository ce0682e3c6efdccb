#pragma once
// Which tensor operators a stretch of work spends its time in.

#include <string>
#include <vector>

namespace s2s::run {

struct OpTime {
  std::string name;  // "(backward)" after it inside a gradient computation
  double own_s = 0;  // without the operators it calls
  long calls = 0;
};

/// Records the operators of this thread while it lives. One at a time.
class OpProfile {
 public:
  OpProfile();
  ~OpProfile();
  OpProfile(const OpProfile&) = delete;
  OpProfile& operator=(const OpProfile&) = delete;

  /// Most expensive first.
  std::vector<OpTime> sorted() const;

 private:
  unsigned long handle_;
};

}  // namespace s2s::run
