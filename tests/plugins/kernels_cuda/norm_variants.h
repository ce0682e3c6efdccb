#pragma once
// The text of add_rms_norm.cu for some sizes and types, each in a name space with its plan.

#include "kernels_cuda/device_threads.h"
#include "norm_plan.h"

// What is not added has parameters that stay unused.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define S2S_DIM 96
#define S2S_TYPE 0
#define S2S_LANES 32
#define S2S_ROWS 8
#define S2S_LOAD 4
#define S2S_ADDS 0
#define S2S_ADDS_ONE 0
namespace float_96 {
#include "add_rms_norm.cu"
constexpr s2s::cuda::NormPlan kPlan = {S2S_LOAD, S2S_LANES, S2S_ROWS};
}  // namespace float_96
#undef S2S_DIM
#undef S2S_TYPE
#undef S2S_LANES
#undef S2S_ROWS
#undef S2S_LOAD
#undef S2S_ADDS
#undef S2S_ADDS_ONE

#define S2S_DIM 1040
#define S2S_TYPE 1
#define S2S_LANES 256
#define S2S_ROWS 1
#define S2S_LOAD 8
#define S2S_ADDS 1
#define S2S_ADDS_ONE 0
namespace bfloat16_1040 {
#include "add_rms_norm.cu"
constexpr s2s::cuda::NormPlan kPlan = {S2S_LOAD, S2S_LANES, S2S_ROWS};
}  // namespace bfloat16_1040
#undef S2S_DIM
#undef S2S_TYPE
#undef S2S_LANES
#undef S2S_ROWS
#undef S2S_LOAD
#undef S2S_ADDS
#undef S2S_ADDS_ONE

#define S2S_DIM 512
#define S2S_TYPE 1
#define S2S_LANES 64
#define S2S_ROWS 4
#define S2S_LOAD 8
#define S2S_ADDS 1
#define S2S_ADDS_ONE 1
namespace bfloat16_512_one {
#include "add_rms_norm.cu"
constexpr s2s::cuda::NormPlan kPlan = {S2S_LOAD, S2S_LANES, S2S_ROWS};
}  // namespace bfloat16_512_one
#undef S2S_DIM
#undef S2S_TYPE
#undef S2S_LANES
#undef S2S_ROWS
#undef S2S_LOAD
#undef S2S_ADDS
#undef S2S_ADDS_ONE

#define S2S_DIM 2048
#define S2S_TYPE 2
#define S2S_LANES 256
#define S2S_ROWS 1
#define S2S_LOAD 8
#define S2S_ADDS 1
#define S2S_ADDS_ONE 0
namespace float16_2048 {
#include "add_rms_norm.cu"
constexpr s2s::cuda::NormPlan kPlan = {S2S_LOAD, S2S_LANES, S2S_ROWS};
}  // namespace float16_2048
#undef S2S_DIM
#undef S2S_TYPE
#undef S2S_LANES
#undef S2S_ROWS
#undef S2S_LOAD
#undef S2S_ADDS
#undef S2S_ADDS_ONE

#define S2S_DIM 70
#define S2S_TYPE 1
#define S2S_LANES 128
#define S2S_ROWS 2
#define S2S_LOAD 1
#define S2S_ADDS 0
#define S2S_ADDS_ONE 0
namespace bfloat16_70 {
#include "add_rms_norm.cu"
constexpr s2s::cuda::NormPlan kPlan = {S2S_LOAD, S2S_LANES, S2S_ROWS};
}  // namespace bfloat16_70
#undef S2S_DIM
#undef S2S_TYPE
#undef S2S_LANES
#undef S2S_ROWS
#undef S2S_LOAD
#undef S2S_ADDS
#undef S2S_ADDS_ONE

#define S2S_DIM 440
#define S2S_TYPE 1
#define S2S_LANES 32
#define S2S_ROWS 2
#define S2S_LOAD 8
#define S2S_ADDS 1
#define S2S_ADDS_ONE 0
namespace bfloat16_two_loads {
#include "add_rms_norm.cu"
constexpr s2s::cuda::NormPlan kPlan = {S2S_LOAD, S2S_LANES, S2S_ROWS};
}  // namespace bfloat16_two_loads
#undef S2S_DIM
#undef S2S_TYPE
#undef S2S_LANES
#undef S2S_ROWS
#undef S2S_LOAD
#undef S2S_ADDS
#undef S2S_ADDS_ONE

#define S2S_DIM 360
#define S2S_TYPE 0
#define S2S_LANES 64
#define S2S_ROWS 1
#define S2S_LOAD 4
#define S2S_ADDS 0
#define S2S_ADDS_ONE 1
namespace float_two_loads {
#include "add_rms_norm.cu"
constexpr s2s::cuda::NormPlan kPlan = {S2S_LOAD, S2S_LANES, S2S_ROWS};
}  // namespace float_two_loads
#undef S2S_DIM
#undef S2S_TYPE
#undef S2S_LANES
#undef S2S_ROWS
#undef S2S_LOAD
#undef S2S_ADDS
#undef S2S_ADDS_ONE

#pragma GCC diagnostic pop
