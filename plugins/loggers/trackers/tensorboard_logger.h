#pragma once
// TensorBoard's event files.

#include <memory>
#include <optional>
#include <string>

#include "proto_message.h"
#include "record_file.h"
#include "s2s/kinds/logger.h"
#include "s2s/options.h"

namespace s2s::trackers {

struct TensorboardOptions {
  std::optional<std::string> save_dir;
  std::string sub_dir, prefix, filename_suffix;
  double flush_secs = 120;
  void visit(OptionVisitor& v) {
    v("save_dir", save_dir, "folder of the event files; null: the run folder");
    v("sub_dir", sub_dir, "folder below save_dir");
    v("prefix", prefix, "put before each tag, with a hyphen");
    v("filename_suffix", filename_suffix, "appended to the names of the event files");
    v("flush_secs", flush_secs, "maximum age of events that are not in the file yet, in seconds",
      at_least(0));
  }
};

/// CRC-32C, rotated by 15 bits, plus a constant. Source: tensorflow/core/lib/hash/crc32c.h.
uint32_t masked_crc32c(std::string_view bytes);

/// A record of a TFRecord file: length, its checksum, data, its checksum. Source:
/// tensorflow/core/lib/io/record_writer.cc.
std::string tf_record(std::string_view data);

/// Each process of a run writes one file, whose name ends with the id of the run. A resumed run
/// cuts the earlier files after its checkpoint's step, and its own begins with SessionLog START at
/// the first step that it repeats: a TensorBoard that has read these steps drops them.
class TensorboardLogger : public RunLogger {
 public:
  explicit TensorboardLogger(TensorboardOptions options) : options_(std::move(options)) {}
  void start(const LoggedRun& run) override;
  void log(int64_t step, const std::map<std::string, double>& values) override;
  void log_text(int64_t step, const std::string& tag, const std::string& text) override;
  void log_audio(int64_t step, const std::string& tag, const LoggedAudio& audio) override;
  void log_image(int64_t step, const std::string& tag, const LoggedImage& image) override;
  void log_histogram(int64_t step, const std::string& tag,
                     const LoggedHistogram& histogram) override;
  void flush() override { file_->flush(); }
  void finish(bool is_complete) override;

 private:
  /// An event with one field in addition to time and step.
  void add_event(int64_t step, uint32_t field, const ProtoMessage& content);
  void add_value(int64_t step, const ProtoMessage& value);
  void add_hyper_parameters(const LoggedRun& run);
  std::string tag_of(const std::string& name) const;

  TensorboardOptions options_;
  std::unique_ptr<RecordFile> file_;
};

}  // namespace s2s::trackers
