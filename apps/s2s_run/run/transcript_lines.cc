#include "s2s_run/run/transcript_lines.h"

#include <algorithm>
#include <filesystem>

#include "files/source_state.h"

namespace s2s::run {
namespace {

namespace fs = std::filesystem;

/// The state of the recordings that are done, with one more.
uint64_t with_recording(uint64_t done, const std::string& path) {
  files::SourceState state;
  state.add(done);
  state.add(path);
  state.add_file(path);
  return state.value();
}

bool is_stream(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

bool has_content(const std::string& path) {
  std::error_code failed;
  return fs::file_size(path, failed) > 0 && !failed;
}

}  // namespace

TranscriptLines::TranscriptLines(const std::string& output, uint64_t job,
                                 const std::vector<std::string>& files)
    : files_(files) {
  if (output.empty()) return;
  if (is_stream(output)) {
    stream_ = std::make_unique<AtomicFile>(output);
  } else {
    begin_part(output, job);
  }
}

void TranscriptLines::begin_part(const std::string& output, uint64_t job) {
  partial_path_ = output + ".part";
  const bool was_there = has_content(partial_path_);
  part_ = std::make_unique<convert::PartFile>(output, job);
  const convert::PartState& state = part_->state();
  uint64_t source = 0;
  const auto num_before = std::min(static_cast<size_t>(state.pieces), files_.size());
  for (size_t i = 0; i < num_before; ++i) source = with_recording(source, files_[i]);
  const bool goes_on =
      static_cast<size_t>(state.pieces) == num_before && source == state.source && num_before > 0;
  if (goes_on) {
    num_before_ = state.pieces;
  } else {
    part_->begin_anew();
    has_begun_anew_ = was_there;
  }
}

TranscriptLines::~TranscriptLines() {
  // The command ended before its first recording.
  if (part_ && part_->state().pieces == 0) part_->discard();
}

int64_t TranscriptLines::num_left_out_before() const {
  return part_ ? static_cast<int64_t>(part_->state().skipped.size()) : 0;
}

void TranscriptLines::add(const std::string& lines, const std::string& problem) {
  if (!part_) {
    waiting_ += lines;
    return;
  }
  convert::PartState& state = part_->state();
  part_->append(lines);
  state.source = with_recording(state.source, files_[static_cast<size_t>(state.pieces)]);
  ++state.pieces;
  if (!problem.empty()) state.skipped.push_back(problem);
}

void TranscriptLines::flush() {
  if (part_) {
    part_->checkpoint();
  } else if (stream_) {
    stream_->write(waiting_);
  } else {
    pipe_.write(escaper_.add(waiting_));
  }
  waiting_.clear();
}

void TranscriptLines::finish() {
  if (part_) {
    part_->commit();
    part_.reset();
  }
  if (stream_) stream_->commit();
}

}  // namespace s2s::run
