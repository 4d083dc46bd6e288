#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
Random commands to the device file of the first InfiniBand device, by write() and by ioctl(): valid
ones, valid ones except for one field, and noise; and mappings of random pages. None may harm the
kernel; the objects that they created end with the process. Arguments: SEED SECONDS. Prints how many
commands were carried out, and fails when they are fewer than one in four, because refused commands
end early.
"""
import ctypes
import fcntl
import mmap
import os
import random
import struct
import sys
import time

from uverbs_commands import COMMANDS, DRIVER, EXTENDED, EXTENDED_COMMANDS, GET_CONTEXT, KINDS, METHODS
from uverbs_values import PAGES, Missing, Values

DEVICE = '/dev/infiniband/uverbs0'
# RDMA_VERBS_IOCTL, of the UAPI header rdma_user_ioctl_cmds.h.
IOCTL = 0xC0181B01
IOCTL_HEAD, ATTRIBUTE = struct.Struct('<HHHHQII'), struct.Struct('<HHHHQ')
MANDATORY = 1
# Input of ioctl() follows the answers.
INPUT = 2 * mmap.PAGESIZE
COMMANDS_OF_CONTEXT = 300
MOST_OBJECTS = 12
LEAST_SHARE = 0.25


class Context:
    """An open device file, its objects by kind, and the steps of its QPs."""

    def __init__(self):
        self.file = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
        self.descriptors = [self.file]
        self.objects = {kind: [] for kind in KINDS}
        self.steps = {}
        self.maps = []

    def is_new_channel(self, number):
        """
        False for the number of an older object, which stays in memory when the answer has no room.
        """
        try:
            name = os.readlink(f'/proc/self/fd/{number}')
        except OSError:
            return False
        return name == 'anon_inode:[infinibandevent]' and number not in self.descriptors

    def close(self):
        for page in self.maps:
            page.close()
        for descriptor in self.descriptors:
            os.close(descriptor)


class Fuzzer:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.memory = mmap.mmap(-1, PAGES * mmap.PAGESIZE)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.values = Values(self.random, self.address)
        self.context = None

    def renew(self):
        """Opens a new context: the objects of the former one end with it, as with a process."""
        if self.context:
            self.context.close()
        self.context = Context()
        os.write(self.context.file, struct.pack('<IHHQ', GET_CONTEXT, 4, 10, self.address))
        self.context.descriptors.append(self.answer())

    def answer(self):
        return struct.unpack_from('<I', self.memory)[0]

    def choose(self, commands):
        """Draws few commands that make objects when there are many, few that destroy when there are few."""
        while True:
            command = self.random.choice(commands)
            count = len(self.context.objects[command.makes or command.destroys or KINDS[0]])
            if command.makes and count >= MOST_OBJECTS or command.destroys and count < 3:
                if self.random.random() < 0.9:
                    continue
            return command

    def begin(self, commands):
        command = self.choose(commands)
        self.values.begin(self.context, self.random.random() < 0.6)
        return command

    def note(self, command, made):
        """Notes the effects of a command that was carried out."""
        chosen, context = self.values.chosen, self.context
        if command.makes:
            context.objects[command.makes].append(made)
        if command.makes == 'channel' and context.is_new_channel(made):
            context.descriptors.append(made)
        if command.makes == 'qp':
            context.steps[made] = [chosen['qp_type'], 0]
        if 'step' in chosen:
            context.steps[chosen['qp']][1] = self.values.steps_done()
        if command.destroys:
            context.objects[command.destroys].remove(chosen[command.destroys])

    def write(self):
        command = self.begin(COMMANDS)
        body = self.values.pack(command.core) + self.values.pack(command.driver)
        words, answer = (8 + len(body)) // 4, (command.answer + command.driver_answer) // 4
        if self.values.left is not None and self.random.random() < 0.2:
            words, answer = self.random.choice(((words - 1, answer), (words + 1, answer), (words, 0), (words, answer + 9)))
        os.write(self.context.file, struct.pack('<IHH', command.number, words & 0xFFFF, answer) + body)
        self.note(command, self.answer())

    def write_extended(self):
        command = self.begin(EXTENDED_COMMANDS)
        core, driver = (self.values.pack(fields) for fields in (command.core, command.driver))
        lengths = [len(core) // 8, command.answer // 8, len(driver) // 8, command.driver_answer // 8]
        if self.values.left is not None and self.random.random() < 0.2:
            lengths[self.random.randrange(4)] += self.random.choice((-1, 1, 100))
        core_in, core_out, driver_in, driver_out = (length & 0xFFFF for length in lengths)
        head = struct.pack('<IHHQHHI', command.number | EXTENDED, core_in, core_out, self.address, driver_in, driver_out, 0)
        os.write(self.context.file, head + core + driver)
        self.note(command, self.answer())

    def attribute(self, number, form, rest):
        """An attribute of a method; input of more than 8 bytes and all output are in memory."""
        if form == 'new':
            return number, 0, MANDATORY, 0, 0
        if form == 'out':
            return number, rest, MANDATORY, 0, self.address + 64 * (number & 15)
        if form != 'in':
            return number, 0, MANDATORY, 0, self.values.value(form)
        return self.input(number, self.values.pack(rest))

    def input(self, number, body):
        if len(body) <= 8:
            return number, len(body), MANDATORY, 0, int.from_bytes(body, 'little')
        at = INPUT + 256 * (number & 15)
        self.memory[at:at + len(body)] = body
        return number, len(body), MANDATORY, 0, self.address + at

    def call(self, target, number, attributes):
        """Calls a method; returns the value of its first attribute afterwards."""
        if self.values.left is not None and attributes and self.random.random() < 0.3:
            self.spoil(attributes)
        body = b''.join(ATTRIBUTE.pack(*attribute) for attribute in attributes)
        buffer = bytearray(IOCTL_HEAD.pack(IOCTL_HEAD.size + len(body), target, number, len(attributes), 0, 0, 0) + body)
        fcntl.ioctl(self.context.file, IOCTL, buffer, True)
        return ATTRIBUTE.unpack_from(buffer, IOCTL_HEAD.size)[4] if attributes else 0

    def spoil(self, attributes):
        at = self.random.randrange(len(attributes))
        if self.random.random() < 0.3:
            return attributes.pop(at)
        attribute = list(attributes[at])
        part = self.random.randrange(4)
        attribute[part] = self.random.choice((0, 1, 8, attribute[part] + 1, self.random.randrange(0x10000)))
        attributes[at] = tuple(attribute)

    def ioctl(self):
        method = self.begin(METHODS)
        attributes = [self.attribute(*attribute) for attribute in method.attributes]
        self.note(method, self.call(method.target, method.number, attributes))

    def invoke_write(self):
        """A command of write() inside an ioctl()."""
        command = self.begin(COMMANDS)
        attributes = [self.input(0, self.values.pack(command.core)), (2, 8, MANDATORY, 0, command.number)]
        if command.answer:
            attributes.append((1, command.answer, MANDATORY, 0, self.address))
        if command.driver:
            attributes.append(self.input(DRIVER, self.values.pack(command.driver)))
        if command.driver_answer:
            attributes.append((DRIVER + 1, command.driver_answer, MANDATORY, 0, self.address + 1024))
        self.call(0, 0, attributes)
        self.note(command, self.answer())

    def noise(self):
        """A random command or method of the right length."""
        body = b''.join(struct.pack('<Q', self.values.odd()) for _ in range(self.random.randrange(24)))
        if self.random.random() < 0.5:
            os.write(self.context.file, struct.pack('<IHH', self.random.randrange(60), 2 + len(body) // 4, 64) + body)
            return
        self.values.left = None
        attributes = [(self.random.randrange(16), self.random.choice((0, 8, 64)), MANDATORY, 0, self.values.odd())
                      for _ in range(self.random.randrange(8))]
        self.call(self.random.randrange(18), self.random.randrange(8), attributes)

    def map(self):
        """Stores to a mapped page: a collect page, where any value may be written."""
        offset = mmap.PAGESIZE * self.random.choice((0, 0, 1, 2, 16, 17, self.random.randrange(1 << 20)))
        page = mmap.mmap(self.context.file, mmap.PAGESIZE * self.random.choice((1, 1, 1, 2)), offset=offset,
                         prot=self.random.choice((mmap.PROT_WRITE, mmap.PROT_READ | mmap.PROT_WRITE)))
        self.context.maps.append(page)
        for _ in range(16):
            at = 8 * self.random.randrange(mmap.PAGESIZE // 8)
            page[at:at + 8] = struct.pack('<Q', self.values.odd())

    def fork(self):
        """Forks a child that uses inherited objects and exits without closing them."""
        child = os.fork()
        if child == 0:
            try:
                self.step()
            finally:
                os._exit(0)
        os.waitpid(child, 0)

    def step(self):
        """Sends one command; returns whether it was carried out, or None if it lacks an object."""
        actions = self.write, self.write_extended, self.ioctl, self.invoke_write, self.noise, self.map, self.fork
        try:
            self.random.choices(actions, (30, 10, 25, 15, 15, 3, 2))[0]()
            return True
        except Missing:
            return None
        except (OSError, ValueError):
            return False


def main():
    fuzzer = Fuzzer(int(sys.argv[1]))
    end = time.monotonic() + float(sys.argv[2])
    tried = done = 0
    while time.monotonic() < end:
        fuzzer.renew()
        for _ in range(COMMANDS_OF_CONTEXT):
            outcome = fuzzer.step()
            tried += outcome is not None
            done += outcome is True
    print(f'seed {sys.argv[1]}: {done} of {tried} commands were carried out, {100 * done // tried} %')
    sys.exit(done < LEAST_SHARE * tried)


main()
