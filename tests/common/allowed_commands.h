#pragma once
// Tests that read commands out of data.

#include "files/command_rules.h"

namespace s2s::test {

/// Allows the commands of data while it lives.
struct AllowedCommands {
  AllowedCommands() { allow_data_commands(); }
  ~AllowedCommands() { allow_data_commands(false); }
  AllowedCommands(const AllowedCommands&) = delete;
  AllowedCommands& operator=(const AllowedCommands&) = delete;
};

}  // namespace s2s::test
