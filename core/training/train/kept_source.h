#pragma once
// A data source that is opened once and read from its beginning again and again, as a validation
// set is.

#include <functional>
#include <memory>

#include "s2s/kinds/data_source.h"

namespace s2s {

class KeptSource {
 public:
  using Open = std::function<std::unique_ptr<DataSource>()>;
  explicit KeptSource(Open open) : open_(std::move(open)) {}

  /// The source at its first batch: the one from before, unless somebody still has it.
  std::unique_ptr<DataSource> get();

 private:
  Open open_;
  std::shared_ptr<DataSource> source_;
};

}  // namespace s2s
