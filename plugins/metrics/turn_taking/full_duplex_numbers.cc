#include "full_duplex_numbers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rounding.h"

namespace s2s::turn_taking {
namespace {

constexpr double kTurn_s = 1;  // a shorter one with few words is no turn
constexpr size_t kFewWords = 3;
constexpr double kLongestBackchannel_s = 3;
constexpr double kStep_s = 0.2;
constexpr double kNothing = 1e-10;  // in place of zero in a distribution

bool is_in(const RecognizedWord& word, const SpeechSegment& segment) {
  const bool within = word.start_s >= segment.start_s && word.end_s <= segment.end_s;
  const bool begins_within = word.start_s <= segment.end_s && word.end_s > segment.end_s;
  const bool ends_within = word.start_s <= segment.start_s && word.end_s > segment.start_s;
  return within || begins_within || ends_within;
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

void normalize(std::vector<double>& values) {
  const double sum = sum_of(values);
  for (double& value : values) value /= sum;
}

/// `values` at `count` places from the first to the last of them.
std::vector<double> stretched(const std::vector<double>& values, size_t count) {
  std::vector<double> out;
  const auto last = static_cast<double>(values.size() - 1);
  for (size_t i = 0; i < count; ++i) {
    const double place =
        count == 1 ? 0 : static_cast<double>(i) * last / static_cast<double>(count - 1);
    const size_t left = std::min(static_cast<size_t>(place), values.size() - 2);
    const double share = place - static_cast<double>(left);
    out.push_back(values[left] + share * (values[left + 1] - values[left]));
  }
  return out;
}

double relative_entropy(double p, double q) { return p == 0 ? 0 : p * std::log(p / q); }

double tenths(int64_t samples) {
  return rounded(static_cast<double>(samples) / SileroNetwork::kRate_hz, 1);
}

}  // namespace

bool takes_turn(const std::vector<RecognizedWord>& words) {
  if (words.empty()) return false;
  return words.back().end_s - words.front().start_s >= kTurn_s || words.size() > kFewWords;
}

std::vector<RecognizedWord> words_after(const std::vector<RecognizedWord>& words, double time_s) {
  std::vector<RecognizedWord> out;
  for (const RecognizedWord& word : words) {
    if (word.end_s <= time_s) continue;
    out.push_back(word);
    out.back().start_s = std::max(word.start_s, time_s);
  }
  return out;
}

std::vector<SpeechSegment> in_tenths(const std::vector<SampleSpan>& spans, int64_t num_samples) {
  const double duration_s = static_cast<double>(num_samples) / SileroNetwork::kRate_hz;
  std::vector<SpeechSegment> out;
  for (const SampleSpan& span : spans) {
    out.push_back({tenths(span.begin), std::min(tenths(span.end), duration_s)});
  }
  return out;
}

Backchannels find_backchannels(const std::vector<SpeechSegment>& speech,
                               const std::vector<RecognizedWord>& words) {
  Backchannels found;
  for (const SpeechSegment& segment : speech) {
    const double duration_s = segment.end_s - segment.start_s;
    if (duration_s > kLongestBackchannel_s) {
      found.takes_turn = true;
      break;
    }
    const auto count = std::count_if(words.begin(), words.end(), [&](const RecognizedWord& word) {
      return is_in(word, segment);
    });
    found.takes_turn = count > 2 || duration_s >= kTurn_s;  // the last segment decides
    found.segments.push_back(segment);
  }
  return found;
}

double backchannel_distance(const std::vector<SpeechSegment>& backchannels, double duration_s,
                            const std::vector<double>& expected) {
  if (backchannels.empty()) return 1;
  std::vector<double> found(static_cast<size_t>(duration_s / kStep_s) + 1, kNothing);
  for (const SpeechSegment& segment : backchannels) {
    const auto last = static_cast<size_t>(segment.end_s / kStep_s);
    for (auto i = static_cast<size_t>(segment.start_s / kStep_s); i <= last; ++i) {
      if (i < found.size()) found[i] += 1;
    }
  }
  normalize(found);
  std::vector<double> planned = stretched(expected, found.size());
  normalize(planned);
  double sum = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const double middle = (found[i] + planned[i]) / 2;
    sum += relative_entropy(found[i], middle) + relative_entropy(planned[i], middle);
  }
  return std::sqrt(sum / 2);
}

}  // namespace s2s::turn_taking
