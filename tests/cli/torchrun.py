"""Starts processes with the environment variables that torchrun sets. PyTorch is not needed."""

import os
import socket
import subprocess


def free_ports():
    """Returns a port such that this port and the next one are free."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
                return port
            except (OSError, OverflowError):
                continue


def start(command, ranks, **more):
    """Starts the command on ranks. `more`: environment variables of all ranks; a list has a value for each rank."""
    common = {"WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_ports(), "NCCL_NVLS_ENABLE": 0, **more}
    processes = []
    for rank in range(ranks):
        own = {name: value[rank] if isinstance(value, list) else value for name, value in common.items()}
        variables = {name: str(value) for name, value in {"RANK": rank, "LOCAL_RANK": rank, **own}.items()}
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **variables}))
    return processes


def end(processes, timeout):
    """Returns (status, standard output, standard error) of each process. Kills all of them if one takes longer."""
    try:
        texts = [process.communicate(timeout=timeout) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [(process.returncode, *text) for process, text in zip(processes, texts)]
