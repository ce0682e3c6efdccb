#include "train/kept_source.h"

#include <utility>

namespace s2s {
namespace {

class SharedSource : public DataSource {
 public:
  explicit SharedSource(std::shared_ptr<DataSource> source) : source_(std::move(source)) {}
  std::optional<Batch> next() override { return source_->next(); }
  std::string state() const override { return source_->state(); }
  void restore(const std::string& state) override { source_->restore(state); }
  std::vector<std::string> texts() override { return source_->texts(); }
  std::vector<std::string> left_out() const override { return source_->left_out(); }

 private:
  std::shared_ptr<DataSource> source_;
};

}  // namespace

std::unique_ptr<DataSource> KeptSource::get() {
  if (source_ && source_.use_count() == 1) {
    source_->restore("");
  } else {
    source_ = open_();
  }
  return std::make_unique<SharedSource>(source_);
}

}  // namespace s2s
