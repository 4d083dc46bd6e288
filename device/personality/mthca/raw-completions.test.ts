// SPDX-License-Identifier: Apache-2.0
/**
 * QP0 and QP1 of both ports under random traffic, link flaps, failures and resets (IBTA 10.3.1): a
 * kernel waits without bound for the completion of each datagram that it has sent, and it must not
 * get one of a queue pair that it has reset.
 */
import t, { type Test } from 'tap';
import { MadMethod } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { CommandOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import { generalAddress, type MadAddress, newMadAddress } from '../../fabric/agents/mad-packet.ts';
import { Random } from '../../random.ts';
import { MthcaDriver, makeMthcaMachine } from '../../rig/mthca/driver/mthca-driver.ts';
import { portSetup } from '../../rig/mthca/driver/profile.ts';
import { MthcaDriverQueuePair } from '../../rig/mthca/driver/raw-queue-pair.ts';

const SEEDS = 4;
const STEPS = 200;
/** Requests that a queue has room for. */
const ENTRIES = 4;
/** Numbers of QP0 and QP1 of port 1; those of port 2 follow. */
const QP0 = 16;
const QP1 = 18;
const RESET_WITHOUT_OUTPUT = 3;
const SEND_ERROR = 0xff;
const RECEIVE_ERROR = 0xfe;
const DIRECTED_CLASS = 0x81;
const PERFORMANCE_CLASS = 0x04;
const GENERAL_CLASS = 0x07;

/** A queue pair of software, and the requests that have no completion yet. */
class SpecialEnd {
  readonly #driver: MthcaDriver;
  readonly #number: number;
  readonly #port: number;
  #qp: MthcaDriverQueuePair;
  #isReset = false;
  #sends = 0;
  #receives = 0;

  constructor(driver: MthcaDriver, number: number) {
    this.#driver = driver;
    this.#number = number;
    this.#port = 1 + (number % 2);
    this.#qp = new MthcaDriverQueuePair(driver, number, this.#port);
  }

  /** Posts as many datagrams as there is room for, or fewer, with one doorbell. */
  send(random: Random): void {
    const count = random.below(ENTRIES - this.#sends + 1);
    if (count === 0 || this.#isReset) return;
    this.#sends += count;
    this.#qp.sendAll(Array.from({ length: count }, () => this.#datagram(random)));
  }

  postReceive(): void {
    if (this.#receives === ENTRIES || this.#isReset) return;
    this.#receives++;
    this.#qp.postReceive();
  }

  fail(): void {
    if (this.#isReset) return;
    this.#qp.move(CommandOpcode.ANY2ERR_QP, 0);
    this.#receives = 0;
  }

  /** Resets it and takes what came before that; the next time, another one takes its place. */
  reset(): void {
    if (this.#isReset) this.#qp = new MthcaDriverQueuePair(this.#driver, this.#number, this.#port);
    else {
      this.#qp.move(CommandOpcode.ANY2RST_QP, RESET_WITHOUT_OUTPUT);
      this.#qp.takeCompletions();
      [this.#sends, this.#receives] = [0, 0];
    }
    this.#isReset = !this.#isReset;
  }

  /** Takes completions. Returns sends without one, and completions behind a reset. */
  settle(): readonly [waiting: number, late: number] {
    if (this.#isReset) return [0, this.#qp.takeCompletions().length];
    for (const { isSend, opcode } of this.#qp.takeCompletions()) {
      const isError = opcode === SEND_ERROR || opcode === RECEIVE_ERROR;
      if (isError ? opcode === SEND_ERROR : isSend === 1) this.#sends--;
      else if (!isError) this.#receives--;
    }
    return [this.#sends, 0];
  }

  #datagram(random: Random): readonly [MadAddress, Uint8Array] {
    const mad = new Uint8Array(256);
    const isSubnet = this.#number < QP1;
    mad.set([1, isSubnet ? DIRECTED_CLASS : random.pick([PERFORMANCE_CLASS, GENERAL_CLASS]), 1, MadMethod.GET]);
    if (!isSubnet) return [generalAddress(0, random.pick([1, 2, 9])), mad];
    // NodeInfo, by a directed route over one link.
    mad.set([1, 1], 6);
    new DataView(mad.buffer).setUint16(16, 0x11);
    new DataView(mad.buffer).setUint32(32, 0xffffffff);
    mad[129] = 1;
    return [newMadAddress(), mad];
  }
}

function begin(): MthcaDriver {
  const driver = new MthcaDriver(makeMthcaMachine());
  driver.start();
  for (const modifier of [1, 2]) driver.expect(CommandOpcode.INIT_IB, { modifier, input: portSetup() });
  driver.expect(CommandOpcode.CONF_SPECIAL_QP, { opcodeModifier: 0, modifier: QP0 });
  driver.expect(CommandOpcode.CONF_SPECIAL_QP, { opcodeModifier: 1, modifier: QP1 });
  return driver;
}

function act(driver: MthcaDriver, end: SpecialEnd, random: Random): void {
  const { ports } = driver.device;
  const chance = random.below(20);
  if (chance < 10) end.send(random);
  else if (chance < 15) end.postReceive();
  else if (chance < 17) random.pick(ports).holdDown(random.below(2) === 0);
  else if (chance < 19) end.reset();
  else end.fail();
  driver.machine.runUntilIdle();
}

function run(t: Test, seed: number): void {
  const random = new Random(seed);
  const driver = begin();
  const ends = [QP0, QP0 + 1, QP1, QP1 + 1].map((number) => new SpecialEnd(driver, number));
  const wrong: string[] = [];
  for (let step = 0; step < STEPS && wrong.length === 0; step++) {
    act(driver, random.pick(ends), random);
    for (const [index, end] of ends.entries()) {
      const [waiting, late] = end.settle();
      if (waiting !== 0 || late !== 0) wrong.push(`step ${step}, end ${index}: ${waiting} waiting, ${late} late`);
    }
  }
  t.same(wrong, [], `seed ${seed}`);
}

t.test('each send completes once, and nothing comes behind a reset', (t) => {
  for (let seed = 1; seed <= SEEDS; seed++) run(t, seed);
  t.end();
});
