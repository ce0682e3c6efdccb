# shellcheck shell=bash disable=SC2154  # the script that reads this sets source_dir, release, ...
# What bare_debian.sh and bare_gpu_machine.sh share: a Debian made by debootstrap, in a namespace.
# Variables: what (of messages), release, system (the new root), keep, folder, namespace.

say() { printf '%s: %s\n' "$what" "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }

# shellcheck disable=SC2016  # apt-get's variable
# The Debian that this machine's apt already uses, or debootstrap's own choice.
mirror() {
  apt-get indextargets --format '$(SITE)' "Codename: $release" 2> /dev/null | head -1 || true
}

# What this machine needs to reach packages. Its own files are copied and never printed.
copy_network_settings() {
  mkdir -p "$system"/etc/ssl/certs "$system"/usr/local/share/ca-certificates "$system"/root/.config
  cp -L /etc/resolv.conf "$system/etc/resolv.conf"
  [ ! -f /etc/ssl/certs/ca-certificates.crt ] ||
    cp -L /etc/ssl/certs/ca-certificates.crt "$system/etc/ssl/certs/"
  cp -rL /usr/local/share/ca-certificates/. "$system/usr/local/share/ca-certificates/"
  [ ! -f /etc/pip.conf ] || cp -L /etc/pip.conf "$system/etc/pip.conf"
  [ ! -d "$HOME/.config/pip" ] || cp -rL "$HOME/.config/pip" "$system/root/.config/"
  apt-config dump 2> /dev/null | { grep -E '^Acquire::.*(Proxy|CaInfo)' || true; } \
    > "$system/etc/apt/apt.conf.d/80host"
}

inside() {  # inside COMMAND...: in the bare system, with a clean environment
  local kept=()
  while IFS='=' read -r name value; do
    case $name in
      PIP_* | SSL_CERT_FILE | SSL_CERT_DIR | REQUESTS_CA_BUNDLE) kept+=("$name=$value") ;;
      *_proxy | *_PROXY | TERM | S2S_JOBS) kept+=("$name=$value") ;;
    esac
  done < <(env)
  chroot "$system" /usr/bin/env -i "${kept[@]}" HOME=/root LANG=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    bash -c 'cd /s2s && "$@"' inside "$@"
}

timed() {  # timed PART COMMAND...
  local part=$1 load
  shift
  read -r load _ < /proc/loadavg
  TIMEFORMAT="$what: $part took %R s (%U s user, %S s system;"
  TIMEFORMAT+=" $(env -u OMP_NUM_THREADS nproc) cores, load $load before)"
  time "$@"
}

# The child of `unshare` is process 1 of its namespace: when it dies, the kernel ends everything in
# it and drops the mounts.
clean_up() {
  trap '' INT TERM HUP
  pkill -KILL -P "$namespace" || true
  wait "$namespace" || true
  if [ "$keep" = 1 ]; then say "kept: $folder"; else rm -rf --one-file-system "$folder"; fi
}
