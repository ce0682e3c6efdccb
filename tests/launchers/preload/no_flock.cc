// Preloaded into s2s-run: a file system without locks (NFS without lockd, Lustre without -o flock).

#include <cerrno>

extern "C" int flock(int, int) {
  errno = ENOLCK;
  return -1;
}
