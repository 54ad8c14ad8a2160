"""Runs the tests of combinations in mpirun_test.py with many more combinations."""

import os

import kit

_few = kit.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpirun_test.py"))


class ManyEnumerated(_few.Enumerated):
    STEPS = 280
