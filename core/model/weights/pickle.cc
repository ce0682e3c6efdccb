#include "weights/pickle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "weights/pickle_opcodes.h"
#include "weights/pickle_units.h"
#include "weights/torch_calls.h"
#include "weights/weights_errors.h"

namespace s2s {
namespace {

using namespace pickle;
using Kind = PickleValue::Kind;

constexpr int64_t kSharedNumbers = 256;  // which have no value of their own

class Unpickler {
 public:
  Unpickler(ReadingBudget& budget, std::string_view bytes, PickleOf content)
      : path_(budget.path()),
        units_(budget, bytes.size()),
        bytes_(bytes),
        content_(content),
        values_(std::make_unique<std::deque<PickleValue>>()) {}

  Pickle run() {
    if (bytes_.size() > kMaxPickleBytes) {
      fail(fmt::format("its pickle is {} bytes long (limit {})", bytes_.size(), kMaxPickleBytes));
    }
    if (byte() != kProtocol) fail("its pickle does not begin with a protocol number");
    if (const unsigned char protocol = byte(); protocol < 2 || protocol > 5) {
      fail(fmt::format("its pickle has protocol {}, expected 2 to 5", protocol));
    }
    for (unsigned char opcode = byte(); opcode != kStop; opcode = byte()) execute(opcode);
    const PickleValue* root = pop();
    return {std::move(values_), root};
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw weights_errors::torch_format(path_, what);
  }

  // Reading bytes.

  std::string_view take(uint64_t count) {
    if (count > bytes_.size() - at_) fail("its pickle is truncated");
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }
  unsigned char byte() { return static_cast<unsigned char>(take(1)[0]); }
  /// Reads a little-endian integer.
  uint64_t number(size_t num_bytes) {
    const std::string_view taken = take(num_bytes);
    uint64_t value = 0;
    for (size_t i = num_bytes; i-- > 0;) {
      value = (value << 8U) | static_cast<unsigned char>(taken[i]);
    }
    return value;
  }
  std::string line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) fail("its pickle is truncated");
    std::string text(take(end - at_));
    take(1);
    return text;
  }

  // The value stack.

  PickleValue& push(PickleValue value) {
    units_.take(value);
    values_->push_back(std::move(value));
    stack_.push_back(&values_->back());
    return values_->back();
  }
  PickleValue& push(Kind kind, std::vector<PickleValue*> items = {}) {
    PickleValue value;
    value.kind = kind;
    if (!items.empty()) value.change().items = std::move(items);
    return push(std::move(value));
  }
  /// None, booleans and small numbers are one value each.
  void push_shared(PickleValue*& shared, Kind kind, int64_t number) {
    units_.take(1);
    if (shared == nullptr) {
      PickleValue& made = values_->emplace_back();
      made.kind = kind;
      made.number = number;
      shared = &made;
    }
    stack_.push_back(shared);
  }
  void push_none() { push_shared(none_, Kind::kNone, 0); }
  void push_number(int64_t number) {
    if (number >= 0 && number < kSharedNumbers) {
      return push_shared(numbers_[static_cast<size_t>(number)], Kind::kNumber, number);
    }
    push(Kind::kNumber).number = number;
  }
  void push_text(Kind kind, std::string text) {
    PickleValue value;
    value.kind = kind;
    if (!text.empty()) value.change().text = std::move(text);
    push(std::move(value));
  }
  void push_text(uint64_t length) { push_text(Kind::kText, std::string(take(length))); }

  /// The stack above this index belongs to the open mark, or to the whole pickle.
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleValue* pop() {
    if (stack_.size() <= floor()) fail("its pickle pops a value from an empty stack");
    PickleValue* value = stack_.back();
    stack_.pop_back();
    return value;
  }
  PickleValue& top(Kind kind) {
    if (stack_.size() <= floor() || stack_.back()->kind != kind) {
      fail("its pickle adds to a value that is not a container");
    }
    return *stack_.back();
  }
  std::vector<PickleValue*> pop_to_mark() {
    if (marks_.empty()) fail("its pickle pops a mark that does not exist");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleValue*> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }
  void push_tuple(size_t count) {
    std::vector<PickleValue*> items(count);
    while (count > 0) items[--count] = pop();
    push(Kind::kTuple, std::move(items));
  }

  // The opcodes.

  void execute(unsigned char opcode) {
    if (opcode == kNewObject && content_ == PickleOf::kDistributedMetadata) return new_record();
    if (const char* maker = what_makes_objects(opcode)) throw weights_errors::refused(path_, maker);
    if (push_constant(opcode) || handle_container(opcode) || handle_memo(opcode)) return;
    switch (opcode) {
      case kGlobal: {
        const std::string module = line();
        return push_global(module + "." + line());
      }
      case kStackGlobal: {
        const std::string name = pop_text();
        return push_global(pop_text() + "." + name);
      }
      case kReduce:
        return reduce();
      case kBuild:
        return build();
      case kBinPersistentId:
        push(persistent_storage(path_, *pop()));
        return;
      case kFrame:
        take(8);
        return;
      default:
        fail(fmt::format("its pickle has an unknown opcode 0x{:02x} at byte {}", opcode, at_ - 1));
    }
  }

  bool push_constant(unsigned char opcode) {
    switch (opcode) {
      case kNone:
        return push_none(), true;
      case kNewTrue:
      case kNewFalse:
        return push_number(opcode == kNewTrue ? 1 : 0), true;
      case kBinInt:
        return push_number(static_cast<int32_t>(number(4))), true;
      case kBinInt1:
        return push_number(static_cast<int64_t>(number(1))), true;
      case kBinInt2:
        return push_number(static_cast<int64_t>(number(2))), true;
      case kLong1:
        return push_long(), true;
      case kBinFloat:
        return take(8), push(Kind::kReal), true;
      case kShortBinString:
      case kShortBinBytes:
      case kShortBinUnicode:
        return push_text(number(1)), true;
      case kBinString:
      case kBinBytes:
      case kBinUnicode:
        return push_text(number(4)), true;
      case kBinUnicode8:
      case kBinBytes8:
        return push_text(number(8)), true;
      default:
        return false;
    }
  }

  /// Reads an integer of any length in two's complement. Beyond 64 bits, its value is not kept.
  void push_long() {
    const uint64_t length = number(1);
    if (length > 8) {
      take(length);
      push(Kind::kReal);
      return;
    }
    uint64_t bits = number(length);
    const uint64_t sign = length == 0 ? 0 : uint64_t{1} << (8 * length - 1);
    if (length < 8 && (bits & sign) != 0) bits -= sign << 1U;
    push_number(static_cast<int64_t>(bits));
  }

  bool handle_container(unsigned char opcode) {
    switch (opcode) {
      case kMark:
        return marks_.push_back(stack_.size()), true;
      case kPop:
        return pop(), true;
      case kPopMark:
        return pop_to_mark(), true;
      case kDup: {
        PickleValue* value = pop();
        stack_.push_back(value);
        stack_.push_back(value);
        return true;
      }
      case kEmptyTuple:
      case kTuple1:
      case kTuple2:
      case kTuple3:
        return push_tuple(opcode == kEmptyTuple ? 0U : opcode - kTuple1 + 1U), true;
      case kTuple:
        return push(Kind::kTuple, pop_to_mark()), true;
      case kEmptyList:
      case kEmptySet:
        return push(Kind::kList), true;
      case kEmptyDict:
        return push(Kind::kDict), true;
      case kAppend:
        return add_items(Kind::kList, {pop()}), true;
      case kAppends:
      case kAddItems:
        return add_items(Kind::kList, pop_to_mark()), true;
      case kSetItem: {
        PickleValue* value = pop();
        return add_items(Kind::kDict, {pop(), value}), true;
      }
      case kSetItems:
        return add_items(Kind::kDict, pop_to_mark()), true;
      default:
        return false;
    }
  }

  void add_items(Kind kind, const std::vector<PickleValue*>& items) {
    PickleValue& container = top(kind);
    units_.take_items(container, items.size());
    if (kind == Kind::kDict && items.size() % 2 != 0) fail("its pickle has a key without a value");
    if (items.empty()) return;
    std::vector<PickleValue*>& into = container.change().items;
    into.insert(into.end(), items.begin(), items.end());
  }

  bool handle_memo(unsigned char opcode) {
    switch (opcode) {
      case kBinPut:
        return put(number(1)), true;
      case kLongBinPut:
        return put(number(4)), true;
      case kMemoize:
        return put(memo_.size()), true;
      case kBinGet:
        return get(number(1)), true;
      case kLongBinGet:
        return get(number(4)), true;
      default:
        return false;
    }
  }

  void put(uint64_t index) {
    PickleValue* value = pop();
    stack_.push_back(value);
    memo_[index] = value;
  }

  void get(uint64_t index) {
    const auto it = memo_.find(index);
    if (it == memo_.end()) fail("its pickle reads a memo entry that does not exist");
    stack_.push_back(it->second);
  }

  std::string pop_text() {
    const PickleValue* value = pop();
    if (value->kind != Kind::kText) fail("its pickle imports a global without a name");
    return value->text();
  }

  void push_global(const std::string& name) {
    const bool is_known = is_known_global(name) || (content_ == PickleOf::kDistributedMetadata &&
                                                    is_distributed_global(name));
    if (!is_known) throw weights_errors::refused(path_, "'" + printable(name) + "'");
    push_text(Kind::kGlobal, name);
  }

  /// An empty record of a known class, which `build` fills.
  void new_record() {
    const PickleValue* arguments = pop();
    const PickleValue* type = pop();
    if (type->kind != Kind::kGlobal || !is_distributed_record(type->text()) ||
        arguments->kind != Kind::kTuple || !arguments->items().empty()) {
      throw weights_errors::refused(path_, what_makes_objects(kNewObject));
    }
    push(Kind::kDict);
  }

  /// Gives a record its state. A dictionary of torch.save has attributes, which are not needed.
  void build() {
    PickleValue* state = pop();
    top(Kind::kDict);
    if (content_ != PickleOf::kDistributedMetadata) return;
    if (state->kind == Kind::kDict) {
      const std::vector<PickleValue*> attributes = state->items();  // it may be the record itself
      units_.take(attributes.size());
      return add_items(Kind::kDict, attributes);
    }
    PickleValue name;
    name.kind = Kind::kText;
    name.change().text = "state";
    PickleValue* key = &push(std::move(name));
    pop();
    add_items(Kind::kDict, {key, state});
  }

  static std::string printable(const std::string& name) {
    std::string text;
    for (const char c : name.substr(0, 200)) text += c >= ' ' && c <= '~' ? c : '?';
    return text;
  }

  void reduce() {
    const PickleValue* arguments = pop();
    const PickleValue* function = pop();
    if (function->kind != Kind::kGlobal || arguments->kind != Kind::kTuple) {
      fail("its pickle calls a value that is not a function");
    }
    if (is_distributed_global(function->text())) {  // an enumerator or a path: not needed
      push_none();
      return;
    }
    push(call_global(path_, function->text(), arguments->items()));
  }

  const std::string& path_;
  PickleUnits units_;
  std::string_view bytes_;
  PickleOf content_;
  size_t at_ = 0;
  PickleValue* none_ = nullptr;
  std::array<PickleValue*, kSharedNumbers> numbers_ = {};
  std::unique_ptr<std::deque<PickleValue>> values_;
  std::vector<PickleValue*> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleValue*> memo_;
};

}  // namespace

Pickle unpickle(ReadingBudget& budget, std::string_view bytes, PickleOf content) {
  return Unpickler(budget, bytes, content).run();
}

const PickleValue* find_item(const PickleValue& dict, std::string_view key) {
  if (dict.kind != Kind::kDict) return nullptr;
  const PickleValue* found = nullptr;
  const std::vector<PickleValue*>& items = dict.items();
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const PickleValue& name = *items[i];
    // The last value counts.
    if (name.kind == Kind::kText && name.text() == key) found = items[i + 1];
  }
  return found;
}

}  // namespace s2s
