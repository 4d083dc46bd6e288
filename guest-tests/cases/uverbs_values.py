# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
Values of the fields of uverbs_commands.py, as uverbs-fuzz.py draws them: valid ones, which name
existing objects, and odd ones.
"""
import mmap
import struct

from uverbs_commands import ERROR, KINDS, RESET, STEPS

PAGES = 32
# Answers, and input of ioctl(), lie in the first pages.
ANSWER_PAGES = 4


class Missing(Exception):
    """The process has no object of that kind at present."""


class Values:
    """The fields of one command, and the values chosen so far, by name."""

    def __init__(self, random, address):
        self.random, self.address = random, address

    def begin(self, context, is_right):
        """A new command. If it is not to be valid, one field is wrong, or the caller changes something."""
        self.context, self.chosen = context, {}
        self.left = None if is_right else self.random.randrange(24)

    def page(self):
        return self.address + mmap.PAGESIZE * self.random.randrange(ANSWER_PAGES, PAGES - 2)

    def choose(self, what):
        pick = self.random.randrange
        choices = {
            'access': lambda: self.random.choice((0, 1, 3, 7, 15)),
            'answer': lambda: self.address,
            'any': lambda: pick(0x10000),
            'bit': lambda: pick(2),
            'change': lambda: pick(1, 8),
            'count': lambda: pick(1, 17),
            'inline': lambda: self.random.choice((0, 64)),
            'kind': lambda: pick(1, 9),
            'length': lambda: self.random.choice((1, 100, 4096, 8192)),
            'lid': lambda: pick(1, 8),
            'mask': lambda: self.next_step()[0],
            'memory': lambda: self.page() + pick(2) * pick(4096),
            'mtu': lambda: pick(1, 6),
            'multicast': lambda: 0xC000 + pick(4),
            'port': lambda: pick(1, 3),
            'psn': lambda: pick(1 << 24),
            'qp_type': lambda: pick(2, 5),
            'qpn': lambda: pick(2, 64),
            'record': lambda: self.page() + 64 * pick(64),
            'ring': self.page,
            'sge': lambda: pick(1, 5),
            'small': lambda: pick(2, 5),
            'state': lambda: self.next_step()[1],
            'stride': lambda: pick(7, 9),
            'window': lambda: pick(1, 3),
        }
        return choices[what]() if what in choices else int(what, 0)

    def right(self, what):
        """A valid value of that name, the same for all fields of the name."""
        if what not in self.chosen:
            self.chosen[what] = self.object_of(what) if what in KINDS else self.choose(what)
        return self.chosen[what]

    def object_of(self, kind):
        if not self.context.objects[kind]:
            raise Missing
        return self.random.choice(self.context.objects[kind])

    def next_step(self):
        type, done = self.context.steps[self.right('qp')]
        if 'step' not in self.chosen:
            steps = STEPS[type]
            onward = done < len(steps) and self.random.random() < 0.8
            self.chosen['step'] = steps[done] if onward else self.random.choice((RESET, ERROR))
        return self.chosen['step']

    def steps_done(self):
        """Steps of the QP after the chosen one; from ERR it goes to RESET."""
        if self.chosen['step'] == RESET:
            return 0
        return len(STEPS[2]) if self.chosen['step'] == ERROR else self.context.steps[self.chosen['qp']][1] + 1

    def odd(self):
        """A value that is rarely valid."""
        pick = self.random.random()
        if pick < 0.3:
            return self.random.randrange(256)
        if pick < 0.6:
            return 2 ** self.random.randrange(64) - self.random.randrange(2)
        if pick < 0.8:
            return self.address + self.random.randrange(PAGES * mmap.PAGESIZE)
        return self.random.getrandbits(64)

    def value(self, what):
        value = self.right(what)
        if self.left is None:
            return value
        self.left -= 1
        return self.odd() if self.left == 0 else value

    def pack(self, fields):
        body = b''
        for form, what in fields:
            size = struct.calcsize(form)
            body += (self.value(what) & (1 << 8 * size) - 1).to_bytes(size, 'little')
        return body
