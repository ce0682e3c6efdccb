#include "bpe.h"

namespace s2s::hf_plugin {
namespace {

uint64_t key_of(int32_t left, int32_t right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32) | static_cast<uint32_t>(right);
}

}  // namespace

void MergeTable::reserve(size_t num_merges) {
  size_t num_slots = 16;
  shift_ = 60;
  while (num_slots < num_merges * 2) {
    num_slots *= 2;
    --shift_;
  }
  slots_.assign(num_slots, Slot{});
}

size_t MergeTable::slot_of(uint64_t key) const {
  constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
  size_t at = ((key ^ (key >> 29)) * kGoldenRatio) >> shift_;
  while (slots_[at].key != key && slots_[at].key != UINT64_MAX) at = (at + 1) & (slots_.size() - 1);
  return at;
}

void MergeTable::add(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = key_of(left, right);
  slots_[slot_of(key)] = {key, merge};
}

MergeTable::Merge MergeTable::find(int32_t left, int32_t right) const {
  return slots_[slot_of(key_of(left, right))].merge;
}

}  // namespace s2s::hf_plugin
