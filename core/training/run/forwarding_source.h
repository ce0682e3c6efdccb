#pragma once
// A data source that watches the batches of another.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "s2s/kinds/data_source.h"

namespace s2s::run {

class ForwardingSource : public DataSource {
 public:
  explicit ForwardingSource(std::unique_ptr<DataSource> source) : source_(std::move(source)) {}
  std::optional<Batch> next() override { return source_->next(); }
  std::string state() const override { return source_->state(); }
  void restore(const std::string& state) override { source_->restore(state); }
  std::vector<std::string> texts() override { return source_->texts(); }
  std::vector<std::string> left_out() const override { return source_->left_out(); }

 private:
  std::unique_ptr<DataSource> source_;
};

}  // namespace s2s::run
