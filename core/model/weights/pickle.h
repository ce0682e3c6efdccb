#pragma once
// Reads Python's pickle format without executing anything. An opcode creates a plain value, or is
// one of the few calls that files of torch.save need. Anything else is refused with its name.
// Source: Python's pickletools (opcodes), torch/serialization.py (persistent ids).

#include <ATen/core/ScalarType.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/reading_budget.h"

namespace s2s {

/// A storage: elements in a separate file, which a persistent id names.
struct PickledStorage {
  std::string key;
  at::ScalarType dtype = at::kByte;
  int64_t num_elements = 0;
};

/// A tensor as a view of a storage. Units: elements of `dtype`.
struct PickledTensor {
  PickledStorage storage;
  at::ScalarType dtype = at::kByte;
  int64_t offset = 0;
  std::vector<int64_t> sizes, strides;
};

/// One value. Containers point to their items, which the Pickle owns. Most values are numbers and
/// empty containers: what others have lies outside.
struct PickleValue {
  enum class Kind : uint8_t {
    kNone,
    kNumber,  // integers and booleans
    kReal,    // not needed: its value is not kept
    kText,    // also bytes
    kTuple,
    kList,    // also sets
    kDict,    // key, value, key, value, ...
    kGlobal,  // "module.name"
    kStorage,
    kTensor,
  };
  Kind kind = Kind::kNone;
  int64_t number = 0;
  struct Body {
    std::string text;  // kText, kGlobal
    std::vector<PickleValue*> items;
    std::shared_ptr<const PickledTensor> tensor;  // kStorage uses its `storage` only
  };
  std::shared_ptr<Body> body;  // copies of a value share it

  const std::string& text() const { return contents().text; }
  const std::vector<PickleValue*>& items() const { return contents().items; }
  /// Of kTensor and kStorage.
  const PickledTensor& tensor() const { return *contents().tensor; }
  /// For a value that is being made, and for the items of a list or dictionary.
  Body& change() {
    if (!body) body = std::make_shared<Body>();
    return *body;
  }

 private:
  const Body& contents() const {
    static const Body empty;
    return body ? *body : empty;
  }
};

/// The contents of a pickle.
struct Pickle {
  std::unique_ptr<std::deque<PickleValue>> values;
  const PickleValue* root = nullptr;
};

/// Maximum size of a pickle in bytes. The elements of tensors are stored outside of it.
inline constexpr uint64_t kMaxPickleBytes = 64'000'000;

/// What a pickle describes, which decides the globals that it may name.
enum class PickleOf {
  kTensors,  // torch.save
  /// The `.metadata` of torch.distributed.checkpoint. Its records become dictionaries of their
  /// attributes; those of a record with another state have the key "state".
  kDistributedMetadata,
};

/// `budget` is that of the file; its path is for messages. Errors: [io/too-much], [weights/format]
/// when the bytes are not a pickle of protocol 2 to 5, [weights/refused] with the name of what
/// would have to be imported or executed.
Pickle read_pickle(ReadingBudget& budget, std::string_view bytes,
                   PickleOf content = PickleOf::kTensors);
/// The same in this process, also where parsers run apart (base/parser_process.h).
Pickle unpickle(ReadingBudget& budget, std::string_view bytes, PickleOf content);

/// Returns the value of a text key of a dictionary, or nullptr.
const PickleValue* find_item(const PickleValue& dict, std::string_view key);

}  // namespace s2s
