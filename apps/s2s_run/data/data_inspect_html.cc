// The page of `data inspect --html`. It contains no scripts.

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "audio/encode_audio.h"
#include "base/atomic_file.h"
#include "base/text.h"
#include "eval/report/audio_encoding.h"
#include "eval/report/report_files.h"
#include "s2s/data/audio_loader.h"
#include "s2s_run/data/data_inspect_result.h"

namespace s2s::run {
namespace {

constexpr double kMaxExample_s = 120;
constexpr size_t kMaxRows = 50;
using TableRows = std::vector<std::vector<std::string>>;

/// Formats a table. The first row is the head; columns of numbers are right-aligned.
std::string table(const TableRows& rows) {
  std::string html = "<div class=\"card scroll\"><table>";
  for (size_t i = 0; i < rows.size() && i <= kMaxRows; ++i) {
    html += i == 0 ? "<thead><tr>" : "<tr>";
    for (size_t j = 0; j < rows[i].size(); ++j) {
      const std::string& sample = rows[std::min<size_t>(1, rows.size() - 1)][j];
      const bool number =
          !sample.empty() && sample.find_first_not_of("0123456789. %") == std::string::npos;
      html += fmt::format("<{0}{1}>{2}</{0}>", i == 0 ? "th" : "td",
                          number ? " class=\"number\"" : "", escape_html(rows[i][j]));
    }
    html += i == 0 ? "</tr></thead><tbody>" : "</tr>";
  }
  html += "</tbody></table></div>";
  if (rows.size() > kMaxRows + 1)
    html += fmt::format("<p class=\"note\">and {} more</p>", rows.size() - kMaxRows - 1);
  return html;
}

std::string chart(const std::string& title, const data::Histogram& histogram) {
  constexpr double kWidth = 480;
  constexpr double kHeight = 150;
  const size_t bins = histogram.counts.size();
  const double step = kWidth / static_cast<double>(bins);
  const double most = static_cast<double>(
      std::max<int64_t>(1, *std::max_element(histogram.counts.begin(), histogram.counts.end())));
  std::string html = fmt::format(
      "<figure class=\"card\"><figcaption>{} ({})</figcaption><svg viewBox=\"0 0 {} {}\" "
      "role=\"img\" aria-label=\"{}\">",
      title, histogram.total(), kWidth, kHeight + 34, title);
  for (size_t i = 0; i < bins; ++i) {
    const double height = kHeight * static_cast<double>(histogram.counts[i]) / most;
    const double x = step * static_cast<double>(i);
    html += fmt::format(
        "<g><title>{}: {}</title><rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
        "height=\"{:.1f}\" "
        "fill=\"var(--accent)\"/><text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        bin_label(histogram, i), histogram.counts[i], x + 2, kHeight + 14 - height, step - 4,
        height, x + step / 2, kHeight + 28,
        fmt::format("{}{}", histogram.edges[i], i + 1 == bins ? "+" : ""));
    if (histogram.counts[i] > 0) {
      html += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                          x + step / 2, kHeight + 11 - height, histogram.counts[i]);
    }
    html += "</g>";
  }
  return html + "</svg></figure>";
}

std::string facts(const TableRows& pairs) {
  std::string html = "<dl class=\"facts\">";
  for (const auto& pair : pairs) {
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escape_html(pair[0]),
                        escape_html(pair[1]));
  }
  return html + "</dl>";
}

TableRows speaker_rows(const data::SetReport& report) {
  TableRows rows = {{"speaker", "role", "turns", "words", "unknown words", "hours"}};
  for (const data::SpeakerReport& speaker : report.speakers) {
    rows.push_back({speaker.speaker, speaker.role, std::to_string(speaker.turns),
                    std::to_string(speaker.words), std::to_string(speaker.unknown_words),
                    fmt::format("{:.2f}", speaker.hours)});
  }
  return rows;
}

void add_kinds(const char* role, const data::RecordingKinds& kinds, TableRows& rows) {
  for (const auto& [rate, count] : kinds.sample_rates) {
    rows.push_back({role, fmt::format("{} Hz", rate), std::to_string(count)});
  }
  for (const auto& [channels, count] : kinds.channels) {
    rows.push_back({role, fmt::format("{} channel{}", channels, channels == 1 ? "" : "s"),
                    std::to_string(count)});
  }
  for (const auto& [format, count] : kinds.formats) {
    rows.push_back({role, format, std::to_string(count)});
  }
  if (kinds.missing > 0) rows.push_back({role, "none", std::to_string(kinds.missing)});
}

TableRows bucket_rows(const data::BucketReport& buckets) {
  TableRows rows = {{"up to, s", "cuts", "hours", "batches", "padding"}};
  double before_s = -1;
  for (const data::BucketLine& line : buckets.lines) {
    // Bounds estimated from few durations may be equal.
    const bool is_repeated = line.cuts == 0 && line.upper_s == before_s;
    before_s = line.upper_s;
    if (is_repeated) continue;
    const double padding = line.padded_hours > 0 ? 100 * (1 - line.hours / line.padded_hours) : 0;
    rows.push_back({fmt::format("{:.2f}", line.upper_s), std::to_string(line.cuts),
                    fmt::format("{:.2f}", line.hours), std::to_string(line.batches),
                    fmt::format("{:.1f} %", padding)});
  }
  return rows;
}

TableRows text_rows(const data::SetReport& report) {
  TableRows rows = {{"channel", "turns", "longer than the turn", "overwritten tokens", "dropped",
                     "cut off", "skipped turns", "without EOS"}};
  for (const auto& [role, counts] :
       {std::pair("agent", &report.agent_text), std::pair("user", &report.user_text)}) {
    std::vector<std::string> row = {role};
    for (const int64_t count :
         {counts->turns, counts->long_turns, counts->overwritten_tokens, counts->dropped_tokens,
          counts->truncated_tokens, counts->skipped_turns, counts->open_turns}) {
      row.push_back(std::to_string(count));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Both speakers at the user's sample rate, user left and agent right, as Ogg Vorbis.
std::string player(const Cut& cut, AudioLoader& loader) {
  const Recording* const target = cut.find_recording("target_audio");
  const int64_t rate_hz = cut.sample_rate_hz() > 0 ? cut.sample_rate_hz() : 16000;
  std::vector<at::Tensor> sides(target == nullptr ? 1 : 2);
  sides.front() = loader.source(cut, rate_hz);
  if (target != nullptr) sides.back() = loader.target(cut, rate_hz);
  const auto most = static_cast<int64_t>(kMaxExample_s * static_cast<double>(rate_hz));
  int64_t length = most;
  for (const at::Tensor& side : sides) length = std::min(length, side.numel());
  for (at::Tensor& side : sides) side = side.slice(0, 0, length);
  const std::string bytes = data::encode_audio(at::stack(sides), rate_hz, "ogg", 0.7);
  return fmt::format(
      "<div class=\"player\"><audio controls preload=\"none\" src=\"{}\"></audio>"
      "<span class=\"note\">user left, agent right</span></div>",
      data_uri("audio/ogg", bytes));
}

std::string lane(const Cut& cut, const BatchSpec& spec, bool agent) {
  std::string html = fmt::format(
      "<div class=\"lane speech {}\"><div class=\"lane-label\">{}</div>"
      "<div class=\"lane-track\">",
      agent ? "answer" : "user", agent ? "agent" : "user");
  const auto& roles = agent ? spec.data.output_roles : spec.data.input_roles;
  for (const Supervision& turn : cut.supervisions) {
    if (std::find(roles.begin(), roles.end(), turn.speaker) == roles.end()) continue;
    html += fmt::format(
        "<div class=\"planned\" style=\"left:{:.3f}%;width:{:.3f}%\" "
        "title=\"{:.2f}-{:.2f} s: {}\">{}</div>",
        100 * turn.start_s / cut.duration_s, 100 * turn.duration_s / cut.duration_s, turn.start_s,
        turn.end_s(), escape_html(turn.text.value_or("")), escape_html(turn.text.value_or("")));
  }
  return html + "</div></div>";
}

std::string example(const Cut& cut, const BatchSpec& spec, AudioLoader& loader) {
  std::string html = fmt::format(
      "<section class=\"card detail\"><h3>{}</h3><p class=\"note\">{}, "
      "{:.2f} s</p>",
      escape_html(cut.id), escape_html(cut.place()), cut.duration_s);
  try {
    html += player(cut, loader);
  } catch (const Error& error) {
    html += fmt::format("<p class=\"note\">{}</p>", escape_html(error.what()));
  }
  html += "<div class=\"stage\"><div class=\"stage-inner\">" + lane(cut, spec, false) +
          lane(cut, spec, true) + "</div></div></section>";
  return html;
}

std::string turn_findings(const data::TurnReport& turns) {
  if (turns.cuts_judged == 0 && turns.findings.empty()) return "";
  TableRows rows = {{"finding", "of", "cuts", "judged", "seconds", "first cut"}};
  for (const data::TurnFinding& finding : turns.findings) {
    rows.push_back({finding.kind, finding.which, std::to_string(finding.cuts),
                    std::to_string(finding.cuts_judged), fmt::format("{:.2f}", finding.seconds),
                    finding.examples.empty() ? "" : finding.examples.front()});
  }
  const std::string html =
      fmt::format("<h2>Turns and speech: they match in {} of {}</h2>", turns.cuts_that_fit,
                  counted(turns.cuts_judged, "checked cut"));
  return rows.size() > 1 ? html + table(rows) : html;
}

std::string problems(const InspectResult& result) {
  std::string html;
  if (result.audio_read) {
    TableRows rows = {{"problem", "of", "cut", "detail"}};
    for (const data::AudioProblem& problem : result.problems) {
      rows.push_back({problem.kind, problem.which, problem.cut, problem.detail});
    }
    html += fmt::format("<h2>Audio: {} of {} read, {}</h2>", result.cuts_heard,
                        counted(result.report.num_cuts, "cut"),
                        counted(static_cast<int64_t>(rows.size()) - 1, "problem"));
    if (rows.size() > 1) html += table(rows);
    html += turn_findings(result.turns);
  }
  TableRows texts = {{"turn", "tokens", "frames", "text"}};
  for (const data::LongText& text : result.report.long_texts) {
    texts.push_back(
        {text.turn, std::to_string(text.tokens), std::to_string(text.frames), text.text});
  }
  if (texts.size() > 1) html += "<h2>Text longer than its turn</h2>" + table(texts);
  TableRows notes = {{"finding"}};
  for (const std::string& text : result.report.unsuitable)
    notes.push_back({"not suitable: " + text});
  for (const std::string& text : result.warnings) notes.push_back({"warning: " + text});
  if (notes.size() > 1) html += "<h2>Findings</h2>" + table(notes);
  return html;
}

TableRows fact_rows(const InspectResult& result) {
  const data::SetReport& report = result.report;
  return {
      {"cuts", std::to_string(report.num_cuts) + (result.stopped      ? " (stopped)"
                                                  : result.is_limited ? " (--limit)"
                                                                      : "")},
      {"hours", fmt::format("{:.2f}", report.hours)},
      {"kind", result.kind},
      {"not suitable", std::to_string(report.num_unsuitable)},
      {"padding in buckets", fmt::format("{:.1f} %", 100 * report.buckets.padding_share())},
      {"without buckets", fmt::format("{:.1f} %", 100 * report.buckets.unsorted_padding_share)}};
}

}  // namespace

void write_inspect_page(const InspectResult& result, const std::string& path) {
  const data::SetReport& report = result.report;
  TableRows recordings = {{"speaker", "recordings", "count"}};
  add_kinds("user", report.user_audio, recordings);
  add_kinds("agent", report.agent_audio, recordings);
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<title>{0}</title><style>{1}h3{{margin:0;overflow-wrap:anywhere}}</style></head><body>"
      "<header><div class=\"title\"><h1>{0}</h1></div></header><main>",
      escape_html(result.source), report_file("style.css"));
  page += facts(fact_rows(result));
  page += "<h2>Histograms</h2><div class=\"charts\">" +
          chart("duration of cuts, s", report.durations) +
          chart("gap between two speakers, s", report.gaps) +
          chart("overlap of two speakers, s", report.overlaps) + "</div>";
  page += "<h2>Speakers</h2>" + table(speaker_rows(report));
  page += "<h2>Recordings</h2>" + table(recordings);
  page += "<h2>Buckets</h2>" + table(bucket_rows(report.buckets));
  page += "<h2>Text on frames</h2>" + table(text_rows(report)) + problems(result);
  page += "<h2>Examples</h2>";
  AudioLoader loader;
  for (const auto& cut : result.examples) page += example(*cut, result.spec, loader);
  write_file_atomically(path, page + "</main></body></html>\n");
}

}  // namespace s2s::run
