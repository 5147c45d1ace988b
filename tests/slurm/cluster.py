"""Start a temporary Slurm cluster of four nodes on this machine, with two partitions and fake GPUs.

Debian's build of slurmd runs several daemons on one host, each with its own name and port, so each node
is a daemon, with one CPU so that jobs do not share a node. A GPU is a device file that Slurm schedules
and nothing opens. There are no cgroups and no accounting database: slurmd sums the memory of a job's
processes every second and kills a job that exceeds its request, and `squeue` gives the state of jobs.
"""

import os
import shutil
import signal
import socket
import stat
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.waiting import PATIENCE, wait_until

PROGRAMS = (
    *("munged", "mungekey", "slurmctld", "slurmd"),
    *("sbatch", "srun", "squeue", "scancel", "scontrol"),
)
NODES = ("node1", "node2", "node3", "node4")
GPUS_PER_NODE = 2
_CONFIGURATION = """\
ClusterName=chorus
SlurmctldHost={host}
SlurmctldPort={controller_port}
SlurmUser=root
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir={folder}/spool/%n
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
# What each node claims to have counts, not what this machine has.
SlurmdParameters=config_overrides
AuthType=auth/munge
# A job is put back into the queue only when its old credentials have expired.
AuthInfo=socket={socket},cred_expire=5
CredType=cred/munge
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
# Without cgroups this is what holds a job to the memory it asked for.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
GresTypes=gpu
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
# squeue must still know of a job when Snakemake asks.
MinJobAge=3600
# A test waits for what takes minutes elsewhere: a lost node, a killed job, a requeued one.
SlurmdTimeout=15
SlurmctldTimeout=15
MessageTimeout=15
KillWait=5
SchedulerParameters=sched_interval=2,sched_min_interval=100000,bf_interval=2,requeue_delay=1
NodeName={nodes} NodeHostname={host} Port={node_ports} CPUs=1 RealMemory=200000 Gres=gpu:{gpus}
PartitionName=batch Nodes=ALL Default=YES PriorityTier=1 MaxTime=INFINITE State=UP
PartitionName=urgent Nodes=ALL PriorityTier=10 MaxTime=INFINITE State=UP
# What a partition does not grant is refused at once, and does not wait forever.
EnforcePartLimits=ALL
"""


class Cluster:
    """A Slurm cluster as a context manager; programs find it through `environment`."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.environment = {
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        }
        self._daemons: list[subprocess.Popen] = []

    def __enter__(self) -> "Cluster":
        try:
            self._configure()
            self._start_munge()
            self._start("slurmctld", "slurmctld", "-D", "-s")
            for node in NODES:
                self._start(node, "slurmd", "-D", "-N", node)
            wait_until(self._is_idle, "all nodes are idle")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exception) -> None:
        """Kill the daemons and the jobs, which are the processes with this cluster's SLURM_CONF."""
        for daemon in self._daemons:
            daemon.kill()
            daemon.wait()
        variable = f"SLURM_CONF={self.environment['SLURM_CONF']}".encode()
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):
                process = int(path.parent.name)
                if variable in path.read_bytes().split(b"\0") and process != os.getpid():
                    os.kill(process, signal.SIGKILL)

    def run(self, *command: str) -> str:
        return subprocess.run(
            command,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        ).stdout

    def _is_idle(self) -> bool:
        with suppress(subprocess.SubprocessError):  # until slurmctld answers
            states = self.run("sinfo", "--Node", "--noheader", "--partition=batch", "--format=%T")
            return states.split() == ["idle"] * len(NODES)
        return False

    def list_jobs(self, state: str) -> dict[str, str]:
        """Return the comment of each job in a state, keyed by job id; Snakemake's comment is the rule."""
        lines = self.run("squeue", "--noheader", f"--states={state}", "--format=%A|%k")
        return dict(line.split("|", 1) for line in lines.splitlines())

    def read_facts(self, job: str) -> dict[str, str]:
        """Return Slurm's description of a job: JobState, Restarts, NodeList and so on."""
        output = self.run("scontrol", "show", "job", job)
        return dict(word.split("=", 1) for word in output.split() if "=" in word)

    def _configure(self) -> None:
        for name in ("state", "spool", "munge", "bin"):
            (self.folder / name).mkdir()
        # Snakemake's executor calls srun without SLURM_CONF.
        srun = self.folder / "bin" / "srun"
        configuration = self.environment["SLURM_CONF"]
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={configuration} exec {shutil.which("srun")} "$@"\n')
        srun.chmod(0o755)
        ports = _find_free_ports(1 + len(NODES))
        devices = [self.folder / f"gpu{number}" for number in range(GPUS_PER_NODE)]
        for device in devices:
            os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))  # like /dev/null
        (self.folder / "slurm.conf").write_text(
            _CONFIGURATION.format(
                host=socket.gethostname().split(".")[0],
                folder=self.folder,
                socket=self._socket,
                controller_port=ports[0],
                nodes=",".join(NODES),
                node_ports=",".join(map(str, ports[1:])),
                gpus=GPUS_PER_NODE,
            )
        )
        (self.folder / "gres.conf").write_text(
            f"NodeName={','.join(NODES)} Name=gpu File={','.join(map(str, devices))}\n"
        )

    def _start_munge(self) -> None:
        """Start munge with its own key and socket, separate from a munge of this machine."""
        key = self.folder / "munge" / "key"
        subprocess.run([find_program("mungekey"), "--create", "--keyfile", key], check=True)
        options = {"key": key, "log": "log", "pid": "pid", "seed": "seed"}
        paths = [f"--{name}-file={self.folder / 'munge' / file}" for name, file in options.items()]
        # As root, munged warns and continues only with --force.
        self._start(
            "munged", "munged", "--foreground", "--force", f"--socket={self._socket}", *paths
        )
        wait_until(self._socket.exists, "munge answers")

    @property
    def _socket(self) -> Path:
        return self.folder / "munge" / "socket"

    def _start(self, name: str, program: str, *options: str) -> None:
        with (self.folder / f"{name}.out").open("ab") as output:
            daemon = subprocess.Popen(
                [find_program(program), *options],
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                start_new_session=True,
            )
        self._daemons.append(daemon)


def find_program(name: str) -> str | None:
    """Find a program, also in the sbin folders, where Debian installs daemons."""
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def find_missing_requirement() -> str | None:
    """Return why Slurm cannot be started on this machine, or None."""
    if absent := [name for name in PROGRAMS if find_program(name) is None]:
        return f"needs Slurm, and {', '.join(absent)} cannot be found (Debian: slurm-wlm munge)"
    if os.geteuid() != 0:
        return "needs root, which alone may start slurmctld for others and make device files"
    return None


def _find_free_ports(n: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("", 0))) for _ in range(n)]
        return [server.getsockname()[1] for server in sockets]
