#pragma once
// Importers read recordings and texts of other formats, piece by piece, as cuts for a duplex model.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "s2s/data/cuts.h"

namespace s2s::convert {

/// What to do with a pair of files that differ in length by more than half a second.
enum class Lengths { kError, kShorter };

struct ImportOptions {
  std::string from;           // name of an import; "": detect it from the source
  std::string user = "user";  // folder, part of a file name, label of a transcript
  std::string agent = "agent";
  int64_t user_channel = 1;  // of stereo files
  int64_t agent_channel = 0;
  std::string main_speaker = "SPEAKER_MAIN";  // the agent's label in transcripts
  double pause_s = 0.5;  // words with a longer pause between them are two turns
  Lengths lengths = Lengths::kError;
  std::string supervisions;    // lhotse: manifest of supervisions
  int64_t sample_rate_hz = 0;  // kaldi: of all recordings; 0: from the files
  std::string user_suffix;     // kaldi: "-A" and "-B" join two recordings into one cut
  std::string agent_suffix;
  std::string language;        // set on all turns; "": none
  std::string decoder;         // path of ffmpeg; "": files that only ffmpeg reads are left out
  std::string decoded_folder;  // for recordings that ffmpeg decodes
};

/// A file, a line or a recording from which cuts are made, independent of other pieces.
struct Piece {
  std::string place;                       // file, or file:line
  std::function<std::vector<Cut>()> make;  // thread-safe; throws one error for a bad piece
  /// State of what `make` reads (files/source_state.h). It reads and runs nothing else.
  /// Thread-safe.
  std::function<uint64_t()> state = {};
};

class Importer {
 public:
  virtual ~Importer() = default;
  Importer() = default;
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  /// Returns the next piece, or nothing at the end. The order depends only on the source.
  /// Errors: of a bad line; the next call continues with the line after it.
  virtual std::optional<Piece> next() = 0;
  /// Begins again with the first piece. Reads the source again if it was read before.
  virtual void rewind() = 0;
  /// Number of pieces, if it is known.
  virtual std::optional<int64_t> size() const { return std::nullopt; }
  /// Changes when names of the source's files change.
  virtual uint64_t fingerprint() const = 0;
};

/// Names of imports.
std::vector<std::string> import_names();

/// Detects the import for `source` from the names of its files and, for a file, its first line.
/// Errors: [data/convert-source], [data/missing-file].
std::string detect_import(const std::string& source, const ImportOptions& options);

/// Errors: [data/convert-source], [data/missing-file], and those of files that an import has to
/// read first.
std::unique_ptr<Importer> open_importer(const std::string& source, const ImportOptions& options);

// The importers. `open_importer` chooses one of them.
std::unique_ptr<Importer> import_wave_pairs(const std::string& folder, const ImportOptions&);
std::unique_ptr<Importer> import_stereo(const std::string& source, const ImportOptions&);
std::unique_ptr<Importer> import_kaldi(const std::string& folder, const ImportOptions&);
std::unique_ptr<Importer> import_lhotse(const std::string& recordings, const ImportOptions&);
std::unique_ptr<Importer> import_nemo(const std::string& manifest, const ImportOptions&);
std::unique_ptr<Importer> import_input_cfg(const std::string& file, const ImportOptions&);

}  // namespace s2s::convert
