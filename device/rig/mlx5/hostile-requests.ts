// SPDX-License-Identifier: Apache-2.0
/**
 * Requests of a hostile process on an mlx5 device: valid ones, some with one wrong field, and some
 * with a few wrong words. `Mlx5HostileProcess` posts them.
 */
import { setCtrlSegDs, setCtrlSegOpcode } from '../../../protocol/mlx5/gen/ctrl-seg.gen.ts';
import {
  CompletionMode,
  FenceMode,
  KeyAccessMode,
  KeyAttribute,
  QpService,
  SendOpcode,
} from '../../../protocol/mlx5/gen/values.gen.ts';
import { ANY_QP } from '../../personality/mlx5/memory/key-attributes.ts';
import type { Random } from '../../random.ts';
import type { HostileValues } from '../fixtures/personality-isolation.ts';
import type { Piece } from '../machine/personality-driver.ts';
import { type KeyPiece, keyRequest } from './driver/key-fixture.ts';
import type { SendWork } from './driver/queue-pair.ts';
import { HOSTILE_QKEY, type HostileEnd } from './hostile-objects.ts';
import type { Mlx5Victims } from './victims.ts';

const BLOCK_BYTES = 64;
const BLOCKS = 16;
const WORD_BYTES = 8;
const UNIT_BYTES = 16;
/** Bit of inline data in a word of a piece. */
const INLINE = 2 ** 31;
const opcodes = Object.values(SendOpcode);
const completionModes = Object.values(CompletionMode);
const fenceModes = Object.values(FenceMode);
const keyBits = Object.values(KeyAttribute);
const { LENGTH, START_ADDRESS, FREE, LOCAL_READ, LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE } = KeyAttribute;
const grants = [LENGTH, START_ADDRESS, FREE, LOCAL_READ, LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE];

export class HostileRequests {
  readonly #random: Random;
  readonly #victims: Mlx5Victims;
  readonly #pickPeer: () => HostileEnd;

  /** `pickPeer`: any QP of the hostile program. */
  constructor(random: Random, victims: Mlx5Victims, pickPeer: () => HostileEnd) {
    this.#random = random;
    this.#victims = victims;
    this.#pickPeer = pickPeer;
  }

  /** Posts a few requests and rings for them, or for others. */
  post(end: HostileEnd, values: HostileValues): void {
    const random = this.#random;
    const { qp } = end;
    qp.continueAt(end.posted);
    for (let count = 1 + random.below(3); count > 0; count--) {
      const first = qp.write(this.#makeWork(end, values));
      if (random.oneIn(5)) this.#spoil(end, first, qp.blocks - first, values);
    }
    qp.ring(random.oneIn(20) ? (qp.blocks + random.below(4)) & 0xffff : qp.blocks);
  }

  #makeWork(end: HostileEnd, values: HostileValues): SendWork {
    const random = this.#random;
    const pieces = Array.from({ length: random.below(4) }, () => values.piece());
    const common = {
      completion: random.oneIn(3) ? random.pick(completionModes) : CompletionMode.ALWAYS,
      fence: random.pick(fenceModes),
      solicited: random.pick([0, 1] as const),
      immediate: random.oneIn(2) ? values.word() : end.objects.window,
      ...this.#destination(end, values),
    };
    const remote = this.#remotePiece(end, values);
    const word = [{ ...values.piece(), byteCount: WORD_BYTES }];
    switch (random.below(9)) {
      case 0:
        return { ...common, opcode: SendOpcode.WRITE, pieces, remote };
      case 1:
        return { ...common, opcode: SendOpcode.READ, pieces, remote };
      case 2:
        return { ...common, opcode: SendOpcode.COMPARE_SWAP, pieces: word, remote, atomic: [1, 0] };
      case 3:
        return { ...common, opcode: SendOpcode.SEND, inline: random.bytes(random.below(100)) };
      case 4:
        return this.#changeKey(end, values);
      case 5:
        return { ...common, opcode: SendOpcode.WRITE_IMMEDIATE, pieces, remote };
      case 6:
        return { ...common, opcode: SendOpcode.SEND_INVALIDATE, pieces };
      default:
        return { ...common, opcode: SendOpcode.SEND, pieces };
    }
  }

  /** Memory of the other end, or another piece. */
  #remotePiece({ peer }: HostileEnd, values: HostileValues): Piece {
    return peer === undefined || this.#random.oneIn(2) ? values.piece() : peer.objects.memory;
  }

  /** The destination of a datagram, or the shared queue that an XRC request names. */
  #destination({ kind }: HostileEnd, values: HostileValues): Pick<SendWork, 'to' | 'srqn'> {
    const random = this.#random;
    const { qp, objects, service } = this.#pickPeer();
    if (kind === 'ud') {
      const number = random.oneIn(3) ? random.pick(this.#victims.numbers) : qp.number;
      const isOwn = service === QpService.UD || random.oneIn(2);
      const { lid } = objects.process.fixture;
      return { to: { remoteLid: lid, remoteQpn: isOwn ? qp.number : number, qkey: HOSTILE_QKEY } };
    }
    if (kind !== 'initiator') return {};
    const srqn = random.oneIn(3) ? random.pick([...this.#victims.srqns, values.word()]) : objects.xrcQueue.number;
    return { srqn: srqn & 0xffffff };
  }

  /** A request that changes a key: the one that it may change, or a key of others. */
  #changeKey({ objects }: HostileEnd, values: HostileValues): SendWork {
    const random = this.#random;
    const { process, window, memory } = objects;
    if (random.oneIn(2)) return bind(window, memory.address, random.oneIn(2) ? values.piece() : values.victimPiece());
    const { keys, windows } = this.#victims;
    const key = random.oneIn(2)
      ? random.pick([memory.key, random.pick(keys), random.pick(windows), values.word()])
      : window;
    const list = Array.from({ length: random.below(4) }, (): KeyPiece => {
      const { key: beneath, address, byteCount } = values.piece();
      return { key: random.oneIn(6) ? random.pick(keys) : beneath, address, bytes: byteCount };
    });
    const rights = { lr: 1, lw: 1, rr: 1, rw: 1, a: random.below(2) };
    const usual = { pd: process.pd, qpn: ANY_QP, accessMode10: KeyAccessMode.KEYS, umrEn: 1, mkey70: window & 0xff };
    const set = { ...usual, ...rights, startAddr: memory.address, len: random.below(2048) };
    const isHarmless = !random.oneIn(6);
    const mask = keyBits.filter((bit) => random.oneIn(2) && !(isHarmless && bit === KeyAttribute.PD));
    const behind = random.oneIn(3) ? { ...values.piece(), bytes: 1024 } : undefined;
    const checks = random.oneIn(2) ? undefined : random.pick(['free', 'in use', 'qpn'] as const);
    return keyRequest({ key, list, mask, set, behind, checks });
  }

  /** One wrong field, or a few wrong words, in the request at block `first`. */
  #spoil({ qp, objects }: HostileEnd, first: number, blocks: number, values: HostileValues): void {
    const random = this.#random;
    const { driver } = objects.process.fixture;
    const block = (index: number): DataView =>
      driver.memory.view(qp.queue + qp.sendAt + ((first + index) % BLOCKS) * BLOCK_BYTES, BLOCK_BYTES);
    const head = block(0);
    const any = block(random.below(blocks & 0xffff || 1));
    switch (random.below(5)) {
      case 0:
        return setCtrlSegOpcode(head, 0, random.oneIn(2) ? random.pick(opcodes) : random.below(256));
      case 1:
        return setCtrlSegDs(head, 0, random.below(64));
      case 2: {
        const at = random.below(BLOCK_BYTES / UNIT_BYTES) * UNIT_BYTES;
        return any.setUint32(at, (any.getUint32(at) ^ INLINE) >>> 0);
      }
      default:
        for (let words = 1 + random.below(3); words > 0; words--)
          any.setUint32(random.below(BLOCK_BYTES / 4) * 4, values.word());
    }
  }
}

/** The request that makes a key cover a piece, from an address on. */
function bind(key: number, startAddr: number, { key: beneath, address, byteCount }: Piece): SendWork {
  const set = { lr: 1, lw: 1, rr: 1, rw: 1, free: 0, startAddr, len: byteCount };
  return keyRequest({ key, list: [{ key: beneath, address, bytes: byteCount }], mask: grants, set });
}
