// SPDX-License-Identifier: Apache-2.0
/**
 * Isolation of processes on an mthca device (docs/verbs/PERSONALITIES.md): victims send messages in
 * rounds while a hostile process and hostile commands act, or do nothing. Memory, completions and
 * contexts of the victims must be equal in both runs. Called by the test and by `npm run
 * simulate -- isolation`.
 */
import { ContextStatus } from '../../../protocol/mthca/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { DataFixture } from './driver/data-fixture.ts';
import { MthcaDriver, makeMthcaMachine } from './driver/mthca-driver.ts';
import { HostileCommands } from './hostile-commands.ts';
import { MthcaHostileProcess } from './hostile-process.ts';
import { Victims } from './victims.ts';

const ACTS_PER_STEP = 8;
/** Acts between two turns of the driver. */
const ACTS_PER_RECOVERY = 40;
/** One act of so many is a command. */
const COMMAND_SHARE = 20;
const ACTS_PER_EVENTS = 50;

/** One run: victims, and hostile software that may be idle. */
export class MthcaIsolation {
  readonly fixture: DataFixture;
  readonly victims: Victims;
  readonly hostile: MthcaHostileProcess;
  readonly commands: HostileCommands;
  readonly #random: Random;
  #acts = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.fixture = new DataFixture({}, new MthcaDriver(makeMthcaMachine({}, { seed })));
    this.victims = new Victims(this.fixture);
    this.hostile = new MthcaHostileProcess(this.fixture, this.#random.fork(), this.victims);
    const cqns = this.hostile.own.map(({ cq }) => cq.number);
    this.commands = new HostileCommands(this.fixture, this.#random.fork(), cqns);
  }

  /** `acts` hostile acts, and one message of the victims behind them. Returns what is wrong. */
  round(acts: number): string | undefined {
    for (let done = 0; done < acts; done++) {
      const wrong = this.#act();
      if (wrong !== undefined) return wrong;
    }
    return this.victims.round();
  }

  /** The hostile process goes away. Returns what it has left behind. */
  end(): string[] {
    const { fixture } = this;
    this.hostile.end();
    fixture.run();
    const { hca, sends, lanes } = fixture.driver.device;
    const left: string[] = [];
    if (hca.eventQueues.get(fixture.events.number)?.status !== ContextStatus.OK) left.push('the EQ has failed');
    if (hca.hasFailed) left.push('the device has failed');
    if (sends.busyBuffers !== 0) left.push(`${sends.busyBuffers} collect buffers are in use`);
    const credits = [lanes.execution.functionUsed[0], lanes.completion.functionUsed[0]];
    if (credits.some((count) => count !== 0)) left.push(`credits are held: ${credits}`);
    const wrong = this.victims.round();
    return wrong === undefined ? left : [...left, wrong];
  }

  /** Names of what differs from another run for the victims. */
  findDifferences(other: MthcaIsolation): string[] {
    const theirs = other.victims.observe();
    return [...this.victims.observe()].filter(([name, value]) => theirs.get(name) !== value).map(([name]) => name);
  }

  #act(): string | undefined {
    const { hostile, fixture } = this;
    const number = this.#acts++;
    let wrong: string | undefined;
    if (number % COMMAND_SHARE === 0) wrong = this.commands.act();
    else hostile.act();
    if (number % ACTS_PER_STEP === 0) fixture.driver.machine.step();
    if (number % ACTS_PER_EVENTS === 0) fixture.takeEvents();
    if (number % ACTS_PER_RECOVERY === 0) hostile.recover();
    return wrong;
  }
}
