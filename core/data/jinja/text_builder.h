#pragma once
// Builds texts character by character.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "jinja/meter.h"

namespace s2s::jinja {

/// A text whose bytes are charged before they are allocated.
class TextBuilder {
 public:
  /// Errors: TemplateError when the text becomes too long, or beyond the meter's limits.
  TextBuilder& operator+=(std::string_view text) {
    if (text.size() > room_) grow(text.size());
    room_ -= text.size();
    bytes_ += text;
    return *this;
  }
  TextBuilder& operator+=(char c) {
    if (room_ == 0) grow(1);
    --room_;
    bytes_ += c;
    return *this;
  }
  void add_repeated(size_t count, char c) {
    if (count > room_) grow(count);
    room_ -= count;
    bytes_.append(count, c);
  }
  size_t size() const { return bytes_.size(); }
  /// Returns the text and leaves the builder empty.
  std::string take() {
    held_ = Held();
    room_ = 0;
    return std::exchange(bytes_, std::string());
  }

 private:
  void grow(size_t num_bytes);

  Held held_;
  std::string bytes_;
  size_t room_ = 0;  // bytes that are charged and not used yet
};

}  // namespace s2s::jinja
