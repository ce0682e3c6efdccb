#include "base/warnings.h"

namespace s2s {

void Warnings::add(const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (!seen_.insert(message).second) return;
  if (listener_) {
    listener_(message);
  } else {
    held_.push_back(message);
  }
}

void Warnings::send_to(Listener listener) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
  if (!listener_) return;
  for (const std::string& message : held_) listener_(message);
  held_.clear();
}

}  // namespace s2s
