# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""
The commands of the kernel's device file for verbs, as uverbs-fuzz.py sends them: the structures
of the UAPI headers ib_user_verbs.h and ib_user_ioctl_cmds.h, and those of our module
(vuhca-abi.h). A field is a letter of struct and its valid value: a name that the fuzzer knows, or a
number.
"""

GET_CONTEXT = 0
EXTENDED = 1 << 31
# The first attribute of a driver is its input, the next one its output.
DRIVER = 0x1000
KINDS = ('pd', 'cq', 'qp', 'srq', 'mr', 'mw', 'ah', 'xrcd', 'channel')
MASK_STATE = 1


class Command:
    """
    A command of the write() interface, which ioctl() carries as well: fields of the core and of the
    driver, bytes of both answers, the kind of object that it makes and that it destroys.
    """

    def __init__(self, number, core, answer=0, driver='', driver_answer=0, makes=None, destroys=None):
        self.number = number
        self.core = fields(core)
        self.driver = fields(driver)
        self.answer, self.driver_answer = answer, driver_answer
        self.makes, self.destroys = makes, destroys


class Method:
    """
    A method of ioctl(). An attribute has a number and a form: `new`, an object that is made; an object;
    `in` with fields, `out` with the bytes that it takes.
    """

    def __init__(self, target, number, attributes, makes=None, destroys=None):
        self.target, self.number, self.makes, self.destroys = target, number, makes, destroys
        self.attributes = [(int(id, 0), form, rest) for id, form, rest in (split(line) for line in attributes)]


def fields(text):
    return [(word[0], word[1:]) for word in text.split()]


def split(line):
    id, form, *rest = line.split(None, 2)
    return id, form, fields(rest[0]) if form == 'in' else int(rest[0]) if rest else None


QUEUE = 'Qring Qrecord Bsmall Bstride B0 B0 B0 B0 B0 B0'
CQ = 'Qring Qrecord Bsmall B0 B0 B0 B0 B0 B0 B0'
RING = 'Qring Bsmall B0 B0 B0 B0 B0 B0 B0'
QP = 'Qring Qring Qrecord Bsmall Bstride Bsmall Bstride Bbit B0 B0 B0'
ROUTE = 'Q0 Q0 I0 B0 B0 B0 B0'
QP_CREATION = 'Qany Ipd Icq Icq I0 Icount Icount Isge Isge Iinline Bbit Bqp_type B0 B0'
DESTINATION = 'Q0 Q0 I0 Hlid H0 B0 B0 B0 Bbit B0 B0 B0 Bport'
MODIFICATION = (f'{DESTINATION} {DESTINATION} Iqp Imask Iany Ipsn Ipsn Iqpn Iaccess H0 H0 Bstate Bstate Bmtu B0 B0 Bbit Bbit '
                'Bsmall Bport Bsmall Bbit Bbit B0 B0 B0 B0')

COMMANDS = [
    Command(1, 'Qanswer', 176),
    Command(2, 'Qanswer Bport B0 B0 B0 B0 B0 B0 B0', 40),
    Command(3, 'Qanswer', 4, '', 8, makes='pd'),
    Command(4, 'Ipd', destroys='pd'),
    Command(5, f'Qanswer Qany Ipd I0 {ROUTE} Hlid Bbit B0 B0 B0 Bport B0', 4, '', 8, makes='ah'),
    Command(8, 'Iah', destroys='ah'),
    Command(9, 'Qanswer Qmemory Qlength Qmemory Ipd Iaccess', 12, makes='mr'),
    Command(11, 'Qanswer Imr Ichange Qmemory Qlength Qmemory Ipd Iaccess', 8),
    Command(13, 'Imr', destroys='mr'),
    Command(14, 'Qanswer Ipd Bwindow B0 B0 B0', 8, makes='mw'),
    Command(16, 'Imw', destroys='mw'),
    Command(17, 'Qanswer', 4, makes='channel'),
    Command(18, 'Qanswer Qany Icount Ibit i-1 I0', 8, CQ, 8, makes='cq'),
    Command(18, 'Qanswer Qany Icount Ibit ichannel I0', 8, CQ, 8, makes='cq'),
    Command(19, 'Qanswer Icq I1', 8, RING),
    Command(20, 'Qanswer Icq I0', 8, destroys='cq'),
    Command(24, f'Qanswer {QP_CREATION}', 32, QP, 8, makes='qp'),
    Command(25, 'Qanswer Iqp Iany', 128),
    Command(26, MODIFICATION),
    Command(26, MODIFICATION),
    Command(27, 'Qanswer Iqp I0', 4, destroys='qp'),
    Command(30, 'Q0x12ff Qany Iqp Hmulticast H0'),
    Command(31, 'Q0x12ff Qany Iqp Hmulticast H0'),
    Command(32, 'Qanswer Qany Ipd Icount Isge I0', 16, QUEUE, 8, makes='srq'),
    Command(33, 'Isrq I2 Icount I1', 0),
    Command(33, 'Isrq I1 I1 I0', 0, RING),
    Command(34, 'Qanswer Isrq I0', 16),
    Command(35, 'Qanswer Isrq I0', 4, destroys='srq'),
    Command(37, 'Qanswer i-1 I0x40', 4, makes='xrcd'),
    Command(38, 'Ixrcd', destroys='xrcd'),
    Command(39, 'Qanswer Qany I1 Ipd Icount Isge I0 I0 Ixrcd Icq', 16, QUEUE, 8, makes='srq'),
    # Requests of processes do not go through the kernel, so the answer is no.
    Command(23, 'Icq Ibit'),
    Command(28, 'Qanswer Iqp I1 I0 I72 Qany I0 I2 I2 I0 Q0 Q0 Q0 Q0 Q0', 4),
]
EXTENDED_COMMANDS = [
    Command(1, 'I0 I0', 304),
    Command(18, 'Qany Icount Ibit i-1 I0 I0 I0', 16, CQ, 8, makes='cq'),
    Command(24, f'{QP_CREATION} I0 I0 I0 I0', 40, QP, 8, makes='qp'),
    Command(26, f'{MODIFICATION} I0 I0', 8),
    Command(57, 'Icq I1 Hany Hany I0'),
]
METHODS = [
    Method(0, 1, ['0 in Qkind', '1 out 4', '2 out 256']),
    Method(0, 2, ['0 in Bport', '1 out 48']),
    Method(0, 4, ['0 out 4', '1 out 8', '0x1000 out 32']),
    Method(0, 5, ['0 in Q32', '1 in I0', '2 out 2048', '3 out 8']),
    Method(0, 6, ['0 in Iport', '1 in Ibit', '2 in I0', '3 out 32']),
    Method(3, 0, ['0 new', '1 in Icount', '2 in Qany', '4 in Ibit', '6 out 4', f'0x1000 in {CQ}', '0x1001 out 8'],
           makes='cq'),
    Method(3, 1, ['0 cq', '1 out 8'], destroys='cq'),
    Method(4, 0, ['0 new', '2 pd', '4 cq', '5 cq', '7 in Qany', '8 in Icount Icount Isge Isge Iinline', '9 in Qqp_type',
                  '13 out 20', '14 out 4', f'0x1000 in {QP}', '0x1001 out 8'], makes='qp'),
    Method(4, 1, ['0 qp', '1 out 4'], destroys='qp'),
    Method(5, 0, ['0 new', '1 pd', '4 in Qany', '5 in Icount', '6 in Isge', '7 in I0', '9 in Q0', '11 out 4', '12 out 4',
                  '13 out 4', f'0x1000 in {QUEUE}', '0x1001 out 8'], makes='srq'),
    Method(5, 1, ['0 srq', '1 out 4'], destroys='srq'),
    Method(7, 1, ['0 mr'], destroys='mr'),
    Method(7, 2, ['0 pd', '1 in Qbit', '2 in Ibit', '3 in Qmemory Ilength Iany']),
    Method(7, 3, ['0 mr', '1 out 4', '2 out 4', '3 out 8', '4 out 8']),
    Method(1, 0, ['0 pd'], destroys='pd'),
    Method(6, 0, ['0 ah'], destroys='ah'),
    Method(8, 0, ['0 mw'], destroys='mw'),
    Method(10, 0, ['0 xrcd'], destroys='xrcd'),
    Method(16, 0, ['0 new'], makes='channel'),
]

# Steps of a QP from RESET on by type: the mask of what they change, and the state.
STEPS = {
    2: [(0x39, 1), (0x129181, 2), (0x12e01, 3)],
    3: [(0x39, 1), (0x101181, 2), (0x10001, 3)],
    4: [(0x71, 1), (0x1, 2), (0x10001, 3)],
}
# From any state.
RESET, ERROR = (MASK_STATE, 0), (MASK_STATE, 6)
