#include "scorer.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "program.h"
#include "s2s/data/resample.h"
#include "s2s/error.h"
#include "s2s/foreign_text.h"
#include "s2s/nn/weights.h"

namespace PLUGIN_NAME {
namespace {

namespace fs = std::filesystem;

s2s::Error no_program(const std::string& place, const std::string& program) {
  return {s2s::ExitCode::kConfig, "PLUGIN_NAME/program",
          place + ".program = '" + program +
              "'; expected the path of an executable file; correct it, or chmod +x the file"};
}

s2s::Error bad_lines(const std::string& program, size_t given, size_t wanted) {
  return {
      s2s::ExitCode::kCheckFailed, "PLUGIN_NAME/lines",
      program + " printed " + std::to_string(given) + " lines for " + std::to_string(wanted) +
          " files; expected one per file, empty if no words were recognized; correct the program"};
}

s2s::Error cannot_write(const std::string& path) {
  return {s2s::ExitCode::kData, "PLUGIN_NAME/write",
          path + " cannot be written: " + std::strerror(errno) +
              "; expected free space for the clips; set TMPDIR to a folder with free space"};
}

/// A new temporary folder. The destructor removes it and its content.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "PLUGIN_NAME-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw cannot_write(name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

void write(const std::string& path, const std::string& bytes) {
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  out.close();
  if (!out) throw cannot_write(path);
}

/// The bytes of a number in a WAV file. Only for little-endian machines.
template <class T>
std::string bytes_of(T number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

/// samples_S: float32 in [-1, 1] -> 16-bit mono.
std::string wave_of(const at::Tensor& samples_S, int64_t sample_rate_hz) {
  const at::Tensor pcm_S = (samples_S.clamp(-1, 1) * 32767).round().to(at::kShort).contiguous();
  const auto size = static_cast<uint32_t>(pcm_S.numel() * 2);
  const auto rate = static_cast<uint32_t>(sample_rate_hz);
  std::string wave = "RIFF" + bytes_of<uint32_t>(36 + size) + "WAVEfmt " + bytes_of<uint32_t>(16);
  wave += bytes_of<uint16_t>(1) + bytes_of<uint16_t>(1);  // PCM, one channel
  wave += bytes_of(rate) + bytes_of(rate * 2);            // bytes per second
  wave += bytes_of<uint16_t>(2) + bytes_of<uint16_t>(16) + "data" + bytes_of(size);
  return wave.append(static_cast<const char*>(pcm_S.const_data_ptr()), size);
}

std::vector<std::string> lines_of(const std::string& path) {
  std::istringstream in(s2s::read_small_file(path));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

void Scorer::prepare(const std::vector<std::string>&) {
  std::error_code ignored;
  const bool is_file = fs::is_regular_file(options_.program, ignored);
  if (!is_file || access(options_.program.c_str(), X_OK) != 0)
    throw no_program(place_, options_.program);
  notes_ = {"transcribed by " + options_.program};
}

std::vector<std::string> Scorer::transcribe(const std::vector<s2s::AudioClip>& clips) {
  const TemporaryFolder folder;
  std::string list;
  std::vector<size_t> shown;
  for (size_t i = 0; i < clips.size(); ++i) {
    const at::Tensor samples_S = clips[i].samples_S.to(at::kCPU, at::kFloat);
    if (samples_S.numel() == 0) continue;
    if (samples_S.abs().max().item<double>() < options_.quietest) continue;
    const std::string file = folder.file(std::to_string(i) + ".wav");
    const auto heard_S = s2s::resample(samples_S, clips[i].sample_rate_hz, options_.sample_rate);
    write(file, wave_of(heard_S, options_.sample_rate));
    list += file + "\n";
    shown.push_back(i);
  }
  std::vector<std::string> texts(clips.size());
  if (shown.empty()) return texts;
  const ProgramFiles files{folder.file("list"), folder.file("texts"), folder.file("log")};
  write(files.input, list);
  run_program(options_.program, files, options_.timeout_s);
  const std::vector<std::string> lines = lines_of(files.output);
  if (lines.size() != shown.size()) {
    throw bad_lines(options_.program, lines.size(), shown.size());
  }
  for (size_t i = 0; i < shown.size(); ++i) texts[shown[i]] = lines[i];
  return texts;
}

std::unique_ptr<s2s::Scorer> create(const s2s::Config& options, const s2s::ScorerContext& context) {
  auto read = s2s::read_options<Options>(options, context.path);
  read.program = fs::path(s2s::resolve_path(read.program, context.base_dir)).lexically_normal();
  return std::make_unique<Scorer>(read, context.path);
}

}  // namespace PLUGIN_NAME
