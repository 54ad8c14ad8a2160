"""Tests that take minutes: fits are killed three hundred times. tests/cli/run.py runs this."""

import os

import kit

KillCase = kit.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "checkpoint_cli_test.py")).KillCase


class ManyKills(KillCase):
    def test_many_kills(self):
        for seed in range(10):
            self.check_kills(30, seed)
