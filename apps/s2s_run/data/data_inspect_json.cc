#include <cstdio>
#include <nlohmann/json.hpp>

#include "s2s_run/data/data_inspect_result.h"

namespace s2s::run {
namespace {

using Json = nlohmann::ordered_json;

Json as_json(const data::Histogram& histogram) {
  return {{"lower_edges_s", histogram.edges}, {"counts", histogram.counts}};
}

Json as_json(const TokenChannelCounts& counts) {
  return {{"turns", counts.turns},
          {"text_longer_than_turn", counts.long_turns},
          {"dropped_tokens", counts.dropped_tokens},
          {"overwritten_tokens", counts.overwritten_tokens},
          {"truncated_tokens", counts.truncated_tokens},
          {"skipped_turns", counts.skipped_turns},
          {"open_turns", counts.open_turns}};
}

Json counts_json(const std::map<int64_t, int64_t>& counts) {
  Json json = Json::object();
  for (const auto& [key, count] : counts) json[std::to_string(key)] = count;
  return json;
}

Json as_json(const data::RecordingKinds& kinds) {
  return {{"sample_rates", counts_json(kinds.sample_rates)},
          {"channels", counts_json(kinds.channels)},
          {"formats", kinds.formats},
          {"missing", kinds.missing}};
}

Json as_json(const data::BucketReport& buckets, const data::BatchLimits& limits) {
  Json json = {{"bins", buckets.bins},
               {"estimated", buckets.are_estimated},
               {"padding_share", buckets.padding_share()},
               {"padding_share_without_buckets", buckets.unsorted_padding_share}};
  if (limits.max_length) json["batch_duration"] = *limits.max_length;
  if (limits.max_cuts) json["batch_size"] = *limits.max_cuts;
  if (limits.quadratic_length) json["quadratic_duration"] = *limits.quadratic_length;
  json["buckets"] = Json::array();
  for (const data::BucketLine& line : buckets.lines) {
    json["buckets"].push_back({{"upper_s", line.upper_s},
                               {"cuts", line.cuts},
                               {"hours", line.hours},
                               {"batches", line.batches},
                               {"padded_hours", line.padded_hours}});
  }
  return json;
}

Json as_json(const DrawnBatches& drawn) {
  return {{"batches", drawn.batches},
          {"cuts", drawn.cuts},
          {"hours", drawn.hours},
          {"padded_hours", drawn.padded_hours},
          {"by_bucket", counts_json(drawn.by_bucket)}};
}

Json speakers_json(const data::SetReport& report) {
  Json json = Json::array();
  for (const auto& speaker : report.speakers) {
    json.push_back({{"speaker", speaker.speaker},
                    {"role", speaker.role},
                    {"turns", speaker.turns},
                    {"words", speaker.words},
                    {"hours", speaker.hours},
                    {"unknown_words", speaker.unknown_words}});
  }
  return json;
}

Json long_texts_json(const data::SetReport& report) {
  Json json = Json::array();
  for (const data::LongText& text : report.long_texts) {
    json.push_back({{"turn", text.turn},
                    {"speaker", text.speaker},
                    {"text", text.text},
                    {"tokens", text.tokens},
                    {"frames", text.frames}});
  }
  return json;
}

Json problems_json(const InspectResult& result) {
  Json json = Json::array();
  for (const data::AudioProblem& problem : result.problems) {
    json.push_back({{"kind", problem.kind},
                    {"cut", problem.cut},
                    {"which", problem.which},
                    {"detail", problem.detail}});
  }
  return json;
}

}  // namespace

void print_inspect_json(const InspectResult& result) {
  const data::SetReport& report = result.report;
  Json json = {{"source", result.source},      {"kind", result.kind},
               {"limited", result.is_limited}, {"cuts", report.num_cuts},
               {"hours", report.hours},        {"speakers", speakers_json(report)}};
  json["duration"] = as_json(report.durations);
  json["gap"] = as_json(report.gaps);
  json["overlap"] = as_json(report.overlaps);
  json["agent_text"] = as_json(report.agent_text);
  json["user_text"] = as_json(report.user_text);
  json["long_texts"] = long_texts_json(report);
  json["user_audio"] = as_json(report.user_audio);
  json["agent_audio"] = as_json(report.agent_audio);
  json["bucketing"] = as_json(report.buckets, result.limits);
  if (result.drawn.batches > 0) json["drawn_batches"] = as_json(result.drawn);
  json["audio_read"] = result.audio_read;
  json["cuts_heard"] = result.cuts_heard;
  json["audio_problem_counts"] = result.problem_counts;
  json["audio_problems"] = problems_json(result);
  json["turn_check"] = turn_report_json(result.turns);
  json["unsuitable"] = report.unsuitable;
  json["num_unsuitable"] = report.num_unsuitable;
  json["warnings"] = result.warnings;
  std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

nlohmann::ordered_json turn_report_json(const data::TurnReport& report) {
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const data::TurnFinding& finding : report.findings) {
    findings.push_back({{"kind", finding.kind},
                        {"which", finding.which},
                        {"cuts", finding.cuts},
                        {"cuts_judged", finding.cuts_judged},
                        {"seconds", finding.seconds},
                        {"examples", finding.examples},
                        {"text", finding.text},
                        {"advice", finding.advice}});
  }
  return {{"cuts_judged", report.cuts_judged},
          {"cuts_that_fit", report.cuts_that_fit},
          {"findings", std::move(findings)}};
}

}  // namespace s2s::run
