#include "s2s_run/run/recording_groups.h"

#include <ATen/ATen.h>

#include <utility>

#include "audio/wave_file.h"

namespace s2s::run {
namespace {

constexpr int64_t kRate_hz = 16000;  // recognizers resample it, if theirs is another

/// Recordings that are read and not recognized yet.
class RecordingGroup {
 public:
  /// Errors: those of read_channels; then the group is as before.
  void read(const std::string& path) {
    const std::vector<at::Tensor> channels = read_channels(path, kRate_hz);
    RecordingTranscript recording = {path, {}, ""};
    for (const at::Tensor& samples_S : channels) {
      const double duration_s = static_cast<double>(samples_S.numel()) / kRate_hz;
      recording.channels.push_back(
          {static_cast<int64_t>(recording.channels.size()), duration_s, {}});
      clips_.push_back({samples_S, kRate_hz});
      audio_s_ += duration_s;
    }
    recordings_.push_back(std::move(recording));
  }

  void leave_out(const std::string& path, const Error& error) {
    recordings_.push_back({path, {}, error.what()});
  }

  bool is_full(const GroupLimits& limits) const {
    return static_cast<int64_t>(clips_.size()) >= limits.num_clips || audio_s_ >= limits.audio_s;
  }

  std::vector<RecordingTranscript> recognized(Scorer& recognizer) && {
    std::vector<Transcript> found;
    if (!clips_.empty()) found = recognizer.transcripts(clips_);
    size_t next = 0;
    for (RecordingTranscript& recording : recordings_) {
      for (ChannelTranscript& channel : recording.channels) {
        channel.transcript = std::move(found[next++]);
      }
    }
    return std::move(recordings_);
  }

 private:
  std::vector<RecordingTranscript> recordings_;
  std::vector<AudioClip> clips_;
  double audio_s_ = 0;
};

}  // namespace

int64_t recognize_in_groups(std::span<const std::string> files, Scorer& recognizer,
                            const GroupLimits& limits, const GroupEvents& events) {
  int64_t done = 0;
  RecordingGroup group;
  const auto finish = [&] {
    const auto recordings = std::exchange(group, {}).recognized(recognizer);
    if (recordings.empty()) return;
    events.recognized(recordings);
    done += static_cast<int64_t>(recordings.size());
  };
  for (const std::string& file : files) {
    if (events.stops()) return done;
    try {
      group.read(file);
    } catch (const Error& error) {
      if (!events.leaves_out(error)) {
        finish();
        throw;
      }
      group.leave_out(file, error);
    }
    if (group.is_full(limits)) finish();
  }
  if (!events.stops()) finish();
  return done;
}

}  // namespace s2s::run
