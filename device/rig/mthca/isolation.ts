// SPDX-License-Identifier: Apache-2.0
/**
 * Isolation of processes on an mthca device (docs/verbs/PERSONALITIES.md): victims send messages
 * while a hostile process and hostile commands act, or do nothing. Called by the test and by `npm
 * run simulate -- isolation`.
 */
import { ContextStatus } from '../../../protocol/mthca/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { findHeldUnits, PersonalityIsolation } from '../fixtures/personality-isolation.ts';
import type { InProcessMachine } from '../machine/machine.ts';
import { DataFixture } from './driver/data-fixture.ts';
import { MthcaDriver, makeMthcaMachine } from './driver/mthca-driver.ts';
import { HostileCommands } from './hostile-commands.ts';
import { MthcaHostileProcess } from './hostile-process.ts';
import { Victims } from './victims.ts';

/** One act in this many is a command. */
const COMMAND_SHARE = 20;

/** One run: victims, and hostile software that may be idle. */
export class MthcaIsolation extends PersonalityIsolation {
  readonly fixture: DataFixture;
  readonly victims: Victims;
  readonly hostile: MthcaHostileProcess;
  readonly commands: HostileCommands;
  protected readonly machine: InProcessMachine;

  constructor(seed: number) {
    super();
    const random = new Random(seed);
    this.machine = makeMthcaMachine({}, { seed });
    this.fixture = new DataFixture({}, new MthcaDriver(this.machine));
    this.victims = new Victims(this.fixture);
    this.hostile = new MthcaHostileProcess(this.fixture, random.fork(), this.victims);
    const cqns = this.hostile.own.map(({ cq }) => cq.number);
    this.commands = new HostileCommands(this.fixture, random.fork(), cqns);
  }

  protected override act(number: number): string | undefined {
    return number % COMMAND_SHARE === 0 ? this.commands.act() : super.act(number);
  }

  protected takeEvents(): undefined {
    this.fixture.takeEvents();
  }

  protected findLeftovers(): string[] {
    const { fixture } = this;
    const { device } = fixture.driver;
    const left = [...findHeldUnits(device)];
    if (device.hca.eventQueues.get(fixture.events.number)?.status !== ContextStatus.OK) left.push('the EQ has failed');
    if (device.hca.hasFailed) left.push('the device has failed');
    return left;
  }
}
