#pragma once
// Memory behind tensors that comes and goes while the tensors stay, also those that autograd keeps.

#include <ATen/core/Tensor.h>

namespace s2s {

/// Gives the memory behind `tensor` and everything that shares it back. Nobody may read it then.
void free_storage(const at::Tensor& tensor);
/// Gets memory of the size that `tensor` needs; its content is undefined. Nothing happens where
/// there is some.
void restore_storage(const at::Tensor& tensor);
bool has_storage(const at::Tensor& tensor);

}  // namespace s2s
