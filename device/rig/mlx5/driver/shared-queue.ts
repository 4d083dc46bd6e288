// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's side of a shared receive queue of any form for tests: a list of free entries, as the
 * Linux driver keeps it in the entries themselves, and a doorbell record with the counter.
 */
import { highDword, lowDword } from '../../../../protocol/layout/dwords.ts';
import { ARM_RQ_IN_SIZE } from '../../../../protocol/mlx5/gen/arm-rq-in.gen.ts';
import { CREATE_RMP_IN_CTX_OFFSET } from '../../../../protocol/mlx5/gen/create-rmp-in.gen.ts';
import {
  CREATE_SRQ_IN_SIZE,
  CREATE_SRQ_IN_SRQ_CONTEXT_ENTRY_OFFSET,
} from '../../../../protocol/mlx5/gen/create-srq-in.gen.ts';
import { getCreateSrqOutSrqn } from '../../../../protocol/mlx5/gen/create-srq-out.gen.ts';
import { setDoorbellRecordReceiveCounter } from '../../../../protocol/mlx5/gen/doorbell-record.gen.ts';
import {
  MODIFY_RMP_IN_CTX_OFFSET,
  MODIFY_RMP_IN_SIZE,
  setModifyRmpInBitmask,
} from '../../../../protocol/mlx5/gen/modify-rmp-in.gen.ts';
import {
  QUERY_RMP_OUT_RMP_CONTEXT_OFFSET,
  QUERY_RMP_OUT_SIZE,
} from '../../../../protocol/mlx5/gen/query-rmp-out.gen.ts';
import {
  QUERY_SRQ_OUT_SIZE,
  QUERY_SRQ_OUT_SRQ_CONTEXT_ENTRY_OFFSET,
} from '../../../../protocol/mlx5/gen/query-srq-out.gen.ts';
import { getRmpcState, RMPC_WQ_OFFSET } from '../../../../protocol/mlx5/gen/rmpc.gen.ts';
import { setSrqNextSegNextWqeIndex } from '../../../../protocol/mlx5/gen/srq-next-seg.gen.ts';
import { decodeSrqc, encodeSrqc, newSrqc, type Srqc } from '../../../../protocol/mlx5/gen/srqc.gen.ts';
import { CommandOpcode } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { decodeWq, encodeWq, newWq, setWqLwm, type Wq } from '../../../../protocol/mlx5/gen/wq.gen.ts';
import { encodeXrcSrqc, newXrcSrqc, type XrcSrqc } from '../../../../protocol/mlx5/gen/xrc-srqc.gen.ts';
import { writePages } from '../../../personality/mlx5/memory/page-list.ts';
import { SharedForm } from '../../../personality/mlx5/queues/shared-receive-queue.ts';
import { COUNTER_MASK } from '../../../personality/shared/receive-queue.ts';
import type { Piece } from '../../machine/personality-driver.ts';
import type { Mlx5Answer, Mlx5Command, Mlx5Driver } from './mlx5-driver.ts';
import { writeReceive } from './queue-pair.ts';

export const LOG_SHARED = 3;
const ENTRIES = 2 ** LOG_SHARED;
export const ENTRY_BYTES = 64;
/** Size of an entry: in units of 16 bytes, or in bytes. */
const LOG_STRIDE = 2;
const LOG_ENTRY = 6;
const NEXT_BYTES = 16;
const PAGE_BYTES = 4096;
const RECORD_BYTES = 8;
const ADDRESS_UNIT = 4;
/** Completions name the queue by its number. */
const NO_INDEX = 0xffffff;
const NUMBER_AT = 8;
const LIMIT = 1;
/** Variant of the commands that arm. */
const ARM = 1;

/** Opcodes of the commands of a form. */
export const sharedOpcodes = {
  [SharedForm.PLAIN]: {
    create: CommandOpcode.CREATE_SRQ,
    destroy: CommandOpcode.DESTROY_SRQ,
    query: CommandOpcode.QUERY_SRQ,
    arm: CommandOpcode.ARM_RQ,
  },
  [SharedForm.XRC]: {
    create: CommandOpcode.CREATE_XRC_SRQ,
    destroy: CommandOpcode.DESTROY_XRC_SRQ,
    query: CommandOpcode.QUERY_XRC_SRQ,
    arm: CommandOpcode.ARM_XRC_SRQ,
  },
  [SharedForm.POOL]: {
    create: CommandOpcode.CREATE_RMP,
    destroy: CommandOpcode.DESTROY_RMP,
    query: CommandOpcode.QUERY_RMP,
    arm: CommandOpcode.MODIFY_RMP,
  },
} as const;

/** Objects that the queue belongs to, and fields of its context in place of the usual ones. */
export interface SharedQueueSetup {
  readonly form: SharedForm;
  readonly pd: number;
  readonly xrcd?: number;
  readonly cqn?: number;
  readonly plain?: Partial<Srqc>;
  readonly xrc?: Partial<XrcSrqc>;
  readonly pool?: Partial<Wq>;
}

/** Where the entries and the record lie. */
interface SharedPlace {
  readonly queue: number;
  readonly record: number;
}

/** The command that creates a queue of eight entries of 64 bytes. */
export function sharedCreation(setup: SharedQueueSetup, { queue, record }: SharedPlace): Mlx5Command {
  return {
    inputBytes: CREATE_SRQ_IN_SIZE + 8,
    fill: (view) => {
      writeContext(view, setup, record);
      writePages(view, CREATE_SRQ_IN_SIZE, [queue]);
    },
  };
}

/** The command that sets the limit. */
export function sharedArming(form: SharedForm, number: number, limit: number): Mlx5Command {
  if (form === SharedForm.POOL)
    return {
      inputBytes: MODIFY_RMP_IN_SIZE,
      fill: (view) => {
        view.setUint32(NUMBER_AT, number);
        setModifyRmpInBitmask(view, 0, LIMIT);
        setWqLwm(view, MODIFY_RMP_IN_CTX_OFFSET + RMPC_WQ_OFFSET, limit);
      },
    };
  return {
    modifier: ARM,
    inputBytes: ARM_RQ_IN_SIZE,
    fill: (view) => {
      view.setUint32(NUMBER_AT, number);
      view.setUint32(NUMBER_AT + 4, limit);
    },
  };
}

/** The fields of a query that change. */
export interface SharedState {
  readonly state: number;
  readonly limit: number;
  /** Entries that are posted; for a pool, entries that were taken. */
  readonly count: number;
}

export class Mlx5DriverSharedQueue {
  readonly number: number;
  readonly form: SharedForm;
  readonly place: SharedPlace;
  readonly #driver: Mlx5Driver;
  /** Entries that software may post, in their order in the list. */
  readonly #free = Array.from({ length: ENTRIES }, (_, index) => index);
  #posted = 0;

  constructor(driver: Mlx5Driver, setup: SharedQueueSetup) {
    this.#driver = driver;
    this.form = setup.form;
    this.place = { queue: driver.allocate(PAGE_BYTES), record: driver.allocate(RECORD_BYTES, RECORD_BYTES) };
    for (let index = 0; index + 1 < ENTRIES; index++) this.link(index, index + 1);
    const output = driver.expect(sharedOpcodes[setup.form].create, sharedCreation(setup, this.place));
    this.number = getCreateSrqOutSrqn(output, 0);
  }

  /** The entry that is posted next. */
  get next(): number {
    return this.#free[0];
  }

  /** Entries that can be posted: the last one stays, because no entry follows it. */
  get room(): number {
    return this.#free.length - 1;
  }

  /** Posts the first free entry and returns its index. */
  post(...pieces: readonly Piece[]): number {
    const index = this.#free.shift() as number;
    writeReceive(this.view(index), NEXT_BYTES, ENTRY_BYTES, pieces);
    this.tell(this.#posted + 1);
    return index;
  }

  /** Writes the counter of posted entries. */
  tell(posted: number): void {
    this.#posted = posted & COUNTER_MASK;
    setDoorbellRecordReceiveCounter(this.#driver.memory.view(this.place.record, RECORD_BYTES), 0, this.#posted);
  }

  /** Puts a completed entry behind all free ones. */
  free(index: number): void {
    this.link(this.#free[this.#free.length - 1], index);
    this.#free.push(index);
  }

  arm(limit: number): Mlx5Answer {
    const { form, number } = this;
    return this.#driver.command(sharedOpcodes[form].arm, sharedArming(form, number, limit));
  }

  query(): SharedState {
    const isPool = this.form === SharedForm.POOL;
    const output = this.#driver.expect(sharedOpcodes[this.form].query, {
      outputBytes: isPool ? QUERY_RMP_OUT_SIZE : QUERY_SRQ_OUT_SIZE,
      fill: (view) => view.setUint32(NUMBER_AT, this.number),
    });
    if (isPool) {
      const wq = decodeWq(output, QUERY_RMP_OUT_RMP_CONTEXT_OFFSET + RMPC_WQ_OFFSET, newWq());
      const state = getRmpcState(output, QUERY_RMP_OUT_RMP_CONTEXT_OFFSET);
      return { state, limit: wq.lwm, count: wq.hwCounter };
    }
    const context = decodeSrqc(output, QUERY_SRQ_OUT_SRQ_CONTEXT_ENTRY_OFFSET, newSrqc());
    return { state: context.state, limit: context.lwm, count: context.wqeCnt };
  }

  destroy(): number {
    const fill = (view: DataView): void => view.setUint32(NUMBER_AT, this.number);
    return this.#driver.command(sharedOpcodes[this.form].destroy, { fill }).status;
  }

  link(index: number, next: number): void {
    setSrqNextSegNextWqeIndex(this.view(index), 0, next);
  }

  view(index: number): DataView {
    return this.#driver.memory.view(this.place.queue + index * ENTRY_BYTES, ENTRY_BYTES);
  }
}

function writeContext(view: DataView, setup: SharedQueueSetup, record: number): void {
  const { form, pd, xrcd = 0, cqn = 0 } = setup;
  const at = CREATE_SRQ_IN_SRQ_CONTEXT_ENTRY_OFFSET;
  if (form === SharedForm.PLAIN)
    encodeSrqc(view, at, {
      ...newSrqc(),
      ...{ pd, logSrqSize: LOG_SHARED, logRqStride: LOG_STRIDE, dbrAddr: record },
      ...setup.plain,
    });
  else if (form === SharedForm.XRC)
    encodeXrcSrqc(view, at, {
      ...newXrcSrqc(),
      ...{ pd, xrcd, cqn, logXrcSrqSize: LOG_SHARED, logRqStride: LOG_STRIDE, userIndex: NO_INDEX },
      ...{ dbRecordAddrH: highDword(record), dbRecordAddrL: lowDword(record) / ADDRESS_UNIT },
      ...setup.xrc,
    });
  else
    encodeWq(view, CREATE_RMP_IN_CTX_OFFSET + RMPC_WQ_OFFSET, {
      ...newWq(),
      ...{ pd, logWqSz: LOG_SHARED, logWqStride: LOG_ENTRY, dbrAddr: record },
      ...setup.pool,
    });
}
