# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
Runs files of pyverbs' tests, each in a process of its own that has the imports of this one: in an
emulated machine they take longer than most files. Called by pyverbs.sh:

    pyverbs-files.py SECONDS OUTPUT MESSAGES OPTION...

Each line of standard input is the name of a file without its folder and suffix. Its output replaces
the content of OUTPUT, and a line with its exit status, negative for a signal, follows on standard
output. A file that takes more than SECONDS ends by a signal. MESSAGES bounds the messages
of a test and the depth of its queues: tests of XRC send 1,000, those of on-demand paging 100.
OPTION: of the tests, as --dev NAME. The current folder has the folder `tests`.
"""
import contextlib
import functools
import gc
import os
import random
import signal
import sys
import unittest
from importlib.machinery import SourceFileLoader

sys.path.insert(0, "tests")
from args_parser import parser

# Tests choose attributes at random, and skip unsupported ones, so each run chooses the same.
SEED = 1

limit, output, messages = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
options = sys.argv[4:]
# Imports all files.
SourceFileLoader("tests", "tests/__init__.py").load_module()


def bound(holder, name):
    """Keeps an attribute of the class at most MESSAGES."""

    def read(self):
        return vars(self)[name]

    def write(self, value):
        vars(self)[name] = min(value, messages)

    setattr(holder, name, property(read, write))


bound(sys.modules["tests.base"].TrafficResources, "num_msgs")
bound(sys.modules["tests.base"].RDMATestCase, "iters")

sys.argv = ["run_tests.py", *options]
parser.parse_args()


def ask_once():
    """Each test asks other programs for interface and addresses of the port: keeps the answers."""
    case = sys.modules["tests.base"].RDMATestCase
    for name in ("get_net_name", "get_ip_mac_address"):
        setattr(case, name, staticmethod(functools.cache(getattr(case, name))))
    config = parser.get_config()
    interface = case.get_net_name(config["dev"], config["port"])
    if interface is not None:
        with contextlib.suppress(KeyError, IndexError):
            case.get_ip_mac_address(interface)


def run_file(name):
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor in (1, 2):
        os.dup2(file, descriptor)
    signal.alarm(limit)
    random.seed(SEED)
    tests = unittest.defaultTestLoader.loadTestsFromName(f"tests.{name}")
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    return not result.wasSuccessful()


ask_once()
# A collection in a child would copy all pages of the imports.
gc.freeze()
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        failed = run_file(line.strip())
        sys.stdout.flush()
        sys.stderr.flush()
        # Without the end of the interpreter: to free all imports takes as long as some files run.
        os._exit(failed)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(status, flush=True)
