"""Tests the combinations of mpirun_test.py, ten times as many of them."""

import os

import kit

_few = kit.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpirun_test.py"))


class ManyEnumerated(_few.Enumerated):
    STEPS = 280
