#include "duplex/turn_findings.h"

#include <doctest/doctest.h>

#include "core/duplex/data_files.h"
#include "cuts/cut_files.h"

namespace {

using namespace s2s;
using namespace s2s::data;

Cut numbered(int64_t line) {
  return parse_cut(s2s::test::cut_json("d" + std::to_string(line), 4, "u.wav", "a.wav").dump(),
                   "cuts.jsonl", line);
}

/// A dialogue of two user turns and one agent turn that fit.
TurnFit good() {
  TurnFit fit;
  fit.order = ChannelOrder::kOwn;
  fit.user.num_turns = 2;
  fit.agent.num_turns = 1;
  for (SpeakerFit* speaker : {&fit.user, &fit.agent}) {
    speaker->fits = speaker->is_unlabeled_judged = speaker->is_empty_judged = true;
    speaker->speech_s = 10;
  }
  return fit;
}

TurnFit of_order(ChannelOrder order) {
  TurnFit fit;
  fit.order = order;
  fit.user.num_turns = 2;
  fit.agent.num_turns = 1;
  return fit;
}

TurnFit shifted(double user_s, double agent_s) {
  TurnFit fit = good();
  fit.user.shift_s = user_s;
  fit.agent.shift_s = agent_s;
  return fit;
}

TurnReport report_of(const std::vector<std::pair<int, TurnFit>>& counts) {
  TurnFindings findings;
  int64_t line = 0;
  for (const auto& [count, fit] : counts) {
    for (int i = 0; i < count; ++i) findings.add(numbered(++line), fit);
  }
  return findings.report();
}

}  // namespace

TEST_CASE("cuts that fit have no findings, and all are counted") {
  const TurnReport report = report_of({{5, good()}, {2, TurnFit()}});
  CHECK(report.cuts_judged == 5);
  CHECK(report.cuts_that_fit == 5);
  CHECK(report.findings.empty());
}

TEST_CASE("one cut with one exchange is no evidence, three are") {
  const TurnFit swapped = of_order(ChannelOrder::kSwapped);
  CHECK(report_of({{1, swapped}}).findings.empty());
  CHECK(report_of({{2, swapped}}).findings.size() == 1);  // six turns
  TurnFit one_turn = swapped;
  one_turn.user.num_turns = 1;
  one_turn.agent.num_turns = 0;
  CHECK(report_of({{2, one_turn}}).findings.empty());
  CHECK(report_of({{3, one_turn}}).findings.size() == 1);
}

TEST_CASE("some swapped cuts among many are named, few are not") {
  const TurnFit swapped = of_order(ChannelOrder::kSwapped);
  const TurnReport some = report_of({{20, good()}, {3, swapped}});
  REQUIRE(some.findings.size() == 1);
  CHECK(some.findings[0].cuts == 3);
  CHECK(some.findings[0].cuts_judged == 23);
  CHECK(some.findings[0].examples.front() == "cuts.jsonl:21: cut 'd21'");
  CHECK(report_of({{40, good()}, {3, swapped}}).findings.empty());
}

TEST_CASE("what to do about swapped channels depends on where they are") {
  const TurnFit swapped = of_order(ChannelOrder::kSwapped);
  CHECK(sentence(report_of({{3, swapped}}).findings[0]) ==
        "in 3 of 3 cuts the user's channel is silent during the user's turns and the agent's is "
        "not; the channels are swapped (the first: cuts.jsonl:1: cut 'd1'); swap 'recording' and "
        "'target_audio' in these cuts, or the speakers of their turns; listen to one cut first");
  Cut stereo = numbered(1);
  stereo.recording->sources.front().channels = {0, 1};
  stereo.set_custom("target_audio", *stereo.recording);
  stereo.set_custom("target_audio_channel_selector", JsonText{"[0]"});
  stereo.channels = {1};
  TurnFindings findings;
  for (int i = 0; i < 3; ++i) findings.add(stereo, swapped);
  CHECK(findings.report().findings[0].advice.find(
            "convert again with --agent-channel 1 --user-channel 0") == 0);
  TurnFit of_agent = swapped;
  of_agent.user.num_turns = 0;
  const TurnFinding finding = report_of({{3, of_agent}}).findings.at(0);
  CHECK(finding.which == "agent");
  CHECK(finding.text.find("the agent's channel is silent during the agent's turns and the "
                          "user's is not") != std::string::npos);
}

TEST_CASE("a shift is the median of the cuts that have about the same") {
  const TurnReport both = report_of({{3, shifted(0.8, 0.72)}, {2, shifted(0.88, 0.8)}});
  REQUIRE(both.findings.size() == 1);
  CHECK(both.findings[0].which == "both");
  CHECK(both.findings[0].seconds == doctest::Approx(0.8));
  CHECK(both.findings[0].cuts == 5);
  CHECK(both.findings[0].text ==
        "in 5 of 5 cuts both speakers' turns begin about 0.8 s before the speech in their "
        "channels; the "
        "transcripts are shifted");
  CHECK(both.cuts_that_fit == 0);
  const TurnReport one = report_of({{4, shifted(-0.4, 0)}, {3, good()}});
  REQUIRE(one.findings.size() == 1);
  CHECK(one.findings[0].text ==
        "in 4 of 7 cuts the user's turns begin about 0.4 s after the speech in the user's channel; "
        "the "
        "transcripts are shifted");
  CHECK(one.findings[0].advice == "subtract 0.4 s from the times of the user's turns and words");
}

TEST_CASE("shifts that differ from cut to cut, or of few cuts, are no finding") {
  CHECK(report_of({{2, shifted(0.8, 0)}, {2, shifted(-2, 0)}, {2, shifted(3.2, 0)}})
            .findings.empty());
  CHECK(report_of({{3, shifted(0.8, 0)}, {4, good()}}).findings.empty());
}

TEST_CASE("speech without turns and turns without speech are summed over their cuts") {
  TurnFit cut_off = good();
  cut_off.agent.is_unlabeled = true;
  cut_off.agent.unlabeled_s = 4;
  cut_off.agent.unlabeled_after_s = 3;
  cut_off.user.is_empty = true;
  cut_off.user.num_empty_turns = 1;
  cut_off.user.empty_s = 1.5;
  const TurnReport report = report_of({{3, cut_off}, {2, good()}});
  REQUIRE(report.findings.size() == 2);
  CHECK(report.findings[0].text ==
        "in 3 of 5 cuts the user's channel is silent during turns of the user: 3 turns, 4.5 s");
  CHECK(report.findings[1].seconds == doctest::Approx(12));
  CHECK(report.findings[1].text ==
        "in 3 of 5 cuts much of the speech in the agent's channel has no turn: 12.0 of 30.0 s, of "
        "these 0.0 s before the first turn and 9.0 s after the last; transcripts are cut off or "
        "incomplete");
  CHECK(report_of({{3, cut_off}, {4, good()}}).findings.empty());
}

TEST_CASE("channels with the same sound are named") {
  const TurnReport report = report_of({{3, of_order(ChannelOrder::kSame)}});
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].kind == "same-audio");
}
