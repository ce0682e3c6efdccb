// generate --prompt: speech of a model that speaks a given text.

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "audio/wave_file.h"
#include "base/atomic_file.h"
#include "base/io_errors.h"
#include "s2s/foreign_text.h"
#include "s2s/nn/full_precision.h"
#include "s2s_run/new_output.h"
#include "s2s_run/run/generate.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

std::string wav_name(size_t number) { return fmt::format("{:03}.wav", number); }

/// Rows of channels, padded with the last token of each, which is silent.
at::Tensor padded_rows(const std::vector<at::Tensor>& channels) {
  int64_t width = 0;
  for (const at::Tensor& channel_N : channels) width = std::max(width, channel_N.size(0));
  std::vector<at::Tensor> rows;
  for (const at::Tensor& channel_N : channels) {
    const int64_t missing = width - channel_N.size(0);
    rows.push_back(at::cat({channel_N, channel_N.slice(0, -1).expand({missing})}));
  }
  return at::stack(rows);
}

/// The codes [K, N] of each text.
std::vector<at::Tensor> codes_of(SpeaksText& model, const std::vector<std::string>& texts,
                                 at::Device device) {
  Batch batch;
  batch.ids = texts;
  const auto [voices_BS, lengths_B] = model.voices_of(batch);
  std::vector<at::Tensor> channels;
  for (const std::string& text : texts) channels.push_back(model.channel_of(text));
  const auto speech = model.open_speech(voices_BS.to(device), lengths_B.to(device));
  const at::Tensor codes_BKN = speech->push(padded_rows(channels).to(device)).transpose(1, 2);
  std::vector<at::Tensor> codes;
  for (size_t i = 0; i < texts.size(); ++i) {
    codes.push_back(codes_BKN[static_cast<int64_t>(i)].slice(1, 0, channels[i].size(0)));
  }
  return codes;
}

}  // namespace

SpokenFiles::SpokenFiles(const GenerateArguments& arguments, const std::string& type, size_t count,
                         int64_t sample_rate_hz)
    : arguments_(arguments), sample_rate_hz_(sample_rate_hz) {
  if (arguments.output.empty()) throw_no_input(type, "--output FOLDER");
  const fs::path folder = arguments.output;
  std::vector<std::string> files = {(folder / "answers.jsonl").string()};
  for (size_t i = 0; i < count; ++i) files.push_back((folder / wav_name(i)).string());
  require_new(files, arguments.force);
  make_folders(arguments.output);
  lines_.open(files[0]);
}

void SpokenFiles::add(const std::string& prompt, const at::Tensor& audio_S,
                      const nlohmann::ordered_json& more, const std::string& note) {
  const fs::path folder = arguments_.output;
  const std::string name = wav_name(next_++), file = (folder / name).string();
  const double seconds =
      static_cast<double>(audio_S.size(0)) / static_cast<double>(sample_rate_hz_);
  write_wave(file, audio_S, sample_rate_hz_);
  nlohmann::ordered_json line = {{"prompt", prompt}, {"output", name}, {"seconds", seconds}};
  line.update(more);
  // Texts of command lines need not be whole characters.
  lines_ << line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
         << std::endl;
  if (!lines_) throw write_error((folder / "answers.jsonl").string(), "cannot write", errno);
  if (arguments_.json) return print_json_line(line);
  fmt::print("{}\n  speech: {} ({:.2f} s{})\n", printable(prompt), printable_name(file), seconds,
             note);
}

void speak_prompts(const GenerateArguments& arguments, const std::string& type, SpeaksText& model,
                   at::Device device) {
  const std::vector<std::string> prompts = prompts_of(arguments, type);
  SpokenFiles files(arguments, type, prompts.size(), model.codec().shape().sample_rate_hz);
  const at::NoGradGuard no_grad;
  const auto step = static_cast<size_t>(arguments.batch_size);
  for (size_t begin = 0; begin < prompts.size(); begin += step) {
    const size_t end = std::min(begin + step, prompts.size());
    const std::vector<std::string> texts(prompts.begin() + static_cast<std::ptrdiff_t>(begin),
                                         prompts.begin() + static_cast<std::ptrdiff_t>(end));
    const std::vector<at::Tensor> codes = codes_of(model, texts, device);
    for (size_t i = begin; i < end; ++i) {
      const FullPrecision full_precision;
      files.add(prompts[i], model.codec().decode(codes[i - begin].unsqueeze(0)).squeeze(0));
    }
  }
}

}  // namespace s2s::run
