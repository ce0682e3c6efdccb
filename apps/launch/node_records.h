#pragma once
// What the launcher of a machine tells the launcher of all machines about its ranks: lines of
// standard error that begin with RS, as in RFC 7464. They are short, because pdsh splits long ones.

#include <functional>
#include <map>
#include <string>
#include <utility>

namespace s2s::launch {

struct NodeRecord {
  enum Kind { kMessage, kFailure };
  Kind kind = kMessage;
  int rank = 0;
  std::string text;  // kMessage: what the rank said; kFailure: what to print about it
  int code = 0;      // kFailure: the exit code
};

void write_record(const NodeRecord& record);

/// Separates the records from the other output.
class NodeRecordReader {
 public:
  NodeRecordReader(std::function<void(const NodeRecord&)> on_record,
                   std::function<void(const std::string&)> on_line)
      : on_record_(std::move(on_record)), on_line_(std::move(on_line)) {}

  void add(const char* data, size_t size);
  void end();

 private:
  void add_line(const std::string& line);

  std::function<void(const NodeRecord&)> on_record_;
  std::function<void(const std::string&)> on_line_;
  std::string pending_;
  std::map<std::pair<int, int>, std::string> parts_;  // of a kind and a rank
};

}  // namespace s2s::launch
