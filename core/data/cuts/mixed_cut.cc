#include "cuts/mixed_cut.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "s2s/data/frames.h"
#include "s2s/error.h"

namespace s2s::data {

std::vector<const MixTrack*> audible_tracks(const Cut& mix) {
  std::vector<const MixTrack*> tracks;
  for (const MixTrack& track : mix.tracks) {
    if (!track.mute) tracks.push_back(&track);
  }
  if (!tracks.empty()) return tracks;
  for (const MixTrack& track : mix.tracks) tracks.push_back(&track);
  return tracks;
}

const MixTrack& first_data_track(const Cut& mix) {
  S2S_ASSERT(!mix.tracks.empty(), "a mixed cut has tracks");
  const std::vector<const MixTrack*> tracks = audible_tracks(mix);
  const auto data = std::find_if(tracks.begin(), tracks.end(), [](const MixTrack* track) {
    return track->cut->kind != Cut::Kind::kPadding;
  });
  return data == tracks.end() ? *tracks.front() : **data;
}

void change_first_track(Cut& mix, const std::function<void(Cut&)>& change) {
  const MixTrack* const first = &first_data_track(mix);
  for (MixTrack& track : mix.tracks) {
    if (&track != first) continue;
    Cut changed = *track.cut;
    if (changed.kind == Cut::Kind::kMixed) {
      change_first_track(changed, change);
    } else {
      change(changed);
    }
    track.cut = std::make_shared<const Cut>(std::move(changed));
  }
  update_mixed(mix);
}

void update_mixed(Cut& mix) {
  mix.supervisions.clear();
  mix.start_s = 0;
  double end_s = 0;
  for (const MixTrack* track : audible_tracks(mix)) {
    end_s = std::max(end_s, track->offset_s + track->cut->duration_s);
    for (Supervision turn : track->cut->supervisions) {
      turn.start_s = round_time(turn.start_s + track->offset_s);
      mix.supervisions.push_back(std::move(turn));
    }
  }
  mix.duration_s = round_time(end_s);
}

}  // namespace s2s::data
