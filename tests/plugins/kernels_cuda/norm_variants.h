#pragma once
// The text of add_rms_norm.cu for some sizes and types, each in a name space with its plan.

#include "kernels_cuda/device_threads.h"
#include "norm_plan.h"

// What is not added has parameters that stay unused.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#define S2S_VARIANT float_96
#define S2S_DIM 96
#define S2S_TYPE 0
#define S2S_Y_TYPE 0
#define S2S_W_TYPE 0
#define S2S_OUT_TYPE 0
#define S2S_LANES 32
#define S2S_ROWS 8
#define S2S_LOAD 4
#define S2S_ADDS 0
#define S2S_ADDS_ONE 0
#include "kernels_cuda/norm_variant.inc"

#define S2S_VARIANT bfloat16_1040
#define S2S_DIM 1040
#define S2S_TYPE 1
#define S2S_Y_TYPE 1
#define S2S_W_TYPE 1
#define S2S_OUT_TYPE 1
#define S2S_LANES 256
#define S2S_ROWS 1
#define S2S_LOAD 8
#define S2S_ADDS 1
#define S2S_ADDS_ONE 0
#include "kernels_cuda/norm_variant.inc"

#define S2S_VARIANT bfloat16_512_one
#define S2S_DIM 512
#define S2S_TYPE 1
#define S2S_Y_TYPE 1
#define S2S_W_TYPE 1
#define S2S_OUT_TYPE 1
#define S2S_LANES 64
#define S2S_ROWS 4
#define S2S_LOAD 8
#define S2S_ADDS 1
#define S2S_ADDS_ONE 1
#include "kernels_cuda/norm_variant.inc"

#define S2S_VARIANT float16_2048
#define S2S_DIM 2048
#define S2S_TYPE 2
#define S2S_Y_TYPE 2
#define S2S_W_TYPE 2
#define S2S_OUT_TYPE 2
#define S2S_LANES 256
#define S2S_ROWS 1
#define S2S_LOAD 8
#define S2S_ADDS 1
#define S2S_ADDS_ONE 0
#include "kernels_cuda/norm_variant.inc"

#define S2S_VARIANT bfloat16_70
#define S2S_DIM 70
#define S2S_TYPE 1
#define S2S_Y_TYPE 1
#define S2S_W_TYPE 1
#define S2S_OUT_TYPE 1
#define S2S_LANES 128
#define S2S_ROWS 2
#define S2S_LOAD 1
#define S2S_ADDS 0
#define S2S_ADDS_ONE 0
#include "kernels_cuda/norm_variant.inc"

#define S2S_VARIANT bfloat16_two_loads
#define S2S_DIM 440
#define S2S_TYPE 1
#define S2S_Y_TYPE 1
#define S2S_W_TYPE 1
#define S2S_OUT_TYPE 1
#define S2S_LANES 32
#define S2S_ROWS 2
#define S2S_LOAD 8
#define S2S_ADDS 1
#define S2S_ADDS_ONE 0
#include "kernels_cuda/norm_variant.inc"

#define S2S_VARIANT float_two_loads
#define S2S_DIM 360
#define S2S_TYPE 0
#define S2S_Y_TYPE 0
#define S2S_W_TYPE 0
#define S2S_OUT_TYPE 0
#define S2S_LANES 64
#define S2S_ROWS 1
#define S2S_LOAD 4
#define S2S_ADDS 0
#define S2S_ADDS_ONE 1
#include "kernels_cuda/norm_variant.inc"

#define S2S_VARIANT float_and_bfloat16
#define S2S_DIM 516
#define S2S_TYPE 0
#define S2S_Y_TYPE 1
#define S2S_W_TYPE 0
#define S2S_OUT_TYPE 0
#define S2S_LANES 256
#define S2S_ROWS 1
#define S2S_LOAD 4
#define S2S_ADDS 1
#define S2S_ADDS_ONE 0
#include "kernels_cuda/norm_variant.inc"

#define S2S_VARIANT float_and_bfloat16_one
#define S2S_DIM 200
#define S2S_TYPE 0
#define S2S_Y_TYPE 1
#define S2S_W_TYPE 0
#define S2S_OUT_TYPE 0
#define S2S_LANES 64
#define S2S_ROWS 4
#define S2S_LOAD 4
#define S2S_ADDS 1
#define S2S_ADDS_ONE 1
#include "kernels_cuda/norm_variant.inc"

#define S2S_VARIANT bfloat16_and_float
#define S2S_DIM 136
#define S2S_TYPE 1
#define S2S_Y_TYPE 1
#define S2S_W_TYPE 0
#define S2S_OUT_TYPE 0
#define S2S_LANES 64
#define S2S_ROWS 4
#define S2S_LOAD 4
#define S2S_ADDS 0
#define S2S_ADDS_ONE 0
#include "kernels_cuda/norm_variant.inc"

#define S2S_VARIANT bfloat16_and_float_one
#define S2S_DIM 136
#define S2S_TYPE 1
#define S2S_Y_TYPE 1
#define S2S_W_TYPE 0
#define S2S_OUT_TYPE 1
#define S2S_LANES 64
#define S2S_ROWS 4
#define S2S_LOAD 4
#define S2S_ADDS 0
#define S2S_ADDS_ONE 1
#include "kernels_cuda/norm_variant.inc"

#pragma GCC diagnostic pop
