// The buckets of tune-batch, and what the plan predicts for them.

#include "samplers/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/config_errors.h"
#include "config/yaml_reader.h"
#include "plan/plan_report.h"
#include "s2s_run/data/data_inspect_source.h"
#include "s2s_run/plan/plan_inputs.h"
#include "s2s_run/tune/tune_batch.h"
#include "s2s_run/tune/tune_errors.h"
#include "text/text_options.h"

namespace s2s::run {
namespace {

constexpr const char* kBlock = "data.train_ds";

Bucket bucket_of(const Config& item, const std::string& place) {
  if (!item.is_list()) return {item.as_double(place), {}};
  if (item.items().size() != 2) throw type_error(place, item, "a duration, or [duration, tokens]");
  return {item.items()[0].as_double(place), item.items()[1].as_int(place)};
}

std::vector<Bucket> listed(const Config& list, const std::string& place) {
  if (!list.is_list() || list.items().empty()) {
    throw type_error(place, list, "a list of durations, or of [duration, tokens]");
  }
  std::vector<Bucket> buckets;
  for (const Config& item : list.items()) {
    buckets.push_back(bucket_of(item, place));
    if (buckets.back().duration_s <= 0) throw bounds_error(place, item, "above 0 s");
  }
  return buckets;
}

int64_t num_buckets(const Config& config) {
  const std::string path = std::string(kBlock) + ".num_buckets";
  const Config* const node = config.find_path(path);
  return node == nullptr || node->is_null() ? 5 : node->as_int(path);
}

bool is_text(const Config& config) {
  const Config* const name = config.find_path(std::string(kBlock) + ".name");
  return name != nullptr && name->is_scalar() && name->text() == "text";
}

/// All rows of text have the same length, packed or padded.
Bucket text_bucket(const Config& config) {
  const std::string path = std::string(kBlock) + ".max_seq_len";
  const Config* const length = config.find_path(path);
  const bool is_given = length != nullptr && !length->is_null();
  return {0, is_given ? length->as_int(path) : data::TextSourceOptions{}.max_seq_len};
}

}  // namespace

std::string length_text(double duration_s, int64_t tokens) {
  return duration_s == 0 ? fmt::format("{} tokens", tokens) : fmt::format("{:g} s", duration_s);
}

std::vector<Bucket> choose_buckets(const TuneArguments& arguments, const Config& config,
                                   const Invocation& invocation) {
  if (is_text(config)) {
    if (arguments.buckets.empty()) return {text_bucket(config)};
    throw tune_errors::not_here("--buckets",
                                "rows of text have data.train_ds.max_seq_len tokens; set that");
  }
  if (!arguments.buckets.empty()) {
    Origin origin;
    origin.source = "command line";
    return listed(parse_yaml_value(arguments.buckets, origin), "--buckets");
  }
  const std::string path = std::string(kBlock) + ".bucket_duration_bins";
  const Config* const bins = config.find_path(path);
  if (bins != nullptr && !bins->is_null()) return listed(*bins, path);
  std::vector<std::string> words = {arguments.config.path};
  words.insert(words.end(), arguments.config.overrides.begin(), arguments.config.overrides.end());
  std::vector<double> lengths;
  visit_cuts(
      DataSet({words, "train_ds"}, invocation),
      [&](const Cut& cut) {
        lengths.push_back(cut.duration_s);
        return lengths.size() < 10000;  // NeMo's num_cuts_for_bins_estimate
      },
      [](const Error&) { return true; }, [](const std::string&) {});
  if (lengths.empty()) throw tune_errors::no_cuts();
  const double longest = *std::max_element(lengths.begin(), lengths.end());
  std::vector<Bucket> buckets;
  for (const double bin : data::estimate_bins(std::move(lengths), num_buckets(config))) {
    const double up = std::ceil(bin * 100) / 100;
    if (buckets.empty() || up > buckets.back().duration_s) buckets.push_back({up, {}});
  }
  const double last = std::ceil(longest * 100) / 100;
  if (buckets.empty() || last > buckets.back().duration_s) buckets.push_back({last, {}});
  return buckets;
}

int64_t PredictedMemory::rows_in(double limit_bytes) const {
  if (limit_bytes <= model || row <= 0) return 0;
  return std::llround(std::floor((limit_bytes - model) / row));
}

PredictedMemory predict_memory(const TuneArguments& arguments, const Config& config,
                               const Registries& registries, int64_t length) {
  PlanArguments asked;
  asked.world_size = arguments.ranks;
  asked.sequence_length = length;
  asked.batch_size = 1;
  const PlannedRun run(asked, config, registries);
  const PlanReport report = run.report(run.asked_settings(run.asked_mesh()));
  const auto model = static_cast<double>(report.rank.total());
  return {model, device_need(report).bytes - model};
}

}  // namespace s2s::run
