#include "s2s_run/data/data_convert_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/console.h"
#include "base/text.h"
#include "cuts/cut_files.h"
#include "cuts/cut_operations.h"
#include "duplex/inspect.h"
#include "files/line_reader.h"
#include "s2s/error.h"

namespace s2s::run {
namespace {

constexpr int64_t kMaxCuts = 20;
// maximum number of lines to read, because the first cuts may have no turns
constexpr int64_t kMaxLines = 2000;
constexpr double kMaxCut_s = 60;
constexpr double kMaxSound_s = 300;
constexpr double kMaxWork_s = 10;

bool is_at_hand(const Recording& recording) {
  return std::none_of(
      recording.sources.begin(), recording.sources.end(), [](const AudioSource& source) {
        return source.type == AudioSource::Type::kCommand || source.type == AudioSource::Type::kUrl;
      });
}

bool can_be_checked(const Cut& cut) {
  const Recording* const target = cut.find_recording("target_audio");
  return cut.kind == Cut::Kind::kMono && !cut.supervisions.empty() && cut.recording &&
         target != nullptr && is_at_hand(*cut.recording) && is_at_hand(*target);
}

/// The first minute of a cut. Its id and place stay, for messages.
std::shared_ptr<const Cut> first_part(const Cut& cut) {
  if (cut.duration_s <= kMaxCut_s) return std::make_shared<const Cut>(cut);
  TruncateOptions options;
  options.duration_s = kMaxCut_s;
  options.preserve_id = true;
  return std::make_shared<const Cut>(truncate(cut, options));
}

/// For WAV pairs, --user and --agent select both audio files and transcripts, so they cannot fix
/// swapped channels.
std::string advice_for(const data::TurnFinding& finding, const std::string& from) {
  if (finding.kind != "swapped-channels" || from != "wav-pairs") return finding.advice;
  return "swap the names of each pair's audio files, or of its transcripts (labels in one "
         "transcript: --main-speaker), and convert again; --user and --agent would swap both; "
         "listen to one of them first";
}

class ConversionChecker {
 public:
  explicit ConversionChecker(const std::string& from) : from_(from) {}

  /// Returns false when enough audio was checked.
  bool add(const Cut& whole) {
    if (!can_be_checked(whole)) return true;
    const auto cut = first_part(whole);
    const data::AudioScan scan = data::scan_audio({cut}, DuplexDataOptions(), 1, [](int64_t) {});
    ++check_.cuts;
    check_.seconds += cut->duration_s;
    if (scan.fits.front()) findings_.add(*cut, *scan.fits.front());
    for (const data::AudioProblem& problem : scan.problems) {
      if (problem.kind != "unreadable") continue;
      if (unreadable_++ == 0) first_unreadable_ = problem.detail;
    }
    return check_.cuts < kMaxCuts && check_.seconds < kMaxSound_s &&
           monotonic_seconds() - start_s_ < kMaxWork_s;
  }

  void warn(const std::string& text) { check_.warnings.push_back(text); }

  ConversionCheck result() {
    check_.turns = findings_.report();
    for (data::TurnFinding& finding : check_.turns.findings) {
      finding.advice = advice_for(finding, from_);
      check_.warnings.push_back(data::sentence(finding));
    }
    if (unreadable_ > 0) {
      check_.warnings.push_back(fmt::format("{} of the first cuts cannot be read, the first: {}",
                                            counted(unreadable_, "recording"), first_unreadable_));
    }
    return check_;
  }

 private:
  std::string from_;
  double start_s_ = monotonic_seconds();
  ConversionCheck check_;
  data::TurnFindings findings_;
  int64_t unreadable_ = 0;
  std::string first_unreadable_;
};

}  // namespace

ConversionCheck check_conversion(const std::string& path, const std::string& from) {
  ConversionChecker checker(from);
  try {
    data::LineReader reader(path);
    for (std::string line; reader.line() < kMaxLines && reader.next(line);) {
      if (line.find_first_not_of(" \t") == std::string::npos) continue;
      Cut cut = parse_cut(line, path, reader.line());
      resolve_paths(cut);
      if (!checker.add(cut)) break;
    }
  } catch (const Error& error) {
    checker.warn(fmt::format("the comparison of turns and speech stopped: {}", error.what()));
  }
  return checker.result();
}

}  // namespace s2s::run
