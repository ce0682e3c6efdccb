#include <algorithm>
#include <iostream>
#include <memory>
#include <random>
#include <thread>

#include "base/console.h"
#include "base/interrupt.h"
#include "base/progress_bar.h"
#include "base/text.h"
#include "cuts/cut_audio.h"
#include "cuts/cuts_errors.h"
#include "duplex/turn_findings.h"
#include "s2s_run/data/data_inspect_parts.h"
#include "s2s_run/data/equal_findings.h"

namespace s2s::run {
namespace {

constexpr size_t kMaxFindings = 20;
constexpr size_t kMaxProblems = 10000;  // maximum number that is kept; all are counted
constexpr size_t kScanTogether = 256;

/// Reservoir sampling: keeps `size` random cuts, each with equal probability.
class Sample {
 public:
  explicit Sample(int64_t size) : size_(static_cast<size_t>(size)) {}
  void offer(const Cut& cut) {
    ++seen_;
    if (kept_.size() < size_) {
      kept_.emplace_back(seen_, std::make_shared<const Cut>(cut));
    } else if (const size_t at = random_() % seen_; at < size_) {
      kept_[at] = {seen_, std::make_shared<const Cut>(cut)};
    }
  }
  /// The kept cuts, in the order of the set.
  data::CutList take() {
    std::sort(kept_.begin(), kept_.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    data::CutList cuts;
    for (auto& [number, cut] : kept_) cuts.push_back(std::move(cut));
    return cuts;
  }

 private:
  size_t size_;
  size_t seen_ = 0;
  std::mt19937_64 random_{1};
  std::vector<std::pair<size_t, std::shared_ptr<const Cut>>> kept_;
};

int64_t threads_of(const InspectArguments& arguments) {
  const auto machine = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  return arguments.threads > 0 ? arguments.threads : std::min<int64_t>(machine, 8);
}

/// Reads a set once.
class Inspection {
 public:
  Inspection(const InspectArguments& arguments, const InspectedSet& inspected)
      : arguments_(arguments),
        set_(inspected.set),
        roles_(inspected.spec.data),
        inspector_(inspected.spec, inspected.tokenizer, arguments.buckets),
        sample_(arguments.sample),
        examples_(arguments.html.empty() ? 0 : arguments.examples),
        console_(arguments.quiet ? nowhere_ : std::cerr, standard_error_is_terminal(),
                 terminal_width()),
        bar_(console_, {.title = "reading", .unit = "cuts", .total = arguments.limit}) {}

  /// Errors: those of invalid lines, at most 20 together.
  void run(InspectResult& result);

 private:
  bool visit(const Cut& cut, InspectResult& result);
  void scan(const data::CutList& cuts, InspectResult& result);
  bool reads_audio_of_all() const { return !arguments_.no_audio && arguments_.sample == 0; }

  const InspectArguments& arguments_;
  const DataSet& set_;
  const DuplexDataOptions& roles_;
  data::TurnFindings turns_;
  data::SetInspector inspector_;
  Sample sample_;
  Sample examples_;
  data::CutList waiting_;  // cuts whose audio will be read
  int64_t num_visited_ = 0;
  std::ostream nowhere_{nullptr};
  Console console_;
  ProgressBar bar_;
  EqualFindings findings_;
  InterruptWatch interrupt_{
      "stopping; the report covers what was read so far; press ^C again to stop immediately\n"};
};

void Inspection::scan(const data::CutList& cuts, InspectResult& result) {
  const int64_t before = result.cuts_heard;
  const data::AudioScan heard =
      data::scan_audio(cuts, roles_, threads_of(arguments_), [&](int64_t done) {
        bar_.update(num_visited_, std::to_string(before + done) + " with audio");
      });
  result.cuts_heard += std::count_if(cuts.begin(), cuts.end(),
                                     [](const auto& cut) { return !data::is_endless(*cut); });
  for (size_t i = 0; i < cuts.size(); ++i) {
    if (heard.fits[i]) turns_.add(*cuts[i], *heard.fits[i]);
  }
  for (const data::AudioProblem& problem : heard.problems) {
    ++result.problem_counts[problem.kind];
    if (result.problems.size() < kMaxProblems) result.problems.push_back(problem);
  }
}

bool Inspection::visit(const Cut& cut, InspectResult& result) {
  if (interrupt_.requested()) {
    result.stopped = result.is_limited = true;
    return false;
  }
  if (arguments_.limit > 0 && num_visited_ == arguments_.limit) {
    result.is_limited = true;
    return false;
  }
  bar_.update(++num_visited_);
  if (arguments_.sample > 0) sample_.offer(cut);
  if (!arguments_.html.empty()) examples_.offer(cut);
  if (reads_audio_of_all()) waiting_.push_back(std::make_shared<const Cut>(cut));
  if (waiting_.size() == kScanTogether) {
    scan(waiting_, result);
    waiting_.clear();
  }
  inspector_.add(cut);
  return true;
}

void Inspection::run(InspectResult& result) {
  const auto on_error = [this](const Error& error) {
    findings_.add(error);
    return findings_.size() < kMaxFindings && findings_.total() < EqualFindings::kEnough;
  };
  const auto visit_one = [&](const Cut& cut) {
    try {
      return visit(cut, result);
    } catch (const Error& error) {
      return on_error(error);
    }
  };
  visit_cuts(set_, visit_one, on_error,
             [&](const std::string& warning) { result.warnings.push_back(warning); });
  findings_.throw_if_any();
  if (num_visited_ == 0 && !result.stopped) throw cuts_errors::empty({result.source});
  if (reads_audio_of_all()) {
    scan(waiting_, result);
  } else if (!arguments_.no_audio && !result.stopped) {
    scan(sample_.take(), result);
  }
  bar_.finish();
  result.audio_read = !arguments_.no_audio;
  result.examples = examples_.take();
  result.report = inspector_.report();
  if (result.report.num_duplicate_ids > 0) {  // training says the same and goes on
    result.warnings.push_back(fmt::format(
        "the ids of {} are used before; training uses all of them; the first: {}",
        counted(result.report.num_duplicate_ids, "cut"), result.report.first_duplicate_id));
  }
  result.turns = turns_.report();
  for (const data::TurnFinding& finding : result.turns.findings) {
    result.warnings.push_back(data::sentence(finding));
  }
}

}  // namespace

void read_set(const InspectArguments& arguments, const InspectedSet& inspected,
              InspectResult& result) {
  Inspection(arguments, inspected).run(result);
}

}  // namespace s2s::run
