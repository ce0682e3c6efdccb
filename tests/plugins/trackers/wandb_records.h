#pragma once
// The records of a .wandb file, for tests.

#include <string>
#include <vector>

#include "plugins/loggers/trackers/wandb_log.h"

namespace s2s::test {

inline std::vector<trackers::WandbRecord> wandb_records(const std::string& path) {
  std::vector<trackers::WandbRecord> records;
  trackers::visit_wandb_records(path, [&](const trackers::WandbRecord& record) {
    records.push_back(record);
    return true;
  });
  return records;
}

}  // namespace s2s::test
