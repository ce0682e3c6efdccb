#pragma once

#include <chrono>

namespace gloo {

namespace transport {
class UnboundBuffer;
}

class Context {
 public:
  void setTimeout(std::chrono::milliseconds timeout);
};

}  // namespace gloo
