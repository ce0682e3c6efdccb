#include "weights/checkpoint_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

#include "base/foreign_json.h"
#include "base/io_errors.h"
#include "weights/safetensors_header.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

// For reading: ordered_json detects repeated keys by linear search, which is slow for many keys.
using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr const char* kFormat = "s2s.checkpoint";
constexpr int kVersion = 1;
constexpr const char* kChecksum = "checksum";
/// Larger than any known index: it has 30 bytes for each shard of a tensor.
constexpr size_t kMaxIndexBytes = size_t{1} << 30U;

/// Reads an integer that fits in 63 bits.
int64_t whole_number(const Json& json) {
  const bool is_whole = json.is_number_integer();
  if (!is_whole || (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX)) {
    throw std::invalid_argument("'" + json.dump() + "' is not an integer of 63 bits");
  }
  return json.get<int64_t>();
}

uint64_t count_of(const Json& json) {
  const int64_t count = whole_number(json);
  if (count < 0) throw std::invalid_argument("'" + json.dump() + "' is not a count");
  return static_cast<uint64_t>(count);
}

/// Reads a file name that stays within the folder.
std::string file_name(const Json& json) {
  const std::string text = json.get<std::string>();
  const std::filesystem::path name = text;
  const bool is_plain = !text.empty() && name.is_relative() && name.has_filename() &&
                        name.lexically_normal() == name && *name.begin() != ".." &&
                        *name.begin() != "." && text.find('\0') == std::string::npos;
  if (!is_plain || text == CheckpointIndex::kFile) {
    throw std::invalid_argument("'" + text + "' is not the name of a file in this folder");
  }
  return text;
}

OrderedJson runs_json(const std::vector<SpanRun>& runs) {
  OrderedJson list = OrderedJson::array();
  for (const SpanRun& run : runs) {
    if (run.repeat == 1) {
      list.push_back({run.begin, run.count});
    } else {
      list.push_back({run.begin, run.count, run.stride, run.repeat});
    }
  }
  return list;
}

std::vector<SpanRun> parse_runs(const Json& list) {
  std::vector<SpanRun> runs;
  for (const Json& item : list) {
    SpanRun run{whole_number(item.at(0)), whole_number(item.at(1)), 0, 1};
    if (item.size() > 2) {
      run.stride = whole_number(item.at(2));
      run.repeat = whole_number(item.at(3));
    }
    runs.push_back(run);
  }
  return runs;
}

OrderedJson group_json(const IndexGroup& group, const std::map<std::string, size_t>& file_numbers) {
  OrderedJson json = OrderedJson::object();
  auto& entries = json.get_ref<OrderedJson::object_t&>();  // the names are unique
  for (const auto& [name, tensor] : group) {
    OrderedJson shards = OrderedJson::array();
    for (const StoredShard& shard : tensor.shards) {
      shards.push_back({file_numbers.at(shard.file), runs_json(shard.runs)});
    }
    OrderedJson entry = {
        {"dtype", type_text(tensor.dtype)}, {"shape", tensor.sizes}, {"pieces", std::move(shards)}};
    entries.emplace_back(name, std::move(entry));
  }
  return json;
}

/// The checksum covers the text without the checksum, which is the last entry.
void check_checksum(const std::string& text, uint64_t expected) {
  const std::string end = fmt::format(",\"{}\":{}}}", kChecksum, expected);
  if (text.ends_with(end)) {
    const std::string rest = text.substr(0, text.size() - end.size()) + "}";
    if (checksum_of(rest.data(), rest.size()) == expected) return;
  }
  throw std::invalid_argument("its checksum does not match");
}

struct ListedFile {
  std::string name;
  uint64_t bytes = 0;
};

/// Returns the number of elements of the full tensor. Its size in bytes must fit in 63 bits, too.
int64_t count_of_tensor(const TensorEntry& tensor) {
  const auto width = static_cast<int64_t>(c10::elementSize(tensor.dtype));
  const std::optional<int64_t> numel = try_count_elements(tensor.sizes);
  if (!numel || *numel > std::numeric_limits<int64_t>::max() / width) {
    throw std::invalid_argument("the shape of a tensor is invalid");
  }
  return *numel;
}

TensorEntry parse_tensor(const Json& json, const std::vector<ListedFile>& files) {
  TensorEntry tensor;
  const auto dtype = type_of_text(json.at("dtype").get<std::string>());
  if (!dtype) throw std::invalid_argument("a tensor has an unknown dtype");
  tensor.dtype = *dtype;
  for (const Json& size : json.at("shape")) tensor.sizes.push_back(whole_number(size));
  const int64_t numel = count_of_tensor(tensor);
  int64_t left = numel;
  for (const Json& item : json.at("pieces")) {
    const ListedFile& file = files.at(count_of(item.at(0)));
    StoredShard shard{file.name, parse_runs(item.at(1))};
    if (!fits(shard.runs, numel)) throw std::invalid_argument("a shard exceeds its tensor");
    const int64_t elements = count_elements(shard.runs);
    if (static_cast<uint64_t>(elements) * c10::elementSize(tensor.dtype) > file.bytes) {
      throw std::invalid_argument("a shard is larger than its file");
    }
    // The time to process a tensor is proportional to its shards, so their total size is limited.
    if (elements > left) throw std::invalid_argument("shards have more elements than their tensor");
    left -= elements;
    tensor.shards.push_back(std::move(shard));
  }
  return tensor;
}

CheckpointIndex parse(const Json& json) {
  CheckpointIndex index;
  index.num_ranks = whole_number(json.at("num_ranks"));
  if (count_of(json.at("block_bytes")) != kChecksumBlockBytes) {
    throw std::invalid_argument("its block size is not supported");
  }
  std::vector<ListedFile> files;
  for (const Json& file : json.at("files")) {
    FileChecksums sums;
    sums.bytes = count_of(file.at("bytes"));
    const bool is_hex = parse_checksums(file.at("crc32").get<std::string>(), sums.blocks);
    const uint64_t blocks = (sums.bytes + kChecksumBlockBytes - 1) / kChecksumBlockBytes;
    if (!is_hex || sums.blocks.size() != blocks)
      throw std::invalid_argument("a list of checksums is invalid");
    files.push_back({file_name(file.at("name")), sums.bytes});
    const bool is_new = index.files.emplace(files.back().name, std::move(sums)).second;
    if (!is_new) throw std::invalid_argument("'" + files.back().name + "' is listed twice");
  }
  if (index.num_ranks < 1) throw std::invalid_argument("it has no ranks");
  for (const auto& [group, tensors] : json.at("tensors").items()) {
    IndexGroup& into = index.groups[group];
    for (const auto& [name, tensor] : tensors.items()) into[name] = parse_tensor(tensor, files);
  }
  return index;
}

}  // namespace

std::string rank_file_name(const std::string& group, int64_t rank, int64_t num_ranks) {
  if (num_ranks == 1) return group + ".safetensors";
  return fmt::format("{}-{:05}-of-{:05}.safetensors", group, rank, num_ranks);
}

void merge(CheckpointIndex& index, const CheckpointIndex& more) {
  index.files.insert(more.files.begin(), more.files.end());
  for (const auto& [group, tensors] : more.groups) {
    IndexGroup& into = index.groups[group];
    for (const auto& [name, tensor] : tensors) {
      const auto [place, is_new] = into.emplace(name, tensor);
      if (is_new) continue;
      auto& shards = place->second.shards;
      shards.insert(shards.end(), tensor.shards.begin(), tensor.shards.end());
    }
  }
}

std::string tiling_fault(const TensorEntry& tensor) {
  std::vector<TensorSpan> all;
  for (const StoredShard& shard : tensor.shards) {
    const std::vector<TensorSpan> spans = to_spans(shard.runs);
    all.insert(all.end(), spans.begin(), spans.end());
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  int64_t next = 0;
  for (const TensorSpan& span : all) {
    if (span.begin > next) return fmt::format("no rank has element {}", next);
    if (span.begin < next) return fmt::format("two ranks have element {}", span.begin);
    next += span.count;
  }
  const int64_t numel = count_elements(tensor.sizes);
  return next == numel ? "" : fmt::format("no rank has element {}", next);
}

std::string format_checkpoint_index(const CheckpointIndex& index) {
  std::map<std::string, size_t> file_numbers;
  OrderedJson files = OrderedJson::array();
  for (const auto& [name, sums] : index.files) {
    file_numbers[name] = files.size();
    files.push_back(
        {{"name", name}, {"bytes", sums.bytes}, {"crc32", checksums_text(sums.blocks)}});
  }
  OrderedJson tensors = OrderedJson::object();
  for (const auto& [name, group] : index.groups) tensors[name] = group_json(group, file_numbers);
  OrderedJson json = {{"format", kFormat},
                      {"version", kVersion},
                      {"num_ranks", index.num_ranks},
                      {"block_bytes", kChecksumBlockBytes},
                      {"files", std::move(files)},
                      {"tensors", std::move(tensors)}};
  const std::string text = json.dump();
  json[kChecksum] = checksum_of(text.data(), text.size());
  return json.dump();
}

CheckpointIndex parse_checkpoint_index(const std::string& path, const std::string& text) {
  try {
    const Json json = parse_foreign_json<Json>(text, kShardsJson);
    check_checksum(text, count_of(json.at(kChecksum)));
    const int64_t version = whole_number(json.at("version"));
    if (json.at("format").get<std::string>() != kFormat || version != kVersion) {
      throw std::invalid_argument(
          fmt::format("it has version {}, but this program supports {}", version, kVersion));
    }
    return parse(json);
  } catch (const std::exception& error) {
    throw checkpoint_errors::damaged(path, error.what());
  }
}

CheckpointIndex read_checkpoint_index(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / CheckpointIndex::kFile).string();
  std::string text;
  try {
    text = read_small_file(path, kMaxIndexBytes);
  } catch (const std::system_error& error) {
    if (!says_no_file(error.code().value())) throw read_error(path, error.code().value());
    throw checkpoint_errors::incomplete(folder, CheckpointIndex::kFile);
  }
  return parse_checkpoint_index(path, text);
}

}  // namespace s2s
