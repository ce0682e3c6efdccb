// Loggers.

#include <functional>

#include "answers.h"

namespace s2s::conformance {
namespace {

using MakeLogger = std::function<std::unique_ptr<RunLogger>()>;

/// 16-bit mono, 100 samples of silence at 8 kHz.
std::string small_wav() {
  const auto number = [](uint32_t value, int num_bytes) {
    std::string bytes;
    for (int i = 0; i < num_bytes; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
    return bytes;
  };
  return "RIFF" + number(236, 4) + "WAVEfmt " + number(16, 4) + number(1, 2) + number(1, 2) +
         number(8000, 4) + number(16000, 4) + number(2, 2) + number(16, 2) + "data" +
         number(200, 4) + std::string(200, '\0');
}

/// One white pixel.
std::string small_png() {
  const unsigned char bytes[] = {
      0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
      0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00,
      0x00, 0x3a, 0x7e, 0x9b, 0x55, 0x00, 0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78,
      0x9c, 0x63, 0xf8, 0x0f, 0x00, 0x01, 0x01, 0x01, 0x00, 0xb1, 0x38, 0xf6, 0x14, 0x00,
      0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
  return {reinterpret_cast<const char*>(bytes), sizeof(bytes)};
}

LoggedRun small_run(const std::string& folder, int64_t steps_done) {
  LoggedRun run;
  run.id = "a1b2c3d4";
  run.name = "conformance";
  run.folder = folder;
  run.steps_done = steps_done;
  run.max_steps = 4;
  run.config_yaml = "trainer: {max_steps: 4}\n";
  run.hyper_parameters = {{"trainer.max_steps", "4"}};
  return run;
}

LoggedHistogram small_histogram() {
  LoggedHistogram histogram;
  histogram.min = -1;
  histogram.max = 1;
  histogram.sum_of_squares = 2;
  histogram.counts = {1, 1};
  histogram.limits = {0, 1};
  return histogram;
}

/// The calls of a run, from the step after `steps_done` on.
class LoggerCalls {
 public:
  LoggerCalls(RunLogger& logger, Questions& questions) : logger_(logger), questions_(questions) {}

  void run(const std::string& folder, int64_t steps_done, int64_t last_step, bool is_complete) {
    call("start", [&] { logger_.start(small_run(folder, steps_done)); });
    for (int64_t step = steps_done + 1; step <= last_step; ++step) {
      call("log", [&] { logger_.log(step, {{"loss", 1.0 / static_cast<double>(step)}}); });
    }
    call("log, of other values", [&] {
      logger_.log(last_step, {{"val_dev/loss", 0.5}, {"val_dev/wer", 1}});
    });
    const std::string tag = "val_dev/0/answer";
    call("log_text", [&] { logger_.log_text(last_step, tag, "\"one\", \xc3\xa9\n<two>"); });
    call("log_audio", [&] { logger_.log_audio(last_step, tag, {small_wav(), 8000, 100}); });
    call("log_image", [&] { logger_.log_image(last_step, tag, {small_png(), 1, 1}); });
    call("log_histogram", [&] { logger_.log_histogram(last_step, tag, small_histogram()); });
    call("flush", [&] { logger_.flush(); });
    call("finish", [&] { logger_.finish(is_complete); });
  }

 private:
  template <class Call>
  void call(const char* name, const Call& body) {
    try {
      body();
    } catch (const std::exception& error) {
      questions_.ask(false, std::string(name) + " throws: " + error.what());
    }
  }

  RunLogger& logger_;
  Questions& questions_;
};

}  // namespace

Answers broken_promises(const MakeLogger& make, const std::string& folder) {
  Questions questions;
  LoggerCalls(*make(), questions).run(folder, 0, 3, /*is_complete=*/false);
  LoggerCalls(*make(), questions).run(folder, 2, 4, /*is_complete=*/true);
  return questions.take();
}

}  // namespace s2s::conformance
