#include "samplers/sampling_errors.h"

#include <fmt/format.h>

namespace s2s::data::sampling_errors {

Error no_limit() {
  return data_error("data/batch-limits",
                    "the batch size is not set; expected batch_size, batch_duration or both (with "
                    "buckets, bucket_batch_size); set one");
}

Error limit(const std::string& option, double value) {
  return data_error("data/batch-limits",
                    fmt::format("{} is {}; expected a number above 0", option, value));
}

Error too_few_cuts(int64_t num_cuts, int64_t num_buckets) {
  return data_error(
      "data/too-few-cuts",
      fmt::format("cannot estimate the bounds of {} buckets from {} cuts; expected at least 2 "
                  "buckets and one cut per bucket; lower num_buckets (--num-buckets), or give "
                  "bucket_duration_bins",
                  num_buckets, num_cuts));
}

Error bins(const std::string& found, const std::string& expected) {
  return data_error("data/bins", fmt::format("the buckets are wrong: {}; expected {}; "
                                             "'s2s-run data estimate-bins' proposes bounds",
                                             found, expected));
}

Error longer_than_bins(const Cut& cut, const std::string& size, const std::string& largest) {
  return data_error(
      "data/longer-than-bins",
      fmt::format(
          "{}: {} fits no bucket, the largest is {}; expected cuts that fit when batch sizes are "
          "fixed; set max_duration (and max_tps) to skip such cuts, or add a bucket",
          cut.place(), size, largest));
}

}  // namespace s2s::data::sampling_errors
