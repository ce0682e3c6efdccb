#include "base/parallel_rows.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>

namespace s2s {

void parallel_rows(int64_t count, int64_t grain, c10::function_ref<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  if (count <= grain || at::get_num_threads() == 1) return body(0, count);
  const at::Tensor rows = at::empty({count}, at::TensorOptions().dtype(at::kByte));
  auto iterator = at::TensorIteratorConfig()
                      .set_check_mem_overlap(false)
                      .check_all_same_dtype(false)
                      .resize_outputs(false)
                      .declare_static_shape(rows.sizes())
                      .add_borrowed_output(rows)
                      .build();
  const char* base = static_cast<const char*>(rows.const_data_ptr());
  iterator.for_each(
      // Use the two-dimensional form: the other one causes a false array warning of GCC 12 in
      // LibTorch's header.
      [&](char** data, const int64_t*, int64_t size, int64_t) {
        const int64_t begin = data[0] - base;
        body(begin, begin + size);
      },
      grain);
}

}  // namespace s2s
