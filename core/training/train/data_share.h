#pragma once
// Data sets that are opened when they are needed, as a whole or one rank's share.

#include <cstdint>
#include <functional>
#include <memory>

#include "s2s/kinds/data_source.h"

namespace s2s {

/// Opens a fresh pass over a data set.
using SourceFactory = std::function<std::unique_ptr<DataSource>()>;

/// Every `size`-th batch, from the `rank`-th on.
struct DataShare {
  int64_t rank = 0;
  int64_t size = 1;
};
/// The same for a share of the set.
using ShareFactory = std::function<std::unique_ptr<DataSource>(const DataShare& share)>;

}  // namespace s2s
