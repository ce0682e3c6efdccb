// What `data convert` and `data inspect` say of turns that do not fit the speech.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "common/contains.h"
#include "common/temporary_folder.h"
#include "core/duplex/data_files.h"
#include "core/duplex/dialogue_sound.h"

using namespace s2s::test;
using nlohmann::json;
using s2s::SpeechSegment;

namespace {

constexpr int kNumFiles = 3;
constexpr double kDuration_s = 14;
using Stretches = std::vector<SpeechSegment>;

Stretches user_speech(int i) { return {{0.8 + 0.1 * i, 3}, {6.4, 8.2 + 0.2 * i}, {11.2, 12}}; }
Stretches agent_speech(int i) { return {{3.6, 5.8 + 0.1 * i}, {9, 10.6 - 0.1 * i}}; }

DialogueSound sound(const Stretches& speech, int seed) {
  DialogueSound channel(kDuration_s, speech, static_cast<uint32_t>(seed));
  channel.add_noise(-60);
  return channel;
}

/// A file with the user in channel 0 and the agent in channel 1, and who speaks when as Moshi's
/// alignments; each is heard in the other's channel, too, 20 dB down.
void write_stereo(const TemporaryFolder& dir) {
  std::filesystem::create_directories(dir / "calls");
  for (int i = 0; i < kNumFiles; ++i) {
    DialogueSound user = sound(user_speech(i), i), agent = sound(agent_speech(i), 100 + i);
    user.add_crosstalk(sound(agent_speech(i), 100 + i), -20);
    agent.add_crosstalk(sound(user_speech(i), i), -20);
    std::vector<float> both;
    for (size_t at = 0; at < user.samples().size(); ++at) {
      both.insert(both.end(), {user.samples()[at], agent.samples()[at]});
    }
    const std::string stem = dir / ("calls/" + std::to_string(i));
    write_audio(stem + ".wav", DialogueSound::kRate_hz, both, 2);
    json words = json::array();
    for (const auto& turn : user_speech(i)) {
      words.push_back({"well", {turn.start_s, turn.end_s}, "SPEAKER_1"});
    }
    for (const auto& turn : agent_speech(i)) {
      words.push_back({"yes", {turn.start_s, turn.end_s}, "SPEAKER_MAIN"});
    }
    write_text(stem + ".json", json{{"alignments", words}}.dump());
  }
}

std::string labels(const Stretches& turns, double by_s) {
  std::string text;
  for (const SpeechSegment& turn : turns) {
    text += std::to_string(turn.start_s + by_s) + "\t" + std::to_string(turn.end_s + by_s) +
            "\tsome words\n";
  }
  return text;
}

/// NAME_user.wav and NAME_agent.wav with transcripts that are `by_s` late, or whose names are
/// swapped.
void write_call_pairs(const TemporaryFolder& dir, double by_s, bool are_swapped = false) {
  std::filesystem::create_directories(dir / "calls");
  for (int i = 0; i < kNumFiles; ++i) {
    const std::string stem = dir / ("calls/" + std::to_string(i));
    write_audio(stem + "_user.wav", DialogueSound::kRate_hz, sound(user_speech(i), i).samples());
    write_audio(stem + "_agent.wav", DialogueSound::kRate_hz,
                sound(agent_speech(i), 100 + i).samples());
    write_text(stem + (are_swapped ? "_agent.txt" : "_user.txt"), labels(user_speech(i), by_s));
    write_text(stem + (are_swapped ? "_user.txt" : "_agent.txt"), labels(agent_speech(i), by_s));
  }
}

CommandResult convert(const TemporaryFolder& dir, const std::string& options = "") {
  return run_cli("data convert " + (dir / "calls") + " " + (dir / "cuts.jsonl") + " --force " +
                 options);
}

json inspected(const TemporaryFolder& dir) {
  const auto out = run_cli("data inspect " + (dir / "cuts.jsonl") + " --json 2>/dev/null");
  CHECK_MESSAGE(out.exit_code == 0, out.output);
  return json::parse(out.output);
}

void check_no_findings(const json& report) {
  CHECK_MESSAGE(report["turn_check"]["findings"].empty(), report["turn_check"].dump(2));
  CHECK_MESSAGE(report["warnings"].empty(), report["warnings"].dump(2));
  CHECK(report["turn_check"]["cuts_judged"] == report["turn_check"]["cuts_that_fit"]);
}

}  // namespace

TEST_CASE("data convert says that the channels of stereo files are swapped, and what to do") {
  const TemporaryFolder dir;
  write_stereo(dir);
  const CommandResult wrong = convert(dir);
  INFO(wrong.output);
  CHECK(wrong.exit_code == 0);
  const std::string sentence =
      "in 3 of 3 cuts the user's channel is silent during the user's turns and the agent's is "
      "not; the channels are swapped";
  CHECK(has(wrong, "warning: " + sentence));
  CHECK(has(wrong, "convert again with --agent-channel 1 --user-channel 0"));
  const json report = inspected(dir);
  const json& finding = report["turn_check"]["findings"][0];
  CHECK(finding["kind"] == "swapped-channels");
  CHECK(finding["which"] == "both");
  CHECK(finding["cuts"] == 3);
  CHECK(finding["cuts_judged"] == 3);
  CHECK(finding["examples"].size() == 3);
  CHECK(report["turn_check"]["findings"].size() == 1);
  const CommandResult text =
      run_cli("data inspect " + (dir / "cuts.jsonl") + " --html " + (dir / "page.html"));
  CHECK(has(text, "warning: " + sentence));
  std::ifstream page(dir / "page.html");
  const std::string html((std::istreambuf_iterator<char>(page)), {});
  CHECK(contains(html, "in 3 of 3 cuts the user's channel is silent during"));
  CHECK(contains(html, "swapped-channels"));
}

TEST_CASE("stereo files that are converted with the right channels have no findings") {
  const TemporaryFolder dir;
  write_stereo(dir);
  const CommandResult right = convert(dir, "--agent-channel 1 --user-channel 0");
  CHECK_MESSAGE(!has(right, "warning"), right.output);
  CHECK(has(right, "turns match the speech in 3 of 3 cuts"));
  check_no_findings(inspected(dir));
}

TEST_CASE("data convert --no-audio reads headers only") {
  const TemporaryFolder dir;
  write_stereo(dir);
  const auto summary_of = [&](const std::string& options) {
    const CommandResult out = convert(dir, "--json " + options);
    CHECK_MESSAGE(out.exit_code == 0, out.output);
    return json::parse(out.output.substr(out.output.find('{')));
  };
  const json summary = summary_of("--no-audio");
  CHECK(summary["cuts_heard"] == 0);
  CHECK(summary["warnings"].empty());
  const json heard = summary_of("");
  CHECK(heard["cuts_heard"] == 3);
  CHECK(heard["seconds_heard"] == doctest::Approx(3 * kDuration_s));
  CHECK(heard["turn_check"]["findings"][0]["kind"] == "swapped-channels");
  CHECK(heard["warnings"].size() == 1);
}

TEST_CASE("data convert hears at most 20 cuts, and of each a minute") {
  const TemporaryFolder dir;
  write_stereo(dir);
  std::string lines;
  for (int i = 0; i < 25; ++i) {
    lines += json{{"path", "calls/0.wav"}, {"duration", kDuration_s}}.dump() + "\n";
  }
  write_text(dir / "calls.jsonl", lines);
  const CommandResult many = run_cli("data convert " + (dir / "calls.jsonl") + " " +
                                     (dir / "many.jsonl") + " --rename-duplicates --json");
  const json heard = json::parse(many.output.substr(many.output.find('{')));
  CHECK(heard["cuts"] == 25);
  CHECK(heard["cuts_heard"] == 20);
  write_audio(dir / "long.wav", 8000, std::vector<float>(2 * 8000 * 70), 2);
  write_text(dir / "long.json", json{{"text", "nothing is said here"}}.dump());
  const CommandResult out =
      run_cli("data convert " + (dir / "long.wav") + " " + (dir / "long.jsonl") + " --json");
  const json part = json::parse(out.output.substr(out.output.find('{')));
  CHECK(part["cuts_heard"] == 1);
  CHECK(part["seconds_heard"] == 60);
}

TEST_CASE("data convert warns of audio whose header is all that can be read") {
  const TemporaryFolder dir;
  write_call_pairs(dir, 0);
  const std::string file = dir / "calls/0_user.wav";
  std::filesystem::remove(file);
  write_audio(file, 8000, sound(user_speech(0), 0).samples(), 1, SF_FORMAT_FLAC | SF_FORMAT_PCM_16);
  const auto size = std::filesystem::file_size(file);
  std::fstream flac(file, std::ios::in | std::ios::out | std::ios::binary);
  flac.seekp(static_cast<std::streamoff>(size / 2));
  flac << std::string(size / 2, 'x');
  flac.close();
  const CommandResult out = convert(dir);
  INFO(out.output);
  CHECK(out.exit_code == 0);
  CHECK(has(out, "1 recording of the first cuts cannot be read"));
}

TEST_CASE("data convert says that the transcripts of pairs are swapped") {
  const TemporaryFolder dir;
  write_call_pairs(dir, 0, /*are_swapped=*/true);
  const CommandResult out = convert(dir);
  CHECK_MESSAGE(has(out, "the channels are swapped"), out.output);
  CHECK(has(out, "swap the names of each pair's audio files, or of its transcripts"));
  CHECK(contains(inspected(dir)["warnings"][0], "swap 'recording' and 'target_audio'"));
  const TemporaryFolder right;
  write_call_pairs(right, 0);
  const CommandResult good = convert(right);
  CHECK_MESSAGE(!has(good, "warning"), good.output);
  check_no_findings(inspected(right));
}

TEST_CASE("shifted transcripts are said by how much, and in which direction") {
  for (const double by_s : {-0.8, 0.4}) {
    const TemporaryFolder dir;
    write_call_pairs(dir, by_s);
    const CommandResult out = convert(dir);
    INFO(out.output);
    CHECK(out.exit_code == 0);
    CHECK(has(out, by_s < 0
                       ? "in 3 of 3 cuts both speakers' turns begin about 0.8 s before the speech"
                       : "in 3 of 3 cuts both speakers' turns begin about 0.4 s after the speech"));
    CHECK(has(out, by_s < 0 ? "add 0.8 s to the times" : "subtract 0.4 s from the times"));
    const json findings = inspected(dir)["turn_check"]["findings"];
    REQUIRE(findings.size() == 1);
    CHECK(findings[0]["kind"] == "shifted-turns");
    CHECK(findings[0]["seconds"] == doctest::Approx(-by_s));
  }
}

TEST_CASE("transcripts that are cut off and turns over silence are told with their seconds") {
  const TemporaryFolder dir;
  write_call_pairs(dir, 0);
  for (int i = 0; i < kNumFiles; ++i) {
    Stretches user = user_speech(i);
    user.resize(1);
    write_text(dir / ("calls/" + std::to_string(i) + "_user.txt"), labels(user, 0));
    Stretches agent = agent_speech(i);
    agent.push_back({12.4, 13.6});
    write_text(dir / ("calls/" + std::to_string(i) + "_agent.txt"), labels(agent, 0));
  }
  CHECK(has(convert(dir), "warning: "));
  const json report = inspected(dir);
  const json& findings = report["turn_check"]["findings"];
  INFO(findings.dump(2));
  REQUIRE(findings.size() == 2);
  CHECK(findings[0]["kind"] == "speech-without-turns");
  CHECK(findings[0]["which"] == "user");
  CHECK(findings[0]["seconds"] == doctest::Approx(8.4).epsilon(0.15));
  CHECK(findings[1]["kind"] == "turns-without-speech");
  CHECK(findings[1]["which"] == "agent");
  CHECK(findings[1]["seconds"] == doctest::Approx(3.6).epsilon(0.1));
}

TEST_CASE("data inspect finds nothing against the turns of a set that data synth made") {
  const TemporaryFolder dir;
  const CommandResult made = run_cli("data synth " + (dir / "set") + " --tiny --workers 2");
  REQUIRE_MESSAGE(made.exit_code == 0, made.output);
  const auto out = run_cli("data inspect " + (dir / "set/train.jsonl") + " --json 2>/dev/null");
  const json report = json::parse(out.output);
  check_no_findings(report);
  CHECK(report["turn_check"]["cuts_judged"] > 0);
}
