#pragma once

#include <string>

#include "s2s/conformance.h"

namespace s2s::test {

/// Whether one of the answers has this part.
inline bool says(const conformance::Answers& answers, const std::string& part) {
  for (const std::string& answer : answers) {
    if (answer.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace s2s::test
