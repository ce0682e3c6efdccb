#include "s2s/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace s2s {

// LibTorch sizes a thread's OpenMP team once, on the thread's first operator; the limit has to come
// after that. The function is looked up because LibTorch brings an OpenMP library of its own,
// which is not the one that the compiler would link.
void run_operators_on_this_thread() {
  at::get_num_threads();
  using SetNumThreads = void (*)(int);
  if (void* found = dlsym(RTLD_DEFAULT, "omp_set_num_threads")) {
    reinterpret_cast<SetNumThreads>(found)(1);
  }
}

}  // namespace s2s
