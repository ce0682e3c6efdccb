// Encodes recordings of cuts for Shar.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "audio/encode_audio.h"
#include "cuts/cut_files.h"
#include "cuts/mixed_cut.h"
#include "files/byte_file.h"
#include "files/tar_index.h"
#include "s2s/data/frames.h"
#include "shar/shar_errors.h"
#include "shar/shar_fields.h"

namespace s2s::data {
namespace {

std::string first_bytes(const AudioSource& source) {
  constexpr size_t kBytes = 64;
  switch (source.type) {
    case AudioSource::Type::kMemory:
      return source.bytes->substr(0, kBytes);
    case AudioSource::Type::kSharPointer:
      return files::read_shar_pointer({source.source, source.begin, source.end, ""})
          .substr(0, kBytes);
    case AudioSource::Type::kFile: {
      const files::DiskFile file(source.source, "an audio file");
      return file.read_text(0, std::min(kBytes, static_cast<size_t>(file.size())));
    }
    default:
      return "";
  }
}

std::string original_format(const Cut& cut, const SharField& field, const Recording& recording) {
  std::string format;
  if (!recording.sources.empty()) format = format_of_audio(first_bytes(recording.sources[0]));
  if (format.empty()) {
    throw shar_errors::field_value(cut.place(), field.name,
                                   "has audio whose original format is not known");
  }
  return format;
}

bool is_whole(const Cut& cut, const SharField& field) {
  return cut.custom_flag(field.name + "_unaligned");
}

/// Returns the manifest of the written audio: the cut's part and channels, without transforms.
Recording placeholder(const Cut& cut, const SharField& field, const Recording& recording,
                      std::vector<int64_t> channels) {
  Recording stored = recording;
  stored.transforms.clear();
  AudioSource source;
  source.type = AudioSource::Type::kShar;
  source.channels = channels;
  stored.sources = {source};
  stored.channel_ids = std::move(channels);
  if (is_whole(cut, field)) return stored;  // Lhotse writes the cut's duration here, too
  stored.duration_s = cut.duration_s;
  stored.num_samples = compute_num_samples(cut.duration_s, recording.sample_rate_hz);
  return stored;
}

std::vector<int64_t> written_channels(const Cut& cut, const SharField& field,
                                      const Recording& recording) {
  if (field.name == "recording") return cut.channels;
  const auto chosen = cut.custom_integers(field.name + "_channel_selector");
  return chosen.empty() ? recording.all_channels() : chosen;
}

/// Returns the manifest of a mix. Its channels are set when its samples are known.
Recording mixed_recording(const Cut& mix) {
  Recording recording;
  recording.id = mix.id;
  recording.sample_rate_hz = mix.sample_rate_hz();
  recording.duration_s = mix.duration_s;
  recording.num_samples = compute_num_samples(mix.duration_s, recording.sample_rate_hz);
  return recording;
}

std::vector<int64_t> numbered(int64_t count) {
  std::vector<int64_t> channels(static_cast<size_t>(count));
  std::iota(channels.begin(), channels.end(), int64_t{0});
  return channels;
}

}  // namespace

Cut mix_as_recording(const Cut& mix) {
  Cut cut;
  cut.id = mix.id;
  cut.duration_s = mix.duration_s;
  cut.supervisions = mix.supervisions;
  cut.custom = first_data_track(mix).cut->custom;
  cut.recording = mixed_recording(mix);
  cut.manifest = mix.manifest;
  cut.line = mix.line;
  return cut;
}

std::string format_of_audio(std::string_view first_bytes) {
  const auto begins = [&](std::string_view magic) { return first_bytes.starts_with(magic); };
  if (begins("RIFF") || begins("RF64")) return "wav";
  if (begins("fLaC")) return "flac";
  if (begins("OggS")) {
    return first_bytes.find("OpusHead") == std::string_view::npos ? "ogg" : "opus";
  }
  const bool is_mpeg = first_bytes.size() > 1 && first_bytes[0] == '\xff' &&
                       (static_cast<unsigned char>(first_bytes[1]) & 0xE0) == 0xE0;
  return begins("ID3") || is_mpeg ? "mp3" : "";
}

std::optional<SharItem> shar_recording(const Cut& cut, const SharField& field, CutAudio& audio) {
  const bool is_main = field.name == "recording";
  std::optional<Recording> main = cut.recording;
  const bool is_mix = is_main && cut.kind == Cut::Kind::kMixed;
  if (is_mix) main = mixed_recording(cut);
  const Recording* const recording =
      is_main ? (main ? &*main : nullptr) : cut.find_recording(field.name);
  if (recording == nullptr) return std::nullopt;
  at::Tensor samples_CS = is_main ? audio.load(cut) : audio.load_custom(cut, field.name);
  const std::string format =
      field.format == "original" ? original_format(cut, field, *recording) : field.format;
  const Recording left =
      placeholder(cut, field, *recording,
                  is_mix ? numbered(samples_CS.size(0)) : written_channels(cut, field, *recording));
  Recording stored = left;
  stored.sample_rate_hz = rate_to_encode(format, recording->sample_rate_hz);
  if (stored.sample_rate_hz != recording->sample_rate_hz) {
    samples_CS = is_main ? audio.load(cut, stored.sample_rate_hz)
                         : audio.load_custom(cut, field.name, stored.sample_rate_hz);
    stored.num_samples = compute_num_samples(stored.duration_s, stored.sample_rate_hz);
  }
  SharItem item;
  item.extension = field.format;
  item.data = encode_audio(samples_CS, stored.sample_rate_hz, format);
  item.manifest = to_json(stored) + "\n";
  item.placeholder = left;
  return item;
}

}  // namespace s2s::data
