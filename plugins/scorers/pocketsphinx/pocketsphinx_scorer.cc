#include "pocketsphinx_scorer.h"

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <sndfile.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>
#include <thread>

#include "bigram_model.h"
#include "pocketsphinx_errors.h"
#include "s2s/data/resample.h"
#include "s2s/foreign_text.h"

namespace s2s::pocketsphinx {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kRateHz = 16000;
/// The recognizer needs some silence before and after speech.
constexpr int64_t kLeadSamples = kRateHz / 5;
constexpr int64_t kTailSamples = kRateHz * 3 / 10;

void write_text(const fs::path& path, const std::string& text) {
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw cannot_write(path.string(), std::strerror(errno));
}

void write_wav(const fs::path& path, const at::Tensor& samples_S) {
  const at::Tensor padded_S =
      at::constant_pad_nd(samples_S.clamp(-1, 32767.0 / 32768), {kLeadSamples, kTailSamples})
          .contiguous();
  SF_INFO info = {};
  info.samplerate = static_cast<int>(kRateHz);
  info.channels = 1;
  info.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  SNDFILE* file = sf_open(path.c_str(), SFM_WRITE, &info);
  if (file == nullptr) throw cannot_write(path.string(), sf_strerror(nullptr));
  const sf_count_t count = padded_S.numel();
  const bool written = sf_write_float(file, padded_S.const_data_ptr<float>(), count) == count;
  if (sf_close(file) != 0 || !written) throw cannot_write(path.string(), "could not be written");
}

/// The words of a text in lower case. Words consist of letters and apostrophes; other characters
/// separate them.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool part = (lower >= 'a' && lower <= 'z') || lower == '\'' ||
                      (static_cast<unsigned char>(lower) & 0x80U) != 0;
    if (part) {
      word += lower;
    } else if (!word.empty()) {
      words.push_back(std::move(word));
      word.clear();
    }
  }
  return words;
}

std::string text_of(const std::filesystem::path& path) {
  try {
    return read_small_file(path.string());
  } catch (const std::system_error&) {
    throw model_missing(path.string());
  }
}

/// Pronunciations of the words that can be recognized.
struct Dictionary {
  std::string lines;  // entries of the requested words, in the file's format
  std::set<std::string> words;
};

/// Reads the entries of `wanted` from a dictionary in CMU's format. Errors: [scorer/model].
Dictionary read_dictionary(const std::filesystem::path& path, const std::set<std::string>& wanted) {
  std::istringstream in(text_of(path));
  Dictionary dictionary;
  for (std::string line; std::getline(in, line);) {
    // Alternative pronunciations are written as "word(2)".
    const std::string word = line.substr(0, line.find_first_of(" \t("));
    if (wanted.count(word) == 0) continue;
    dictionary.lines += line + "\n";
    dictionary.words.insert(word);
  }
  return dictionary;
}

std::string clip_name(size_t i) { return fmt::format("{:06}", i); }

/// Writes the clips that are not silent as WAV files at 16 kHz. Returns their indices.
std::vector<size_t> write_clips(const std::vector<AudioClip>& clips, const fs::path& folder) {
  std::map<int64_t, Resampler> resamplers;
  std::vector<size_t> written;
  for (size_t i = 0; i < clips.size(); ++i) {
    const at::Tensor samples_S = clips[i].samples_S.to(at::kCPU, at::kFloat);
    if (samples_S.numel() == 0 || samples_S.abs().max().item<float>() < 1e-4F) continue;
    const int64_t rate = clips[i].sample_rate_hz;
    const auto resampler = resamplers.try_emplace(rate, rate, kRateHz).first;
    write_wav(folder / (clip_name(i) + ".wav"), resampler->second(samples_S));
    written.push_back(i);
  }
  return written;
}

/// Reads lines "words of the clip (NAME SCORE)".
void read_hypotheses(const fs::path& path, std::vector<std::string>& texts) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
  std::istringstream in(read_small_file(path.string()));
  for (std::string line; std::getline(in, line);) {
    const size_t open = line.rfind('(');
    if (open == std::string::npos) continue;
    const auto i = static_cast<size_t>(std::atoll(line.c_str() + open + 1));
    std::string text = line.substr(0, open);
    while (!text.empty() && text.back() == ' ') text.pop_back();
    if (i < texts.size()) texts[i] = text;
  }
}

std::string list_some(const std::set<std::string>& words) {
  std::string all;
  size_t count = 0;
  for (const std::string& word : words) {
    if (++count > 20) return all + ", ...";
    all += (all.empty() ? "" : ", ") + word;
  }
  return all;
}

/// Adds a text to the model; unknown words split it.
void add_text(BigramModel& model, const Sentence& words, const std::set<std::string>& known) {
  const auto is_known = [&](const std::string& word) { return known.count(word) != 0; };
  if (std::all_of(words.begin(), words.end(), is_known)) {
    model.add(words);
    return;
  }
  Sentence part;
  for (const std::string& word : words) {
    if (is_known(word)) {
      part.push_back(word);
    } else {
      model.add_part(part);
      part.clear();
    }
  }
  model.add_part(part);
}

}  // namespace

PocketsphinxScorer::~PocketsphinxScorer() = default;

void PocketsphinxScorer::prepare(const std::vector<std::string>& texts) {
  program_ = find_program(options_.program);
  if (program_.empty()) throw program_missing(options_.program);
  const fs::path model = options_.model;
  if (!fs::exists(model / "en-us" / "mdef")) throw model_missing((model / "en-us").string());
  std::vector<Sentence> sentences;
  std::set<std::string> wanted;
  for (const std::string& text : texts) {
    sentences.push_back(words_of(text));
    wanted.insert(sentences.back().begin(), sentences.back().end());
  }
  const Dictionary dictionary = read_dictionary(model / "cmudict-en-us.dict", wanted);
  BigramModel bigrams(options_.discount);
  for (const Sentence& sentence : sentences) add_text(bigrams, sentence, dictionary.words);
  if (bigrams.empty()) throw nothing_to_expect();

  notes_.clear();
  std::set<std::string> unknown;
  std::set_difference(wanted.begin(), wanted.end(), dictionary.words.begin(),
                      dictionary.words.end(), std::inserter(unknown, unknown.end()));
  if (!unknown.empty()) {
    notes_.push_back(
        fmt::format("{} of {} words are not in the scorer's "
                    "dictionary and cannot be recognized: {}",
                    unknown.size(), wanted.size(), list_some(unknown)));
  }
  folder_ = std::make_unique<TemporaryFolder>();
  write_text(folder_->path() / "domain.lm", bigrams.arpa());
  write_text(folder_->path() / "domain.dict", dictionary.lines);
}

std::vector<std::string> PocketsphinxScorer::command(const fs::path& folder, size_t part) const {
  const std::string files = (folder / ("part" + std::to_string(part))).string();
  return {program_,
          "-hmm",
          (fs::path(options_.model) / "en-us").string(),
          "-dict",
          (folder_->path() / "domain.dict").string(),
          "-lm",
          (folder_->path() / "domain.lm").string(),
          "-adcin",
          "yes",
          "-adchdr",
          "44",
          "-cepdir",
          folder.string(),
          "-cepext",
          ".wav",
          "-ctl",
          files + ".ctl",
          "-hyp",
          files + ".hyp"};
}

std::vector<std::string> PocketsphinxScorer::transcribe(const std::vector<AudioClip>& clips) {
  S2S_ASSERT(folder_ != nullptr, "prepare is called before transcribe");
  const TemporaryFolder audio;
  const std::vector<size_t> written = write_clips(clips, audio.path());
  std::vector<std::string> texts(clips.size());
  if (written.empty()) return texts;
  const auto wanted = static_cast<size_t>(
      options_.workers > 0 ? options_.workers : std::max(1U, std::thread::hardware_concurrency()));
  const size_t parts = std::min(wanted, written.size());
  std::vector<std::string> lists(parts);
  for (size_t n = 0; n < written.size(); ++n) lists[n % parts] += clip_name(written[n]) + "\n";
  std::vector<std::unique_ptr<Process>> processes;
  for (size_t p = 0; p < parts; ++p) {
    const fs::path stem = audio.path() / ("part" + std::to_string(p));
    write_text(stem.string() + ".ctl", lists[p]);
    processes.push_back(
        std::make_unique<Process>(command(audio.path(), p), stem.string() + ".log"));
  }
  for (size_t p = 0; p < parts; ++p) {
    processes[p]->wait(std::chrono::duration<double>(options_.timeout_s));
    read_hypotheses(audio.path() / ("part" + std::to_string(p) + ".hyp"), texts);
  }
  return texts;
}

}  // namespace s2s::pocketsphinx
