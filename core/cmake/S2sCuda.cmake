# Says whether runs on a GPU are possible. Nothing here is compiled for a GPU: a run opens
# LibTorch's CUDA half (decision record 0006), and that opens the CUDA libraries beside it.

set(s2s_cuda_missing "")
if(NOT EXISTS "${S2S_TORCH_ROOT}/lib/libtorch_cuda.so")
  list(APPEND s2s_cuda_missing "libtorch_cuda")
endif()
foreach(library cublas cufft cusparse nccl)
  set(found "")
  foreach(folder "${S2S_TORCH_ROOT}/lib" ${S2S_TORCH_RUNTIME_DIRS} /usr/local/cuda/lib64)
    file(GLOB files "${folder}/lib${library}.so*")
    list(APPEND found ${files})
  endforeach()
  if(NOT found)
    list(APPEND s2s_cuda_missing "lib${library}")
  endif()
endforeach()
list(JOIN s2s_cuda_missing ", " s2s_cuda_missing)

if(NOT s2s_cuda_missing)
  message(STATUS "GPU: runs on one are possible, LibTorch's CUDA half and its libraries are here")
elseif(S2S_CUDA)
  message(FATAL_ERROR "GPU: ${s2s_cuda_missing} not found beside ${S2S_TORCH_ROOT}; "
    "run 'S2S_WITH_CUDA=1 bash core/setup.sh --preset gpu', or configure without S2S_CUDA")
else()
  message(STATUS "GPU: CPU targets only, ${s2s_cuda_missing} not found")
endif()
