// SPDX-License-Identifier: Apache-2.0
/**
 * Every size and count that a guest, a peer or a client decides has a bound: docs/LIMITS.md lists
 * them, and this test compares its tables with the constants of the code, and drives those that are
 * cheap to reach to their limit. A new list that others can make grow needs a row.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  COMPLETION_QUEUE_MAX_LOG2,
  DEDICATED_MAX,
  EVENT_QUEUE_MAX_LOG2,
  FUNCTION_MAX,
  MESSAGE_MAX_BYTES,
  OVERFLOW_MAX_LOG2,
  RECEIVE_QUEUE_MAX_LOG2,
  RESOURCE_CHANGES_MAX,
  SEND_CONTEXT_MAX,
  SEND_QUEUE_MAX_LOG2,
  SGE_MAX,
  TRACE_BLOCKS_MAX_LOG2,
  TRACE_SNAP_LENGTH_MAX,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { BAR_BYTES, FIRST_UAR, UAR_PAGE_BYTES } from '../../../protocol/mlx5/gen/constants.gen.ts';
import { WAITING_DATAGRAMS_MAX } from '../../fabric/agents/mad-interface.ts';
import { ANSWERS_MAX, JOBS_MAX } from '../../fabric/subnet-manager/administration/administration.ts';
import { GROUPS_OF_PORT } from '../../fabric/subnet-manager/administration/groups.ts';
import { SERVICES_MAX } from '../../fabric/subnet-manager/administration/services.ts';
import {
  REPORTS_MAX,
  SUBSCRIPTIONS_MAX,
  SUBSCRIPTIONS_OF_PORT,
} from '../../fabric/subnet-manager/administration/subscriptions.ts';
import { INBOX_MAX } from '../../fabric/subnet-manager/manager/subnet-manager.ts';
import { RECEPTIONS_MAX, SEGMENTS_MAX } from '../../fabric/subnet-manager/rmpp/receiver.ts';
import { TRANSFERS_MAX } from '../../fabric/subnet-manager/rmpp/sender.ts';
import { COPIES_MAX, REPORTS_MAX as REPORTS_MAX_OF_FUNCTION } from '../../hca/function/announced-memory.ts';
import { DEVICE_MEMORY_DEFAULT_BYTES } from '../../hca/function/device-memory.ts';
import type { ObjectTable } from '../../hca/function/object-table.ts';
import { FAST_PAGES_MAX } from '../../hca/management/memory-region-commands.ts';
import { RESOLVED_PAGES_MAX } from '../../hca/management/page-commands.ts';
import { TRACE_READ_MAX_BYTES } from '../../hca/management/trace-commands.ts';
import { STEP_PAGES } from '../../hca/memory/move-entries.ts';
import { LIST_PAGE_ENTRIES } from '../../hca/memory/page-list.ts';
import { TABLES_MAX } from '../../hca/protection/page-directory.ts';
import { FAULTS_PER_DOMAIN, FAULTS_PER_FUNCTION } from '../../hca/protection/page-faults.ts';
import { capacities, ObjectTables } from '../../hca/queues/object-tables.ts';
import { FAILURES_KEPT } from '../../hca/queues/queue-pair-failure.ts';
import { HELD_WRITES_MAX } from '../../hca/scheduler/held-writes.ts';
import { TRACE_BYTES_PER_FUNCTION } from '../../hca/trace/traces.ts';
import { HELD_PACKETS_MAX } from '../../hca/transport/datagrams/receive-stage.ts';
import { FLUSH_TURN } from '../../hca/transport/receive-queue.ts';
import {
  GROUP_MEMBERS,
  LOG_COMPLETION_QUEUES,
  LOG_DOMAINS,
  LOG_EVENT_QUEUES,
  LOG_GROUPS,
  LOG_QUEUE_PAIRS,
  LOG_SHARED_QUEUES,
  LOG_TRANSPORT_DOMAINS,
  LOG_XRC_DOMAINS,
} from '../../personality/mlx5/hca/capabilities.ts';
import { FIRST_KEY, LIST_BYTES_MAX, LOG_KEYS } from '../../personality/mlx5/memory/memory-keys.ts';
import { makeLimits } from '../../personality/mthca/hca/limits.ts';

const ROOT = join(import.meta.dirname, '../../..');
const mthca = makeLimits(2);

/** The bounds by the first column of the tables, with the constants that the code uses. */
const bounds: Readonly<Record<string, number>> = {
  'protection domains': capacities.protectionDomains,
  'memory regions': capacities.memoryRegions,
  'memory windows': capacities.memoryWindows,
  'completion queues': capacities.completionQueues,
  'event queues': capacities.eventQueues,
  'queue pairs': capacities.queuePairs,
  'shared receive queues': capacities.sharedReceiveQueues,
  'XRC domains': capacities.xrcDomains,
  'ranges of device memory': capacities.deviceMemory,
  'collect contexts': capacities.collectContexts,
  'attachments to multicast groups': capacities.multicastAttachments,
  'translation entries': capacities.translationEntries,
  'queue pairs of a function in a multicast group': capacities.queuePairsPerGroup,
  'send contexts': SEND_CONTEXT_MAX,
  'device memory': DEVICE_MEMORY_DEFAULT_BYTES,
  'memory of traces': TRACE_BYTES_PER_FUNCTION,
  'pages of a region': capacities.pagesPerRegion,
  'pages of a FAST region': FAST_PAGES_MAX,
  'tables of an on-demand region': TABLES_MAX,
  'entries of a send queue': 2 ** SEND_QUEUE_MAX_LOG2,
  'entries of a receive queue': 2 ** RECEIVE_QUEUE_MAX_LOG2,
  'entries of a CQ': 2 ** COMPLETION_QUEUE_MAX_LOG2,
  'entries of an EQ': 2 ** EVENT_QUEUE_MAX_LOG2,
  'entries of the overflow buffer': 2 ** OVERFLOW_MAX_LOG2,
  'elements of a work request': SGE_MAX,
  'bytes of a message': MESSAGE_MAX_BYTES,
  'READs and atomics of a queue pair': capacities.readsPerQueuePair,
  'blocks of a trace': 2 ** TRACE_BLOCKS_MAX_LOG2,
  'bytes of a packet in a trace': TRACE_SNAP_LENGTH_MAX,
  'management commands of a function': DEDICATED_MAX,
  'changes of a resource request': RESOURCE_CHANGES_MAX,
  'entries of a page list': LIST_PAGE_ENTRIES,
  'pages of a queue that is resized': STEP_PAGES,
  'pages of RESOLVE_PAGES': RESOLVED_PAGES_MAX,
  'bytes of READ_TRACE': TRACE_READ_MAX_BYTES,
  'flushed WQEs': FLUSH_TURN,
  'page faults of a domain': FAULTS_PER_DOMAIN,
  'page faults of a function': FAULTS_PER_FUNCTION,
  'writes behind a stalled bus': HELD_WRITES_MAX,
  'failed queue pairs that are kept': FAILURES_KEPT,
  'copies of the order check': COPIES_MAX,
  'late stores that are kept': REPORTS_MAX_OF_FUNCTION,
  'packets that wait for a WQE': HELD_PACKETS_MAX,
  'datagrams at a node': WAITING_DATAGRAMS_MAX,
  'datagrams at the subnet manager': INBOX_MAX,
  'jobs of subnet administration': JOBS_MAX,
  'answers that wait for routing': ANSWERS_MAX,
  'service records': SERVICES_MAX,
  'multicast groups that a port created': GROUPS_OF_PORT,
  subscriptions: SUBSCRIPTIONS_MAX,
  'subscriptions of a port': SUBSCRIPTIONS_OF_PORT,
  'reports without an answer': REPORTS_MAX,
  'transfers that are received': RECEPTIONS_MAX,
  'segments of a received transfer': SEGMENTS_MAX,
  'transfers that are sent': TRANSFERS_MAX,
  'context memory': mthca.icmBytes,
  'mthca regions': 2 ** mthca.logMpts,
  'mthca queue pairs': 2 ** mthca.logQps,
  'mthca CQs': 2 ** mthca.logCqs,
  'mthca SRQs': 2 ** mthca.logSrqs,
  'mthca EQs': 2 ** mthca.logEqs,
  'mthca multicast groups': 2 ** mthca.logGroups,
  'mlx5 numbers of a kind': 2 ** Math.max(LOG_DOMAINS, LOG_TRANSPORT_DOMAINS, LOG_XRC_DOMAINS),
  'mlx5 UAR pages': BAR_BYTES / UAR_PAGE_BYTES - FIRST_UAR,
  'mlx5 keys': 2 ** LOG_KEYS - FIRST_KEY,
  'bytes of the lists of mlx5 keys': LIST_BYTES_MAX,
  'mlx5 EQs': 2 ** LOG_EVENT_QUEUES,
  'mlx5 CQs': 2 ** LOG_COMPLETION_QUEUES,
  'mlx5 queue pairs': 2 ** LOG_QUEUE_PAIRS,
  'mlx5 SRQs': 2 ** LOG_SHARED_QUEUES,
  'mlx5 multicast groups': 2 ** LOG_GROUPS,
  'queue pairs of an mlx5 multicast group': GROUP_MEMBERS,
  // Bounds of libvfio-user, in protocol/vfio-user/patches, whose text is compared below.
  'DMA regions of a client': 1024,
  'mapped memory of a client': 2 * 2 ** 40,
  'mapped memory of all clients': 32 * 2 ** 40,
  'DMA regions of all clients': 40960,
  'bytes of a transfer': 4096,
  'requests of one call': 64,
  // Bounds of a live process, whose tests compare them.
  'rules of traces': 256,
};

/** Rows of all tables of the page, as lists of cells. */
function readRows(): string[][] {
  return readFileSync(join(ROOT, 'docs/LIMITS.md'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| what '))
    .map((line) =>
      line
        .slice(2, -2)
        .split(' | ')
        .map((cell) => cell.trim()),
    );
}

/** The number of a cell such as "1,024", "64 KiB" or "32 TiB". */
function readNumber(cell: string): number {
  const [digits = '', unit = ''] = cell.split(' ');
  const power = ['', 'KiB', 'MiB', 'GiB', 'TiB'].indexOf(unit);
  return Number(digits.replaceAll(',', '')) * 1024 ** power;
}

t.test('the page has all bounds as the code has them', async (t) => {
  const rows = readRows();
  const listed = new Map(rows.map(([what = '', bound = '']) => [what, readNumber(bound)]));
  t.same(Object.fromEntries(listed), bounds);
  for (const [what, , , , shown = ''] of rows) {
    const path = shown.replaceAll('`', '');
    if (path !== '' && !existsSync(join(ROOT, path))) t.fail(`${what}: there is no ${path}`);
  }
});

t.test('the bounds of clients are those of the patches', async (t) => {
  const patches = ['0003-dma-map', '0009-handle-what-one-read-gives', '0010-bound-mappings', '0011-bound-messages']
    .map((name) => readFileSync(join(ROOT, `protocol/vfio-user/patches/${name}.patch`), 'utf8'))
    .join('\n');
  for (const define of [
    `MAX_DMA_REGIONS ${bounds['DMA regions of a client']}`,
    `MAX_DMA_MAPPED (${(bounds['mapped memory of a client'] as number) / 2 ** 40} * ONE_TB)`,
    `MAX_DMA_MAPPED_PROCESS (${(bounds['mapped memory of all clients'] as number) / 2 ** 40} * ONE_TB)`,
    `MAX_MAPPINGS ${bounds['DMA regions of all clients']}`,
    `SERVER_MAX_DATA_XFER_SIZE ${bounds['bytes of a transfer']}`,
    `MAX_REQS_PER_RUN ${bounds['requests of one call']}`,
  ])
    t.ok(patches.includes(`+#define ${define}\n`), define);
});

t.test('every kind of object ends at its quota, and leaves that of other functions', async (t) => {
  for (const functionCount of [1, FUNCTION_MAX]) {
    const tables = new ObjectTables(functionCount);
    const kinds = Object.keys(tables.counts) as (keyof typeof capacities & keyof ObjectTables)[];
    for (const kind of kinds) {
      const quota = Math.floor(capacities[kind] / functionCount);
      const table = tables[kind] as unknown as ObjectTable<{ number: number; owner: { number: number } }>;
      for (const owner of [{ number: 0 }, { number: functionCount - 1 }].slice(0, Math.min(2, functionCount))) {
        const build = (number: number) => ({ number, owner });
        let made = 0;
        while (made <= quota && table.add(owner, build) !== undefined) made++;
        t.equal(made, quota, `${kind} of function ${owner.number} of ${functionCount}`);
      }
    }
  }
});
