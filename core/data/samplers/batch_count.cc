#include "samplers/batch_count.h"

#include <algorithm>
#include <sstream>

#include "samplers/sampling_errors.h"

namespace s2s::data {

void BatchCount::add(double length) {
  ++num_cuts_;
  if (!limits_->max_length) return;
  if (limits_->quadratic_length) length += length * length / *limits_->quadratic_length;
  longest_ = std::max(longest_, length);
}

bool BatchCount::exceeded() const {
  if (limits_->max_cuts && num_cuts_ > *limits_->max_cuts) return true;
  if (!limits_->max_length) return false;
  return static_cast<double>(num_cuts_) * longest_ > *limits_->max_length;
}

bool BatchCount::close_to_exceeding() const {
  if (limits_->max_cuts && num_cuts_ >= *limits_->max_cuts) return true;
  if (!limits_->max_length) return false;
  return static_cast<double>(num_cuts_ + 1) * longest_ > *limits_->max_length;
}

void check_limits(const BatchLimits& limits) {
  if (!limits.max_length && !limits.max_cuts) throw sampling_errors::no_limit();
  if (limits.max_length && !(*limits.max_length > 0)) {
    throw sampling_errors::limit("batch_duration", *limits.max_length);
  }
  if (limits.max_cuts && *limits.max_cuts <= 0) {
    throw sampling_errors::limit("batch_size", static_cast<double>(*limits.max_cuts));
  }
  if (limits.quadratic_length && !(*limits.quadratic_length > 0)) {
    throw sampling_errors::limit("quadratic_duration", *limits.quadratic_length);
  }
}

std::string description(const BatchLimits& limits) {
  std::ostringstream text;
  text << std::hexfloat << limits.max_length.value_or(-1) << ' ' << limits.max_cuts.value_or(-1)
       << ' ' << limits.quadratic_length.value_or(-1) << " 0";
  return text.str();
}

}  // namespace s2s::data
