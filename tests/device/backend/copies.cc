#include "device/backend/copies.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <limits>

#include "device/backend/host_waits.h"
#include "device/backend/memory.h"
#include "device/backend/on_host.h"
#include "device/backend/streams.h"

namespace s2s::test_device {
namespace {

bool has_pinned_memory(const at::Tensor& host) { return is_pinned(host.storage().data()); }

/// What a job copies: elements of the device by their address only, whoever owns them by then.
at::Tensor elements_of(const at::Tensor& tensor) {
  return tensor.is_cpu() ? tensor.detach() : OnHost().host(tensor);
}

/// A late copy's target holds nothing that anybody could use, until the copy runs.
void poison(const at::Tensor& target) {
  const at::Tensor elements = elements_of(target);
  if (elements.is_floating_point() || elements.is_complex()) {
    elements.fill_(std::numeric_limits<double>::quiet_NaN());
  } else if (elements.scalar_type() == at::kLong) {
    elements.fill_(std::numeric_limits<int64_t>::min());
  } else if (elements.scalar_type() != at::kBool) {
    elements.fill_(127);
  }
}

/// Sums of the device that a copy widens or narrows do not matter here.
void run_copy(const at::Tensor& from, const at::Tensor& to) {
  const at::AutoDispatchBelowADInplaceOrView below;
  at::Tensor target = to;
  target.copy_(from);
}

}  // namespace

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool non_blocking) {
  if (to.numel() == 0) return to;
  const at::AutoDispatchBelowADInplaceOrView below;
  const bool is_inside = !from.is_cpu() && !to.is_cpu();
  const c10::StreamId stream = current_stream();
  if (is_inside && stream == Streams::kDefault) {
    streams().finish(stream);
    run_copy(elements_of(from), elements_of(to));
    return to;
  }
  const bool lands_late = non_blocking && to.is_cpu() && has_pinned_memory(to);
  const bool leaves_late = non_blocking && from.is_cpu();
  const bool is_late = is_inside || lands_late || leaves_late;
  at::Tensor source = elements_of(from);
  // Memory that is not pinned has been read when the call returns.
  if (leaves_late && !has_pinned_memory(from)) source = source.clone();
  const at::Tensor target = elements_of(to);
  const std::vector<const void*> memory = {from.storage().data(), to.storage().data()};
  if (is_late && !streams().is_used(memory[1])) poison(to);
  streams().submit(stream, {[source, target] { run_copy(source, target); }, memory});
  if (is_late) return to;
  count_wait(to.is_cpu() ? "copy to the host" : "copy to the device");
  streams().finish(stream);
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  to.resize_(from.sizes());
  return copy_from(from, to, /*non_blocking=*/false);
}

}  // namespace s2s::test_device
