// SPDX-License-Identifier: Apache-2.0
/**
 * A device with an ACTIVE port and pairs of queue pairs for tests of the data path. Both ends are
 * at the same port: packets to its LID come back to it.
 */
import {
  CREATE_MKEY_IN_MEMORY_KEY_MKEY_ENTRY_OFFSET,
  CREATE_MKEY_IN_SIZE,
  setCreateMkeyInTranslationsOctwordActualSize,
} from '../../../../protocol/mlx5/gen/create-mkey-in.gen.ts';
import { getCreateMkeyOutMkeyIndex } from '../../../../protocol/mlx5/gen/create-mkey-out.gen.ts';
import { encodeMkc, type Mkc, newMkc } from '../../../../protocol/mlx5/gen/mkc.gen.ts';
import { CommandOpcode, EventType, KeyAccessMode, QpService } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { Cable } from '../../../fabric/link/cable.ts';
import { Port, parseGuid, portGuid } from '../../../fabric/port/port.ts';
import { writePages } from '../../../personality/mlx5/memory/page-list.ts';
import type { Piece } from '../../machine/personality-driver.ts';
import { Mlx5DriverCompletionQueue } from './completion-queue.ts';
import { type DriverEventQueue, Mlx5Driver, makeMlx5Machine } from './mlx5-driver.ts';
import { Mlx5DriverQueuePair, type QueuePairSetup } from './queue-pair.ts';

const LOG_CQ_ENTRIES = 6;
const LOG_PAGE = 12;
const PAGE_BYTES = 2 ** LOG_PAGE;
const ANY_QPN = 0xffffff;
const VARIANT = 0x5a;
/** The port at the other end of the cable, which is not used. */
const FAR_GUID = '00565548434fff00';
const FAR_LID = 99;
const QUEUE_PACKETS = 16;
/** Vector of completion events. */
const COMPLETION_VECTOR = 1;

const asynchronous: readonly number[] = Object.values(EventType).filter(
  (type) => type !== EventType.COMPLETION && type !== EventType.COMMAND && type !== EventType.PAGE_REQUEST,
);
const ASYNCHRONOUS_MASK = asynchronous.reduce((mask, type) => mask | (1n << BigInt(type)), 0n);

export class DataFixture {
  readonly driver: Mlx5Driver;
  readonly uar: number;
  readonly pd: number;
  /** Queues of asynchronous events and of completion events. */
  readonly events: DriverEventQueue;
  readonly completions: DriverEventQueue;

  /** `driver`: that of a device that was reset or is in a fabric, in place of a new one. */
  constructor(driver = new Mlx5Driver(makeMlx5Machine())) {
    this.driver = driver;
    const [port] = driver.device.ports;
    if (port.link === undefined) new Cable(port, new Port(1, portGuid(parseGuid(FAR_GUID), 1), FAR_LID, QUEUE_PACKETS));
    driver.start();
    this.uar = driver.allocateUar();
    this.events = driver.createEventQueue(this.uar, ASYNCHRONOUS_MASK, 6);
    this.completions = driver.createEventQueue(this.uar, 0n, 8, COMPLETION_VECTOR);
    this.pd = driver.expect(CommandOpcode.ALLOC_PD).getUint32(8);
    driver.machine.runUntilIdle();
    this.takeEvents();
  }

  get lid(): number {
    return this.driver.device.ports[0].lid;
  }

  run(): void {
    this.driver.machine.runUntilIdle();
  }

  /** Registered memory of its own pages. */
  memory(byteCount: number, attributes: Partial<Mkc> = {}): Piece {
    const pages = Math.ceil(byteCount / PAGE_BYTES);
    const address = this.driver.allocate(pages * PAGE_BYTES);
    const list = Array.from({ length: pages }, (_, index) => address + index * PAGE_BYTES);
    const key = this.createKey(list, { startAddr: address, len: pages * PAGE_BYTES, ...attributes });
    return { key, address, byteCount };
  }

  /** A key for a list of pages, with all rights. */
  createKey(pages: readonly number[], attributes: Partial<Mkc> = {}): number {
    const octowords = Math.ceil(pages.length / 2);
    const output = this.driver.expect(CommandOpcode.CREATE_MKEY, {
      inputBytes: CREATE_MKEY_IN_SIZE + 16 * octowords,
      fill: (view) => {
        encodeMkc(view, CREATE_MKEY_IN_MEMORY_KEY_MKEY_ENTRY_OFFSET, {
          ...newMkc(),
          ...{ lr: 1, lw: 1, rr: 1, rw: 1, a: 1 },
          accessMode10: KeyAccessMode.PAGES,
          qpn: ANY_QPN,
          mkey70: VARIANT,
          pd: this.pd,
          translationsOctwordSize: octowords,
          logPageSize: LOG_PAGE,
          ...attributes,
        });
        setCreateMkeyInTranslationsOctwordActualSize(view, 0, octowords);
        writePages(view, CREATE_MKEY_IN_SIZE, pages);
      },
    });
    return ((getCreateMkeyOutMkeyIndex(output, 0) << 8) | (attributes.mkey70 ?? VARIANT)) >>> 0;
  }

  bytes({ address, byteCount }: Piece): Uint8Array {
    return this.driver.bytes(address, byteCount);
  }

  completionQueue(logCqSize = LOG_CQ_ENTRIES): Mlx5DriverCompletionQueue {
    return new Mlx5DriverCompletionQueue(this.driver, this.completions, { logCqSize });
  }

  /** A queue pair in RESET. */
  queuePair(setup: Partial<QueuePairSetup> = {}): Mlx5DriverQueuePair {
    const cq = setup.cq ?? this.completionQueue();
    return new Mlx5DriverQueuePair(this.driver, { uar: this.uar, pd: this.pd, ...setup, cq });
  }

  /** Two queue pairs in RTS, connected to each other unless their service is UD. */
  connect(
    service: number = QpService.RC,
    first: Partial<QueuePairSetup> = {},
    second: Partial<QueuePairSetup> = {},
  ): [Mlx5DriverQueuePair, Mlx5DriverQueuePair] {
    const a = this.queuePair({ service, ...first });
    const b = this.queuePair({ service, ...second });
    a.start(b.number, this.lid);
    b.start(a.number, this.lid);
    return [a, b];
  }

  /** Types and numbers of the asynchronous events since the last call. */
  takeEvents(): { type: number; number: number }[] {
    return this.driver
      .takeEvents(this.events)
      .map(({ type, data }) => ({ type, number: data.getUint32(0x18) & 0xffffff }));
  }
}
