#include "comm/comm_waits.h"

namespace s2s {

std::vector<CommWaits::Wait> CommWaits::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(waits_, {});
}

void CommWaits::started(const CollectiveRecord& record, const GroupPlace& place) {
  if (next_ != nullptr) next_->started(record, place);
}

void CommWaits::waiting(const CollectiveRecord& record) {
  if (next_ != nullptr) next_->waiting(record);
  Open open{Moment(device_), nullptr};
  if (annotates_) {
    open.range = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
    open.range->before(std::string("wait for ") + to_string(record.kind) +
                       (record.name.empty() ? "" : " " + record.name));
  }
  const std::lock_guard lock(mutex_);
  open_.insert_or_assign({record.group, record.sequence}, std::move(open));
}

void CommWaits::end(const CollectiveRecord& record) {
  const Moment now(device_);
  const std::lock_guard lock(mutex_);
  const auto found = open_.find({record.group, record.sequence});
  if (found == open_.end()) return;  // over without a wait
  waits_.push_back({std::move(found->second.begin), now});
  open_.erase(found);
}

void CommWaits::finished(const CollectiveRecord& record, bool failed) {
  end(record);
  if (next_ != nullptr) next_->finished(record, failed);
}

void CommWaits::enqueued(const CollectiveRecord& record, std::unique_ptr<CollectiveWork> work) {
  end(record);
  if (next_ != nullptr) next_->enqueued(record, std::move(work));
}

std::chrono::milliseconds CommWaits::time_limit(std::chrono::milliseconds usual) const {
  return next_ == nullptr ? usual : next_->time_limit(usual);
}

std::string CommWaits::explain_failure(const CollectiveRecord& record, const GroupPlace& place,
                                       const std::string& reason) {
  return next_ == nullptr ? "" : next_->explain_failure(record, place, reason);
}

}  // namespace s2s
