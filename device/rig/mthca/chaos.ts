// SPDX-License-Identifier: Apache-2.0
/**
 * Chaos over the data path of an mthca device: connections of RC, UC and UD, some with an SRQ.
 * `PersonalityChaos` has the rules; this class also drains QPs and resizes CQs. Called by tests and
 * `npm run simulate -- chaos`.
 */
import { CommandOpcode, EventKind, QpService } from '../../../protocol/mthca/gen/values.gen.ts';
import type { QueuePair } from '../../hca/queues/queue-pair.ts';
import { type ChaosEvent, Connection, findFault, linkOf, PersonalityChaos } from '../fixtures/personality-chaos.ts';
import type { InProcessMachine } from '../machine/machine.ts';
import { MthcaEnd, type MthcaSharedEntries, makeSharedEntries } from './chaos-end.ts';
import { DataFixture } from './driver/data-fixture.ts';
import { MthcaDriver, makeMthcaMachine } from './driver/mthca-driver.ts';

const CQ_SIZES = [6, 7, 8];
const RESIZES_MAX = 8;

export class MthcaChaos extends PersonalityChaos<MthcaEnd, MthcaSharedEntries> {
  readonly fixture: DataFixture;
  protected readonly machine: InProcessMachine;
  protected readonly shared: readonly MthcaSharedEntries[];
  #resizes = 0;

  /** `driver`: that of a device at power-on, in place of one whose link depends on the seed. */
  constructor(seed: number, driver = new MthcaDriver(makeMthcaMachine({ portLink: linkOf(seed) }, { seed }))) {
    super(seed);
    this.fixture = new DataFixture({}, driver);
    const { fixture } = this;
    this.machine = driver.machine;
    this.machine.onStep = () => this.checkRequesters();
    const entries = makeSharedEntries(fixture);
    this.shared = [entries];
    const connect = (service: ConstructorParameters<typeof MthcaEnd>[1], shared?: MthcaSharedEntries) =>
      new Connection(new MthcaEnd(fixture, service, 1), new MthcaEnd(fixture, service, 2, shared));
    this.begin(
      connect(QpService.RC),
      connect(QpService.RC, entries),
      connect(QpService.RC, entries),
      connect(QpService.UC),
      connect(QpService.UD),
    );
  }

  protected *queuePairs(): Iterable<QueuePair> {
    for (const { data } of this.fixture.driver.device.hca.queuePairs.values()) if (data !== undefined) yield data.qp;
  }

  protected command(connection: Connection<MthcaEnd>, end: MthcaEnd): void {
    const { random } = this;
    switch (random.below(40)) {
      case 0:
        end.fail();
        connection.failed = true;
        return;
      case 1:
      case 2:
        return this.#drain(end);
      case 3:
        if (this.#resizes++ < RESIZES_MAX) end.qp.cq.resize(random.pick(CQ_SIZES));
        return;
      case 4:
      case 5:
        return end.qp.cq.arm();
      case 6:
      case 7: {
        this.takeEvents();
        const [entries] = this.shared;
        entries.limit = this.drawLimit();
        const modifier = entries.queue.number;
        this.fixture.driver.expect(CommandOpcode.ARM_SRQ, { input: entries.limit, modifier });
        return;
      }
      default:
        return this.pass();
    }
  }

  /** Stops a send queue for a while. A QP that has failed refuses. */
  #drain({ qp: { number } }: MthcaEnd): void {
    const { driver } = this.fixture;
    const input = new Uint8Array(0x200);
    driver.command(CommandOpcode.RTS2SQD_QP, { input, modifier: number });
    this.pass();
    driver.command(CommandOpcode.SQD2RTS_QP, { input, modifier: number });
  }

  protected readEvents(): ChaosEvent[] {
    return this.fixture.takeEvents().map(({ kind, number }) => ({
      kind: kind === EventKind.LAST_WQE_REACHED ? 'last entry' : kind === EventKind.SRQ_LIMIT ? 'limit' : 'other',
      number,
    }));
  }
}

/** Runs one seed. Describes what is wrong. */
export function runMthcaChaos(seed: number): string | undefined {
  return findFault(() => new MthcaChaos(seed));
}
