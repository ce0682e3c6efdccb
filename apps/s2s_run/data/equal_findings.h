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
  /// Findings in all after which a reader should stop: the rest of the file is no better.
  static constexpr int64_t kEnough = 10'000;
  /// Different findings that are kept; the others are counted together.
  static constexpr size_t kMostGroups = 100;

  /// `place`: the "file:line" with which the message may begin; findings that differ in it alone
  /// are equal. "": the first "file:line" of the message.
  void add(const Error& error, const std::string& place = "");
  bool empty() const { return groups_.empty(); }
  /// Different findings.
  size_t size() const { return groups_.size(); }
  /// All findings.
  int64_t total() const { return total_; }
  /// One text per finding: "[id] message (and 19 more like it)"; last, how many others there are,
  /// and that a reader has stopped at kEnough.
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
  std::string rest() const;

  std::vector<Group> groups_;
  int64_t total_ = 0, num_others_ = 0;
};

}  // namespace s2s::run
