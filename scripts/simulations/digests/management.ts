// SPDX-License-Identifier: Apache-2.0
/**
 * A seeded run of management commands for `families.ts`: it repeats the commands that set up
 * objects of all classes with a field or two changed, and so for queries and destructions. Most are
 * refused, each for a reason of its own.
 */

import type { Random } from '../../../device/random.ts';
import {
  ManagementChannel,
  type ManagementRequest,
  type ManagementResult,
} from '../../../device/rig/driver/management-channel.ts';
import { tracePayload } from '../../../device/rig/driver/payloads.ts';
import { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';
import { connect } from '../../../device/rig/fixtures/connected-fixture.ts';
import { bindWindow } from '../../../device/rig/fixtures/window-fixture.ts';
import {
  AccessFlag,
  ManagementOpcode,
  ManagementStatus,
  MwKind,
  ResourceKind,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';

const COMMANDS = 1500;
const OPCODES = Object.entries(ManagementOpcode);
const REGION_ACCESS =
  AccessFlag.LOCAL_WRITE | AccessFlag.REMOTE_WRITE | AccessFlag.REMOTE_READ | AccessFlag.WINDOW_BIND;
const WORD_BYTES = 4;

/** Requests by opcode, and numbers of objects by class, which is how the name of an opcode ends. */
interface Material {
  readonly requests: Map<number, ManagementRequest[]>;
  readonly objects: Map<string, number[]>;
}

/** How often each status was the answer. */
export function manage(seed: number): unknown {
  const material: Material = { requests: new Map(), objects: new Map() };
  const { execute } = ManagementChannel.prototype;
  ManagementChannel.prototype.execute = function (this: ManagementChannel, request: ManagementRequest) {
    const result = execute.call(this, request);
    note(material, request, result);
    return result;
  };
  try {
    const fixture = setUp(seed);
    const statuses: Record<number, number> = {};
    for (let command = 0; command < COMMANDS; command++) {
      const { status } = fixture.driver.management.execute(draw(fixture.random, material));
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (fixture.random.oneIn(8)) fixture.settle();
    }
    return statuses;
  } finally {
    ManagementChannel.prototype.execute = execute;
  }
}

/** Of what succeeded more can be made: requests like it, and requests about the object. */
function note(
  { requests, objects }: Material,
  request: ManagementRequest,
  { status, objectNumber }: ManagementResult,
): void {
  const [name, opcode] = OPCODES.find(([, value]) => value === request.opcode) ?? ['', 0];
  if (status !== ManagementStatus.OK && requests.has(opcode)) return;
  push(requests, opcode, request);
  if (!name.startsWith('CREATE_') || status !== ManagementStatus.OK) return;
  push(objects, name.slice('CREATE_'.length), objectNumber);
  // What describes an object when it is made describes it when it is changed; that of a QP differs.
  const modify = OPCODES.find(([other]) => other === name.replace('CREATE', 'MODIFY') && other !== 'MODIFY_QP');
  if (modify !== undefined) push(requests, modify[1], { ...request, opcode: modify[1] });
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const values = map.get(key) ?? [];
  map.set(key, values);
  values.push(value);
}

/** Objects of all classes, some of them in use. */
function setUp(seed: number): AdapterFixture {
  const fixture = new AdapterFixture({ seed, functionCount: 2 });
  fixture.machine.onStep = () => {};
  const { driver, pd } = fixture;
  const { a } = connect(fixture, { access: REGION_ACCESS });
  connect(fixture, { serviceType: ServiceType.UC });
  fixture.createPair();
  driver.createSharedReceiveQueue({ pd, limit: 1 });
  driver.createSendContext();
  const region = driver.createDmaRegion(pd, REGION_ACCESS);
  const buffer = fixture.createBuffer(256);
  for (const kind of [MwKind.TYPE_1, MwKind.TYPE_2]) {
    const { rkey: window } = driver.createMemoryWindow(pd, kind);
    bindWindow(a, { window, region, buffer });
  }
  driver.resizeCompletionQueue(fixture.createCompletionQueue(), 8);
  const payload = tracePayload({ enable: 1, blocksLog2: 2, snapLength: 100 });
  driver.management.execute({ opcode: ManagementOpcode.MODIFY_TRACE, objectNumber: a.qpn, payload });
  const gid = fixture.random.bytes(16);
  driver.management.execute({ opcode: ManagementOpcode.MODIFY_GID, objectNumber: 1, modifier: 1, payload: gid });
  driver.resources.request([
    { resource: ResourceKind.PCBS, target: 1, amount: 4 },
    { resource: ResourceKind.PCBS, target: 0, amount: 8 },
  ]);
  return fixture;
}

/**
 * A request as there was one, often with another object of its class, with words of its payload
 * changed, or with another modifier.
 */
function draw(random: Random, { requests, objects }: Material): ManagementRequest {
  const [name, opcode] = random.pick(OPCODES);
  // Otherwise little would be left to ask about.
  if (name.startsWith('DESTROY_') && !random.oneIn(4)) return draw(random, { requests, objects });
  const template = random.pick(requests.get(opcode) ?? [{ opcode }]);
  const payload = template.payload?.slice() ?? new Uint8Array(0);
  const words = payload.length / WORD_BYTES;
  const view = new DataView(payload.buffer);
  const all = [...objects.values()].flat();
  for (let changes = words > 0 ? random.below(3) : 0; changes > 0; changes--) {
    const at = random.below(words) * WORD_BYTES;
    const old = view.getUint32(at, true);
    const values = [
      0,
      old + 1,
      old ^ (1 << random.below(32)),
      old ^ (1 << random.below(8)),
      random.pick(all),
      random.next(),
    ];
    view.setUint32(at, random.pick(values) >>> 0, true);
  }
  const own = objects.get(name.slice(name.indexOf('_') + 1)) ?? objects.get('QP') ?? all;
  const objectNumber = random.oneIn(16) ? random.pick(all) : random.pick(own);
  const modifier = random.oneIn(4) ? random.below(8) : (template.modifier ?? 0);
  return {
    ...template,
    opcode,
    objectNumber,
    modifier,
    payload: random.oneIn(32) ? random.bytes(random.below(16) * 8) : payload,
  };
}
