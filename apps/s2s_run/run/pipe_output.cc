#include "s2s_run/run/pipe_output.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/io_errors.h"
#include "base/standard_output.h"
#include "base/utf8_reader.h"

namespace s2s::run {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

/// The bytes of `text` before a character that more tokens may complete.
size_t whole_bytes(std::string_view text) {
  while (text.ends_with(kReplacement)) text.remove_suffix(kReplacement.size());
  size_t at = 0;
  while (at < text.size()) {
    const Utf8Character character = first_character(text.substr(at));
    if (character.kind == Utf8Character::kCut) break;
    at += character.num_bytes;
  }
  return at;
}

template <class T>
void append_number(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

}  // namespace

std::string GrowingText::news(size_t end) {
  if (end <= num_given_) return "";
  const std::string text = text_.substr(num_given_, end - num_given_);
  num_given_ = end;
  return text;
}

std::string GrowingText::add(const std::vector<int64_t>& tokens) {
  const size_t num_before = decoded_.size();
  const int64_t pad = tokenizer_.special_ids().pad;
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(decoded_),
               [&](int64_t id) { return id != pad; });
  if (decoded_.size() == num_before) return "";  // mostly silence: nothing is decoded
  const std::string before = text_.substr(0, num_given_);
  std::string text = tokenizer_.decode(decoded_);
  if (!text.starts_with(before)) return "";
  text_ = std::move(text);
  return news(whole_bytes(text_));
}

std::string GrowingText::finish() {
  const std::string before = text_.substr(0, num_given_);
  text_ = tokenizer_.decode(decoded_);
  return text_.starts_with(before) ? news(text_.size()) : "";
}

void PipeOutput::write(std::string_view bytes) {
  const size_t size = bytes.size();
  const int reason = write_standard_output(bytes, is_open_);
  num_bytes_ += static_cast<int64_t>(size - bytes.size());
  if (reason != 0) throw write_error("standard output", "cannot write", reason);
}

void PipeOutput::write_line(const nlohmann::ordered_json& line) {
  write(line.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

std::string wav_header(int64_t sample_rate_hz, int64_t num_bytes) {
  constexpr uint16_t kPcm = 1, kOneChannel = 1, kSampleBytes = 2;
  constexpr int64_t kLargest = 0xFFFFFFFF, kRest = 36;
  const bool is_known = num_bytes >= 0 && num_bytes <= kLargest - kRest;
  const auto rate = static_cast<uint32_t>(sample_rate_hz);
  std::string header = "RIFF";
  append_number(header, static_cast<uint32_t>(is_known ? num_bytes + kRest : kLargest));
  header += "WAVEfmt ";
  append_number(header, uint32_t{16});
  append_number(header, kPcm);
  append_number(header, kOneChannel);
  append_number(header, rate);
  append_number(header, rate * kSampleBytes);
  append_number(header, kSampleBytes);
  append_number(header, static_cast<uint16_t>(8 * kSampleBytes));
  header += "data";
  append_number(header, static_cast<uint32_t>(is_known ? num_bytes : kLargest));
  return header;
}

std::string pcm_of(const at::Tensor& samples_S) {
  const at::Tensor scaled_S = samples_S.detach().to(at::kCPU, at::kFloat).clamp(-1, 1) * 32767.0F;
  const at::Tensor whole_S = scaled_S.round().to(at::kShort).contiguous();
  std::string bytes(static_cast<size_t>(whole_S.numel()) * sizeof(int16_t), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), whole_S.const_data_ptr<int16_t>(), bytes.size());
  return bytes;
}

}  // namespace s2s::run
