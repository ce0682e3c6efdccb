#include "cuts/cut_files.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/atomic_file.h"
#include "base/foreign_json.h"
#include "cuts/cut_json.h"
#include "cuts/cuts_errors.h"
#include "files/line_reader.h"

namespace s2s {
namespace {

/// Beyond this many findings one fixes the program that wrote the manifest, not its lines.
constexpr size_t kMaxFindings = 20;

using PlaceById = std::unordered_map<std::string, std::string>;

void remember_id(const Cut& cut, PlaceById& seen) {
  const std::string place = fmt::format("{}:{}", cut.manifest, cut.line);
  const auto [it, is_new] = seen.emplace(cut.id, place);
  if (!is_new) throw cuts_errors::duplicate_id(cut.place(), it->second);
}

void read_manifest(const std::string& path, PlaceById& seen, CutManifest& manifest,
                   Findings& findings) {
  data::Leniencies leniencies;
  data::LineReader reader(path);
  for (std::string line; findings.errors().size() < kMaxFindings && reader.next(line);) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    try {
      Cut cut = data::parse_cut(line, path, reader.line(), leniencies);
      remember_id(cut, seen);
      resolve_paths(cut);
      manifest.cuts.push_back(std::move(cut));
    } catch (const Error& error) {
      findings.add(error);
    }
  }
  if (leniencies.recordings_with_path > 0) {
    manifest.warnings.push_back(
        fmt::format("{}: {} recordings have 'path' in place of 'sources'; read as one mono file, "
                    "but lhotse refuses them",
                    path, leniencies.recordings_with_path));
  }
  if (leniencies.cuts_without_type > 0) {
    manifest.warnings.push_back(
        fmt::format("{}: {} cuts have no 'type'; read as MonoCut, but "
                    "lhotse refuses them",
                    path, leniencies.cuts_without_type));
  }
}

namespace fs = std::filesystem;

std::string resolved(const std::string& path, const std::string& manifest) {
  const fs::path given(path);
  if (given.is_absolute() || path.starts_with("pipe:")) return path;
  const fs::path beside = fs::path(manifest).parent_path() / given;
  std::error_code ignored;
  if (!fs::exists(beside, ignored) && fs::exists(given, ignored)) return path;
  return beside.lexically_normal().string();
}

/// A transform may hold the recording, or cut, of an impulse response.
void resolve(std::vector<AudioTransform>& transforms, const std::string& manifest) {
  for (AudioTransform& transform : transforms) {
    if (transform.name != "ReverbWithImpulseResponse") continue;
    auto arguments = try_parse_foreign_json<nlohmann::ordered_json>(transform.kwargs.text);
    if (!arguments.is_object() || !arguments["rir"].is_object()) continue;
    auto& response = arguments["rir"];
    auto& recording = response.contains("recording") ? response["recording"] : response;
    if (!recording.is_object() || !recording["sources"].is_array()) continue;
    for (auto& source : recording["sources"]) {
      if (source.is_object() && source.value("type", "") == "file" &&
          source["source"].is_string()) {
        source["source"] = resolved(source["source"].get<std::string>(), manifest);
      }
    }
    transform.kwargs.text = arguments.dump();
  }
}

void resolve(Recording& recording, const std::string& manifest) {
  for (AudioSource& source : recording.sources) {
    if (source.type == AudioSource::Type::kFile) source.source = resolved(source.source, manifest);
  }
  resolve(recording.transforms, manifest);
}

constexpr size_t kBufferBytes = size_t{1} << 18;

bool has_audio_in_memory(const Recording& recording) {
  return std::any_of(recording.sources.begin(), recording.sources.end(),
                     [](const auto& source) { return source.type == AudioSource::Type::kMemory; });
}

bool has_audio_in_memory(const Cut& cut) {
  if (cut.recording && has_audio_in_memory(*cut.recording)) return true;
  for (const auto& [name, value] : cut.custom) {
    const auto* recording = std::get_if<Recording>(&value);
    if (recording != nullptr && has_audio_in_memory(*recording)) return true;
  }
  return std::any_of(cut.tracks.begin(), cut.tracks.end(),
                     [](const MixTrack& track) { return has_audio_in_memory(*track.cut); });
}

}  // namespace

CutManifest read_cuts(const std::vector<std::string>& paths) {
  CutManifest manifest;
  Findings findings;
  PlaceById seen;
  for (const std::string& path : paths) {
    try {
      read_manifest(path, seen, manifest, findings);
    } catch (const Error& error) {
      findings.add(error);
    }
  }
  findings.throw_if_any();
  if (manifest.cuts.empty()) throw cuts_errors::empty(paths);
  return manifest;
}

void resolve_paths(Cut& cut) {
  for (MixTrack& track : cut.tracks) {
    Cut changed = *track.cut;
    resolve_paths(changed);
    track.cut = std::make_shared<const Cut>(std::move(changed));
  }
  resolve(cut.transforms, cut.manifest);
  if (cut.recording) resolve(*cut.recording, cut.manifest);
  for (auto& [name, value] : cut.custom) {
    if (auto* recording = std::get_if<Recording>(&value)) resolve(*recording, cut.manifest);
  }
}

/// Bytes on their way into a file, compressed or not.
struct ManifestWriter::File {
 public:
  explicit File(const std::string& path) : file_(path), gzip_(path.ends_with(".gz")) {
    constexpr int kGzipHeader = 16 + MAX_WBITS;
    if (gzip_ && deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipHeader, 8,
                              Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::runtime_error("zlib cannot begin to compress");
    }
  }
  ~File() {
    if (gzip_) deflateEnd(&stream_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void add(std::string_view text) {
    pending_ += text;
    if (pending_.size() >= kBufferBytes) flush(Z_NO_FLUSH);
  }

  void commit() {
    flush(Z_FINISH);
    file_.commit();
  }

 private:
  void flush(int how) {
    if (!gzip_) {
      file_.write(pending_);
      pending_.clear();
      return;
    }
    std::string packed(kBufferBytes, '\0');
    stream_.next_in = reinterpret_cast<Bytef*>(pending_.data());
    stream_.avail_in = static_cast<uInt>(pending_.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(packed.data());
      stream_.avail_out = static_cast<uInt>(packed.size());
      deflate(&stream_, how);
      file_.write(packed.data(), packed.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
    pending_.clear();
  }

  AtomicFile file_;
  bool gzip_;
  z_stream stream_{};
  std::string pending_;
};

ManifestWriter::ManifestWriter(const std::string& path) : file_(std::make_unique<File>(path)) {}
ManifestWriter::~ManifestWriter() = default;

void ManifestWriter::add(std::string line) {
  S2S_ASSERT(file_ != nullptr, "nothing is written after close");
  line += '\n';
  file_->add(line);
  ++num_lines_;
}

void ManifestWriter::write(const Cut& cut) {
  if (has_audio_in_memory(cut)) throw cuts_errors::audio_in_memory(cut);
  add(to_json(cut));
}

void ManifestWriter::write(const Recording& recording) { add(to_json(recording)); }
void ManifestWriter::write(const Supervision& supervision) { add(to_json(supervision)); }

void ManifestWriter::close() {
  file_->commit();
  file_.reset();
}

}  // namespace s2s
