#include "loader/set_check.h"

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "duplex/kept_codes.h"
#include "loader/bad_cuts.h"
#include "loader/loader_errors.h"

namespace s2s::data {
namespace {

/// Counts texts that do not fit their turns, for a warning to the maker of the data.
class TextReport {
 public:
  void add(const Cut& cut, const SetCheck& check) {
    const TokenChannelCounts more =
        make_sequence_text({{{&cut, 0}}, 0}, check.spec, check.tokenizer).target_counts;
    if (more.long_turns > 0 && !first_long_) first_long_ = std::make_unique<Cut>(cut);
    if (more.truncated_tokens + more.skipped_turns > 0 && !first_cut_off_) {
      first_cut_off_ = std::make_unique<Cut>(cut);
    }
    counts_ += more;
  }

  void report(const SetCheck& check) const {
    if (first_long_) {
      const std::string message =
          loader_errors::long_text(check.path, counts_, *first_long_, check.spec.data);
      const bool is_error = check.spec.data.long_text == "error";
      if (is_error && check.max_bad == 0) throw loader_errors::too_long_text(message);
      if (check.warn) check.warn("[data/long-text] " + message);
    }
    if (first_cut_off_ && check.warn) {
      check.warn(loader_errors::text_cut_off(check.path, counts_, *first_cut_off_));
    }
  }

 private:
  TokenChannelCounts counts_;
  std::unique_ptr<Cut> first_long_;
  std::unique_ptr<Cut> first_cut_off_;
};

/// Adds what is wrong with a cut's kept codes. A wrong codes_field concerns all cuts, so that one
/// finding is enough unless bad cuts are left out.
void check_codes(const Cut& cut, const SetCheck& check, const Findings& known, Findings& findings) {
  if (check.spec.codes_field.empty()) return;
  const auto is_about_codes = [](const Error& error) { return error.id() == "data/kept-codes"; };
  if (check.max_bad == 0 &&
      std::any_of(known.errors().begin(), known.errors().end(), is_about_codes)) {
    return;
  }
  try {
    check_kept_codes(cut, check.spec.codes_field);
  } catch (const Error& error) {
    findings.add(error);
  }
}

/// Finds cuts with equal ids at different places. Reading one place twice is allowed (weights,
/// several sets).
class Ids {
 public:
  void add(const Cut& cut) {
    const auto [known, is_new] = places_.try_emplace(cut.id, cut.place());
    if (is_new || known->second == cut.place()) return;
    if (++num_again_ > 1) return;
    again_ = std::make_unique<Cut>(cut);
    first_place_ = known->second;
  }

  void report(const SetCheck& check) const {
    if (!again_ || !check.warn) return;
    check.warn(loader_errors::duplicate_ids(check.path, num_again_, *again_, first_place_));
  }

 private:
  std::unordered_map<std::string, std::string> places_;
  int64_t num_again_ = 0;
  std::unique_ptr<Cut> again_;
  std::string first_place_;
};

}  // namespace

int64_t check_set(const CutBatches& batches, const SetCheck& check) {
  constexpr size_t kMaxFindings = 20;
  std::vector<BadCut> bad;
  Findings findings;
  TextReport texts;
  Ids ids;
  int64_t num_cuts = 0;
  batches.visit_cuts([&](const Cut& cut) {
    ids.add(cut);
    Findings more;
    if (cut.duration_s > check.longest_cut_s)
      more.add(loader_errors::too_long(cut, check.longest_cut_s));
    check_duplex_cuts({cut}, check.spec.data, check.allow_no_turns, check.check_files, more);
    check_codes(cut, check, findings, more);
    for (const Error& error : more.errors()) findings.add(error);
    if (more.empty()) texts.add(cut, check);
    if (!more.empty() && check.max_bad > 0) bad.push_back(bad_cut(cut.id, more.errors().front()));
    const bool full = findings.errors().size() >= kMaxFindings && check.max_bad == 0;
    return ++num_cuts < kCheckedCuts && !full;
  });
  if (check.take_unread) {
    for (BadCut& unread : check.take_unread()) bad.push_back(std::move(unread));
  }
  if (num_cuts == 0)
    throw bad.empty() ? loader_errors::nothing_left(check.path) : bad.front().error();
  if (check.max_bad == 0) findings.throw_if_any();
  BadCuts(check.max_bad, check.path).add(bad);
  texts.report(check);
  ids.report(check);
  return num_cuts;
}

}  // namespace s2s::data
