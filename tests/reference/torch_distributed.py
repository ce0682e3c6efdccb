"""A folder of torch.distributed.checkpoint, as two ranks write it (torch 2.11).

    python tests/reference/torch_distributed.py --out tests/reference/data

torch_distributed/              .metadata and the files of both ranks; the keys of the model begin
                                with "state_dict.", as Lightning's ModelParallelStrategy has them
torch_distributed.safetensors   the model's tensors, whole
torch_distributed_hostile/      a .metadata that would run something
"""

import argparse
import os
import pickle
import shutil
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from safetensors.torch import save_file
from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh


def tensors() -> dict:
    generator = torch.Generator().manual_seed(7)
    draw = lambda *sizes: torch.randn(*sizes, generator=generator)
    return {
        "rows": (draw(5, 3), Shard(0)),  # three and two rows
        "columns": (draw(3, 4), Shard(1)),
        "replicated": (draw(4), Replicate()),
        "half": (draw(4, 2).bfloat16(), Shard(0)),
        "ids": (torch.tensor([3, -1, 2**40]), Replicate()),
        "number": (torch.tensor(2.5), Replicate()),
    }


def write(rank: int, out: str) -> None:
    os.chdir(out)  # .metadata holds the folder's path
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29731")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,))
    state = {k: distribute_tensor(v, mesh, [place]) for k, (v, place) in tensors().items()}
    other = {"optimizer_0": {"lr": 1e-3, "exp_avg": torch.zeros(2)}, "epoch": 3}
    dcp.save({"state_dict": state, **other}, checkpoint_id="torch_distributed")
    dist.destroy_process_group()


class Hostile:
    def __reduce__(self):
        return (os.system, ("echo a pickle was executed",))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "data")
    out = parser.parse_args().out
    shutil.rmtree(out / "torch_distributed", ignore_errors=True)
    torch.multiprocessing.spawn(write, args=(str(out),), nprocs=2)
    save_file({k: v for k, (v, _) in tensors().items()}, out / "torch_distributed.safetensors")
    hostile = out / "torch_distributed_hostile"
    hostile.mkdir(exist_ok=True)
    (hostile / ".metadata").write_bytes(pickle.dumps({"state_dict_metadata": Hostile()}))


if __name__ == "__main__":
    main()
