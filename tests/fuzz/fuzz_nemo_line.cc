// Any bytes as a line of a NeMo manifest: refused with a message, or an entry whose fields can be
// asked for and kept with a cut.

#include <cstddef>
#include <cstdint>
#include <string>

#include "cuts/cut_files.h"
#include "s2s/error.h"
#include "streams/nemo_cut.h"
#include "streams/nemo_entry.h"

namespace {

namespace data = s2s::data;

/// As NemoManifestStream makes one of an entry that says how long its audio is.
s2s::Cut cut_of(const data::NemoEntry& entry) {
  s2s::Recording recording;
  recording.id = data::nemo_audio_path(entry.audio_filepath(), entry.file);
  recording.sample_rate_hz = 16000;
  recording.num_samples = 160000;
  recording.duration_s = 10;
  recording.channel_ids = {0};
  recording.sources = {{s2s::AudioSource::Type::kFile, {0}, recording.id}};
  s2s::Cut cut = data::whole_cut(std::move(recording));
  const double offset_s = entry.number("offset").value_or(0);
  data::take_stretch(cut, offset_s, entry.number("duration").value_or(10), entry.place());
  cut.supervisions.push_back(data::whole_turn(cut, entry, {}));
  cut.custom = data::custom_fields(entry.json, {"audio_filepath", "duration", "offset"});
  return cut;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string line(reinterpret_cast<const char*>(data), size);
  try {
    const data::NemoEntry entry = data::parse_nemo_entry(line, "fuzz", 1);
    entry.is_skipped();
    entry.text("lang");
    const std::string json = s2s::to_json(cut_of(entry));
    if (json.find('\n') != std::string::npos) __builtin_trap();  // one line of a manifest
  } catch (const s2s::Error&) {                                  // what a user would read
  }
  return 0;
}
