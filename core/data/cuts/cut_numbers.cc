#include "cuts/cut_numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/fnv.h"
#include "cuts/cuts_errors.h"
#include "cuts/mixed_cut.h"
#include "files/json_fields.h"
#include "s2s/data/frames.h"

namespace s2s::data {
namespace {

const Cut& first_data_cut(const Cut& mix) { return *first_data_track(mix).cut; }

/// Returns a number of the features' manifest.
double feature_number(const Cut& cut, const char* name) {
  const LineLocation place{cut.manifest, cut.line, "features"};
  const JsonFields fields(parse_json_line(cut.features->manifest.text, place), place);
  return fields.number(name);
}

}  // namespace

double add_durations(std::initializer_list<double> durations_s, int64_t sample_rate_hz) {
  int64_t total = 0;
  for (const double duration_s : durations_s) {
    total += compute_num_samples(duration_s, sample_rate_hz);
  }
  return static_cast<double>(total) / static_cast<double>(sample_rate_hz);
}

int64_t perturb_num_samples(int64_t num_samples, double factor) {
  const double exact = round_time(static_cast<double>(num_samples) / factor);
  const double magnitude = std::fabs(exact);
  const double whole = std::floor(magnitude);
  const double rest = magnitude - whole;
  const bool up = factor >= 1 ? rest >= 0.5 : rest > 0.5;
  const auto rounded = static_cast<int64_t>(whole) + (up ? 1 : 0);
  return exact < 0 ? -rounded : rounded;
}

bool is_close(double a, double b) {
  return a == b || std::fabs(a - b) <= 1e-9 * std::max(std::fabs(a), std::fabs(b));
}

bool has_features(const Cut& cut) {
  if (cut.kind == Cut::Kind::kMixed) return has_features(first_data_cut(cut));
  if (cut.padding) return cut.padding->num_frames.has_value();
  return cut.features.has_value();
}

bool has_recording(const Cut& cut) {
  if (cut.kind == Cut::Kind::kMixed) return has_recording(first_data_cut(cut));
  if (cut.padding) return cut.padding->num_samples.has_value();
  return cut.recording.has_value();
}

std::optional<double> frame_shift_s(const Cut& cut) {
  if (cut.kind == Cut::Kind::kMixed) return frame_shift_s(first_data_cut(cut));
  if (cut.padding) return cut.padding->frame_shift;
  if (!cut.features) return std::nullopt;
  return feature_number(cut, "frame_shift");
}

std::optional<int64_t> num_features(const Cut& cut) {
  if (cut.kind == Cut::Kind::kMixed) return num_features(first_data_cut(cut));
  if (cut.padding) return cut.padding->num_features;
  if (!cut.features) return std::nullopt;
  return static_cast<int64_t>(feature_number(cut, "num_features"));
}

std::optional<int64_t> num_frames(const Cut& cut) {
  if (cut.padding) return cut.padding->num_frames;
  if (!has_features(cut)) return std::nullopt;
  return compute_num_frames(cut.duration_s, *frame_shift_s(cut), cut.sample_rate_hz());
}

std::optional<int64_t> num_samples(const Cut& cut) {
  if (cut.padding) return cut.padding->num_samples;
  if (!has_recording(cut)) return std::nullopt;
  return compute_num_samples(cut.duration_s, cut.sample_rate_hz());
}

int64_t rate_for(const Cut& cut, const char* operation) {
  const int64_t rate_hz = cut.sample_rate_hz();
  if (rate_hz > 0) return rate_hz;
  throw cuts_errors::operation(cut, operation, "it has neither a recording nor features");
}

std::string derived_id(const std::string& id, std::string_view operation,
                       std::initializer_list<double> numbers) {
  std::string key = std::string(operation) + '\0' + id;
  for (const double number : numbers) key += fmt::format(" {:x}", std::bit_cast<uint64_t>(number));
  const uint64_t a = fnv1a(key);
  const uint64_t b = fnv1a(key, a ^ 0x9e3779b97f4a7c15ULL);
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32, a >> 16 & 0xffff, a & 0xfff,
                     0x8000 | (b >> 48 & 0x3fff), b & 0xffffffffffffULL);
}

}  // namespace s2s::data
