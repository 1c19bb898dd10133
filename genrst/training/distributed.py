"""Distributed training: each process takes a share of the batch, and gradients are summed over all processes.

`torchrun` starts the processes; a plain `genrst train` runs in one process.
"""

import os
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import nn

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Processes:
    """The rank of this process and the number of processes."""

    rank: int = 0
    count: int = 1

    @property
    def is_first(self) -> bool:
        """Return whether this process writes files and prints."""
        return self.rank == 0

    def share(self, items: list[Item]) -> list[Item]:
        """Return this process's part of a batch."""
        return items[self.rank :: self.count]

    def add_gradients(self, network: nn.Module) -> None:
        """Replace every gradient by its sum over all processes; frozen parameters have none."""
        if self.count == 1:
            return
        gradients = []
        for parameter in network.parameters():
            if parameter.requires_grad:
                parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                gradients.append(parameter.grad)
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat)
        sizes = [gradient.numel() for gradient in gradients]
        for gradient, part in zip(gradients, torch.split(flat, sizes), strict=True):
            gradient.copy_(part.view_as(gradient))

    def add(self, *values: float) -> list[float]:
        """Return the sum of each number over all processes."""
        if self.count == 1:
            return list(values)
        total = torch.tensor(values, dtype=torch.float64)
        if dist.get_backend() == "nccl":
            total = total.cuda()
        dist.all_reduce(total)
        sums: list[float] = total.tolist()
        return sums


ALONE = Processes()


def join_processes(device: torch.device) -> Processes:
    """Join the other processes if torchrun started this one."""
    if "RANK" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return ALONE
    if not dist.is_initialized():
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return Processes(dist.get_rank(), dist.get_world_size())


def leave_processes() -> None:
    """Leave the other processes."""
    if dist.is_initialized():
        dist.destroy_process_group()
