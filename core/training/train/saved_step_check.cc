#include "train/saved_step_check.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <map>

#include "duplex/batch_tensors.h"
#include "train/train_errors.h"
#include "weights/shape_text.h"

namespace s2s {
namespace {

/// One batch of a saved step.
class SavedBatchCheck {
 public:
  SavedBatchCheck(const std::string& path, size_t number, Batch& batch, int64_t vocab_size)
      : path_(path), number_(number), vocab_size_(vocab_size) {
    for (const auto& [name, tensor] : named_tensors(batch)) {
      if (tensor->defined()) tensors_[name] = *tensor;
    }
    check_rows(batch);
    for (const BatchTensor& tensor : kBatchTensors) {
      if (tensor.lengths_B == nullptr) continue;  // text, which check_text looks at
      check_channel(tensor);
      if (tensor.padding == BatchPadding::kPad) check_ids(tensor.name, 0);
    }
    check_text(batch);
  }

 private:
  const at::Tensor* find(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw_no_saved_step(path_, fmt::format("batch {}: {}", number_ + 1, what));
  }

  void require(const std::string& name, bool holds, const std::string& expected) const {
    if (holds) return;
    const at::Tensor& tensor = *find(name);
    fail(fmt::format("{} is {} {}, expected {}", name, at::toString(tensor.scalar_type()),
                     shape_text(tensor), expected));
  }

  void check_rows(const Batch& batch) {
    if (batch.ids.empty()) fail("it has no ids");
    rows_ = static_cast<int64_t>(batch.ids.size());
    for (const auto& [name, tensor] : tensors_) {
      if (name.starts_with("others/")) continue;  // the model that reads them knows their shapes
      require(name, tensor.dim() > 0 && tensor.size(0) == rows_,
              fmt::format("{} rows, as many as ids", rows_));
    }
  }

  void check_lengths(const std::string& name, int64_t most) const {
    const at::Tensor* const lengths = find(name);
    if (lengths == nullptr) fail("it has no " + name);
    require(name, lengths->scalar_type() == at::kLong && lengths->dim() == 1,
            fmt::format("int64 [{}]", rows_));
    check_range(name, 0, most);
  }

  void check_range(const std::string& name, int64_t least, int64_t most) const {
    const at::Tensor& values = *find(name);
    if (values.numel() == 0) return;
    const auto low = values.min().item<int64_t>(), high = values.max().item<int64_t>();
    if (low >= least && high <= most) return;
    fail(fmt::format("{} contains {}, expected {} to {}", name, low < least ? low : high, least,
                     most));
  }

  void check_channel(const BatchTensor& tensor) const {
    const at::Tensor* const rows = find(tensor.name);
    if (rows == nullptr) return;
    const bool has_dims = rows->dim() == tensor.num_dims;
    if (tensor.is_audio) {
      require(tensor.name, rows->is_floating_point() && has_dims,
              fmt::format("float32 [{}, samples]", rows_));
    } else {
      require(tensor.name, rows->scalar_type() == at::kLong && has_dims,
              fmt::format("int64 with {} dimensions", tensor.num_dims));
    }
    check_lengths(tensor.lengths_name, rows->size(-1));
  }

  void check_ids(const std::string& name, int64_t least) const {
    if (find(name) != nullptr && vocab_size_ > 0) check_range(name, least, vocab_size_ - 1);
  }

  void check_text(const Batch& batch) const {
    constexpr int64_t kIgnored = -100;
    const at::Tensor* const text = find("text_BT");
    if (text == nullptr) return;
    const at::Tensor* const labels = find("text_labels_BT");
    if (labels == nullptr) fail("it has no text_labels_BT");
    for (const char* name : {"text_BT", "text_labels_BT"}) {
      const at::Tensor& ids = *find(name);
      require(name,
              ids.scalar_type() == at::kLong && ids.dim() == 2 && ids.sizes() == text->sizes() &&
                  ids.size(1) > 0,
              fmt::format("int64 [{}, columns], as text_BT", rows_));
    }
    check_ids("text_BT", 0);
    check_ids("text_labels_BT", kIgnored);
    for (const DocumentSpan& span : batch.documents) {
      const bool fits = span.row >= 0 && span.row < rows_ && span.begin >= 0 && span.length > 0 &&
                        span.length <= text->size(1) && span.begin <= text->size(1) - span.length;
      if (fits) continue;
      fail(fmt::format("a document has row {}, begin {} and length {}, and text_BT is {}", span.row,
                       span.begin, span.length, shape_text(*text)));
    }
  }

  const std::string& path_;
  size_t number_;
  int64_t vocab_size_;
  int64_t rows_ = 0;
  std::map<std::string, at::Tensor> tensors_;
};

}  // namespace

void check_saved_step(const std::string& path, SavedStep& saved, int64_t vocab_size) {
  constexpr int64_t kMostSteps = 1'000'000'000'000;
  if (saved.batches.empty()) throw_no_saved_step(path, "it has no batch");
  if (saved.step < 0 || saved.step > kMostSteps) {
    throw_no_saved_step(path, fmt::format("its step is {}", saved.step));
  }
  const bool is_place = saved.data_rank >= 0 && saved.data_rank < saved.data_size &&
                        saved.data_size <= saved.num_ranks && saved.num_ranks <= kMostSteps;
  if (!is_place) {
    throw_no_saved_step(path, fmt::format("it is of data rank {} of {}, of {} ranks",
                                          saved.data_rank, saved.data_size, saved.num_ranks));
  }
  for (size_t i = 0; i < saved.batches.size(); ++i) {
    SavedBatchCheck(path, i, saved.batches[i], vocab_size);
  }
}

}  // namespace s2s
