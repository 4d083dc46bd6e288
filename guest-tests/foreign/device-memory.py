#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Device memory between processes: a context maps its own memory only, whole, and only while it
# has it; pages that are mapped are given to nobody else. verbs.sh runs it with the name of our
# device.

import errno
import mmap
import sys

from pyverbs.device import DM, AllocDmAttr, Context
from pyverbs.pyverbs_error import PyverbsRDMAError

PAGE = mmap.PAGESIZE
# VUHCA_MMAP_DEVICE_MEMORY; offsets are given from there on.
FIRST = 4096
OFFSETS = 256
LENGTH = 2 * PAGE


def expect(condition, what):
    if not condition:
        sys.exit(what)


def map_memory(context, pages, offset):
    return mmap.mmap(context.cmd_fd, pages * PAGE, offset=offset * PAGE)


def refuses(context, pages, offset):
    try:
        map_memory(context, pages, offset)
    except OSError as error:
        return error.errno == errno.EINVAL
    return False


def can_allocate(context, length):
    try:
        memory = DM(context, AllocDmAttr(length=length))
    except PyverbsRDMAError as error:
        expect(error.error_code == errno.ENOMEM, f'allocation: {error}')
        return False
    expect(not any(memory.copy_from_dm(0, LENGTH)), 'new memory is not zeroed')
    memory.close()
    return True


own, other = (Context(name=sys.argv[1]) for _ in range(2))
whole = own.query_device_ex().max_dm_size
memory = DM(own, AllocDmAttr(length=LENGTH - 4))
secret = b'\xa5' * (LENGTH - 4)
memory.copy_to_dm(0, secret, len(secret))
page = map_memory(own, 2, FIRST)
expect(page[8:16] == secret[:8], 'the mapping shows other memory')

for offset in range(FIRST, FIRST + OFFSETS):
    expect(refuses(other, 1, offset) and refuses(other, 2, offset), f'another context mapped {offset}')
for pages, offset in ((1, FIRST), (3, FIRST), (64, FIRST), (1, FIRST + 1), (2, FIRST + 1)):
    expect(refuses(own, pages, offset), f'{pages} pages at {offset} were mapped')

memory.close()
expect(refuses(own, 2, FIRST), 'memory was mapped after it was freed')
expect(page[8:16] == secret[:8], 'the pages have changed under the mapping')
expect(not can_allocate(other, whole), 'pages were given away while they are mapped')
page.close()
expect(can_allocate(other, whole), 'the pages did not come back')
