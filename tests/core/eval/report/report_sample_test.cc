// A report to look at, from spoken examples with made-up mistakes. Skipped unless asked for:
//   S2S_REPORT_SAMPLE=/tmp/sample core_eval_report_test -tc='*sample report*' --no-skip
// S2S_REPORT_EXAMPLES says how many examples (default 12). Needs the program flite.

#include <ATen/CPUGeneratorImpl.h>
#include <doctest/doctest.h>
#include <sndfile.h>

#include <cstdlib>
#include <fstream>

#include "eval/report/listening_report.h"
#include "plugins/built_metrics.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;

struct Line {
  const char* user;
  const char* answer;
  const char* said;  // what the model says instead
};

constexpr std::array<Line, 8> kLines = {{
    {"set a timer for five minutes for the pasta", "okay, five minutes for the pasta.",
     "okay, five minutes for the pasta."},
    {"is the light in the kitchen on", "the light in the kitchen is on.",
     "the light in the bathroom is on."},
    {"what will the weather be like in berlin tomorrow", "tomorrow it will rain in berlin.",
     "tomorrow it will rain in berlin."},
    {"call anna at work please", "calling anna at work.", "calling anna at home now."},
    {"when does the library open on monday", "on monday the library opens at nine.",
     "on monday the library opens at nine."},
    {"how much is three plus four", "three plus four is seven.", "three plus four is nine."},
    {"turn off the fan in the bedroom", "the fan in the bedroom is off.", ""},
    {"tell me everything that you know about the long history of the railway station in the "
     "old "
     "town of this city, from its beginning until today",
     "the railway station was opened in eighteen fifty seven, rebuilt after a fire in nineteen "
     "eleven, and today more than forty thousand people pass through it on a normal day.",
     "the railway station was opened in eighteen fifty seven, rebuilt after the fire in "
     "nineteen "
     "twelve, and more than forty thousand people pass through it on a day."},
}};

/// Speech of a flite voice at its 16 kHz.
at::Tensor speak(const fs::path& folder, const std::string& voice, const std::string& text) {
  if (text.empty()) return at::zeros({1});
  const fs::path wav = folder / "speech.wav";
  const std::string command =
      "flite -voice " + voice + " -t '" + text + "' -o '" + wav.string() + "'";
  REQUIRE(std::system(command.c_str()) == 0);
  SF_INFO info = {};
  SNDFILE* file = sf_open(wav.c_str(), SFM_READ, &info);
  REQUIRE(file != nullptr);
  at::Tensor samples_S = at::empty({info.frames});
  sf_read_float(file, samples_S.data_ptr<float>(), info.frames);
  sf_close(file);
  return samples_S;
}

double seconds(const at::Tensor& samples_S) {
  return static_cast<double>(samples_S.numel()) / 16000;
}

AudioClip placed(const at::Tensor& samples_S, double start_s, double duration_s) {
  at::Tensor clip_S = at::zeros({static_cast<int64_t>(duration_s * 16000)});
  const auto first = static_cast<int64_t>(start_s * 16000);
  const int64_t count = std::min(samples_S.numel(), clip_S.numel() - first);
  clip_S.narrow(0, first, count).copy_(samples_S.narrow(0, 0, count));
  return {clip_S, 16000};
}

/// A rough stand-in for a codec: what is heard, with some noise on it.
AudioClip roughened(const AudioClip& clip) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(1);
  const at::Tensor noise_S = at::randn({clip.samples_S.numel()}, generator);
  return {clip.samples_S + noise_S * clip.samples_S.abs() * 0.3 + noise_S * 0.002, 16000};
}

std::vector<TokenMark> marks(const std::string& text, double start_s, double end_s) {
  std::vector<TokenMark> out;
  auto frame = static_cast<int64_t>(start_s / 0.08);
  out.push_back({frame++, TokenMark::Kind::kBos, ""});
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t half = word.size() > 6 ? 4 : word.size();
    out.push_back({frame++, TokenMark::Kind::kText, " " + word.substr(0, half)});
    if (half < word.size()) out.push_back({frame++, TokenMark::Kind::kText, word.substr(half)});
  }
  out.push_back({static_cast<int64_t>(end_s / 0.08), TokenMark::Kind::kEos, ""});
  return out;
}

ReportExample example(const fs::path& folder, size_t i) {
  const Line& line = kLines[i % kLines.size()];
  const at::Tensor asked_S = speak(folder, i % 2 == 0 ? "slt" : "awb", line.user);
  const at::Tensor planned_S = speak(folder, "rms", line.answer);
  const at::Tensor said_S = speak(folder, "rms", line.said);
  const double user_end_s = 0.5 + seconds(asked_S);
  const double planned_s = user_end_s + 0.24;
  // Some answer late, some begin while the user still speaks.
  const double said_s = user_end_s + (i % 5 == 3 ? -0.6 : 0.32 + 0.08 * static_cast<double>(i % 4));
  const double duration_s = said_s + std::max(seconds(planned_S), seconds(said_S)) + 1.2;

  ReportExample out;
  out.id = "dialogue-" + std::to_string(i);
  out.data_set = i % 3 == 0 ? "held_out_voices" : "held_out_slots";
  out.turns = {{false, 0.5, user_end_s, line.user},
               {true, planned_s, planned_s + seconds(planned_S), line.answer}};
  out.texts = {line.answer, line.said, line.said, line.answer, line.answer};
  if (i % 4 == 1) out.texts.heard_model = std::string(line.said) + " please";
  if (i % 6 == 4) out.texts.heard_round_trip = "all on monday the library open at nine";
  out.user = placed(asked_S, 0.5, duration_s);
  out.reference = placed(planned_S, planned_s, duration_s);
  out.round_trip = roughened(out.reference);
  out.answer = roughened(placed(said_S, said_s, duration_s));
  out.answer_tokens = marks(line.said, said_s, said_s + seconds(said_S));
  out.reference_tokens = marks(line.answer, planned_s, planned_s + seconds(planned_S));
  out.numbers = {{"text_loss", 0.3 + 0.1 * static_cast<double>(i % 7)}, {"audio_loss", 2.125}};
  return out;
}

void write_metrics(const fs::path& path) {
  std::ofstream file(path);
  for (int step = 1; step <= 2400; ++step) {
    const double x = step / 400.0;
    const double wobble = 1 + 0.1 * std::sin(step * 12.9898) * std::cos(step * 4.1);
    file << "{\"step\": " << step << ", \"loss\": " << (5 * std::exp(-x) + 0.4) * wobble
         << ", \"text_loss\": " << (3 * std::exp(-1.4 * x) + 0.1) * wobble
         << ", \"audio_loss\": " << (6 * std::exp(-0.8 * x) + 0.6) * wobble
         << ", \"grad_norm\": " << (40 * std::exp(-x) + 0.8) * wobble
         << ", \"learning_rate\": " << 1.5e-3 * std::min(1.0, step / 60.0) * (1 - step / 2500.0)
         << ", \"frames_per_s\": " << 900 * wobble << ", \"step_time_s\": " << 0.25 * wobble
         << "}\n";
    if (step % 300 != 0) continue;
    for (const char* set : {"held_out_voices", "held_out_slots"}) {
      file << "{\"step\": " << step << ", \"validation\": \"" << set
           << "\", \"loss\": " << 5 * std::exp(-x) + 0.7
           << ", \"txt_bleu\": " << 90 * (1 - std::exp(-x))
           << ", \"asr_bleu\": " << 80 * (1 - std::exp(-x)) << ", \"asr_wer\": " << std::exp(-x)
           << ", \"takeover_rate\": " << 1 - std::exp(-2 * x) << "}\n";
    }
  }
}

TEST_CASE("a sample report can be looked at" * doctest::skip()) {
  const char* target = std::getenv("S2S_REPORT_SAMPLE");
  REQUIRE(target != nullptr);
  const char* wanted = std::getenv("S2S_REPORT_EXAMPLES");
  const size_t num_examples = wanted ? std::stoul(wanted) : 12;
  const fs::path folder = target;
  ReportOptions options;
  options.metrics = test::built_metrics();
  ListeningReport report(folder, options);
  for (size_t i = 0; i < num_examples; ++i) report.add(example(folder, i));
  write_metrics(folder / "metrics.jsonl");
  ScoreTable speed;
  speed.title = "Speed";
  speed.columns = {"here"};
  speed.rows = {
      {"real-time factor", "seconds of speech per second", "", ScoreTable::Better::kHigher, {8.4}}};
  const ReportSummary summary = {"Listening report: demo",
                                 {{"checkpoint", "runs/demo/checkpoints/step=2400"},
                                  {"step", "2400"},
                                  {"config", "configs/demo.yaml"},
                                  {"model", "duplex, 8.6 M parameters"},
                                  {"codec", "8 codebooks at 12.5 frames a second"},
                                  {"commit", "0123abc"}},
                                 {speed},
                                 (folder / "metrics.jsonl").string()};
  MESSAGE(report.finish(summary).string());
  for (const auto& board : report.boards()) CHECK(board->num_examples() > 0);
}

}  // namespace
}  // namespace s2s
