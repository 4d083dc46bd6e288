// SPDX-License-Identifier: Apache-2.0
/**
 * Commands that start and stop the function, ask what it can do, and give it pages and user access
 * regions.
 */
import type { StructTable } from '../layout/table.ts';
import { bits, block, exchange, wide } from './place-rows.ts';

/** The function that a command is about. */
const ownFunction = bits('functionId', 0x8, 15, 0, 'Function; 0: the one that the command is given to.');
const otherFunction = [
  bits('otherFunction', 0x8, 31, 31, 'The command is about another function.'),
  bits('functionId', 0x8, 15, 0, 'That function.'),
];

export const functionCommands: readonly StructTable[] = [
  ...exchange(
    'query-issi',
    'the versions of the interface that the adapter knows',
    0x10,
    0x70,
    [],
    [
      bits('currentIssi', 0x8, 15, 0, 'Version in use.'),
      bits('supportedIssiDw0', 0x6c, 31, 0, 'A bit for each version, 0 to 31.'),
    ],
  ),
  ...exchange(
    'set-issi',
    'the version of the interface to use',
    0x10,
    0x10,
    [bits('currentIssi', 0x8, 15, 0, 'Version.')],
    [],
  ),
  ...exchange('enable-hca', 'the function is enabled', 0x10, 0xc, [ownFunction], []),
  ...exchange('disable-hca', 'the function is disabled', 0x10, 0xc, [ownFunction], []),
  ...exchange(
    'query-pages',
    'how many pages the adapter wants',
    0x10,
    0x10,
    [ownFunction],
    [
      bits('functionId', 0x8, 15, 0, 'Function that wants them.'),
      bits('numPages', 0xc, 31, 0, 'Pages; negative: the adapter gives pages back.'),
    ],
  ),
  ...exchange(
    'manage-pages',
    'pages for the adapter, given or taken back',
    0x10,
    0x10,
    [ownFunction, bits('inputNumEntries', 0xc, 31, 0, 'Pages that are given, or wanted back.')],
    [bits('outputNumEntries', 0x8, 31, 0, 'Pages that are given back.')],
  ),
  ...exchange('query-hca-cap', 'what the function can do', 0x10, 0x1010, [...otherFunction], []),
  ...exchange(
    'set-hca-cap',
    'what the function shall do of what it can',
    0x1010,
    0x10,
    [...otherFunction, block('capability', 0x10, 0x1000, 'The page of capabilities, as QUERY_HCA_CAP has it.')],
    [],
  ),
  ...exchange(
    'init-hca',
    'the function starts',
    0x20,
    0x10,
    [block('swOwnerId', 0x10, 0x10, 'Number that software gives itself.')],
    [],
  ),
  ...exchange(
    'teardown-hca',
    'the function stops',
    0x10,
    0x10,
    [bits('profile', 0x8, 15, 0, 'How it stops.', 'teardown-profile')],
    [bits('state', 0xc, 0, 0, '1: it could not stop that way.')],
  ),
  ...exchange(
    'query-adapter',
    'the board',
    0x10,
    0x110,
    [],
    [block('queryAdapterStruct', 0x10, 0x100, 'Vendor and name of the board.')],
  ),
  ...exchange(
    'alloc-uar',
    'a user access region',
    0x10,
    0x10,
    [],
    [bits('uar', 0x8, 23, 0, 'Its number: that of the page in BAR 0.')],
  ),
  ...exchange('dealloc-uar', 'a user access region is freed', 0x10, 0x10, [bits('uar', 0x8, 23, 0, 'Its number.')], []),
  ...exchange(
    'access-register',
    'a register of a port or of the device is read or written',
    0x10,
    0x10,
    [
      bits('registerId', 0x8, 15, 0, 'Register.', 'register-id'),
      bits('argument', 0xc, 31, 0, 'Meant by some registers.'),
    ],
    [],
  ),
  ...exchange(
    'query-special-contexts',
    'keys with a meaning of their own',
    0x10,
    0x20,
    [],
    [
      bits('dumpFillMkey', 0x8, 31, 0, 'Key whose data are discarded.'),
      bits('resdLkey', 0xc, 31, 0, 'The reserved key.'),
      bits('nullMkey', 0x10, 31, 0, 'Key without memory.'),
    ],
  ),
  ...exchange(
    'mad-ifc',
    'a management datagram for the agents of a port',
    0x110,
    0x110,
    [
      bits('remoteLid', 0x8, 31, 16, 'LID of its sender.'),
      bits('port', 0x8, 7, 0, 'Port, from 1.'),
      block('mad', 0x10, 0x100, 'The datagram.'),
    ],
    [block('responseMadPacket', 0x10, 0x100, 'The answer.')],
  ),
  ...exchange(
    'alloc-transport-domain',
    'a transport domain',
    0x10,
    0x10,
    [],
    [bits('transportDomain', 0x8, 23, 0, 'Its number.')],
  ),
  ...exchange(
    'dealloc-transport-domain',
    'a transport domain is freed',
    0x10,
    0x10,
    [bits('transportDomain', 0x8, 23, 0, 'Its number.')],
    [],
  ),
  ...exchange('query-lag', 'whether ports work as one', 0x10, 0x10, [], [wide('ctx', 0x8, 'All 0: they do not.')]),
  ...exchange('nop', 'nothing', 0x10, 0x10, [], []),
];
