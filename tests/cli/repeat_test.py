"""Repeats runs from their records: all commands with --repeat, on the jobs that the rooms define. tests/cli/run.py
runs this file."""

import json
import os
import shutil

from kit import Case, content, rooms

OF_TIME_AND_PLACE = {"seconds", "gflops", "command", "directory", "files"}


def lasting(value):
    """Returns the parts of a summary that do not depend on time and place."""
    if isinstance(value, dict):
        return {name: lasting(one) for name, one in value.items() if name not in OF_TIME_AND_PLACE}
    return [lasting(one) for one in value] if isinstance(value, list) else value


class Repeated(Case):
    def jobs(self):
        """Yields (command, words, ending of the output or None) for each job of a room. An ending of "" means a
        folder."""
        for room in rooms():
            for command, rows in getattr(room, "repeated_jobs", lambda case: {})(self).items():
                for words, ending in rows:
                    yield command, list(map(str, words)), ending

    def result(self, path):
        """Returns the files that a job wrote, without its summary and without times."""
        if not os.path.isdir(path):
            return lasting(json.loads(content(path))) if path.endswith(".json") else content(path)
        names = [name for name in os.listdir(path) if name not in ("summary.json", "choice.csv")]
        return {name: content(os.path.join(path, name)) for name in names}

    def run_to(self, ending, *words):
        """Runs a job. Returns its summary and the files that it wrote."""
        if ending is None:
            return json.loads(self.succeed(*words, "--json").stdout), None
        path = self.path("result" + ending)
        summary = json.loads(self.succeed(*words, "-o", path, "--json").stdout)
        written = self.result(path)
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        return summary, written

    def test_all_jobs_lead_to_the_same_bytes(self):
        for command, words, ending in self.jobs():
            with self.subTest(command=command, words=words):
                first, written = self.run_to(ending, command, *words)
                record = self.file("record.json", json.dumps(first))
                for repeated in ([command, "--repeat", record], first["command"][1:]):
                    repeated = [word for word in repeated if word != "--json" and not word.startswith("--output=")]
                    again, written_again = self.run_to(ending, *repeated)
                    self.assertEqual(lasting(first), lasting(again))
                    self.assertEqual(written, written_again)

    def test_every_command_with_records_has_jobs(self):
        names = {command for command, _, _ in self.jobs()}
        for name in sorted(names):
            self.assertIn("--repeat", self.succeed(name, "--help").stdout)
        for room in rooms():
            for name in room.json_jobs(self):
                if "--repeat" in self.succeed(name, "--help").stdout:
                    self.assertIn(name, names)

    def test_records_of_other_commands(self):
        records = {}
        for command, words, ending in self.jobs():
            if command not in records:
                records[command] = self.run_to(ending, command, *words)[0]
        for command in records:
            for other, record in records.items():
                if other != command:
                    self.refused(2, command, "--repeat", self.file("other.json", json.dumps(record)),
                                 says=[f"record of 'gradus {other}'"])
