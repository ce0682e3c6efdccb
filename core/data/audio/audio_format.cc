#include "audio/audio_format.h"

#include <sndfile.h>

namespace s2s::data {
namespace {

struct Format {
  const char* name;
  int major, minor;
};

constexpr Format kFormats[] = {
    {"wav", SF_FORMAT_WAV, SF_FORMAT_PCM_16},     {"wav_float", SF_FORMAT_WAV, SF_FORMAT_FLOAT},
    {"flac", SF_FORMAT_FLAC, SF_FORMAT_PCM_16},   {"mp3", SF_FORMAT_MPEG, SF_FORMAT_MPEG_LAYER_III},
    {"opus", SF_FORMAT_OGG, SF_FORMAT_OPUS},      {"ogg", SF_FORMAT_OGG, SF_FORMAT_VORBIS},
    {"wavex", SF_FORMAT_WAVEX, SF_FORMAT_PCM_16}, {"w64", SF_FORMAT_W64, SF_FORMAT_PCM_16},
    {"rf64", SF_FORMAT_RF64, SF_FORMAT_PCM_16},   {"aiff", SF_FORMAT_AIFF, SF_FORMAT_PCM_16},
    {"au", SF_FORMAT_AU, SF_FORMAT_PCM_16},       {"caf", SF_FORMAT_CAF, SF_FORMAT_PCM_16},
    {"nist", SF_FORMAT_NIST, SF_FORMAT_PCM_16},   {"gsm", SF_FORMAT_RAW, SF_FORMAT_GSM610},
};

}  // namespace

std::string audio_format_name(int format) {
  const int major = format & SF_FORMAT_TYPEMASK, minor = format & SF_FORMAT_SUBMASK;
  for (const Format& known : kFormats) {
    const bool same_kind =
        major != SF_FORMAT_OGG || (minor == SF_FORMAT_OPUS) == (known.minor == SF_FORMAT_OPUS);
    if (known.major == major && same_kind) return known.name;
  }
  return "unknown";
}

int audio_format_number(const std::string& name) {
  for (const Format& known : kFormats) {
    if (name == known.name) return known.major | known.minor;
  }
  return 0;
}

std::string audio_format_names() {
  std::string names;
  for (const Format& known : kFormats)
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

}  // namespace s2s::data
