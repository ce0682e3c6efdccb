#pragma once
// The text of gated.cu for some widths and types, each in a name space with its plan.

#include "gated_plan.h"
#include "kernels_cuda/device_threads.h"

#define S2S_VARIANT silu_float_40
#define S2S_DIM 40
#define S2S_TYPE 0
#define S2S_LOAD 4
#define S2S_SILU 1
#include "kernels_cuda/gated_variant.inc"

#define S2S_VARIANT silu_bfloat16_72
#define S2S_DIM 72
#define S2S_TYPE 1
#define S2S_LOAD 8
#define S2S_SILU 1
#include "kernels_cuda/gated_variant.inc"

#define S2S_VARIANT gelu_bfloat16_72
#define S2S_DIM 72
#define S2S_TYPE 1
#define S2S_LOAD 8
#define S2S_SILU 0
#include "kernels_cuda/gated_variant.inc"

#define S2S_VARIANT gelu_float_37
#define S2S_DIM 37
#define S2S_TYPE 0
#define S2S_LOAD 1
#define S2S_SILU 0
#include "kernels_cuda/gated_variant.inc"

#define S2S_VARIANT silu_float16_29
#define S2S_DIM 29
#define S2S_TYPE 2
#define S2S_LOAD 1
#define S2S_SILU 1
#include "kernels_cuda/gated_variant.inc"
