# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# Datagrams of RDS between two guests, and RDMA for them: `rds-pair.py serve ADDRESS`, and
# `rds-pair.py TEST ADDRESS FAR`. The kernel's rds_rdma carries them by a reliable connection for
# each pair of addresses, and registers memory by requests. peers.sh calls it.

import ctypes
import mmap
import socket
import struct
import sys

# Constants of the kernel's rds.h.
SOL_RDS = 276
RDMA_ARGS, RDMA_DEST, RDMA_MAP, RDMA_STATUS = 1, 2, 3, 4
WRITES, NOTIFY_ME = 1, 0x20
SO_RDS_TRANSPORT, INFINIBAND = 8, 0

PORT = 4000
SIZES = (0, 1, 64, 4095, 4096, 4097, 20000, 65536)
MANY = 200
REGION_BYTES = 1 << 18
# A datagram with a part of the region.
PART_BYTES = 1 << 16
CONTROL_BYTES = 4096


def make_socket(address, port):
    one = socket.socket(socket.AF_RDS, socket.SOCK_SEQPACKET, 0)
    one.setsockopt(SOL_RDS, SO_RDS_TRANSPORT, INFINIBAND)
    one.bind((address, port))
    return one


def pattern(count, seed):
    return (bytes((seed + i * 7) & 0xFF for i in range(251)) * (count // 251 + 1))[:count]


def check(passed, what):
    if not passed:
        sys.exit('not so: %s' % what)


class Region:
    """Memory that the kernel registers, and the arguments that name it."""

    def __init__(self, content):
        self.memory = mmap.mmap(-1, REGION_BYTES)
        self.memory[:] = content
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.cookie = ctypes.c_uint64()
        self.vector = ctypes.create_string_buffer(struct.pack('=QQ', self.address, REGION_BYTES), 16)

    def to_map(self):
        return struct.pack('=QQQQ', self.address, REGION_BYTES, ctypes.addressof(self.cookie), WRITES)

    def to_access(self, cookie, flags):
        vector = ctypes.addressof(self.vector)
        return struct.pack('=QQQQQQQ', cookie, 0, REGION_BYTES, vector, 1, flags | NOTIFY_ME, 0)


def serve(address):
    """Sends back each datagram; if it names a region, writes or reads that instead."""
    one = make_socket(address, PORT)
    print('serves', flush=True)
    while True:
        data, controls, _, sender = one.recvmsg(1 << 20, CONTROL_BYTES)
        cookies = [struct.unpack('=Q', value[:8])[0] for _, kind, value in controls if kind == RDMA_DEST]
        if not cookies:
            one.sendto(data, sender)
            continue
        region = Region(pattern(REGION_BYTES, 3))
        argument = region.to_access(cookies[0], WRITES if data == b'write' else 0)
        one.sendmsg([b'accessed'], [(SOL_RDS, RDMA_ARGS, argument)], 0, sender)
        check(read_status(one) == 0, 'the access ends well')
        one.sendto(region.memory[:PART_BYTES], sender)


def read_status(one):
    """A socket is told of its accesses by datagrams without a sender."""
    _, controls, _, _ = one.recvmsg(0, CONTROL_BYTES)
    return next(struct.unpack('=Qi', value[:12])[1] for _, kind, value in controls if kind == RDMA_STATUS)


def exchange(one, far, data):
    one.sendto(data, far)
    check(one.recvfrom(1 << 20) == (data, far), '%d bytes come back' % len(data))


def messages(one, far):
    for count in SIZES:
        exchange(one, far, pattern(count, count))


def order(one, far):
    sent = [struct.pack('=I', number) + pattern(500, number) for number in range(MANY)]
    for data in sent:
        one.sendto(data, far)
    for number, data in enumerate(sent):
        check(one.recv(1 << 20) == data, 'datagram %d comes back in its turn' % number)


def access(one, far, verb, content):
    # Memory is registered on the connection, which the first datagram makes.
    exchange(one, far, b'ready')
    region = Region(content)
    one.sendmsg([verb], [(SOL_RDS, RDMA_MAP, region.to_map())], 0, far)
    check(one.recv(1 << 20) == b'accessed', 'the far end has accessed the region')
    return region, one.recv(1 << 20)


def write(one, far):
    region, _ = access(one, far, b'write', bytes(REGION_BYTES))
    check(region.memory[:] == pattern(REGION_BYTES, 3), 'the region is written')


def read(one, far):
    region, part = access(one, far, b'read', pattern(REGION_BYTES, 9))
    check(part == region.memory[:PART_BYTES], 'the region is read')


verb, address = sys.argv[1:3]
if verb == 'serve':
    serve(address)
tests = {'messages': messages, 'order': order, 'write': write, 'read': read}
tests[verb](make_socket(address, 0), (sys.argv[3], PORT))
print('%s: as it must be' % verb)
