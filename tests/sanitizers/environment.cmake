# The sanitizers' settings, for every test of a sanitized build: to stop at the first finding, and
# to leave SIGBUS to core/foundation/base/mapped_file. LibTorch and OpenMP are not instrumented;
# tsan.supp excuses what comes from them, with reasons. (core/docs/internals/sanitizers.md)
set(S2S_SANITIZER_ENVIRONMENT "")
if(S2S_SANITIZE MATCHES undefined)
  list(APPEND S2S_SANITIZER_ENVIRONMENT "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1"
    "ASAN_OPTIONS=handle_sigbus=0")
endif()
if(S2S_SANITIZE MATCHES thread)
  # OpenMP's barriers are invisible to the sanitizer, so its threads are not started. On Linux
  # ignore_noninstrumented_modules would also leave out what our own code passes to the C library.
  list(APPEND S2S_SANITIZER_ENVIRONMENT "OMP_NUM_THREADS=1"
    "TSAN_OPTIONS=handle_sigbus=0:suppressions=${CMAKE_CURRENT_LIST_DIR}/tsan.supp")
endif()
