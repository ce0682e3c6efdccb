#include "weights/torch_file.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "weights/archives.h"
#include "weights/shape_text.h"
#include "weights/weight_mapping.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

using Kind = PickleValue::Kind;
using weights_errors::torch_format;

constexpr std::string_view kPickleName = "data.pkl";
/// Most elements of all views of a storage, as a multiple of what it stores: tied weights are two
/// views of one. Without a limit, a view with stride 0 has 2^40 elements in a file of 600 bytes.
constexpr uint64_t kMaxViews = 16;
/// What an entry takes, besides its sizes and strides: 600 bytes in the maps of all that look for
/// tensors by name. An honest one has 110 bytes in the pickle; a name for a known tensor has eight.
constexpr uint64_t kEntryValues = 96;

/// Returns the folder of data.pkl, in which every entry of the archive is.
std::string archive_folder(const std::string& path, const std::map<std::string, ZipEntry>& files) {
  for (const auto& [name, entry] : files) {
    const size_t slash = name.find('/');
    if (slash != std::string::npos && name.substr(slash + 1) == kPickleName) {
      return name.substr(0, slash + 1);
    }
  }
  throw torch_format(path, "the archive has no data.pkl");
}

bool holds_tensors(const PickleValue& dict) {
  for (size_t i = 1; i < dict.items().size(); i += 2) {
    if (dict.items()[i]->kind == Kind::kTensor) return true;
  }
  return false;
}

const PickleValue& state_dict(const std::string& path, const PickleValue& root) {
  if (root.kind == Kind::kDict && holds_tensors(root)) return root;
  for (const char* key : {"state_dict", "model_state_dict", "model"}) {
    const PickleValue* found = find_item(root, key);
    if (found != nullptr && found->kind == Kind::kDict && holds_tensors(*found)) return *found;
  }
  std::vector<std::string> keys;
  for (size_t i = 0; root.kind == Kind::kDict && i < root.items().size() && i < 40; i += 2) {
    keys.push_back("'" + root.items()[i]->text() + "'");
  }
  throw torch_format(
      path, fmt::format("it contains no dictionary of tensors{}",
                        keys.empty() ? "" : fmt::format("; its keys: {}", fmt::join(keys, ", "))));
}

/// Returns the number of elements of a view whose `reach` has no overflow.
uint64_t count_of_view(const PickledTensor& tensor) {
  uint64_t count = 1;
  for (const int64_t size : tensor.sizes) count *= static_cast<uint64_t>(size);
  return count;
}

/// Returns how many elements of the storage a view needs. Returns nothing on overflow.
std::optional<uint64_t> reach(const PickledTensor& tensor) {
  auto last = static_cast<uint64_t>(tensor.offset);
  uint64_t count = 1;
  bool is_empty = false;
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    is_empty = is_empty || tensor.sizes[i] == 0;
    const auto size = static_cast<uint64_t>(std::max<int64_t>(tensor.sizes[i], 1));
    uint64_t step = 0;
    if (__builtin_mul_overflow(size - 1, static_cast<uint64_t>(tensor.strides[i]), &step) ||
        __builtin_add_overflow(last, step, &last) || __builtin_mul_overflow(count, size, &count) ||
        count > INT64_MAX / 16) {
      return std::nullopt;
    }
  }
  return is_empty ? 0 : last + 1;
}

/// Detects other kinds of files that users may pass.
void check_kind(const std::string& path, std::string_view bytes) {
  if (bytes.substr(0, 2) == "PK") return;
  const bool is_old = bytes.substr(0, 1) == "\x80";
  throw torch_format(path, is_old ? "its format is from before torch 1.6; load and save it again "
                                    "with torch"
                                  : "it is not a zip archive");
}

/// Opens the file itself, or the weights in a .nemo archive.
ArchiveMember open_zip(const std::string& path, ReadingBudget& budget) {
  auto mapping = std::make_shared<WeightMapping>(path);
  if (is_archive({mapping->begin(), mapping->size()})) {
    return open_archive_member(path, "model_weights.ckpt", budget);
  }
  const uint64_t size = mapping->size();
  return {std::move(mapping), 0, size};
}

}  // namespace

Pickle TorchFile::open_archive(const std::string& path, const ArchiveMember& zip,
                               ReadingBudget& budget) {
  path_ = path;
  mapping_ = zip.mapping;
  begin_ = zip.begin;
  const std::string_view bytes(zip.mapping->begin() + zip.begin, zip.size);
  check_kind(path, bytes);
  files_ = read_zip_directory(budget, zip);
  folder_ = archive_folder(path, files_);
  const auto bytes_of = [&](std::string_view name) {
    const auto it = files_.find(folder_ + std::string(name));
    if (it == files_.end()) return std::string_view();
    return bytes.substr(it->second.begin, it->second.size);
  };
  const std::string_view order = bytes_of("byteorder");
  if (!order.empty() && order != "little") {
    throw torch_format(path, "its byte order is not little-endian");
  }
  return read_pickle(budget, bytes_of(kPickleName));
}

TorchFile TorchFile::open(const std::string& path, ReadingBudget& budget) {
  TorchFile file;
  file.read_entries(file.open_archive(path, open_zip(path, budget), budget), budget);
  return file;
}

TorchFile TorchFile::open_tensor(const std::string& path, const ArchiveMember& part,
                                 ReadingBudget& budget) {
  TorchFile file;
  const Pickle pickle = file.open_archive(path, part, budget);
  if (pickle.root->kind != Kind::kTensor) throw torch_format(path, "a part of it is not a tensor");
  file.add("", pickle.root->tensor());
  return file;
}

void TorchFile::add(const std::string& name, const PickledTensor& tensor) {
  count_view(name, tensor, storage_of(name, tensor));
  entries_[name] = tensor;
}

void TorchFile::count_view(const std::string& name, const PickledTensor& tensor,
                           const ZipEntry& storage) {
  // No overflow: `reach` allows no more than 2^59 elements, of at most 16 bytes.
  const uint64_t width = c10::elementSize(tensor.dtype);
  const uint64_t count = count_of_view(tensor);
  uint64_t& all = view_bytes_[tensor.storage.key];
  if (count > kMaxViews * (storage.size / width) ||
      all + count * width > kMaxViews * storage.size) {
    throw torch_format(
        path_,
        fmt::format("tensor '{}' of shape {} is a view of a storage of {} elements, of which "
                    "all tensors together may have at most {} times as many; expected "
                    "tensors without stride 0 and overlaps: save it with .contiguous()",
                    name, shape_text(tensor.sizes), storage.size / width, kMaxViews));
  }
  all += count * width;
}

void TorchFile::read_entries(const Pickle& pickle, ReadingBudget& budget) {
  const PickleValue& dict = state_dict(path_, *pickle.root);
  for (size_t i = 0; i + 1 < dict.items().size(); i += 2) {
    const PickleValue& key = *dict.items()[i];
    const PickleValue& value = *dict.items()[i + 1];
    if (key.kind != Kind::kText)
      throw torch_format(path_, "a key of its state dict is not a string");
    budget.take_bytes(key.text().size());  // a pickle can refer to one long text many times
    if (value.kind == Kind::kNone || key.text().ends_with("_extra_state")) continue;  // no tensor
    if (value.kind != Kind::kTensor) {
      throw torch_format(path_, "'" + key.text() + "' in its state dict is not a tensor");
    }
    budget.take_values(kEntryValues + 2 * value.tensor().sizes.size());
    add(key.text(), value.tensor());
  }
}

const ZipEntry& TorchFile::storage_of(const std::string& name, const PickledTensor& tensor) const {
  const auto it = files_.find(folder_ + "data/" + tensor.storage.key);
  if (it == files_.end()) {
    throw torch_format(path_, fmt::format("tensor '{}': its storage '{}' is not in the archive",
                                          name, tensor.storage.key));
  }
  const std::optional<uint64_t> needed = reach(tensor);
  const uint64_t there = it->second.size / c10::elementSize(tensor.dtype);
  if (!needed || *needed > there) {
    throw torch_format(
        path_, fmt::format("tensor '{}': its storage has {} elements, but the tensor needs {}",
                           name, there, needed ? std::to_string(*needed) : "more than 2^63"));
  }
  return it->second;
}

at::Tensor TorchFile::tensor(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) throw weights_errors::no_tensor(path_, name, entries_);
  const PickledTensor& entry = it->second;
  const ZipEntry& storage = storage_of(name, entry);
  const auto options = at::TensorOptions().dtype(entry.dtype);
  if (reach(entry) == 0) return at::empty(entry.sizes, options);
  char* data = mapping_->begin() + begin_ + storage.begin;
  const auto width = static_cast<uint64_t>(c10::elementSize(entry.dtype));
  if (reinterpret_cast<uintptr_t>(data) % width == 0) {
    return at::from_blob(
        data + static_cast<uint64_t>(entry.offset) * width, entry.sizes, entry.strides,
        [keep = mapping_](void*) {}, options);
  }
  const auto count = static_cast<int64_t>(storage.size / width);
  at::Tensor copy = at::empty({count}, options);
  std::memcpy(copy.mutable_data_ptr(), data, static_cast<uint64_t>(count) * width);
  return copy.as_strided(entry.sizes, entry.strides, entry.offset);
}

std::optional<StoredBytes> TorchFile::stored_bytes(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) return std::nullopt;
  const PickledTensor& entry = it->second;
  int64_t count = 1;
  for (size_t i = entry.sizes.size(); i-- > 0;) {
    if (entry.sizes[i] != 1 && entry.strides[i] != count) return std::nullopt;
    count *= entry.sizes[i];
  }
  const auto width = static_cast<uint64_t>(c10::elementSize(entry.dtype));
  const uint64_t begin = begin_ + storage_of(name, entry).begin;
  return StoredBytes{mapping_.get(), begin + static_cast<uint64_t>(entry.offset) * width,
                     static_cast<uint64_t>(count) * width};
}

void TorchFile::release(const std::string& name) const {
  const auto it = entries_.find(name);
  if (it == entries_.end()) return;
  const ZipEntry& storage = storage_of(name, it->second);
  mapping_->release(begin_ + storage.begin, storage.size);
}

}  // namespace s2s
