// SPDX-License-Identifier: Apache-2.0
/**
 * P_Key and GID tables read by blocks (docs/PROGRAMMING.md, Ports): the blocks hold what the tables
 * hold, and say which entries of the GID table are used.
 */
import t from 'tap';
import {
  GID_BLOCK_ENTRIES,
  GID_TABLE_ENTRIES,
  PKEY_BLOCK_ENTRIES,
  PKEY_TABLE_ENTRIES,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { GID_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/gid-attributes.gen.ts';
import { GID_BLOCK_GIDS_OFFSET, GID_BLOCK_PRESENT_OFFSET } from '../../../protocol/layout/gen/gid-block.gen.ts';
import { ManagementOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';

function read({ driver }: AdapterFixture, opcode: ManagementOpcode, port: number, block: number): DataView {
  return driver.management.perform({ opcode, objectNumber: block, modifier: port }).payload;
}

t.test('hazard 48: four commands read a P_Key table', async (t) => {
  const fixture = new AdapterFixture();
  const port = fixture.machine.device.ports[1];
  for (const [index, pkey] of [
    [1, 0x8001],
    [31, 0x7fff],
    [32, 0x1234],
    [127, 0x8abc],
  ] as const)
    port.pkeys[index] = pkey;
  const found: number[] = [];
  for (let block = 0; block < PKEY_TABLE_ENTRIES / PKEY_BLOCK_ENTRIES; block++) {
    const view = read(fixture, ManagementOpcode.QUERY_PKEYS, 2, block);
    for (let index = 0; index < PKEY_BLOCK_ENTRIES; index++) found.push(view.getUint16(index * 2, true));
  }
  t.same(found, [...port.pkeys]);
  t.equal(read(fixture, ManagementOpcode.QUERY_PKEYS, 1, 0).getUint16(2, true), 0, 'those of the other port');
  fixture.finish();
});

t.test('hazard 48: the first block of a GID table tells which other blocks to read', async (t) => {
  const fixture = new AdapterFixture();
  const { driver } = fixture;
  const used = [1, 7, 8, GID_TABLE_ENTRIES - 1];
  for (const index of used) {
    const payload = new Uint8Array(GID_ATTRIBUTES_SIZE).fill(0x20 + index, 8);
    driver.management.perform({ opcode: ManagementOpcode.MODIFY_GID, objectNumber: index, modifier: 1, payload });
  }
  const first = read(fixture, ManagementOpcode.QUERY_GIDS, 1, 0);
  const present = Array.from({ length: GID_TABLE_ENTRIES }, (_, index) => index).filter(
    (index) => first.getUint8(GID_BLOCK_PRESENT_OFFSET + (index >> 3)) & (1 << (index & 7)),
  );
  t.same(present, [0, ...used]);
  for (let index = 0; index < GID_TABLE_ENTRIES; index++) {
    const single = driver.management.perform({ opcode: ManagementOpcode.QUERY_GID, objectNumber: index, modifier: 1 });
    const block = read(fixture, ManagementOpcode.QUERY_GIDS, 1, Math.floor(index / GID_BLOCK_ENTRIES));
    const at = GID_BLOCK_GIDS_OFFSET + (index % GID_BLOCK_ENTRIES) * GID_ATTRIBUTES_SIZE;
    for (let byte = 0; byte < GID_ATTRIBUTES_SIZE; byte++)
      if (block.getUint8(at + byte) !== single.payload.getUint8(byte)) t.fail(`byte ${byte} of entry ${index}`);
  }
  fixture.finish();
});
