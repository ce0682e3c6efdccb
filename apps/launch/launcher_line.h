#pragma once
// A pipe from a rank to its launcher, for the message of the error that ends the rank: equal ones
// of several ranks are shown once.

#include <string>

namespace s2s::launch {

/// The variable in which a rank finds its end of the pipe.
constexpr const char* kLineVariable = "S2S_LAUNCH_LINE";
/// Its value for a descriptor that the rank inherits.
std::string line_value(int descriptor);

/// The rank's end. Make one before anything else: processes that this one starts do not get it.
class LauncherLine {
 public:
  LauncherLine();
  ~LauncherLine();
  LauncherLine(const LauncherLine&) = delete;
  LauncherLine& operator=(const LauncherLine&) = delete;

  /// False when no launcher listens; then the message has to be shown here.
  bool tell(const std::string& message) const;

 private:
  int descriptor_ = -1;
};

}  // namespace s2s::launch
