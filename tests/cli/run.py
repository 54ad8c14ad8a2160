#!/usr/bin/env python3
"""Runs a file of black-box tests of the program `gradus`.

usage: run.py GRADUS SOURCE_DIR FILE [unittest's arguments]

CTest has a test for each class whose name does not end in Case. A room's src/<problem>/tests/cli_test.py contains its tests,
and data for tests/cli/cli_test.py:

  json_jobs(case)      for each command with --json: arguments of a small job
  NARROWED             words to append to slow examples of the documents, which would take half a minute or more
  repeated_jobs(case)  for each command with --repeat: jobs, each as (words, ending of the output or None)
  INPUTS               for each file that an example reads: a command that makes such a file
"""

import os
import sys
import unittest

sys.dont_write_bytecode = True  # keeps bytecode out of the source folder
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
