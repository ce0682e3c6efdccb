#include "weights/torch_calls.h"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "weights/weights_errors.h"

namespace s2s {
namespace {

using Kind = PickleValue::Kind;
using Arguments = std::vector<PickleValue*>;

constexpr size_t kMaxDims = 64;  // LibTorch's limit
constexpr size_t kMaxKeyBytes = 100;

const std::map<std::string, at::ScalarType>& storage_types() {
  static const std::map<std::string, at::ScalarType> types = {
      {"torch.DoubleStorage", at::kDouble},
      {"torch.FloatStorage", at::kFloat},
      {"torch.HalfStorage", at::kHalf},
      {"torch.BFloat16Storage", at::kBFloat16},
      {"torch.LongStorage", at::kLong},
      {"torch.IntStorage", at::kInt},
      {"torch.ShortStorage", at::kShort},
      {"torch.CharStorage", at::kChar},
      {"torch.ByteStorage", at::kByte},
      {"torch.BoolStorage", at::kBool},
      {"torch.ComplexFloatStorage", at::kComplexFloat},
      {"torch.ComplexDoubleStorage", at::kComplexDouble},
      {"torch.UntypedStorage", at::kByte},
      {"torch.storage.UntypedStorage", at::kByte},
  };
  return types;
}

const std::map<std::string, at::ScalarType>& element_types() {
  static const std::map<std::string, at::ScalarType> types = {
      {"torch.float64", at::kDouble},
      {"torch.float32", at::kFloat},
      {"torch.float16", at::kHalf},
      {"torch.bfloat16", at::kBFloat16},
      {"torch.int64", at::kLong},
      {"torch.int32", at::kInt},
      {"torch.int16", at::kShort},
      {"torch.int8", at::kChar},
      {"torch.uint8", at::kByte},
      {"torch.bool", at::kBool},
      {"torch.uint16", at::ScalarType::UInt16},
      {"torch.uint32", at::ScalarType::UInt32},
      {"torch.uint64", at::ScalarType::UInt64},
      {"torch.complex64", at::kComplexFloat},
      {"torch.complex128", at::kComplexDouble},
      {"torch.float8_e4m3fn", at::ScalarType::Float8_e4m3fn},
      {"torch.float8_e5m2", at::ScalarType::Float8_e5m2},
      {"torch.float8_e4m3fnuz", at::ScalarType::Float8_e4m3fnuz},
      {"torch.float8_e5m2fnuz", at::ScalarType::Float8_e5m2fnuz},
      {"torch.float8_e8m0fnu", at::ScalarType::Float8_e8m0fnu},
  };
  return types;
}

/// Reads the arguments of a call in order.
class Call {
 public:
  Call(const std::string& path, const std::string& name, const Arguments& arguments)
      : path_(path), name_(name), arguments_(arguments) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw weights_errors::torch_format(path_, "'" + name_ + "' " + what);
  }

  size_t count() const { return arguments_.size(); }

  const PickleValue& argument(size_t i, Kind kind) const {
    if (i >= arguments_.size()) fail("is called with too few arguments");
    if (arguments_[i]->kind != kind) {
      fail("is called with an argument " + std::to_string(i) + " of the wrong type");
    }
    return *arguments_[i];
  }

  int64_t count_at(size_t i) const {
    const int64_t number = argument(i, Kind::kNumber).number;
    if (number < 0) fail("is called with a negative number");
    return number;
  }

  std::vector<int64_t> counts_at(size_t i) const {
    std::vector<int64_t> counts;
    if (argument(i, Kind::kTuple).items().size() > kMaxDims) fail("has too many dims");
    for (const PickleValue* item : argument(i, Kind::kTuple).items()) {
      if (item->kind != Kind::kNumber || item->number < 0) fail("is called with an invalid size");
      counts.push_back(item->number);
    }
    return counts;
  }

 private:
  const std::string& path_;
  const std::string& name_;
  const Arguments& arguments_;
};

PickleValue of_kind(Kind kind) {
  PickleValue value;
  value.kind = kind;
  return value;
}

/// `type_at`: index of the dtype argument. Without one, the dtype is that of the storage.
PickleValue rebuild_tensor(const Call& call, std::optional<size_t> type_at) {
  PickledTensor tensor;
  tensor.storage = call.argument(0, Kind::kStorage).tensor().storage;
  tensor.dtype = tensor.storage.dtype;
  tensor.offset = call.count_at(1);
  tensor.sizes = call.counts_at(2);
  tensor.strides = call.counts_at(3);
  if (tensor.sizes.size() != tensor.strides.size())
    call.fail("has different numbers of sizes and strides");
  if (type_at) {
    const auto type = element_types().find(call.argument(*type_at, Kind::kGlobal).text());
    if (type == element_types().end()) call.fail("is called with an unknown dtype");
    tensor.dtype = type->second;
  }
  PickleValue value = of_kind(Kind::kTensor);
  value.change().tensor = std::make_shared<const PickledTensor>(std::move(tensor));
  return value;
}

PickleValue parameter(const Call& call) { return call.argument(0, Kind::kTensor); }

PickleValue sequence(const Call& call, Kind kind) {
  PickleValue value = of_kind(kind);
  if (call.count() == 0) return value;
  const bool is_list = kind == Kind::kList;
  value.change().items = call.argument(0, is_list ? Kind::kList : Kind::kTuple).items();
  return value;
}

/// OrderedDict(), or OrderedDict of a list of pairs.
PickleValue ordered_dict(const Call& call) {
  PickleValue value = of_kind(Kind::kDict);
  if (call.count() == 0) return value;
  for (const PickleValue* pair : call.argument(0, Kind::kList).items()) {
    const bool is_sequence = pair->kind == Kind::kTuple || pair->kind == Kind::kList;
    if (!is_sequence || pair->items().size() != 2) call.fail("is not called with a list of pairs");
    std::vector<PickleValue*>& items = value.change().items;
    items.insert(items.end(), pair->items().begin(), pair->items().end());
  }
  return value;
}

PickleValue text_argument(const Call& call) { return call.argument(0, Kind::kText); }

using Function = PickleValue (*)(const Call&);

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> all = {
      {"torch._utils._rebuild_tensor",
       [](const Call& call) { return rebuild_tensor(call, std::nullopt); }},
      {"torch._utils._rebuild_tensor_v2",
       [](const Call& call) { return rebuild_tensor(call, std::nullopt); }},
      {"torch._utils._rebuild_tensor_v3", [](const Call& call) { return rebuild_tensor(call, 6); }},
      {"torch._utils._rebuild_parameter", parameter},
      {"torch._utils._rebuild_parameter_with_state", parameter},
      {"torch.Size", [](const Call& call) { return sequence(call, Kind::kTuple); }},
      {"torch.device", text_argument},
      {"collections.OrderedDict", ordered_dict},
      {"builtins.set", [](const Call& call) { return sequence(call, Kind::kList); }},
      {"__builtin__.set", [](const Call& call) { return sequence(call, Kind::kList); }},
      {"_codecs.encode", text_argument},  // protocol 2 writes bytes in this way
  };
  return all;
}

}  // namespace

bool is_known_global(const std::string& name) {
  return functions().count(name) != 0 || storage_types().count(name) != 0 ||
         element_types().count(name) != 0;
}

bool is_distributed_record(const std::string& name) {
  static const std::set<std::string> records = {
      "torch.distributed.checkpoint.metadata.Metadata",
      "torch.distributed.checkpoint.metadata.TensorStorageMetadata",
      "torch.distributed.checkpoint.metadata.BytesStorageMetadata",
      "torch.distributed.checkpoint.metadata.ChunkStorageMetadata",
      "torch.distributed.checkpoint.metadata.TensorProperties",
      "torch.distributed.checkpoint.metadata.MetadataIndex",
      "torch.distributed.checkpoint.metadata.StorageMeta",
      "torch.distributed.checkpoint.filesystem._StorageInfo",
  };
  return records.count(name) != 0;
}

bool is_distributed_global(const std::string& name) {
  static const std::set<std::string> others = {
      "torch.distributed.checkpoint.metadata._MEM_FORMAT_ENCODING",
      "torch.serialization._get_layout", "pathlib.PosixPath", "pathlib._local.PosixPath",
      "pathlib.PurePosixPath"};
  return is_distributed_record(name) || others.count(name) != 0;
}

std::optional<at::ScalarType> dtype_of_global(const std::string& name) {
  const auto found = element_types().find(name);
  return found == element_types().end() ? std::nullopt : std::optional(found->second);
}

PickleValue call_global(const std::string& path, const std::string& name,
                        const std::vector<PickleValue*>& arguments) {
  const auto function = functions().find(name);
  if (function == functions().end())
    throw weights_errors::refused(path, "a call of '" + name + "'");
  return function->second(Call(path, name, arguments));
}

PickleValue persistent_storage(const std::string& path, const PickleValue& id) {
  static const std::string kName = "persistent id";
  const Call call(path, kName, id.items());
  if (id.kind != Kind::kTuple || call.argument(0, Kind::kText).text() != "storage") {
    call.fail("is not a tuple ('storage', type, key, location, count)");
  }
  const auto type = storage_types().find(call.argument(1, Kind::kGlobal).text());
  if (type == storage_types().end()) call.fail("has an unknown storage type");
  const std::string& key = call.argument(2, Kind::kText).text();
  if (key.size() > kMaxKeyBytes) call.fail("has a storage key that is too long");
  PickledTensor holder;
  holder.storage = {key, type->second, call.count_at(4)};
  PickleValue value = of_kind(Kind::kStorage);
  value.change().tensor = std::make_shared<const PickledTensor>(std::move(holder));
  return value;
}

}  // namespace s2s
