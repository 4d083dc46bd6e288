# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
Runs files of pyverbs' tests, each in a process of its own that has the imports of this one: in an
emulated machine they take longer than most files. Called by pyverbs.sh:

    pyverbs-files.py SECONDS OUTPUT OPTION...

Each line of standard input is the name of a file without its folder and suffix. Its output replaces
the content of OUTPUT, and a line with its exit status, negative for a signal, follows on standard
output. A file that takes more than SECONDS ends by a signal. OPTION: of the tests, as --dev NAME.
The current folder has the folder `tests`.
"""
import os
import random
import signal
import sys
import unittest
from importlib.machinery import SourceFileLoader

sys.path.insert(0, "tests")
from args_parser import parser

# Tests choose attributes at random, and skip what they cannot have: each run chooses the same.
SEED = 1

limit, output = int(sys.argv[1]), sys.argv[2]
options = sys.argv[3:]
tests = SourceFileLoader("tests", "tests/__init__.py").load_module()


def run_file(name):
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor in (1, 2):
        os.dup2(file, descriptor)
    signal.alarm(limit)
    random.seed(SEED)
    sys.argv = ["run_tests.py", *options, "-v", "-k", f"tests.{name}."]
    parser.parse_args()
    unittest.main(module=tests)


for line in sys.stdin:
    child = os.fork()
    if child == 0:
        run_file(line.strip())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(status, flush=True)
