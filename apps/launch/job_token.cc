#include "launch/job_token.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "s2s/interrupted_calls.h"

namespace s2s::launch {

std::string new_token() {
  std::array<unsigned char, 16> bytes{};
  size_t num_read = 0;
  InterruptedCalls interrupted;
  while (num_read < bytes.size()) {
    const ssize_t count = ::getrandom(bytes.data() + num_read, bytes.size() - num_read, 0);
    if (count < 0 && !interrupted.again()) {
      throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    num_read += static_cast<size_t>(std::max<ssize_t>(count, 0));
  }
  std::string out;
  for (const unsigned char byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

}  // namespace s2s::launch
