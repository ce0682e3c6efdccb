#pragma once
// The text of rotation.cu for some heads and types, each in a name space with its plan.

#include "kernels_cuda/device_threads.h"
#include "rotation_plan.h"

#define S2S_VARIANT bfloat16_64
#define S2S_DIM 64
#define S2S_TYPE 1
#define S2S_THREADS 32
#define S2S_LOAD 8
#define S2S_Q_HEADS 4
#define S2S_K_HEADS 2
#define S2S_V_HEADS 0
#include "kernels_cuda/rotation_variant.inc"

#define S2S_VARIANT bfloat16_64_packed
#define S2S_DIM 64
#define S2S_TYPE 1
#define S2S_THREADS 32
#define S2S_LOAD 8
#define S2S_Q_HEADS 4
#define S2S_K_HEADS 2
#define S2S_V_HEADS 2
#include "kernels_cuda/rotation_variant.inc"

#define S2S_VARIANT float_24
#define S2S_DIM 24
#define S2S_TYPE 0
#define S2S_THREADS 32
#define S2S_LOAD 4
#define S2S_Q_HEADS 3
#define S2S_K_HEADS 3
#define S2S_V_HEADS 0
#include "kernels_cuda/rotation_variant.inc"

#define S2S_VARIANT float_24_packed
#define S2S_DIM 24
#define S2S_TYPE 0
#define S2S_THREADS 32
#define S2S_LOAD 4
#define S2S_Q_HEADS 3
#define S2S_K_HEADS 3
#define S2S_V_HEADS 3
#include "kernels_cuda/rotation_variant.inc"

#define S2S_VARIANT float16_6
#define S2S_DIM 6
#define S2S_TYPE 2
#define S2S_THREADS 32
#define S2S_LOAD 1
#define S2S_Q_HEADS 5
#define S2S_K_HEADS 1
#define S2S_V_HEADS 0
#include "kernels_cuda/rotation_variant.inc"

#define S2S_VARIANT float16_6_packed
#define S2S_DIM 6
#define S2S_TYPE 2
#define S2S_THREADS 32
#define S2S_LOAD 1
#define S2S_Q_HEADS 5
#define S2S_K_HEADS 1
#define S2S_V_HEADS 1
#include "kernels_cuda/rotation_variant.inc"
