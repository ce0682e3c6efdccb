#!/bin/bash
# usage: remote_test.sh S2S_RUN
# s2s-run launch pdsh with pdsh's local module, launch ssh with an ssh server of this test, and
# launch node in the environments of Kubernetes.
set -uo pipefail
s2s_run=$1
source "$(dirname "$0")/checks.sh"
cd "$folder" || exit 1

printf '# two machines\nworker-0 slots=2\n\nworker-1 slots=2  # the second\n' > hosts
remote=(launch pdsh --hostfile hosts --module exec --master-addr 127.0.0.1)

# DeepSpeed's grammar, and what is wrong in it.
expect_code 2 none "$s2s_run" launch ssh --hostfile nothing -- train x
expect_text none "[launch/hostfile] nothing: cannot be read"
printf 'worker-0 slots=2\nworker-1\n' > bad
expect_code 2 out "$s2s_run" launch ssh --hostfile bad -- train x
expect_text out "[launch/hostfile] bad:2: 'worker-1'"
printf 'worker-0 slots=2\nworker-0 slots=2\n' > bad
expect_code 2 out "$s2s_run" launch ssh --hostfile bad -- train x
expect_text out "bad:2:" "listed before"
expect_code 2 out "$s2s_run" launch ssh --hostfile hosts --include worker-2 -- train x
expect_text out "[launch/hosts] --include 'worker-2'" "worker-0, worker-1"
expect_code 2 out "$s2s_run" launch ssh --hostfile hosts --exclude worker-1:2 -- train x
expect_text out "worker-1 has no slot '2'"
expect_code 2 out "$s2s_run" launch ssh -H hosts -i worker-0 -e worker-1 -- train x
expect_text out "--include and --exclude were both given"
expect_code 2 out "$s2s_run" launch ssh -H hosts -e worker-0@worker-1 -- train x
expect_text out "no hosts are left"

# What lies in a downloaded folder does not run because one stands in it.
printf 'LD_PRELOAD=%s/none.so\nNCCL_X=1\n' "$folder" > .deepspeed_env
"$s2s_run" launch ssh --hostfile hosts --dry-run -- train x > line 2> said
expect_text said ".deepspeed_env of this folder is not read; --env-file .deepspeed_env reads it"
grep -q "LD_PRELOAD\|NCCL_X" line && complain "the folder's file is read" line
for name in LD_PRELOAD LD_AUDIT PYTHONPATH BASH_ENV PATH S2S_ALLOW_COMMANDS S2S_PLUGIN_PATH \
  S2S_DEVICE_LIBRARY NCCL_NET_PLUGIN OMP_TOOL_LIBRARIES GCONV_PATH; do
  printf '%s=1\n' "$name" > .deepspeed_env
  expect_code 2 out "$s2s_run" launch ssh --hostfile hosts --env-file .deepspeed_env -- train x
  expect_text out "[launch/environment] --env-file .deepspeed_env: $name is not taken from a file"
done
printf 'NCCL_X=1\n' > .deepspeed_env
"$s2s_run" launch ssh --hostfile hosts --env-file .deepspeed_env --dry-run -- train x > line 2> said
expect_text said "s2s-run launch: .deepspeed_env sets NCCL_X"
expect_text line "NCCL_X"
rm .deepspeed_env
expect_code 2 out "$s2s_run" launch ssh --hostfile hosts --env-file nothing -- train x
expect_text out "[launch/environment] --env-file nothing: the file does not exist"
mkdir home
printf 'NCCL_OWN=1\nLD_LIBRARY_PATH=/x\n' > home/.deepspeed_env
HOME=$folder/home "$s2s_run" launch ssh --hostfile hosts --dry-run -- train x > line 2> said
expect_text line "NCCL_OWN" "LD_LIBRARY_PATH"  # the user's own file
rm -r home

check_family() { # check_family LAUNCHER...: what every launcher of several machines does
  "$s2s_run" "$@" -- "${bench[@]}" --json > good 2> good.err || complain "it fails" good.err
  expect_right good "s2s-run launch node" 4
  "$s2s_run" "$@" --include worker-1@worker-0:1 -- "${bench[@]}" --json > some 2> some.err ||
    complain "it fails" some.err
  expect_right some "s2s-run launch node" 3

  # A mistake of all ranks is shown once; a failing rank is named, with its exit code.
  expect_code 4 mistake "$s2s_run" "$@" -- "${bench[@]}" --communicator none
  expect_text mistake "error: [plugin/unknown]"
  [ "$(grep -c 'error: ' mistake)" = 1 ] || complain "not one message" mistake
  expect_code 5 thrown "$s2s_run" "$@" -- bench fault throw --step 1 --timeout 5 --rank 2
  expect_text thrown "error: [launch/rank-failed] rank 2 of 4 ended with exit code 5" \
    "error: [launch/injected]"
  [ "$(grep -c 'launch/rank-failed' thrown)" = 1 ] || complain "not one first rank" thrown
  expect_code 137 killed "$s2s_run" "$@" -- bench fault kill --step 1 --timeout 5 --rank 3
  expect_text killed "[launch/rank-failed] rank 3 of 4 was ended by signal 9 (Killed)"

  # A request to stop reaches all ranks, and none outlives its launcher.
  long=(bench collectives --size 64M --repeats 1000000 --timeout 8)
  for signal in TERM KILL; do
    NOTE="it's 100%n of \$HOME" S2S_LINES=$'two\nlines' "$s2s_run" "$@" --env NOTE -- "${long[@]}" \
      > stopped 2>&1 &
    launcher=$!
    for _ in $(seq 200); do
      [ "$(pgrep -fc "bench collectives --size 64M --repeats 100000[0]")" -ge 5 ] && break
      sleep 0.1
    done
    sleep 1
    for child in $(pgrep -f "bench collectives --size 64M --repeats 100000[0]"); do
      tr '\0' '\n' < "/proc/$child/environ" 2> /dev/null
    done > environ
    expect_text environ "NOTE=it's 100%n of \$HOME" "RANK=3" "LOCAL_RANK=1" "WORLD_SIZE=4" \
      $'S2S_LINES=two\nlines'
    # Every user of a machine sees the arguments of its processes.
    token=$(sed -n 's/^S2S_JOB_TOKEN=//p' environ | head -n 1)
    [ ${#token} = 32 ] || { complain "the ranks have no token" environ; token=none-at-all; }
    printf '%s\n' "${token:0:8}" "of \$HOME" > secrets
    for arguments in /proc/[0-9]*/cmdline; do
      { tr '\0' '\n' < "$arguments"; } 2> /dev/null
    done | grep -aFf secrets > shown && complain "arguments show variables" shown
    find /tmp -name "*${token:0:8}*" > shown 2> /dev/null
    [ -s shown ] && complain "a file's name has a part of the token" shown
    kill "-$signal" "$launcher"
    wait "$launcher" 2> /dev/null
    code=$?
    [ "$signal" = KILL ] || [ "$code" = 143 ] || complain "exit code $code instead of 143" stopped
    for _ in $(seq 200); do
      pgrep -f "bench collectives --size 64M --repeats 100000[0]" > /dev/null || break
      sleep 0.1
    done
    pgrep -af "bench collectives --size 64M --repeats 100000[0]" > left &&
      complain "ranks outlive their launcher" left
  done
}

if type -P pdsh > /dev/null; then
  check_family "${remote[@]}"
  NCCL_X=1 GIVEN="a secret" "$s2s_run" "${remote[@]}" --env GIVEN --dry-run -- train "a=b c%d" \
    > line
  expect_text line "S2S_JOB_TOKEN" "GIVEN" "NCCL_X" "a=b c%%d" "--node-rank %n"
  grep -q "a secret" line && complain "the dry run shows a value" line

  expect_code 2 out "$s2s_run" launch pdsh --hostfile hosts --module rsh -- train x
  expect_text out "[launch/environment] --module 'rsh'" "next:      use --module ssh"
  ls /tmp/s2s-launch.* > left 2> /dev/null && complain "files are left" left
else
  echo "skipped: no pdsh here (apt-get install pdsh)"
fi

sshd=$(PATH=$PATH:/usr/sbin type -P sshd)
if [ -n "$sshd" ] && [ "$(id -u)" = 0 ] && type -P ssh ssh-keygen > /dev/null; then
  port=$(free_port)
  mkdir -p ssh /run/sshd 2> /dev/null
  ssh-keygen -q -t ed25519 -N '' -f ssh/host
  ssh-keygen -q -t ed25519 -N '' -f ssh/user
  cp ssh/user.pub ssh/authorized
  cat > ssh/sshd.conf << CONF
Port $port
ListenAddress 127.0.0.1
HostKey $folder/ssh/host
AuthorizedKeysFile $folder/ssh/authorized
PasswordAuthentication no
StrictModes no
PermitRootLogin yes
UsePAM no
PidFile none
CONF
  cat > ssh/ssh.conf << CONF
Host worker-*
  HostName 127.0.0.1
  IdentityFile $folder/ssh/user
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking no
  LogLevel ERROR
CONF
  "$sshd" -D -e -f "$folder/ssh/sshd.conf" > ssh/log 2>&1 &
  server=$!
  trap 'kill "$server" 2> /dev/null; rm -rf "$folder"' EXIT
  sleep 1
  over_ssh=(launch ssh -H hosts --master-addr 127.0.0.1 --ssh-port "$port"
    --launcher-args=-F --launcher-args="$folder/ssh/ssh.conf")
  check_family "${over_ssh[@]}"

  # Machines that cannot be reached: all in one message.
  expect_code 7 unreachable "$s2s_run" launch ssh -H hosts --master-addr 127.0.0.1 --ssh-port 1 \
    --launcher-args=-F --launcher-args="$folder/ssh/ssh.conf" -- "${bench[@]}"
  expect_text unreachable "[launch/node-failed] worker-0, worker-1: the launcher there"
  if type -P pdsh > /dev/null; then  # pdsh over ssh, as DeepSpeed uses it
    export PDSH_SSH_ARGS="-F $folder/ssh/ssh.conf -p $port -l root %h"
    "$s2s_run" launch pdsh -H hosts --master-addr 127.0.0.1 -- "${bench[@]}" --json > good \
      2> good.err ||
      complain "pdsh over ssh fails" good.err
    expect_right good "s2s-run launch node" 4
  fi
else
  echo "skipped: no sshd here (apt-get install openssh-server), or not root"
fi

# launch node in the environments of Kubernetes: two pods of two ranks each.
node_in() { # node_in FILE VARIABLES...
  env "${@:2}" "$s2s_run" launch node -n 2 -- "${bench[@]}" --json > "$1" 2> "$1.err"
}
for engine in trainjob indexed pytorchjob; do
  port=$(free_port)
  pods=()
  for pod in 0 1; do
    case $engine in
      trainjob) variables=(PET_NNODES=2 "PET_NODE_RANK=$pod" PET_NPROC_PER_NODE=2
        PET_MASTER_ADDR=127.0.0.1 "PET_MASTER_PORT=$port") ;;
      indexed) variables=("JOB_COMPLETION_INDEX=$pod" NUM_NODES=2 MASTER_ADDR=127.0.0.1
        "MASTER_PORT=$port") ;;
      pytorchjob) variables=("RANK=$pod" WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 "MASTER_PORT=$port") ;;
    esac
    node_in "$engine.$pod" "${variables[@]}" &
    pods+=($!)
  done
  wait "${pods[@]}"
  expect_right "$engine.0" "s2s-run launch node" 4
done
node=(launch node -n 2 --retry-code 138)
expect_code 138 retried "$s2s_run" "${node[@]}" -- bench fault kill --step 1 --timeout 5 --rank 1
expect_code 4 permanent "$s2s_run" "${node[@]}" -- "${bench[@]}" --communicator none
expect_code 7 varies env PET_NNODES=1:2 PET_NODE_RANK=0 "$s2s_run" "${node[@]}" -- "${bench[@]}"
expect_text varies "[comm/environment] PET_NNODES=1:2"

finish "launch pdsh, ssh and node"
