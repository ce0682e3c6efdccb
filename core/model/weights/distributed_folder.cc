#include "weights/distributed_folder.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "weights/pickle.h"
#include "weights/piece_layout.h"
#include "weights/shape_text.h"
#include "weights/torch_calls.h"
#include "weights/torch_file.h"
#include "weights/weight_mapping.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

namespace fs = std::filesystem;
using Kind = PickleValue::Kind;
using Sizes = std::vector<int64_t>;
using weights_errors::torch_format;

constexpr std::string_view kModelPrefix = "state_dict.";
constexpr size_t kMaxDims = 64;  // LibTorch's limit

/// Returns the number of elements, or nothing on overflow.
std::optional<int64_t> product(const Sizes& sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(count, size, &count)) return std::nullopt;
  }
  return count;
}

}  // namespace

/// Reads the records of `.metadata`.
class DistributedFolder::Metadata {
 public:
  Metadata(ReadingBudget& budget, const PickleValue& root)
      : budget_(budget), path_(budget.path()), root_(root) {}

  void read(DistributedFolder& folder) const {
    const PickleValue& tensors = attribute(root_, "state_dict_metadata", Kind::kDict);
    for (size_t i = 0; i + 1 < tensors.items().size(); i += 2) {
      const PickleValue& record = *tensors.items()[i + 1];
      if (find(record, "properties") == nullptr) continue;  // bytes, not a tensor
      folder.facts_.emplace(text(*tensors.items()[i]), facts_of(record));
    }
    keep_model(folder.facts_);
    read_pieces(folder);
    for (const auto& [name, facts] : folder.facts_) check(name, facts, folder.pieces_[name]);
    check_places(folder);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw torch_format(path_, what); }

  /// A record may be referred to many times, so that each search in it counts.
  const PickleValue* find(const PickleValue& record, const char* name) const {
    budget_.take_values(1 + record.items().size() / 2);
    return find_item(record, name);
  }

  const PickleValue& attribute(const PickleValue& record, const char* name, Kind kind) const {
    const PickleValue* found = find(record, name);
    if (found == nullptr || found->kind != kind) {
      fail(fmt::format("a record of it has no '{}' of the expected type", name));
    }
    return *found;
  }

  const std::string& text(const PickleValue& value) const {
    if (value.kind != Kind::kText) fail("a name in it is not a string");
    budget_.take_bytes(value.text().size());  // it may be referred to many times
    return value.text();
  }

  Sizes sizes(const PickleValue& record, const char* name) const {
    Sizes all;
    const PickleValue& list = attribute(record, name, Kind::kTuple);
    if (list.items().size() > kMaxDims) fail(fmt::format("'{}' in it has too many dims", name));
    for (const PickleValue* item : list.items()) {
      if (item->kind != Kind::kNumber || item->number < 0) {
        fail(fmt::format("'{}' in it is not a list of sizes", name));
      }
      all.push_back(item->number);
    }
    return all;
  }

  TensorFacts facts_of(const PickleValue& record) const {
    const PickleValue& properties = attribute(record, "properties", Kind::kDict);
    const PickleValue* state = find(properties, "state");  // (dtype, layout, ...)
    const PickleValue* type = state == nullptr || state->items().empty() ? find(properties, "dtype")
                                                                         : state->items().front();
    const bool is_named = type != nullptr && type->kind == Kind::kGlobal;
    const auto dtype = is_named ? dtype_of_global(type->text()) : std::nullopt;
    if (!dtype) fail("a tensor in it has no known dtype");
    return {*dtype, sizes(record, "size")};
  }

  /// Lightning adds the optimizer and its own state. Other writers have the model's names as they
  /// are.
  static void keep_model(std::map<std::string, TensorFacts>& facts) {
    std::map<std::string, TensorFacts> model;
    for (const auto& [name, known] : facts) {
      if (name.starts_with(kModelPrefix)) model.emplace(name.substr(kModelPrefix.size()), known);
    }
    if (!model.empty()) facts = std::move(model);
  }

  void read_pieces(DistributedFolder& folder) const {
    const PickleValue& places = attribute(root_, "storage_data", Kind::kDict);
    for (size_t i = 0; i + 1 < places.items().size(); i += 2) {
      const std::string& stored = text(attribute(*places.items()[i], "fqn", Kind::kText));
      const bool is_model = stored.starts_with(kModelPrefix);
      const std::string name = is_model ? stored.substr(kModelPrefix.size()) : stored;
      const auto facts = folder.facts_.find(name);
      if (facts == folder.facts_.end()) continue;
      folder.pieces_[name].push_back(
          piece_of(*places.items()[i], *places.items()[i + 1], facts->second));
    }
    read_sizes(folder);
  }

  Piece piece_of(const PickleValue& index, const PickleValue& place,
                 const TensorFacts& facts) const {
    Piece piece;
    const PickleValue* offset = find(index, "offset");
    piece.offsets = offset == nullptr || offset->kind == Kind::kNone ? Sizes(facts.sizes.size(), 0)
                                                                     : sizes(index, "offset");
    const fs::path file = text(attribute(place, "relative_path", Kind::kText));
    if (file.empty() || file.filename() != file || file == "." || file == "..") {
      fail("the name of a file in it is not that of a file in its folder");
    }
    piece.file = file.string();
    const int64_t begin = attribute(place, "offset", Kind::kNumber).number;
    const int64_t length = attribute(place, "length", Kind::kNumber).number;
    if (begin < 0 || length < 0) fail("the position of a piece in it is negative");
    piece.begin = static_cast<uint64_t>(begin);
    piece.length = static_cast<uint64_t>(length);
    return piece;
  }

  /// The sizes of the pieces are in the records of the tensors.
  void read_sizes(DistributedFolder& folder) const {
    std::map<std::pair<std::string, Sizes>, Sizes> chunks;
    const PickleValue& tensors = attribute(root_, "state_dict_metadata", Kind::kDict);
    for (size_t i = 0; i + 1 < tensors.items().size(); i += 2) {
      const PickleValue* list = find(*tensors.items()[i + 1], "chunks");
      if (list == nullptr || list->kind != Kind::kList) continue;
      std::string name = text(*tensors.items()[i]);
      if (name.starts_with(kModelPrefix)) name = name.substr(kModelPrefix.size());
      for (const PickleValue* chunk : list->items()) {
        budget_.take_bytes(name.size());
        chunks[{name, sizes(*chunk, "offsets")}] = sizes(*chunk, "sizes");
      }
    }
    for (auto& [name, pieces] : folder.pieces_) {
      for (Piece& piece : pieces) {
        const auto found = chunks.find({name, piece.offsets});
        if (found == chunks.end()) fail(fmt::format("tensor '{}': a piece has no size", name));
        piece.sizes = found->second;
      }
    }
  }

  void check(const std::string& name, const TensorFacts& facts,
             const std::vector<Piece>& pieces) const {
    int64_t covered = 0;
    std::vector<PieceBox> boxes;
    for (const Piece& piece : pieces) {
      bool fits =
          piece.sizes.size() == facts.sizes.size() && piece.offsets.size() == facts.sizes.size();
      for (size_t d = 0; fits && d < facts.sizes.size(); ++d) {
        fits = piece.offsets[d] <= facts.sizes[d] &&
               piece.sizes[d] <= facts.sizes[d] - piece.offsets[d];
      }
      const std::optional<int64_t> count = fits ? product(piece.sizes) : std::nullopt;
      if (!count || __builtin_add_overflow(covered, *count, &covered)) fail_of_piece(name);
      const auto width = static_cast<uint64_t>(c10::elementSize(facts.dtype));
      if (static_cast<uint64_t>(*count) > piece.length / width) {
        fail(fmt::format("tensor '{}': a piece of {} elements has {} bytes of its file", name,
                         *count, piece.length));
      }
      boxes.push_back({&piece.offsets, &piece.sizes});
    }
    if (!are_separate(std::move(boxes), budget_)) fail_of_piece(name);
    if (product(facts.sizes) != covered) {
      fail(
          fmt::format("tensor '{}' has shape {}, but its pieces have {} elements; a part of the "
                      "folder is missing",
                      name, shape_text(facts.sizes), covered));
    }
  }

  [[noreturn]] void fail_of_piece(const std::string& name) const {
    fail(fmt::format("tensor '{}': a piece is not inside the tensor or is there twice", name));
  }

  /// Pieces that share bytes of a file would be read many times.
  void check_places(const DistributedFolder& folder) const {
    std::vector<std::pair<const Piece*, const std::string*>> order;
    for (const auto& [name, pieces] : folder.pieces_) {
      for (const Piece& piece : pieces) order.emplace_back(&piece, &name);
    }
    budget_.take_values(order.size());
    std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first->file, a.first->begin) < std::tie(b.first->file, b.first->begin);
    });
    for (size_t i = 1; i < order.size(); ++i) {
      const Piece& before = *order[i - 1].first;
      const Piece& piece = *order[i].first;
      if (before.file != piece.file || before.length <= piece.begin - before.begin) continue;
      fail(fmt::format("tensors '{}' and '{}' have bytes of '{}' in common", *order[i - 1].second,
                       *order[i].second, piece.file));
    }
  }

  ReadingBudget& budget_;
  const std::string& path_;
  const PickleValue& root_;
};

DistributedFolder DistributedFolder::open(const std::string& folder,
                                          const ReadingBudget& of_folder) {
  DistributedFolder opened;
  opened.folder_ = folder;
  opened.mappings_ = std::make_shared<std::map<std::string, std::shared_ptr<WeightMapping>>>();
  const std::string path = (fs::path(folder) / kMetadata).string();
  const WeightMapping mapping(path);
  ReadingBudget budget = of_folder.of_file(path);
  const Pickle pickle =
      read_pickle(budget, {mapping.begin(), mapping.size()}, PickleOf::kDistributedMetadata);
  Metadata(budget, *pickle.root).read(opened);
  if (opened.facts_.empty()) throw torch_format(path, "it names no tensor");
  return opened;
}

const std::vector<DistributedFolder::Piece>& DistributedFolder::pieces_of(
    const std::string& name) const {
  if (facts_.count(name) == 0) throw weights_errors::no_tensor(folder_, name, facts_);
  return pieces_.at(name);
}

const std::shared_ptr<WeightMapping>& DistributedFolder::map_file(const std::string& name,
                                                                  const Piece& piece) const {
  const std::string path = (fs::path(folder_) / piece.file).string();
  std::shared_ptr<WeightMapping>& mapping = (*mappings_)[piece.file];
  if (!mapping) mapping = std::make_shared<WeightMapping>(path);
  if (piece.begin > mapping->size() || piece.length > mapping->size() - piece.begin) {
    throw torch_format(path, fmt::format("the file ends inside tensor '{}'", name));
  }
  return mapping;
}

TorchFile DistributedFolder::open_piece(const std::string& name, const Piece& piece) const {
  const std::string path = (fs::path(folder_) / piece.file).string();
  ReadingBudget budget(path);
  TorchFile opened =
      TorchFile::open_tensor(path, {map_file(name, piece), piece.begin, piece.length}, budget);
  const PickledTensor& stored = opened.entries().at("");
  const TensorFacts& facts = facts_.at(name);
  if (stored.sizes != piece.sizes || stored.dtype != facts.dtype) {
    throw torch_format(path, fmt::format("a piece of tensor '{}' has shape {}, expected {} of the "
                                         "dtype that .metadata says",
                                         name, shape_text(stored.sizes), shape_text(piece.sizes)));
  }
  return opened;
}

at::Tensor DistributedFolder::tensor(const std::string& name) const {
  const std::vector<Piece>& pieces = pieces_of(name);
  if (pieces.size() == 1) return open_piece(name, pieces.front()).tensor("");
  const TensorFacts& facts = facts_.at(name);
  // The bytes of a tensor are allocated once they are seen in files.
  for (const Piece& piece : pieces) map_file(name, piece);
  at::Tensor whole = at::empty(facts.sizes, at::TensorOptions().dtype(facts.dtype));
  for (const Piece& piece : pieces) {
    at::Tensor part = whole;
    for (size_t d = 0; d < piece.sizes.size(); ++d) {
      part = part.narrow(static_cast<int64_t>(d), piece.offsets[d], piece.sizes[d]);
    }
    const TorchFile stored = open_piece(name, piece);
    part.copy_(stored.tensor(""));
    stored.release("");
  }
  return whole;
}

std::optional<StoredBytes> DistributedFolder::stored_bytes(const std::string& name) const {
  const std::vector<Piece>& pieces = pieces_of(name);
  if (pieces.size() != 1) return std::nullopt;
  return open_piece(name, pieces.front()).stored_bytes("");
}

void DistributedFolder::release(const std::string& name) const {
  for (const Piece& piece : pieces_of(name)) open_piece(name, piece).release("");
}

}  // namespace s2s
