#!/bin/bash
# usage: slurm_cluster.sh COMMAND...
# Runs a command inside of a SLURM cluster of two nodes that lives on this machine, in a temporary
# folder, for as long as the command runs. Exit code 77 with a reason when there can be none.
set -uo pipefail

skip() { echo "skipped: $1"; exit 77; }
for program in munged mungekey slurmctld slurmd srun sinfo; do
  PATH=$PATH:/usr/sbin type -P "$program" > /dev/null ||
    skip "no $program here (apt-get install munge slurmctld slurmd slurm-client)"
done
[ "$(id -u)" = 0 ] || skip "slurmd has to run as root"
export PATH=$PATH:/usr/sbin

folder=$(mktemp -d /tmp/s2s-slurm.XXXXXX)
processes=()
# Only what was started here is ended: first the jobs, whose steps outlive slurmd.
clean_up() {
  if [ -n "${ready:-}" ]; then
    scancel --user="$(id -un)" 2> /dev/null
    for _ in $(seq 100); do
      [ -n "$(squeue -h 2> /dev/null)" ] || break
      sleep 0.1
    done
  fi
  [ ${#processes[@]} = 0 ] || kill "${processes[@]}" 2> /dev/null
  wait 2> /dev/null
  rm -rf "$folder"
}
trap clean_up EXIT
chmod 755 "$folder"

free_ports() {  # free_ports COUNT
  python3 - "$1" << 'PYTHON'
import socket, sys
sockets = [socket.socket() for _ in range(int(sys.argv[1]))]
for one in sockets:
    one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in sockets))
PYTHON
}
read -r controller_port port_1 port_2 <<< "$(free_ports 3)"

mungekey --create --keyfile="$folder/munge.key"
munged --foreground --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
  --pid-file="$folder/munge.pid" --log-file="$folder/munge.log" --seed-file="$folder/munge.seed" \
  > "$folder/munged.out" 2>&1 &
processes+=($!)

# Nodes are named by addresses of the loop, so that their names resolve.
cat > "$folder/slurm.conf" << CONF
ClusterName=s2s
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=$controller_port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
SchedulerType=sched/builtin
MpiDefault=none
ReturnToService=2
KillWait=5
SlurmdParameters=config_overrides
NodeName=127.0.0.1 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$port_1 CPUs=4
NodeName=127.0.0.2 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=$port_2 CPUs=4
PartitionName=all Nodes=ALL Default=YES
CONF
mkdir -p "$folder/state"
export SLURM_CONF=$folder/slurm.conf

slurmctld -D > "$folder/slurmctld.out" 2>&1 &
processes+=($!)
for node in 127.0.0.1 127.0.0.2; do
  mkdir -p "$folder/spool.$node"
  slurmd -D -N "$node" > "$folder/slurmd.$node.out" 2>&1 &
  processes+=($!)
done

for _ in $(seq 100); do
  [ "$(sinfo -h -t idle -o %D 2> /dev/null)" = 2 ] && ready=1 && break
  sleep 0.2
done
if [ -z "${ready:-}" ]; then
  tail -n 5 "$folder"/*.out "$folder"/*.log >&2
  skip "the nodes of the SLURM cluster did not become idle (above)"
fi
"$@"
