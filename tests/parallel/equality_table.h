#pragma once
// The equality matrix as a file: a row per layout, a column per model. Written beside the test
// program; tests/parallel/equality_matrix.py puts it into core/docs/guides/parallelism.md.

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "common/places.h"

namespace s2s::test {

class EqualityTable {
 public:
  explicit EqualityTable(std::string name) : name_(std::move(name)) {}
  EqualityTable(const EqualityTable&) = delete;
  EqualityTable& operator=(const EqualityTable&) = delete;
  ~EqualityTable() {
    std::ofstream(s2s::test::binary_dir() + "/equality_" + name_ + ".json")
        << rows_.dump(1) << '\n';
  }
  /// difference: relative, over all steps.
  void add(const std::string& layout, const std::string& model, double difference) {
    for (auto& row : rows_) {
      if (row["layout"] != layout) continue;
      row["models"][model] = difference;
      return;
    }
    rows_.push_back({{"layout", layout}, {"models", {{model, difference}}}});
  }

 private:
  std::string name_;
  nlohmann::ordered_json rows_ = nlohmann::ordered_json::array();
};

}  // namespace s2s::test
