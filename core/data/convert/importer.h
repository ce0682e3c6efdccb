#pragma once
// Imports: recordings and texts of other formats, one piece after the other, as cuts that train a
// duplex model.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"

namespace s2s::convert {

/// What becomes of a pair whose two files differ in length by more than half a second.
enum class Lengths { kError, kShorter };

struct ImportOptions {
  std::string from;           // name of an import; "": told from the source
  std::string user = "user";  // folder, part of a file name, label of a transcript
  std::string agent = "agent";
  int64_t user_channel = 1;  // of stereo files
  int64_t agent_channel = 0;
  std::string main_speaker = "SPEAKER_MAIN";  // the agent's label in transcripts
  double pause_s = 0.5;                       // words further apart than that are two turns
  Lengths lengths = Lengths::kError;
  std::string supervisions;    // lhotse: manifest of supervisions
  int64_t sample_rate_hz = 0;  // kaldi: of all recordings; 0: read from the files
  std::string user_suffix;     // kaldi: "-A" and "-B" join two recordings into one cut
  std::string agent_suffix;
  std::string language;        // of all turns; "": none
  std::string decoder;         // path of ffmpeg; "": what only it reads is left out
  std::string decoded_folder;  // for what it makes of recordings
};

/// A file, a line or a recording: what cuts are made of, independent of the others.
struct Piece {
  std::string place;                       // file, or file:line
  std::function<std::vector<Cut>()> make;  // thread-safe. Errors: one for a bad piece
  /// What `make` reads, as files/source_state.h knows it; reads and runs nothing else. Thread-safe.
  std::function<uint64_t()> state = {};
};

class Importer {
 public:
  virtual ~Importer() = default;
  Importer() = default;
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  /// The next piece, in an order that depends on the source only; nothing at the end.
  /// Errors: of a bad line, after which `next` goes on with the line behind it.
  virtual std::optional<Piece> next() = 0;
  /// Begins again with the first piece, and reads the source again where it was read before.
  virtual void rewind() = 0;
  /// Number of pieces, if that is known.
  virtual std::optional<int64_t> size() const { return std::nullopt; }
  /// Changes with the names of the source's files.
  virtual uint64_t fingerprint() const = 0;
};

/// Names of imports.
std::vector<std::string> import_names();

/// The import that suits `source`, judged by the names of its files and, of a file, its first line.
/// Errors: [data/convert-source], [data/missing-file].
std::string detect_import(const std::string& source, const ImportOptions& options);

/// Errors: [data/convert-source], [data/missing-file], and those of the files that an import has to
/// read first.
std::unique_ptr<Importer> open_importer(const std::string& source, const ImportOptions& options);

// The imports; `open_importer` chooses.
std::unique_ptr<Importer> import_wave_pairs(const std::string& folder, const ImportOptions&);
std::unique_ptr<Importer> import_stereo(const std::string& source, const ImportOptions&);
std::unique_ptr<Importer> import_kaldi(const std::string& folder, const ImportOptions&);
std::unique_ptr<Importer> import_lhotse(const std::string& recordings, const ImportOptions&);
std::unique_ptr<Importer> import_nemo(const std::string& manifest, const ImportOptions&);
std::unique_ptr<Importer> import_input_cfg(const std::string& file, const ImportOptions&);

}  // namespace s2s::convert
