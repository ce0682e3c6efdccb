#include "weights/pickle_bytes.h"

#include <limits>
#include <unordered_map>
#include <vector>

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

/// What values share, and the places of values. Units: indexes.
struct Indexes {
  explicit Indexes(const Pickle& pickle) {
    for (const PickleValue& value : *pickle.values) {
      values.emplace(&value, static_cast<int64_t>(values.size()));
      if (value.body == nullptr) continue;
      const bool is_new =
          bodies.emplace(value.body.get(), static_cast<int64_t>(bodies.size())).second;
      if (is_new) in_order.push_back(value.body.get());
    }
  }
  std::unordered_map<const PickleValue*, int64_t> values;
  std::unordered_map<const PickleValue::Body*, int64_t> bodies;
  std::vector<const PickleValue::Body*> in_order;
};

void write_body(const PickleValue::Body& body, const Indexes& indexes, ByteWriter& to) {
  to.text(body.text);
  to.number(static_cast<int64_t>(body.items.size()));
  for (const PickleValue* item : body.items) to.number(indexes.values.at(item));
  to.number(body.tensor == nullptr ? 0 : 1);
  if (body.tensor != nullptr) write_tensor(*body.tensor, to);
}

std::shared_ptr<PickleValue::Body> read_body(ByteReader& from, std::deque<PickleValue>& values) {
  auto body = std::make_shared<PickleValue::Body>();
  body->text = from.text();
  body->items.resize(from.count());
  const auto last = static_cast<int64_t>(values.size()) - 1;
  for (PickleValue*& item : body->items) {
    item = &values[static_cast<size_t>(from.number_up_to(last))];
  }
  if (from.flag()) body->tensor = std::make_shared<const PickledTensor>(read_tensor(from));
  return body;
}

/// In a parser process. The request: path, content and pickle.
std::string unpickle_to_bytes(std::string_view request, const std::vector<int>& /*files*/) {
  ByteReader reader(request);
  ReadingBudget budget{std::string(reader.text())};
  const auto content = static_cast<PickleOf>(reader.number());
  return pickle_to_bytes(unpickle(budget, reader.text(), content));
}

}  // namespace

Pickle read_pickle(ReadingBudget& budget, std::string_view bytes, PickleOf content) {
  if (!parses_apart()) return unpickle(budget, bytes, content);
  ByteWriter request;
  request.text(budget.path());
  request.number(static_cast<int64_t>(content));
  request.text(bytes);
  return pickle_from_bytes(parse_apart(budget.path(), unpickle_to_bytes, request.take()));
}

std::string pickle_to_bytes(const Pickle& pickle) {
  const Indexes indexes(pickle);
  ByteWriter to;
  to.number(static_cast<int64_t>(pickle.values->size()));
  to.number(indexes.values.at(pickle.root));
  to.number(static_cast<int64_t>(indexes.in_order.size()));
  for (const PickleValue::Body* body : indexes.in_order) write_body(*body, indexes, to);
  for (const PickleValue& value : *pickle.values) {
    to.number(static_cast<int64_t>(value.kind));
    to.number(value.number);
    to.number(value.body == nullptr ? 0 : 1 + indexes.bodies.at(value.body.get()));
  }
  return to.take();
}

Pickle pickle_from_bytes(std::string_view bytes) {
  ByteReader from(bytes);
  const size_t num_values = from.count();
  if (num_values == 0) ByteReader::fail();
  const auto root = static_cast<size_t>(from.number_up_to(static_cast<int64_t>(num_values) - 1));
  Pickle pickle;
  pickle.values = std::make_unique<std::deque<PickleValue>>(num_values);
  std::vector<std::shared_ptr<PickleValue::Body>> bodies(from.count());
  for (auto& body : bodies) body = read_body(from, *pickle.values);
  for (PickleValue& value : *pickle.values) {
    value.kind = static_cast<PickleValue::Kind>(from.number_up_to(kLastKind));
    value.number = from.number();
    const int64_t body = from.number_up_to(static_cast<int64_t>(bodies.size()));
    if (body > 0) value.body = bodies[static_cast<size_t>(body) - 1];
    const bool needs_tensor =
        value.kind == PickleValue::Kind::kStorage || value.kind == PickleValue::Kind::kTensor;
    const bool has_tensor = value.body != nullptr && value.body->tensor != nullptr;
    if (needs_tensor && !has_tensor) ByteReader::fail();
  }
  if (!from.at_end()) ByteReader::fail();
  pickle.root = &(*pickle.values)[root];
  return pickle;
}

}  // namespace s2s
