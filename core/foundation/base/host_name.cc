#include "base/host_name.h"

#include <unistd.h>

#include <array>

namespace s2s {

std::string host_name() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return host.data();
}

}  // namespace s2s
