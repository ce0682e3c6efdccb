#include "launch/node_records.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/foreign_json.h"
#include "base/write_whole.h"

namespace s2s::launch {
namespace {

using nlohmann::json;

constexpr char kMark = '\x1e';
constexpr size_t kMaxText = 600;  // bytes of a line, at most three for each in JSON

}  // namespace

void write_record(const NodeRecord& record) {
  for (size_t begin = 0; begin == 0 || begin < record.text.size();) {
    // A character of several bytes stays whole.
    size_t end = std::min(begin + kMaxText, record.text.size());
    while (end < record.text.size() && end > begin + 1 && (record.text[end] & 0xC0) == 0x80) --end;
    const json part = {{"kind", static_cast<int>(record.kind)},
                       {"rank", record.rank},
                       {"code", record.code},
                       {"last", end >= record.text.size()},
                       {"text", record.text.substr(begin, end - begin)}};
    const std::string line =
        kMark + part.dump(-1, ' ', true, json::error_handler_t::replace) + "\n";
    write_whole(STDERR_FILENO, line.data(), line.size());
    if (end >= record.text.size()) return;
    begin = end;
  }
}

void NodeRecordReader::add(const char* data, size_t size) {
  pending_.append(data, size);
  for (size_t end; (end = pending_.find('\n')) != std::string::npos;) {
    add_line(pending_.substr(0, end));
    pending_.erase(0, end + 1);
  }
}

void NodeRecordReader::end() {
  if (!pending_.empty()) add_line(pending_);
  pending_.clear();
}

void NodeRecordReader::add_line(const std::string& line) {
  const size_t mark = line.find(kMark);
  if (mark == std::string::npos) return on_line_(line);
  NodeRecord record;
  bool is_last = true;
  try {
    const json part = parse_foreign_json(std::string_view(line).substr(mark + 1));
    const bool is_failure = part.at("kind").get<int>() == NodeRecord::kFailure;
    record.kind = is_failure ? NodeRecord::kFailure : NodeRecord::kMessage;
    record.rank = part.at("rank").get<int>();
    record.code = part.at("code").get<int>();
    record.text = part.at("text").get<std::string>();
    is_last = part.at("last").get<bool>();
  } catch (const json::exception&) {  // another program wrote it
    return on_line_(line);
  }
  if (mark > 0) on_line_(line.substr(0, mark));
  std::string& text = parts_[{record.kind, record.rank}];
  text += record.text;
  if (!is_last) return;
  record.text = std::move(text);
  text.clear();
  on_record_(record);
}

}  // namespace s2s::launch
