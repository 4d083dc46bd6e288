// SPDX-License-Identifier: Apache-2.0
/**
 * Commands that start and stop the function, query its capabilities, and give it pages and user
 * access regions.
 */
import type { StructTable } from '../layout/table.ts';
import { bits, block, exchange, wide } from './place-rows.ts';

/** The function that a command is about. */
const ownFunction = bits('functionId', 0x8, 15, 0, 'Function; 0: the one that executes the command.');
const otherFunction = [
  bits('otherFunction', 0x8, 31, 31, 'The command is about another function.'),
  bits('functionId', 0x8, 15, 0, 'That function.'),
];

export const functionCommands: readonly StructTable[] = [
  ...exchange(
    'query-issi',
    'reads the versions of the interface that the adapter knows',
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
    'sets the version of the interface',
    0x10,
    0x10,
    [bits('currentIssi', 0x8, 15, 0, 'Version.')],
    [],
  ),
  ...exchange('enable-hca', 'enables the function', 0x10, 0xc, [ownFunction], []),
  ...exchange('disable-hca', 'disables the function', 0x10, 0xc, [ownFunction], []),
  ...exchange(
    'query-pages',
    'reads the number of pages that the adapter needs',
    0x10,
    0x10,
    [ownFunction],
    [
      bits('functionId', 0x8, 15, 0, 'Function that needs them.'),
      bits('numPages', 0xc, 31, 0, 'Pages; negative: the adapter gives pages back.'),
    ],
  ),
  ...exchange(
    'manage-pages',
    'gives pages to the adapter or takes them back',
    0x10,
    0x10,
    [ownFunction, bits('inputNumEntries', 0xc, 31, 0, 'Pages to give, or to take back.')],
    [bits('outputNumEntries', 0x8, 31, 0, 'Pages that are given back.')],
  ),
  ...exchange('query-hca-cap', 'reads the capabilities of the function', 0x10, 0x1010, [...otherFunction], []),
  ...exchange(
    'set-hca-cap',
    'selects the capabilities that the function uses',
    0x1010,
    0x10,
    [...otherFunction, block('capability', 0x10, 0x1000, 'The page of capabilities, as QUERY_HCA_CAP has it.')],
    [],
  ),
  ...exchange(
    'init-hca',
    'starts the function',
    0x20,
    0x10,
    [block('swOwnerId', 0x10, 0x10, 'Number that software gives itself.')],
    [],
  ),
  ...exchange(
    'teardown-hca',
    'stops the function',
    0x10,
    0x10,
    [bits('profile', 0x8, 15, 0, 'Way to stop.', 'teardown-profile')],
    [bits('state', 0xc, 0, 0, '1: that way to stop is not possible.')],
  ),
  ...exchange(
    'query-adapter',
    'reads vendor and name of the board',
    0x10,
    0x110,
    [],
    [block('queryAdapterStruct', 0x10, 0x100, 'Vendor and name of the board.')],
  ),
  ...exchange(
    'alloc-uar',
    'allocates a user access region',
    0x10,
    0x10,
    [],
    [bits('uar', 0x8, 23, 0, 'Its number: that of the page in BAR 0.')],
  ),
  ...exchange('dealloc-uar', 'frees a user access region', 0x10, 0x10, [bits('uar', 0x8, 23, 0, 'Its number.')], []),
  ...exchange(
    'access-register',
    'reads or writes a register of a port or of the device',
    0x10,
    0x10,
    [
      bits('registerId', 0x8, 15, 0, 'Register.', 'register-id'),
      bits('argument', 0xc, 31, 0, 'Operand of some registers.'),
    ],
    [],
  ),
  ...exchange(
    'query-special-contexts',
    'reads the keys with a special meaning',
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
    'gives a management datagram to the agents of a port',
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
    'allocates a transport domain',
    0x10,
    0x10,
    [],
    [bits('transportDomain', 0x8, 23, 0, 'Its number.')],
  ),
  ...exchange(
    'dealloc-transport-domain',
    'frees a transport domain',
    0x10,
    0x10,
    [bits('transportDomain', 0x8, 23, 0, 'Its number.')],
    [],
  ),
  ...exchange(
    'query-lag',
    'reads whether ports are bonded',
    0x10,
    0x10,
    [],
    [wide('ctx', 0x8, 'All 0: the ports are not bonded.')],
  ),
  ...exchange('nop', 'nothing', 0x10, 0x10, [], []),
];
