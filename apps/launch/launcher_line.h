#pragma once
// A pipe on which a rank sends its final error message to the launcher. The launcher prints equal
// messages of several ranks once.

#include <string>

namespace s2s::launch {

/// The environment variable that names a rank's end of the pipe.
constexpr const char* kLineVariable = "S2S_LAUNCH_LINE";
/// The value of the variable for a descriptor that the rank inherits.
std::string line_value(int descriptor);

/// The rank's end of the pipe. Create it before anything else, so that child processes do not
/// inherit it.
class LauncherLine {
 public:
  LauncherLine();
  ~LauncherLine();
  LauncherLine(const LauncherLine&) = delete;
  LauncherLine& operator=(const LauncherLine&) = delete;

  /// Sends a message. False when there is no launcher; then the caller must print the message.
  bool tell(const std::string& message) const;

 private:
  int descriptor_ = -1;
};

}  // namespace s2s::launch
