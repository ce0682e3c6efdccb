# The sanitizers' settings, for every test of a sanitized build. LibTorch, OpenMP and the Debian
# libraries are not instrumented: what is excused for that, and why, is in the .supp files here.
set(S2S_SANITIZER_ENVIRONMENT "")
set(here "${CMAKE_CURRENT_LIST_DIR}")
if(S2S_SANITIZE MATCHES address)
  # handle_segv=0: `plugin check` must see the crash of a plugin as a crash.
  # use_sigaltstack=0: threads of uninstrumented libraries end without giving theirs back.
  list(APPEND S2S_SANITIZER_ENVIRONMENT
    "ASAN_OPTIONS=handle_segv=0:use_sigaltstack=0:detect_stack_use_after_return=0"
    "LSAN_OPTIONS=suppressions=${here}/lsan.supp:print_suppressions=0")
endif()
if(S2S_SANITIZE MATCHES undefined)
  list(APPEND S2S_SANITIZER_ENVIRONMENT "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1")
endif()
if(S2S_SANITIZE MATCHES thread)
  # OpenMP's barriers are invisible to the sanitizer, so its threads are not started.
  list(APPEND S2S_SANITIZER_ENVIRONMENT "OMP_NUM_THREADS=1"
    "TSAN_OPTIONS=suppressions=${here}/tsan.supp:ignore_noninstrumented_modules=1:handle_segv=0")
endif()
