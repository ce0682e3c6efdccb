#include "observers/run_loggers.h"

#include <fmt/format.h>

#include "eval/report/audio_encoding.h"
#include "eval/report/spectrogram.h"
#include "train/run_folder.h"

namespace s2s {
namespace {

/// val_NAME_SET of each set and val_NAME, the mean over the sets that have the metric.
std::map<std::string, double> values_of(const ValidationReport& report) {
  std::map<std::string, double> values;
  std::map<std::string, std::pair<double, double>> sums;
  for (const auto& [set, metrics] : report.sets) {
    for (const auto& [name, value] : metrics) {
      values["val_" + name + "_" + set] = value;
      sums[name].first += value;
      sums[name].second += 1;
    }
  }
  for (const auto& [name, sum] : sums) values.try_emplace("val_" + name, sum.first / sum.second);
  return values;
}

/// A big-endian number of a PNG file.
int64_t number_at(const std::string& png, size_t at) {
  int64_t number = 0;
  for (size_t i = at; i < at + 4; ++i)
    number = number * 256 + static_cast<unsigned char>(png.at(i));
  return number;
}

/// Width and height follow the signature and the head of the first chunk. Source: ISO/IEC 15948.
LoggedImage image_of(std::string png) {
  const int64_t width = number_at(png, 16), height = number_at(png, 20);
  return {std::move(png), width, height};
}

/// The texts of an example in Markdown.
std::string text_of(const ValidationExample& example) {
  std::string text = "**" + example.id + "**";
  for (const auto& [name, words] : example.texts) text += "\n\n" + name + ": " + words;
  return text;
}

}  // namespace

RunLoggers::RunLoggers(std::vector<NamedLogger> loggers,
                       std::function<void(const std::string&)> warn)
    : loggers_(std::move(loggers)), warn_(std::move(warn)) {}

void RunLoggers::start(const LoggedRun& run) {
  max_steps_ = run.max_steps;
  each([&](RunLogger& logger) { logger.start(run); });
}

void RunLoggers::on_step(const StepReport& report) {
  if (loggers_.empty()) return;
  std::map<std::string, double> values;
  for (const auto& [name, value] : numbers_of(report)) {
    if (name != "step") values[name == "loss" ? "train_loss" : name] = value;
  }
  log(report.step + 1, values);
}

void RunLoggers::on_validation(const ValidationReport& report) {
  if (loggers_.empty()) return;
  log(report.step, values_of(report));
  std::map<std::string, int64_t> num_logged;
  for (const ValidationExample& example : report.examples) {
    log_example(report.step, fmt::format("val_{}/{}/", example.set, num_logged[example.set]++),
                example);
  }
  for (const auto& [name, histogram] : report.histograms) {
    each([&, &name = name, &histogram = histogram](RunLogger& logger) {
      logger.log_histogram(report.step, "parameters/" + name, histogram);
    });
  }
}

void RunLoggers::log_example(int64_t step, const std::string& tag,
                             const ValidationExample& example) {
  each([&](RunLogger& logger) { logger.log_text(step, tag + "text", text_of(example)); });
  for (const auto& [name, clip] :
       {std::pair("user", &example.user), std::pair("answer", &example.answer)}) {
    if (!clip->samples_S.defined() || clip->samples_S.numel() == 0) continue;
    const LoggedAudio audio = {encode_audio(*clip, AudioEncoding::kWav), clip->sample_rate_hz,
                               clip->samples_S.numel()};
    const LoggedImage image = image_of(spectrogram_png(*clip));
    each([&, &name = name](RunLogger& logger) {
      logger.log_audio(step, tag + name, audio);
      logger.log_image(step, tag + name + "_spectrogram", image);
    });
  }
}

void RunLoggers::on_checkpoint(int64_t, const std::string&) { flush(); }

void RunLoggers::on_end(int64_t steps_done) {
  each([&](RunLogger& logger) { logger.finish(steps_done >= max_steps_); });
  flush();
}

void RunLoggers::log(int64_t step, const std::map<std::string, double>& values) {
  each([&](RunLogger& logger) { logger.log(step, values); });
}

void RunLoggers::flush() {
  each([](RunLogger& logger) { logger.flush(); });
}

void RunLoggers::each(const std::function<void(RunLogger&)>& call) {
  std::erase_if(loggers_, [&](const NamedLogger& named) {
    try {
      call(*named.logger);
      return false;
    } catch (const std::exception& error) {
      warn_(fmt::format("logger {}: {}\n  it receives no further values from this run", named.name,
                        error.what()));
      return true;
    }
  });
}

}  // namespace s2s
