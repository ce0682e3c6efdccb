#pragma once
// Findings about lines of a file: equal ones are counted, not repeated.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "s2s/error.h"

namespace s2s::run {

class EqualFindings {
 public:
  /// `place`: the "file:line" with which the message may begin; findings that differ in it alone
  /// are equal. "": the first "file:line" of the message.
  void add(const Error& error, const std::string& place = "");
  bool empty() const { return groups_.empty(); }
  /// Different findings.
  size_t size() const { return groups_.size(); }
  /// One text per finding: "[id] message (and 19 more like it)".
  std::vector<std::string> lines() const;
  /// The same as a list of {finding, count}.
  nlohmann::ordered_json json() const;
  /// Throws nothing if there are none, else all of them as one error.
  void throw_if_any() const;

 private:
  struct Group {
    std::string key;
    Error first;
    int64_t count = 1;
  };
  std::vector<Group> groups_;
};

}  // namespace s2s::run
