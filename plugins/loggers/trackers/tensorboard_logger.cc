#include "tensorboard_logger.h"

#include <unistd.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <cstdlib>
#include <filesystem>

#include "plain_value.h"

namespace s2s::trackers {
namespace {

// Fields of Event, Summary.Value and what is in them. Source: tensorboard/compat/proto.
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
constexpr uint32_t kTag = 1, kSimpleValue = 2, kImage = 4, kHisto = 5, kAudio = 6, kTensor = 8,
                   kMetadata = 9;
constexpr int64_t kSessionStart = 1;
constexpr int64_t kDtFloat = 1, kDtString = 7;
constexpr int64_t kRgb = 3;
constexpr int64_t kClassTensor = 2;
constexpr int64_t kStatusSuccess = 1, kStatusRunning = 3;

constexpr char kPrefixOfFiles[] = "events.out.tfevents.";
/// Of a record, in addition to its data.
constexpr size_t kRecordBytes = 16;
/// No sound or picture of a run is larger.
constexpr size_t kMaxEventBytes = size_t{1} << 30;

/// TensorBoard reads the files of a folder in the order of their names, which begin with their
/// time in seconds: two processes of a run must not share one.
int64_t next_time_s(const std::string& folder) {
  auto time_s = static_cast<int64_t>(unix_time_s());
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefixOfFiles)) continue;
    time_s = std::max<int64_t>(time_s, std::atoll(name.c_str() + sizeof kPrefixOfFiles - 1) + 1);
  }
  return time_s;
}

/// The step of an event with a summary; -1 for others.
int64_t summary_step(std::string_view event) {
  int64_t step = 0;
  for (const ProtoField& field : proto_fields(event)) {
    if (field.number == kStep) step = static_cast<int64_t>(field.integer);
    if (field.number == kSummary) return step;
  }
  return -1;
}

/// Cuts an event file before its first event of a later step, and before a record that a crash has
/// cut off.
void cut_events(const std::string& path, int64_t steps_done) {
  InputFile file(path);
  size_t at = 0;
  while (at + kRecordBytes <= file.size()) {
    const std::string head(file.read(at, kRecordBytes - 4));
    uint64_t length = 0;
    for (size_t i = 8; i-- > 0;) length = length << 8U | static_cast<uint8_t>(head.at(i));
    const std::string_view of_length = std::string_view(head).substr(0, 8);
    const bool is_whole = head.substr(8) == little_endian_bytes(masked_crc32c(of_length), 4);
    if (!is_whole || length > std::min(file.size() - at - kRecordBytes, kMaxEventBytes)) break;
    if (summary_step(file.read(at + kRecordBytes - 4, length)) > steps_done) break;
    at += kRecordBytes + length;
  }
  if (at < file.size()) std::filesystem::resize_file(path, at);
}

/// A tensor of one element. Field 5: float_val, 8: string_val.
ProtoMessage tensor_of_one(int64_t dtype) {
  ProtoMessage tensor;
  tensor.integer(1, dtype).message(
      2, ProtoMessage().message(2, ProtoMessage().integer(1, 1)));  // shape.dim.size
  return tensor;
}

ProtoMessage metadata_of(const char* plugin, const ProtoMessage& content, int64_t data_class) {
  ProtoMessage metadata;
  metadata.message(1, ProtoMessage().text(1, plugin).message(2, content));
  if (data_class != 0) metadata.integer(4, data_class);
  return metadata;
}

/// A value of the hparams plugin. Source: tensorboard/plugins/hparams/plugin_data.proto.
ProtoMessage hparams_value(const char* tag, uint32_t field, const ProtoMessage& content) {
  const ProtoMessage data = ProtoMessage().integer(1, 0).message(field, content);
  return ProtoMessage()
      .text(kTag, std::string("_hparams_/") + tag)
      .message(kTensor, tensor_of_one(kDtFloat).float32(5, 0))
      .message(kMetadata, metadata_of("hparams", data, 0));
}

/// A google.protobuf.Value.
ProtoMessage struct_value(const PlainValue& value) {
  ProtoMessage out;
  if (const bool* truth = std::get_if<bool>(&value)) return out.integer(4, *truth ? 1 : 0);
  if (const double* number = std::get_if<double>(&value)) return out.number(2, *number);
  return out.text(3, std::get<std::string>(value));
}

/// DATA_TYPE_STRING, _BOOL or _FLOAT64.
int64_t data_type(const PlainValue& value) {
  return std::holds_alternative<bool>(value) ? 2 : std::holds_alternative<double>(value) ? 3 : 1;
}

}  // namespace

uint32_t masked_crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  const auto checksum = static_cast<uint32_t>(crc.checksum());
  return ((checksum >> 15U) | (checksum << 17U)) + 0xA282EAD8U;
}

std::string tf_record(std::string_view data) {
  const std::string length = little_endian_bytes(data.size(), 8);
  std::string record = length + little_endian_bytes(masked_crc32c(length), 4);
  record.append(data) += little_endian_bytes(masked_crc32c(data), 4);
  return record;
}

std::string TensorboardLogger::tag_of(const std::string& name) const {
  return prefixed(options_.prefix, name);
}

void TensorboardLogger::start(const LoggedRun& run) {
  std::string folder = options_.save_dir.value_or(run.folder);
  if (!options_.sub_dir.empty()) folder += "/" + options_.sub_dir;
  std::filesystem::create_directories(folder);
  const std::string ending = "." + run.id + options_.filename_suffix;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool is_of_run = name.starts_with(kPrefixOfFiles) && name.ends_with(ending);
    if (is_of_run) cut_events(entry.path().string(), run.steps_done);
  }
  file_ = std::make_unique<RecordFile>(folder + "/" + kPrefixOfFiles +
                                           std::to_string(next_time_s(folder)) + "." + host_name() +
                                           "." + std::to_string(getpid()) + ending,
                                       options_.flush_secs);
  const ProtoMessage version =
      ProtoMessage().number(kWallTime, unix_time_s()).text(kFileVersion, "brain.Event:2");
  file_->append(tf_record(version.bytes()));
  add_event(run.steps_done + 1, kSessionLog, ProtoMessage().integer(1, kSessionStart));
  add_hyper_parameters(run);
  flush();
}

void TensorboardLogger::add_hyper_parameters(const LoggedRun& run) {
  ProtoMessage experiment, session;
  for (const auto& [name, text] : run.hyper_parameters) {
    const PlainValue value = plain_value(text);
    experiment.message(4, ProtoMessage().text(1, name).integer(4, data_type(value)));
    session.message(1, ProtoMessage().text(1, name).message(2, struct_value(value)));
  }
  for (const char* metric : {"train_loss", "val_loss"}) {
    experiment.message(5, ProtoMessage().message(1, ProtoMessage().text(2, tag_of(metric))));
  }
  session.text(4, run.name).number(5, unix_time_s());
  add_value(run.steps_done, hparams_value("experiment", 2, experiment));
  add_value(run.steps_done, hparams_value("session_start_info", 3, session));
  log_text(run.steps_done, "config", "```yaml\n" + run.config_yaml + "```\n");
}

void TensorboardLogger::add_event(int64_t step, uint32_t field, const ProtoMessage& content) {
  const ProtoMessage event =
      ProtoMessage().number(kWallTime, unix_time_s()).integer(kStep, step).message(field, content);
  file_->append(tf_record(event.bytes()));
}

void TensorboardLogger::add_value(int64_t step, const ProtoMessage& value) {
  add_event(step, kSummary, ProtoMessage().message(1, value));
}

void TensorboardLogger::log(int64_t step, const std::map<std::string, double>& values) {
  ProtoMessage summary;
  for (const auto& [name, value] : values) {
    summary.message(
        1,
        ProtoMessage().text(kTag, tag_of(name)).float32(kSimpleValue, static_cast<float>(value)));
  }
  add_event(step, kSummary, summary);
}

void TensorboardLogger::log_text(int64_t step, const std::string& tag, const std::string& text) {
  add_value(step, ProtoMessage()
                      .text(kTag, tag_of(tag) + "/text_summary")
                      .message(kTensor, tensor_of_one(kDtString).text(8, text))
                      .message(kMetadata, metadata_of("text", {}, kClassTensor)));
}

void TensorboardLogger::log_audio(int64_t step, const std::string& tag, const LoggedAudio& audio) {
  const ProtoMessage content = ProtoMessage()
                                   .float32(1, static_cast<float>(audio.sample_rate_hz))
                                   .integer(2, 1)
                                   .integer(3, audio.num_samples)
                                   .text(4, audio.wav)
                                   .text(5, "audio/wav");
  add_value(step, ProtoMessage().text(kTag, tag_of(tag)).message(kAudio, content));
}

void TensorboardLogger::log_image(int64_t step, const std::string& tag, const LoggedImage& image) {
  const ProtoMessage content = ProtoMessage()
                                   .integer(1, image.height)
                                   .integer(2, image.width)
                                   .integer(3, kRgb)
                                   .text(4, image.png);
  add_value(step, ProtoMessage().text(kTag, tag_of(tag)).message(kImage, content));
}

void TensorboardLogger::log_histogram(int64_t step, const std::string& tag,
                                      const LoggedHistogram& histogram) {
  // Leave out the empty intervals at both ends, but for one: TensorBoard draws from limit to limit.
  const std::vector<double>& counts = histogram.counts;
  size_t begin = 0, end = counts.size();
  while (begin + 1 < end && counts[begin] == 0 && counts[begin + 1] == 0) ++begin;
  while (end > begin + 1 && counts[end - 1] == 0) --end;
  const auto part = [&](const std::vector<double>& values) {
    const auto first = values.begin();
    return std::vector<double>(first + static_cast<std::ptrdiff_t>(begin),
                               first + static_cast<std::ptrdiff_t>(end));
  };
  double count = 0;
  for (const double in_interval : counts) count += in_interval;
  const ProtoMessage content = ProtoMessage()
                                   .number(1, histogram.min)
                                   .number(2, histogram.max)
                                   .number(3, count)
                                   .number(4, histogram.sum)
                                   .number(5, histogram.sum_of_squares)
                                   .numbers(6, part(histogram.limits))
                                   .numbers(7, part(counts));
  add_value(step, ProtoMessage().text(kTag, tag_of(tag)).message(kHisto, content));
}

void TensorboardLogger::finish(bool is_complete) {
  const ProtoMessage end = ProtoMessage()
                               .integer(1, is_complete ? kStatusSuccess : kStatusRunning)
                               .number(2, unix_time_s());
  add_value(0, hparams_value("session_end_info", 4, end));
}

}  // namespace s2s::trackers
