#!/usr/bin/env python3
"""Runs a file of black-box tests of the program `gradus`.

usage: run.py GRADUS SOURCE_DIR FILE [unittest's arguments]

CTest has a test for each class whose name does not end in Case. A room has src/<problem>/tests/cli_test.py: its tests, and
what tests/cli/cli_test.py wants to know of its commands:

  json_jobs(case)   for each command that takes --json: what to call it with
  NARROWED          words behind an example of the documents that would take half a minute or more
  repeated_jobs(case)  for each command that takes --repeat: jobs, each as (words, ending of the output or None)
  INPUTS            for each file of the reader's own that examples name: a command that makes one
"""

import os
import sys
import unittest

sys.dont_write_bytecode = True  # the source folder stays as it is
import kit


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    gradus, source, file = map(os.path.abspath, sys.argv[1:4])
    kit.GRADUS = gradus
    kit.DATA = os.path.join(source, "data")
    unittest.main(module=kit.load(file), argv=[file, *sys.argv[4:]])


if __name__ == "__main__":
    main()
