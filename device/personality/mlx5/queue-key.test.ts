// SPDX-License-Identifier: Apache-2.0
/**
 * The internal key of queues stands for all memory of the guest, so software must not be able to
 * name it (IBTA 10.6): no operand of a request or of a receive takes it, whatever the address.
 */
import t from 'tap';
import {
  CommandOpcode,
  KeyAccessMode,
  KeyAttribute,
  QpService,
  ReceiveQueueType,
  SendOpcode,
} from '../../../protocol/mlx5/gen/values.gen.ts';
import type { Piece } from '../../rig/machine/personality-driver.ts';
import { DataFixture } from '../../rig/mlx5/driver/data-fixture.ts';
import { type KeyChange, keyRequest } from '../../rig/mlx5/driver/key-fixture.ts';
import type { Mlx5DriverQueuePair, SendWork } from '../../rig/mlx5/driver/queue-pair.ts';
import { Mlx5DriverSharedQueue } from '../../rig/mlx5/driver/shared-queue.ts';
import { QUEUE_KEY } from './memory/queue-memory.ts';
import { SharedForm } from './queues/shared-receive-queue.ts';

const { SEND, SEND_IMMEDIATE, WRITE, WRITE_IMMEDIATE, READ, COMPARE_SWAP, FETCH_ADD } = SendOpcode;
const BYTES = 64;
const OWN = 0x11;
const FOREIGN = 0x77;
const NO_INDEX = 0xffffff;
const GOOD = 0;
const ATOMIC = { atomic: [0, 0] } as const;

/** A pair of a process, its memory, and memory of another one, which the process has no key for. */
class Attack extends DataFixture {
  readonly own: Piece = this.memory(BYTES);
  readonly foreign: Piece;
  /** The same memory by the key of queues. */
  readonly stolen: Piece;
  a!: Mlx5DriverQueuePair;
  b!: Mlx5DriverQueuePair;

  constructor() {
    super();
    const pd = this.driver.expect(CommandOpcode.ALLOC_PD).getUint32(8);
    this.foreign = this.memory(BYTES, { pd });
    this.stolen = { ...this.foreign, key: QUEUE_KEY };
    this.bytes(this.own).fill(OWN);
    this.bytes(this.foreign).fill(FOREIGN);
  }

  pair(service: number = QpService.RC, context = {}): this {
    [this.a, this.b] = this.connect(service, {}, { context });
    return this;
  }

  /** Where a datagram of `a` goes. */
  get to() {
    return { remoteLid: this.lid, remoteQpn: this.b.number, qkey: 0x1234 };
  }

  window(): number {
    const list = { translationsOctwordSize: 4, logPageSize: 0, len: BYTES };
    return this.createKey([], { umrEn: 1, accessMode10: KeyAccessMode.KEYS, ...list });
  }

  /** Posts a request and lets it end. Returns the syndromes of both ends. */
  perform(work: SendWork): readonly (readonly number[])[] {
    this.a.post(work);
    this.run();
    return [this.a, this.b].map(({ setup: { cq } }) => {
      const count = cq.take().length;
      return Array.from({ length: count }, (_, index) => cq.syndromeAt(cq.consumed - count + index));
    });
  }
}

/** By the name of the operand. Each returns the syndromes of both ends. */
const attacks: Readonly<Record<string, (attack: Attack) => readonly (readonly number[])[]>> = {
  ...Object.fromEntries(
    Object.entries({ SEND, SEND_IMMEDIATE, WRITE, WRITE_IMMEDIATE, READ, COMPARE_SWAP, FETCH_ADD }).flatMap(
      ([name, opcode]) => {
        const isAtomic = opcode === COMPARE_SWAP || opcode === FETCH_ADD;
        const byteCount = isAtomic ? 8 : BYTES;
        const takesTarget = opcode !== SEND && opcode !== SEND_IMMEDIATE;
        const attack = (local: Piece, remote: Piece, fixture: Attack) => {
          fixture.b.postReceive(fixture.own);
          const target = takesTarget ? { remote } : {};
          return fixture.perform({ opcode, pieces: [{ ...local, byteCount }], ...target, ...(isAtomic ? ATOMIC : {}) });
        };
        return [
          [`L_Key of ${name}`, (given: Attack) => attack(given.stolen, given.own, given.pair())],
          [`R_Key of ${name}`, (given: Attack) => attack(given.own, given.stolen, given.pair())],
        ].slice(0, takesTarget ? 2 : 1);
      },
    ),
  ),
  'L_Key of a datagram': (attack) => {
    attack.pair(QpService.UD).b.postReceive(attack.memory(2 * BYTES));
    return attack.perform({ opcode: SEND, pieces: [attack.stolen], to: attack.to });
  },
  'second L_Key of SEND': (attack) => {
    attack.pair().b.postReceive(attack.memory(2 * BYTES));
    return attack.perform({ opcode: SEND, pieces: [attack.own, attack.stolen] });
  },
  receive: (attack) => {
    attack.pair().b.postReceive(attack.stolen);
    return attack.perform({ opcode: SEND, pieces: [attack.own] });
  },
  'second piece of a receive': (attack) => {
    attack.pair().b.postReceive({ ...attack.own, byteCount: 8 }, attack.stolen);
    return attack.perform({ opcode: SEND, pieces: [attack.own] });
  },
  'receive of a datagram': (attack) => {
    attack.pair(QpService.UD).b.postReceive(attack.stolen);
    return attack.perform({ opcode: SEND, pieces: [{ ...attack.own, byteCount: 16 }], to: attack.to });
  },
  'entry of an SRQ': (attack) => {
    const pool = new Mlx5DriverSharedQueue(attack.driver, { form: SharedForm.POOL, pd: attack.pd });
    pool.post(attack.stolen);
    const context = { rqType: ReceiveQueueType.SHARED, srqnRmpnXrqn: pool.number, userIndex: NO_INDEX };
    return attack.pair(QpService.RC, context).perform({ opcode: SEND, pieces: [attack.own] });
  },
  'list of a window': (attack) => bind(attack, { list: [pieceOf(attack.stolen)] }),
  'list behind a window': (attack) =>
    bind(attack, { list: [pieceOf(attack.own)], behind: { ...pieceOf(attack.stolen), address: listOf(attack) } }),
  'window itself': (attack) => bind(attack, { key: QUEUE_KEY }),
  'list of a window that is used later': (attack) => {
    const key = attack.window();
    // The list of a free key is not looked at.
    const [[syndrome]] = bind(attack, { key, list: [pieceOf(attack.stolen)] }, 1);
    if (syndrome !== GOOD) throw new Error(`syndrome ${syndrome} of a list that is not used yet`);
    return [
      ...bind(attack, { key }),
      ...attack.perform({ opcode: READ, pieces: [attack.own], remote: { ...attack.foreign, key } }),
    ];
  },
};

function pieceOf({ key, address, byteCount }: Piece) {
  return { key, address, bytes: byteCount };
}

function bind(attack: Attack, change: Partial<KeyChange>, free: 0 | 1 = 0): readonly (readonly number[])[] {
  const { address: startAddr } = attack.foreign;
  const { LENGTH, START_ADDRESS, FREE, LOCAL_READ, REMOTE_READ } = KeyAttribute;
  const mask = [LENGTH, START_ADDRESS, FREE, LOCAL_READ, REMOTE_READ];
  const set = { lr: 1, rr: 1, free, startAddr, len: BYTES };
  return attack.pair().perform(keyRequest({ key: attack.window(), set, mask, ...change }));
}

/** Guest memory with a list of own memory, which is no memory of the process. */
function listOf({ driver, own }: Attack): number {
  const address = driver.allocate(BYTES);
  const view = driver.memory.view(address, BYTES);
  view.setUint32(0, own.byteCount);
  view.setUint32(4, own.key);
  view.setBigUint64(8, BigInt(own.address));
  return address;
}

for (const [operand, perform] of Object.entries(attacks))
  t.test(`${operand}: the key of queues is refused`, (t) => {
    const attack = new Attack();
    const syndromes = perform(attack);
    t.ok(
      syndromes.flat().some((syndrome) => syndrome !== GOOD),
      `syndromes ${JSON.stringify(syndromes)}`,
    );
    t.ok(
      attack.bytes(attack.own).every((byte) => byte === OWN),
      'no byte of another process has come',
    );
    t.ok(
      attack.bytes(attack.foreign).every((byte) => byte === FOREIGN),
      'none has gone',
    );
    t.end();
  });
