// Imports what `input_cfg` reads: NeMo's manifests, and mixtures of several sources.

#include <filesystem>

#include "convert/convert_errors.h"
#include "convert/source_files.h"
#include "cuts/cut_files.h"
#include "streams/input_stream.h"

namespace s2s::convert {
namespace {

namespace fs = std::filesystem;

class InputImport : public Importer {
 public:
  InputImport(const Config& block, const ImportOptions& options);
  std::optional<Piece> next() override;
  void rewind() override {
    stream_->rewind(0);
    last_error_.clear();
  }
  std::optional<int64_t> size() const override { return stream_->size(); }
  uint64_t fingerprint() const override { return fingerprint_; }

 private:
  data::StreamPtr stream_;
  std::string last_error_;
  uint64_t fingerprint_ = 0;
};

InputImport::InputImport(const Config& block, const ImportOptions& options) {
  data::InputContext context;
  context.path = "SOURCE";
  context.attributes.force_finite = true;
  context.attributes.keep_order = true;
  context.seed = [](const Config&, const std::string&) -> int64_t { return 0; };
  Findings findings;
  const data::InputNode node = data::parse_input(block, context, findings);
  findings.throw_if_any();
  stream_ = data::open_input_tree(node).stream;
  fingerprint_ = fingerprint_of({std::to_string(stream_->fingerprint())}, options);
}

/// A stream that gives the same error twice makes no progress and has ended.
std::optional<Piece> InputImport::next() {
  try {
    const auto item = stream_->next();
    if (!item) return std::nullopt;
    const data::CutPtr cut = data::cut_of(*item, *stream_);
    return Piece{cut->place(), [cut] { return std::vector<Cut>{*cut}; },
                 [cut] { return files::content_hash(to_json(*cut)); }};
  } catch (const Error& error) {
    if (error.what() == last_error_) return std::nullopt;
    last_error_ = error.what();
    throw;
  }
}

}  // namespace

std::unique_ptr<Importer> import_nemo(const std::string& manifest, const ImportOptions& options) {
  Config block = Config::map();
  block["manifest_filepath"] = Config::scalar(fs::absolute(manifest).string(), /*quoted=*/true);
  return std::make_unique<InputImport>(block, options);
}

std::unique_ptr<Importer> import_input_cfg(const std::string& file, const ImportOptions& options) {
  Config block = Config::map();
  block["input_cfg"] = Config::scalar(fs::absolute(file).string(), /*quoted=*/true);
  return std::make_unique<InputImport>(block, options);
}

}  // namespace s2s::convert
