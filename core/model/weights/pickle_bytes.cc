#include "weights/pickle_bytes.h"

#include <limits>
#include <unordered_map>

#include "base/byte_codec.h"
#include "base/parser_process.h"

namespace s2s {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLastKind = static_cast<int64_t>(PickleValue::Kind::kTensor);
constexpr int64_t kLastDtype = static_cast<int64_t>(at::ScalarType::NumOptions) - 1;

void write_numbers(const std::vector<int64_t>& numbers, ByteWriter& to) {
  to.number(static_cast<int64_t>(numbers.size()));
  for (const int64_t number : numbers) to.number(number);
}

std::vector<int64_t> read_numbers(ByteReader& from) {
  std::vector<int64_t> numbers(from.count());
  for (int64_t& number : numbers) number = from.number_up_to(kMost);
  return numbers;
}

void write_tensor(const PickledTensor& tensor, ByteWriter& to) {
  to.text(tensor.storage.key);
  to.number(static_cast<int64_t>(tensor.storage.dtype));
  to.number(tensor.storage.num_elements);
  to.number(static_cast<int64_t>(tensor.dtype));
  to.number(tensor.offset);
  write_numbers(tensor.sizes, to);
  write_numbers(tensor.strides, to);
}

at::ScalarType read_dtype(ByteReader& from) {
  return static_cast<at::ScalarType>(from.number_up_to(kLastDtype));
}

PickledTensor read_tensor(ByteReader& from) {
  PickledTensor tensor;
  tensor.storage.key = from.text();
  tensor.storage.dtype = read_dtype(from);
  tensor.storage.num_elements = from.number_up_to(kMost);
  tensor.dtype = read_dtype(from);
  tensor.offset = from.number_up_to(kMost);
  tensor.sizes = read_numbers(from);
  tensor.strides = read_numbers(from);
  return tensor;
}

/// In a parser process. The request: path, content and pickle.
std::string unpickle_to_bytes(std::string_view request, const std::vector<int>& /*files*/) {
  ByteReader reader(request);
  const std::string path(reader.text());
  const auto content = static_cast<PickleOf>(reader.number());
  return pickle_to_bytes(unpickle(path, reader.text(), content));
}

}  // namespace

Pickle read_pickle(const std::string& path, std::string_view bytes, PickleOf content) {
  if (!parses_apart()) return unpickle(path, bytes, content);
  ByteWriter request;
  request.text(path);
  request.number(static_cast<int64_t>(content));
  request.text(bytes);
  return pickle_from_bytes(parse_apart(path, unpickle_to_bytes, request.take()));
}

std::string pickle_to_bytes(const Pickle& pickle) {
  std::unordered_map<const PickleValue*, int64_t> index;
  for (const PickleValue& value : *pickle.values) {
    index.emplace(&value, static_cast<int64_t>(index.size()));
  }
  ByteWriter to;
  to.number(static_cast<int64_t>(index.size()));
  to.number(index.at(pickle.root));
  for (const PickleValue& value : *pickle.values) {
    to.number(static_cast<int64_t>(value.kind));
    to.number(value.number);
    to.real(value.real);
    to.text(value.text);
    to.number(static_cast<int64_t>(value.items.size()));
    for (const PickleValue* item : value.items) to.number(index.at(item));
    to.number(value.tensor == nullptr ? 0 : 1);
    if (value.tensor != nullptr) write_tensor(*value.tensor, to);
  }
  return to.take();
}

Pickle pickle_from_bytes(std::string_view bytes) {
  ByteReader from(bytes);
  const size_t num_values = from.count();
  if (num_values == 0) ByteReader::fail();
  const auto last = static_cast<int64_t>(num_values) - 1;
  const auto root = static_cast<size_t>(from.number_up_to(last));
  Pickle pickle;
  pickle.values = std::make_unique<std::deque<PickleValue>>(num_values);
  for (PickleValue& value : *pickle.values) {
    value.kind = static_cast<PickleValue::Kind>(from.number_up_to(kLastKind));
    value.number = from.number();
    value.real = from.real();
    value.text = from.text();
    value.items.resize(from.count());
    for (PickleValue*& item : value.items) {
      item = &(*pickle.values)[static_cast<size_t>(from.number_up_to(last))];
    }
    if (from.flag()) value.tensor = std::make_shared<const PickledTensor>(read_tensor(from));
    const bool needs_tensor =
        value.kind == PickleValue::Kind::kStorage || value.kind == PickleValue::Kind::kTensor;
    if (needs_tensor && value.tensor == nullptr) ByteReader::fail();
  }
  if (!from.at_end()) ByteReader::fail();
  pickle.root = &(*pickle.values)[root];
  return pickle;
}

}  // namespace s2s
