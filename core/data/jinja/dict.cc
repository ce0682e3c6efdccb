// Finds members of a dict by their keys. Few members are compared one by one; many have a hash
// table.

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "jinja/value.h"

namespace s2s::jinja {
namespace {

constexpr size_t kFewMembers = 16;
constexpr size_t kNowhere = ~size_t{0};

uint64_t mixed(uint64_t bits) {
  bits ^= bits >> 32;
  bits *= 0x9E3779B97F4A7C15u;
  return bits ^ (bits >> 29);
}

/// Differs between processes, so that no file can choose keys that collide in the table.
uint64_t secret() {
  static const uint64_t made = [] {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    return mixed(static_cast<uint64_t>(now)) ^ mixed(reinterpret_cast<uintptr_t>(&now));
  }();
  return made;
}

size_t hash_of(std::string_view text) {
  charge(text.size() / 64);
  uint64_t bits = secret() ^ text.size();
  for (; text.size() >= 8; text.remove_prefix(8)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof(word));
    bits = mixed(bits ^ word);
  }
  uint64_t word = 0;
  std::memcpy(&word, text.data(), text.size());
  return mixed(mixed(bits ^ word));
}

/// Equal keys have equal hashes: 1, 1.0 and true. Lists are compared one by one.
size_t hash_of(const Value& key) {
  if (const MarkedText* text = key.text()) return hash_of(std::string_view(text->bytes()));
  if (!key.is_number()) return secret();
  const double number = key.number() + 0.0;  // -0.0 becomes 0.0
  uint64_t word = 0;
  std::memcpy(&word, &number, sizeof(word));
  return mixed(secret() ^ mixed(word));
}

bool is_text(const Value& key, std::string_view wanted) {
  const MarkedText* text = key.text();
  if (text == nullptr || text->size() != wanted.size()) return false;
  charge(wanted.size() / 64);
  return text->bytes() == wanted;
}

}  // namespace

/// Charges each key that is compared.
template <class IsKey>
size_t Dict::place_of(size_t hash, const IsKey& is_key) const {
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask; slots_[at] != 0; at = (at + 1) & mask) {
    charge();
    if (is_key(members[slots_[at] - 1].first)) return slots_[at] - 1;
  }
  return kNowhere;
}

const Value* Dict::find(const Value& key) const {
  const auto is_key = [&](const Value& other) { return equal(other, key); };
  if (slots_.empty()) {
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const auto& member) { return is_key(member.first); });
    return found == members.end() ? nullptr : &found->second;
  }
  const size_t place = place_of(hash_of(key), is_key);
  return place == kNowhere ? nullptr : &members[place].second;
}

const Value* Dict::find(std::string_view key) const {
  if (slots_.empty()) {
    charge(1 + members.size() / 4);
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const auto& member) { return is_text(member.first, key); });
    return found == members.end() ? nullptr : &found->second;
  }
  const size_t place =
      place_of(hash_of(key), [&](const Value& other) { return is_text(other, key); });
  return place == kNowhere ? nullptr : &members[place].second;
}

/// Inserts into the first free slot.
void Dict::enter(size_t place, size_t hash) {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask) charge();
  slots_[at] = static_cast<uint32_t>(place + 1);
}

void Dict::add_new(Value key, Value value) {
  members.emplace_back(std::move(key), std::move(value));
  const size_t count = members.size();
  if (count <= kFewMembers) return;
  if (count * 2 <= slots_.size()) return enter(count - 1, hash_of(members.back().first));
  slots_.assign(std::max<size_t>(slots_.size() * 2, kFewMembers * 4), 0);
  for (size_t i = 0; i < count; ++i) enter(i, hash_of(members[i].first));
}

void Dict::set(Value key, Value value) {
  if (const Value* old = find(key)) {
    *const_cast<Value*>(old) = std::move(value);  // `find` is const, but this dict is not
    return;
  }
  add_new(std::move(key), std::move(value));
}

}  // namespace s2s::jinja
