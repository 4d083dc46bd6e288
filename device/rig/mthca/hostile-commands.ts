// SPDX-License-Identifier: Apache-2.0
/**
 * Hostile commands on an mthca device: each gives the HCA an object whose mailbox is valid except
 * for a few words, or names a number, a mailbox or a page that it must not name. Every command must
 * end with a status of the firmware, and a refused one must leave all objects as they are.
 * `MthcaIsolation` calls it beside a hostile process.
 */
import { encodeCqContext, newCqContext } from '../../../protocol/mthca/gen/cq-context.gen.ts';
import { encodeCqResizing, newCqResizing } from '../../../protocol/mthca/gen/cq-resizing.gen.ts';
import {
  encodeQpContext,
  getQpContextReceiveCqn,
  getQpContextSendCqn,
  getQpContextSrqn,
  newQpContext,
} from '../../../protocol/mthca/gen/qp-context.gen.ts';
import { encodeQpPath, newQpPath } from '../../../protocol/mthca/gen/qp-path.gen.ts';
import { encodeSrqContext, newSrqContext } from '../../../protocol/mthca/gen/srq-context.gen.ts';
import { CommandOpcode, CommandStatus, QpService } from '../../../protocol/mthca/gen/values.gen.ts';
import type { Random } from '../../random.ts';
import type { DataFixture } from './driver/data-fixture.ts';
import type { DriverCommand } from './driver/mthca-driver.ts';
import { eventQueueBytes, ICM_BYTES, MTT_BASE, regionBytes } from './driver/profile.ts';

/** Object numbers that nothing else in the run uses. */
const NUMBERS = { region: 200, eq: 20, cq: 200, srq: 40, qp: 200 } as const;
const SPREAD = 4;
const PD = 9;
const UAR = 2;
const EQN = 2;
const CONTEXT_AT = 8;
const PATH_AT = CONTEXT_AT + 0x20;
const QP_BOX_BYTES = 0x108;
const ALL_PARAMETERS = 0x1ffff;
const NOWHERE = 0x7000_0000_0000;
const statuses: readonly number[] = Object.values(CommandStatus);

/** An object that can be given to the HCA and taken back. */
interface Template {
  readonly give: number;
  readonly take: DriverCommand & { readonly opcode: number };
  readonly number: number;
  readonly box: Uint8Array;
  /** Transitions behind `give`, with the same mailbox. */
  readonly moves?: readonly number[];
  /** True when the mailbox names an object of another owner. */
  readonly isForeign?: (box: Uint8Array) => boolean;
}

export class HostileCommands {
  /** Commands that were executed, and refused. */
  executed = 0;
  refused = 0;
  readonly #fixture: DataFixture;
  readonly #random: Random;
  readonly #key: number;
  readonly #ownCqns: readonly number[];

  /** `ownCqns`: CQs of the hostile process. */
  constructor(fixture: DataFixture, random: Random, ownCqns: readonly number[]) {
    this.#fixture = fixture;
    this.#random = random;
    this.#ownCqns = ownCqns;
    const { key } = fixture.memory(0x4000, { pd: PD });
    this.#key = key;
  }

  /** One hostile command. Describes what is wrong with its completion. */
  act(): string | undefined {
    return this.#random.oneIn(3) ? this.#refuse() : this.#give();
  }

  /**
   * Gives an object whose mailbox has a few wrong words, and takes it back when it was accepted.
   */
  #give(): string | undefined {
    const template = this.#random.pick(this.#templates());
    const { give, take, number, box, moves = [], isForeign } = template;
    this.#spoil(box);
    if (isForeign?.(box) === true) return undefined;
    const before = this.#count();
    const status = this.#command(give, { input: box, modifier: number });
    if (!statuses.includes(status)) return `status ${status} of opcode ${give}`;
    if (status !== CommandStatus.OK)
      return this.#count() === before ? undefined : `a refused opcode ${give} has changed the device`;
    for (const opcode of moves) {
      this.#spoil(box);
      this.#command(opcode, { input: box, modifier: number, out: QP_BOX_BYTES });
    }
    const { opcode, ...command } = take;
    const taken = this.#command(opcode, { modifier: number, ...command });
    if (taken !== CommandStatus.OK) return `status ${taken} of opcode ${opcode}, which takes an object back`;
    return this.#count() === before ? undefined : `opcodes ${give} and ${opcode} have changed the device`;
  }

  /** A command that must be refused, whatever its other fields are. */
  #refuse(): string | undefined {
    const [opcode, command] = this.#random.pick(this.#refusals());
    const before = this.#count();
    const status = this.#command(opcode, command);
    if (status === CommandStatus.OK) return `opcode ${opcode} is not refused: ${JSON.stringify(command)}`;
    if (!statuses.includes(status)) return `status ${status} of opcode ${opcode}`;
    return this.#count() === before ? undefined : `a refused opcode ${opcode} has changed the device`;
  }

  #command(opcode: number, command: DriverCommand): number {
    const { status } = this.#fixture.driver.command(opcode, command);
    if (status === CommandStatus.OK) this.executed++;
    else this.refused++;
    return status;
  }

  /** Objects of each kind, mapped pages, and the state of the HCA. */
  #count(): string {
    const { hca } = this.#fixture.driver.device;
    const tables = [hca.regions.table, hca.eventQueues, hca.completionQueues, hca.sharedReceiveQueues, hca.queuePairs];
    return [...tables.map(({ count }) => count), hca.icm.mappedPages, hca.state, hca.hasFailed].join();
  }

  #spoil(box: Uint8Array): void {
    const random = this.#random;
    const view = new DataView(box.buffer);
    for (let words = random.below(4); words > 0; words--) {
      const at = random.below(box.length / 4) * 4;
      const bit = view.getUint32(at) ^ (2 ** random.below(32));
      view.setUint32(at, random.pick([0, 0xffffffff, random.next(), bit, random.below(0x100)]));
    }
  }

  #templates(): readonly Template[] {
    const plus = this.#random.below(SPREAD);
    return [this.#region(plus), this.#eventQueue(plus), this.#completionQueue(plus), this.#sharedQueue(plus)].concat(
      this.#queuePair(plus),
    );
  }

  #region(plus: number): Template {
    const number = NUMBERS.region + plus;
    const box = regionBytes({ key: number, length: 0x1000, translation: MTT_BASE, pd: PD });
    const take = { opcode: CommandOpcode.HW2SW_MPT, opcodeModifier: 1 };
    return { give: CommandOpcode.SW2HW_MPT, take, number, box };
  }

  #eventQueue(plus: number): Template {
    const take = { opcode: CommandOpcode.HW2SW_EQ, out: 0x40 };
    const box = eventQueueBytes(this.#key, 0);
    return { give: CommandOpcode.SW2HW_EQ, take, number: NUMBERS.eq + plus, box };
  }

  #completionQueue(plus: number): Template {
    const box = new Uint8Array(0x40);
    const context = { logEntries: 5, completionEqn: EQN, pd: PD, uar: UAR, key: this.#key, consumerRecord: 400 };
    encodeCqContext(new DataView(box.buffer), 0, { ...newCqContext(), ...context, armRecord: 401 });
    const take = { opcode: CommandOpcode.HW2SW_CQ, out: 0x40 };
    return { give: CommandOpcode.SW2HW_CQ, take, number: NUMBERS.cq + plus, box };
  }

  #sharedQueue(plus: number): Template {
    const box = new Uint8Array(0x40);
    const context = { logEntries: 4, stride: 2, pd: PD, key: this.#key, uar: UAR, record: 402 };
    encodeSrqContext(new DataView(box.buffer), 0, { ...newSrqContext(), ...context });
    const take = { opcode: CommandOpcode.HW2SW_SRQ, out: 0x40 };
    return { give: CommandOpcode.SW2HW_SRQ, take, number: NUMBERS.srq + plus, box };
  }

  #queuePair(plus: number): Template {
    const cqn = this.#random.pick(this.#ownCqns);
    const box = new Uint8Array(QP_BOX_BYTES);
    const view = new DataView(box.buffer);
    view.setUint32(0, ALL_PARAMETERS);
    const service = this.#random.pick([QpService.RC, QpService.UC, QpService.UD, QpService.MLX]);
    const queues = { logSendEntries: 4, sendStride: 4, logReceiveEntries: 4, receiveStride: 2, queueKey: this.#key };
    const owner = { uar: UAR, pd: PD, sendCqn: cqn, receiveCqn: cqn, receiveRecord: 404, sendRecord: 405, mtu: 4 };
    encodeQpContext(view, CONTEXT_AT, { ...newQpContext(), service, ...queues, ...owner });
    encodeQpPath(view, PATH_AT, { ...newQpPath(), port: 1, lid: 2 });
    const { INIT2RTR_QP, RTR2RTS_QP, RTS2RTS_QP, RTS2SQD_QP, SQD2SQD_QP, SQD2RTS_QP } = CommandOpcode;
    return {
      give: CommandOpcode.RST2INIT_QP,
      take: { opcode: CommandOpcode.ANY2RST_QP, opcodeModifier: 3 },
      number: NUMBERS.qp + plus,
      box,
      moves: [INIT2RTR_QP, RTR2RTS_QP, RTS2RTS_QP, RTS2SQD_QP, SQD2SQD_QP, SQD2RTS_QP, CommandOpcode.ANY2ERR_QP],
      isForeign: (bytes) => this.#namesForeign(new DataView(bytes.buffer)),
    };
  }

  /** A driver gives a process no queue of another one. */
  #namesForeign(view: DataView): boolean {
    const cqns = [getQpContextSendCqn(view, CONTEXT_AT), getQpContextReceiveCqn(view, CONTEXT_AT)];
    const { hca } = this.#fixture.driver.device;
    const isForeignCq = cqns.some((cqn) => !this.#ownCqns.includes(cqn) && hca.findCompletionQueue(cqn) !== undefined);
    return isForeignCq || hca.sharedReceiveQueues.get(getQpContextSrqn(view, CONTEXT_AT)) !== undefined;
  }

  /** Commands whose numbers, mailboxes or pages are wrong. */
  #refusals(): readonly (readonly [opcode: number, command: DriverCommand])[] {
    const random = this.#random;
    const outside = random.pick([256 + random.below(2 ** 20), 2 ** 31 + random.below(256), 0xffffffff]);
    const nowhere = random.pick([NOWHERE, 2 ** 60, 2 ** 52 + random.below(4096) * 16]);
    const crooked = this.#fixture.driver.memory.base + 1 + random.below(15);
    const mailbox = random.pick([nowhere, crooked]);
    const { driver } = this.#fixture;
    const resizing = new Uint8Array(0x40);
    encodeCqResizing(new DataView(resizing.buffer), 0, { ...newCqResizing(), key: random.next(), logEntries: 40 });
    const unknown = random.pick([0x00, 0x01, 0x02, 0x1000 - 0x800, 0x777]);
    return [
      [unknown, {}],
      ...readers.map((opcode) => [opcode, { input: mailbox, modifier: NUMBERS.region }] as const),
      ...writers.map(([opcode, modifier]) => [opcode, { modifier, out: 0x100, outAddress: mailbox }] as const),
      ...numbered.map((opcode) => [opcode, { modifier: outside, out: 0x100 }] as const),
      // A number whose low bits index the table entry of a QP, and whose high bits are wrong.
      ...ofQueuePairs.map((opcode) => [opcode, { modifier: 0x800000 + random.below(256), out: 0x108 }] as const),
      [CommandOpcode.RESIZE_CQ, { input: resizing, modifier: random.pick(this.#ownCqns) }],
      [CommandOpcode.MAP_ICM, { input: mailbox, modifier: 1 }],
      [CommandOpcode.MAP_ICM, { input: driver.memory.base, modifier: random.pick([0, 257, 2 ** 32 - 1]) }],
      [CommandOpcode.MAP_ICM, driver.backContextMemory(ICM_BYTES + random.below(64) * 4096, driver.memory.base, 1)],
      [CommandOpcode.UNMAP_ICM, { input: ICM_BYTES + random.below(2 ** 20), modifier: 1 }],
      [CommandOpcode.MAP_FA, driver.backContextMemory(0, driver.memory.base, 1)],
      [
        CommandOpcode.MAP_EQ,
        { input: 1 + random.next(), modifier: random.pick([3, 31, 32, 256 + random.below(2 ** 20)]) },
      ],
      [CommandOpcode.UNMAP_FA, {}],
      [CommandOpcode.RUN_FW, {}],
      [CommandOpcode.SET_ICM_SIZE, { input: random.next() * 4096 }],
      [CommandOpcode.INIT_IB, { input: mailbox, modifier: random.pick([0, 1, 3]) }],
      [CommandOpcode.CLOSE_IB, { modifier: random.pick([0, 3, outside]) }],
      [CommandOpcode.ENABLE_LAM, {}],
    ];
  }
}

const { SW2HW_MPT, SW2HW_EQ, SW2HW_CQ, SW2HW_SRQ, RST2INIT_QP, INIT_HCA, WRITE_MTT, MAD_IFC } = CommandOpcode;
/** Commands that read a mailbox. */
const readers = [SW2HW_MPT, SW2HW_CQ, SW2HW_SRQ, SW2HW_EQ, RST2INIT_QP, INIT_HCA, WRITE_MTT, MAD_IFC];
/** Commands that write a mailbox, with an existing object. */
const writers = [
  [CommandOpcode.QUERY_DEV_LIM, 0],
  [CommandOpcode.QUERY_FW, 0],
  [CommandOpcode.QUERY_ADAPTER, 0],
  [CommandOpcode.QUERY_EQ, EQN],
  [CommandOpcode.READ_MGM, 1],
] as const;
/** Commands that name an object: one of a table, or a QP. */
const numbered: readonly number[] = [
  CommandOpcode.QUERY_CQ,
  CommandOpcode.HW2SW_CQ,
  CommandOpcode.RESIZE_CQ,
  CommandOpcode.QUERY_EQ,
  CommandOpcode.HW2SW_EQ,
  CommandOpcode.QUERY_SRQ,
  CommandOpcode.HW2SW_SRQ,
  CommandOpcode.ARM_SRQ,
  CommandOpcode.QUERY_MPT,
  CommandOpcode.HW2SW_MPT,
  CommandOpcode.READ_MGM,
  CommandOpcode.WRITE_MGM,
];
const ofQueuePairs: readonly number[] = [
  CommandOpcode.ANY2ERR_QP,
  CommandOpcode.INIT2RTR_QP,
  CommandOpcode.RTS2RTS_QP,
  CommandOpcode.QUERY_QP,
];
