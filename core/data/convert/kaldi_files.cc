#include "convert/kaldi_files.h"

#include <filesystem>
#include <sstream>
#include <utility>

#include "base/number_text.h"
#include "base/text.h"
#include "convert/convert_errors.h"
#include "files/line_reader.h"

namespace s2s::convert {
namespace {

/// With more problems the file is not Kaldi's, and the problems would fill the memory.
constexpr size_t kMostProblems = 10'000;

/// Errors: the problem itself if there are kMostProblems already.
void add_problem(std::vector<Error>& problems, Error problem) {
  if (problems.size() >= kMostProblems) throw problem;
  problems.push_back(std::move(problem));
}

}  // namespace

KaldiFile::KaldiFile(const std::string& path, std::vector<Error>& problems) : path_(path) {
  std::error_code ignored;
  exists_ = std::filesystem::exists(path, ignored);
  if (!exists_) return;
  data::LineReader file(path);
  for (std::string text; file.next(text);) {
    text = stripped(text, kPythonBlanks);
    if (text.empty()) continue;
    const size_t blank = text.find_first_of(kPythonBlanks);
    KaldiLine line{text.substr(0, blank), "", file.line()};
    if (blank != std::string::npos) line.value = stripped(text.substr(blank), kPythonBlanks);
    const auto [first, is_new] = by_key_.try_emplace(line.key, lines_.size());
    if (!is_new) {
      add_problem(problems, convert_errors::duplicate_id(place(line), line.key,
                                                         place(lines_[first->second])));
      continue;
    }
    lines_.push_back(std::move(line));
  }
}

const KaldiLine* KaldiFile::find(const std::string& key) const {
  const auto it = by_key_.find(key);
  return it == by_key_.end() ? nullptr : &lines_[it->second];
}

std::optional<std::string> KaldiFile::value(const std::string& key) const {
  const KaldiLine* line = find(key);
  return line == nullptr ? std::nullopt : std::optional(line->value);
}

std::string KaldiFile::place(const KaldiLine& line) const {
  return path_ + ":" + std::to_string(line.line);
}

std::unordered_map<std::string, std::vector<KaldiSegment>> kaldi_segments(
    const KaldiFile& segments, const KaldiFile& recordings, std::vector<Error>& problems) {
  std::unordered_map<std::string, std::vector<KaldiSegment>> by_recording;
  for (const KaldiLine& line : segments.lines()) {
    const std::string place = segments.place(line);
    std::istringstream fields(line.value);
    std::string recording, start_text, end_text, more;
    fields >> recording >> start_text >> end_text;
    const auto start_s = read_number<double>(start_text);
    const auto end_s = read_number<double>(end_text);
    if (!start_s || !end_s || fields >> more) {
      add_problem(problems, convert_errors::kaldi_line(place, line.key + " " + line.value,
                                                       "UTTERANCE RECORDING START END"));
    } else if (recordings.find(recording) == nullptr) {
      add_problem(problems, convert_errors::kaldi_missing(place, recording, recordings.path()));
    } else {
      KaldiSegment segment{line.key, *start_s, end_s, place};
      if (*end_s == -1) segment.end_s.reset();
      by_recording[recording].push_back(std::move(segment));
    }
  }
  return by_recording;
}

}  // namespace s2s::convert
