"""Tests `gradus kmeans` on ranks without MPI: processes whose environment has the variables that torchrun sets."""

import json
import os
import shutil
import signal
import time
import unittest

import kit
import torchrun
from kit import GRADUS, content, gradus

# Fields of summary.json that may differ between one process and several.
OF_THE_RUN = ("variant", "command", "device", "threads", "rechecked", "memory_bytes", "seconds")


class TorchrunCase(kit.Case):
    def start(self, ranks, *arguments, **more):
        """Starts the program on ranks. `more`: environment variables of all ranks; a list has a value for each rank."""
        processes = torchrun.start([GRADUS, *map(str, arguments)], ranks, **more)
        for process in processes:
            self.addCleanup(process.kill)
        return processes

    def end(self, processes, timeout=120):
        return torchrun.end(processes, timeout)

    def gpus(self):
        return [gpu for gpu in json.loads(self.succeed("info", "--json").stdout)["gpus"] if gpu["usable"]]

    def need_gpus(self, count):
        if len(self.gpus()) < count:
            self.skipTest(f"there are fewer than {count} GPUs")

    def files_of(self, folder):
        files = {name: content(os.path.join(folder, name)) for name in os.listdir(folder)}
        summary = json.loads(files.pop("summary.json"))
        for key in OF_THE_RUN:
            del summary[key]
        for iteration in summary["history"]:
            del iteration["seconds"]
        return dict(files, summary=json.dumps(summary))


class Torchrun(TorchrunCase):
    """Errors that need no GPU."""

    def setUp(self):
        super().setUp()
        self.job = ("kmeans", self.points(), "-k", 3, "-o", self.path("out"))

    def test_invalid_variables(self):
        valid = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
        for name, value, says in (
            ("RANK", "2", "RANK is '2', but it must be an integer from 0 to 1"),
            ("RANK", "-1", "RANK is '-1'"),
            ("RANK", "one", "RANK is 'one'"),
            ("RANK", None, "RANK is not set, but WORLD_SIZE is '2'"),
            ("WORLD_SIZE", "many", "WORLD_SIZE is 'many'"),
            ("MASTER_ADDR", None, "MASTER_ADDR is not set"),
            ("MASTER_PORT", "x", "MASTER_PORT is 'x'"),
        ):
            variables = {**valid, name: value}
            self.refused(2, *self.job, env={key: text for key, text in variables.items() if text is not None},
                         says=[says, "unset WORLD_SIZE"])
            self.assertFalse(os.path.exists(self.path("out")))

    def test_a_size_alone_starts_no_copies(self):
        self.refused(2, *self.job, env={"WORLD_SIZE": "2"}, says=["RANK is not set, but WORLD_SIZE is '2'", "unset WORLD_SIZE"])
        self.assertFalse(os.path.exists(self.path("out")))

    def test_help_and_version(self):
        one = self.succeed("kmeans", "--help").stdout
        for variables in ({"WORLD_SIZE": "2"}, {"WORLD_SIZE": "x", "RANK": "0"},
                          {"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"},
                          {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}, {"PMI_SIZE": "2", "PMI_RANK": "x"}):
            for words in (["kmeans", "--help"], ["kmeans", "-h"], ["help", "kmeans"], [*self.job, "--help"]):
                self.assertEqual(self.succeed(*words, env=variables).stdout, one, (words, variables))
            self.assertRegex(self.succeed("--version", env=variables).stdout, "^gradus ")
            self.assertIn("gradus kmeans", self.succeed(env=variables).stdout)
        # The word is a value here, so the processes would make copies of the job.
        self.refused(2, *self.job, "--variant=-h", env={"WORLD_SIZE": "2"}, says=["WORLD_SIZE"])

    def test_a_local_rank_is_needed_by_no_device(self):
        variables = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "CUDA_VISIBLE_DEVICES": ""}
        for device in ("gpu:0", "cpu", "auto"):
            self.refused(4, *self.job, "--device", device, env=variables, says=["exchange data through their GPUs"])

    def test_a_single_process_needs_no_gpu(self):
        self.succeed(*self.job, env={"WORLD_SIZE": "1", "RANK": "0", "LOCAL_RANK": "0"})

    def test_mpi_comes_first(self):
        result = gradus(*self.job, env={"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0", "WORLD_SIZE": "2", "RANK": "0"})
        self.assertEqual(result.returncode, 4)
        self.assertIn("MPI", result.stderr)

    def test_no_copies_of_a_command_that_needs_one_process(self):
        for rank, (status, stdout, stderr) in enumerate(self.end(self.start(2, "list"))):
            self.assertEqual((status, stdout), (4, ""))
            self.assertEqual("one of 2 processes that torchrun has started, but 'gradus list' runs as one process only" in stderr, rank == 0)

    def test_no_gpus(self):
        for status, stdout, stderr in self.end(self.start(2, *self.job, CUDA_VISIBLE_DEVICES="")):
            self.assertEqual((status, stdout), (4, ""), stderr)
            self.assertIn("exchange data through their GPUs", stderr)
            self.assertIn("start the processes by mpirun", stderr)
        self.assertFalse(os.path.exists(self.path("out")))


class TorchrunGpus(TorchrunCase):
    def setUp(self):
        super().setUp()
        self.need_gpus(2)
        self.source = self.path("points.npy")
        self.succeed("generate", "blobs", "-n", 200000, "-d", 32, "--clusters", 50, "--dtype", "f32", "-o", self.source)

    def test_the_files_of_one_process(self):
        for number, options in enumerate((
            ("-k", 64), ("-k", 64, "--device", "cpu"), ("-k", 300, "--init", "k-means-parallel", "--seed", 4), ("-k", 5, "--restarts", 2),
            ("-k", 64, "--device", "gpu", "--variant", "cuda_tensor"), ("-k", 64, "--device", "gpu", "--metric", "cosine"),
        )):
            one, two = self.path(f"one-{number}"), self.path(f"two-{number}")
            self.succeed("kmeans", self.source, *options, "-o", one, "--quiet")
            started = time.time()
            for status, stdout, stderr in self.end(self.start(2, "kmeans", self.source, *options, "-o", two, "--quiet")):
                self.assertEqual((status, stdout, stderr), (0, "", ""), options)
            print(f"two ranks, {' '.join(map(str, options))}: {time.time() - started:.1f} s")
            self.assertEqual(self.files_of(two), self.files_of(one), options)

    def test_pairs(self):
        job = ("pair-histogram", self.path("atoms.npy"), "--bin-width", 0.05, "--bins", 20)
        self.succeed("generate", "uniform", "-n", 20000, "-d", 3, "-o", job[1])
        self.succeed(*job, "-o", self.path("one.csv"))
        for device in ("cpu", "gpu"):
            for status, _, stderr in self.end(self.start(2, *job, "--device", device, "-o", self.path("two.csv"))):
                self.assertEqual(status, 0, stderr)
            self.assertEqual(content(self.path("two.csv")), content(self.path("one.csv")))

    def test_the_error_of_one_rank_is_printed_once(self):
        damaged = self.file("damaged.npy", content(self.source)[:-4])
        results = self.end(self.start(2, "kmeans", damaged, "-k", 4, "-o", self.path("out")))
        self.assertEqual([status for status, _, _ in results], [3, 3], results)
        self.assertEqual(sum(stderr.count("gradus: ") for _, _, stderr in results), 1, results)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_different_options_are_refused(self):
        port = torchrun.free_ports()
        job = ("kmeans", self.source, "-o", self.path("out"))
        first = self.start(1, *job, "-k", 4, WORLD_SIZE=2, MASTER_PORT=port)
        second = self.start(1, *job, "-k", 5, WORLD_SIZE=2, MASTER_PORT=port, RANK=1, LOCAL_RANK=1)
        results = self.end(first + second)
        self.assertEqual([status for status, _, _ in results], [2, 2], results)
        self.assertEqual(sum(stderr.count("gradus: ") for _, _, stderr in results), 1, results)

    LONG = ("-k", 2000, "--restarts", 1000)
    SECONDS_TO_MEET = 8

    def test_a_killed_rank_ends_the_others(self):
        for device in ("gpu", "cpu"):
            for killed in (0, 1):
                out = self.path(f"killed-{device}-{killed}")
                processes = self.start(2, "kmeans", self.source, *self.LONG, "--device", device, "-o", out)
                time.sleep(self.SECONDS_TO_MEET)
                self.assertIsNone(processes[0].poll())
                processes[killed].send_signal(signal.SIGKILL)
                processes[killed].wait()
                died = time.time()
                _, stderr = processes[1 - killed].communicate(timeout=10)
                print(f"{device}: rank {killed} was killed; the other one ended after {time.time() - died:.1f} s: {stderr.strip()}")
                self.assertEqual(processes[1 - killed].returncode, 1)
                self.assertIn(f"rank {killed} has ended before the job was complete", stderr)
                self.assertEqual(os.listdir(out) if os.path.exists(out) else [], [])  # a killed rank 0 leaves its empty folder

    def test_a_stop_request(self):
        processes = self.start(2, "kmeans", self.source, *self.LONG, "-o", self.path("out"))
        time.sleep(self.SECONDS_TO_MEET)
        for process in processes:
            process.terminate()
        for status, _, stderr in self.end(processes, 10):
            self.assertEqual(status, 130, stderr)

    def test_two_ranks_on_one_gpu(self):
        results = self.end(self.start(2, "kmeans", self.source, "-k", 4, "-o", self.path("out"), "--device", "gpu:0"))
        for status, _, stderr in results:
            self.assertEqual(status, 4, stderr)
            self.assertIn("each rank needs a separate GPU", stderr)

    def test_each_rank_sees_one_gpu(self):
        processes = self.start(2, "kmeans", self.source, "-k", 9, "-o", self.path("out"), "--quiet", CUDA_VISIBLE_DEVICES=["0", "1"])
        for status, _, stderr in self.end(processes):
            self.assertEqual(status, 0, stderr)

    def test_a_rank_that_does_not_come(self):
        job = ("kmeans", self.source, "-k", 4, "-o", self.path("out"), "--stall-timeout", 3)
        status, _, stderr = self.end(self.start(1, *job, WORLD_SIZE=2), 30)[0]
        self.assertEqual(status, 1, stderr)
        self.assertIn("3 s", stderr)

    def test_another_meeting_point(self):
        port = torchrun.free_ports()
        processes = self.start(2, "kmeans", self.source, "-k", 9, "-o", self.path("out"), "--quiet", MASTER_ADDR="nowhere.invalid",
                               NCCL_COMM_ID=f"127.0.0.1:{port}")
        for status, _, stderr in self.end(processes):
            self.assertEqual(status, 0, stderr)
        for status, _, stderr in self.end(self.start(2, "kmeans", self.source, "-k", 9, "-o", self.path("x"), MASTER_ADDR="nowhere.invalid")):
            self.assertEqual(status, 1, stderr)
            self.assertIn("nowhere.invalid", stderr)


if __name__ == "__main__":
    unittest.main()
