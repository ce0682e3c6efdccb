// The formula of a Conformer's floating-point operations against PyTorch's counter, which counted
// them in NeMo's ConformerEncoder (tests/reference/flops_reference.py encoder).

#include <doctest/doctest.h>

#include "s2s/nn/conformer.h"

using namespace s2s;

namespace {

double flops(const std::string& subsampling, int64_t factor, int64_t rows, int64_t frames) {
  ConformerOptions options;
  options.feat_in = 80;
  options.n_layers = 2;
  options.d_model = 64;
  options.n_heads = 4;
  options.subsampling = subsampling;
  options.subsampling_factor = factor;
  options.subsampling_conv_channels = 32;
  options.conv_kernel_size = 9;
  ConformerEncoder encoder(options);
  return encoder.forward_flops(rows, frames);
}

}  // namespace

TEST_CASE("a Conformer's operations are those that PyTorch counts in NeMo's") {
  CHECK(flops("dw_striding", 8, 2, 400) == 71062016);
  CHECK(flops("striding", 4, 2, 101) == 47700992);
  CHECK(flops("stacking", 4, 2, 100) == 23074816);
  CHECK(flops("striding", 1, 3, 40) == 52903936);
}
