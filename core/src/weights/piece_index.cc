#include "weights/piece_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "weights/checkpoint_errors.h"
#include "weights/safetensors_header.h"

namespace s2s {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "s2s.checkpoint";
constexpr int kVersion = 1;
constexpr const char* kChecksum = "checksum";

Json runs_json(const std::vector<SpanRun>& runs) {
  Json list = Json::array();
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
    SpanRun run{item.at(0).get<int64_t>(), item.at(1).get<int64_t>(), 0, 1};
    if (item.size() > 2) {
      run.stride = item.at(2).get<int64_t>();
      run.repeat = item.at(3).get<int64_t>();
    }
    runs.push_back(run);
  }
  return runs;
}

Json group_json(const PieceGroup& group, const std::map<std::string, size_t>& numbers) {
  Json json = Json::object();
  for (const auto& [name, tensor] : group) {
    Json pieces = Json::array();
    for (const StoredPiece& piece : tensor.pieces) {
      pieces.push_back({numbers.at(piece.file), runs_json(piece.runs)});
    }
    json[name] = {
        {"dtype", type_text(tensor.dtype)}, {"shape", tensor.sizes}, {"pieces", std::move(pieces)}};
  }
  return json;
}

PieceTensor parse_tensor(const Json& json, const std::vector<std::string>& files) {
  PieceTensor tensor;
  const auto dtype = type_of_text(json.at("dtype").get<std::string>());
  if (!dtype) throw std::invalid_argument("an unknown dtype");
  tensor.dtype = *dtype;
  tensor.sizes = json.at("shape").get<std::vector<int64_t>>();
  const int64_t numel = count_elements(tensor.sizes);
  for (const Json& item : json.at("pieces")) {
    StoredPiece piece{files.at(item.at(0).get<size_t>()), parse_runs(item.at(1))};
    if (!fits(piece.runs, numel)) throw std::invalid_argument("a piece beyond the tensor's end");
    tensor.pieces.push_back(std::move(piece));
  }
  return tensor;
}

PieceIndex parse(const Json& json) {
  PieceIndex index;
  index.num_ranks = json.at("num_ranks").get<int64_t>();
  if (json.at("block_bytes").get<uint64_t>() != kChecksumBlockBytes) {
    throw std::invalid_argument("blocks of another size");
  }
  std::vector<std::string> files;
  for (const Json& file : json.at("files")) {
    FileChecksums sums;
    sums.bytes = file.at("bytes").get<uint64_t>();
    const bool is_hex = parse_checksums(file.at("crc32").get<std::string>(), sums.blocks);
    const uint64_t blocks = (sums.bytes + kChecksumBlockBytes - 1) / kChecksumBlockBytes;
    if (!is_hex || sums.blocks.size() != blocks) throw std::invalid_argument("a list of checksums");
    files.push_back(file.at("name").get<std::string>());
    index.files[files.back()] = std::move(sums);
  }
  for (const auto& [group, tensors] : json.at("tensors").items()) {
    PieceGroup& into = index.groups[group];
    for (const auto& [name, tensor] : tensors.items()) into[name] = parse_tensor(tensor, files);
  }
  return index;
}

}  // namespace

void merge(PieceIndex& index, const PieceIndex& more) {
  index.files.insert(more.files.begin(), more.files.end());
  for (const auto& [group, tensors] : more.groups) {
    PieceGroup& into = index.groups[group];
    for (const auto& [name, tensor] : tensors) {
      const auto [place, is_new] = into.emplace(name, tensor);
      if (is_new) continue;
      auto& pieces = place->second.pieces;
      pieces.insert(pieces.end(), tensor.pieces.begin(), tensor.pieces.end());
    }
  }
}

std::string tiling_fault(const PieceTensor& tensor) {
  std::vector<TensorSpan> all;
  for (const StoredPiece& piece : tensor.pieces) {
    const std::vector<TensorSpan> spans = to_spans(piece.runs);
    all.insert(all.end(), spans.begin(), spans.end());
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  int64_t next = 0;
  for (const TensorSpan& span : all) {
    if (span.begin > next) return fmt::format("no rank holds number {}", next);
    if (span.begin < next) return fmt::format("two ranks hold number {}", span.begin);
    next += span.count;
  }
  const int64_t numel = count_elements(tensor.sizes);
  return next == numel ? "" : fmt::format("no rank holds number {}", next);
}

std::string format_piece_index(const PieceIndex& index) {
  std::map<std::string, size_t> numbers;
  Json files = Json::array();
  for (const auto& [name, sums] : index.files) {
    numbers[name] = files.size();
    files.push_back(
        {{"name", name}, {"bytes", sums.bytes}, {"crc32", checksums_text(sums.blocks)}});
  }
  Json tensors = Json::object();
  for (const auto& [name, group] : index.groups) tensors[name] = group_json(group, numbers);
  Json json = {{"format", kFormat},
               {"version", kVersion},
               {"num_ranks", index.num_ranks},
               {"block_bytes", kChecksumBlockBytes},
               {"files", std::move(files)},
               {"tensors", std::move(tensors)}};
  const std::string text = json.dump();
  json[kChecksum] = checksum_of(text.data(), text.size());
  return json.dump();
}

PieceIndex parse_piece_index(const std::string& path, const std::string& text) {
  try {
    Json json = Json::parse(text);
    const auto expected = json.at(kChecksum).get<uint32_t>();
    json.erase(kChecksum);
    const std::string rest = json.dump();
    if (checksum_of(rest.data(), rest.size()) != expected) {
      throw std::invalid_argument("its checksum is another");
    }
    const int version = json.at("version").get<int>();
    if (json.at("format").get<std::string>() != kFormat || version != kVersion) {
      throw std::invalid_argument(
          fmt::format("version {}, this program knows {}", version, kVersion));
    }
    return parse(json);
  } catch (const std::exception& error) {
    throw checkpoint_errors::damaged(path, error.what());
  }
}

PieceIndex read_piece_index(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / PieceIndex::kFile).string();
  std::ifstream in(path, std::ios::binary);
  if (!in) throw checkpoint_errors::incomplete(folder, PieceIndex::kFile);
  std::ostringstream text;
  text << in.rdbuf();
  return parse_piece_index(path, text.str());
}

}  // namespace s2s
