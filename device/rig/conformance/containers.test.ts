// SPDX-License-Identifier: Apache-2.0
/**
 * Every list, map and set of the adapter that can grow has a row in docs/LIMITS.md, or a reason
 * here why its size is bounded. The sources are scanned, so a new container needs one of the two.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import t from 'tap';

const ROOT = join(import.meta.dirname, '../../..');
/** Programs of tests, and sources that only run in them. */
const notServed = /test-support|\/testing\/|\/gen\/|^device\/rig\/|hosts\/replay|\/client\//;

/** Bounds of the containers; a key that is a row of docs/LIMITS.md says how many they hold. */
const bounded: Readonly<Record<string, string>> = {
  // Rows.
  'answers that wait for routing': 'device/fabric/subnet-manager/administration/administration:#waiting',
  'attachments to multicast groups': 'device/hca/queues/multicast-groups:#groupsOf',
  'context memory': 'device/personality/mthca/memory/context-memory:#chunks',
  'copies of the order check': 'device/hca/function/announced-memory:#copies',
  'datagrams at a node': 'device/fabric/agents/mad-interface:#waiting',
  'datagrams at the subnet manager': 'device/fabric/subnet-manager/manager/subnet-manager:#inbox',
  'DMA regions of a client': 'protocol/vfio-user/guest-memory:#regions',
  'jobs of subnet administration': 'device/fabric/subnet-manager/administration/administration:#jobs',
  'failed queue pairs that are kept': 'device/process/reports/failed-queue-pairs:#kept',
  'late stores that are kept': 'device/hca/function/announced-memory:reports',
  'management commands of a function': 'device/hca/adapter/pcie-function:pendingManagement',
  'mlx5 numbers of a kind': 'device/personality/mlx5/hca/numbers:#users',
  'mthca multicast groups': 'device/personality/mthca/hca/multicast-table:#groups',
  'multicast groups that a port created': 'device/fabric/subnet-manager/administration/groups:#groups',
  'packets that wait for a WQE':
    'device/hca/transport/datagrams/receive-stage:#held device/hca/transport/datagrams/receive-stage:#free',
  'page faults of a domain': 'device/hca/protection/on-demand-region:faults',
  'page faults of a function': 'device/hca/protection/page-faults:#waiting',
  'queue pairs of a function in a multicast group': 'device/hca/queues/multicast-groups:members',
  'READs and atomics of a queue pair':
    'device/hca/transport/state/responder-state:queue device/hca/transport/state/responder-state:#resources',
  'reports without an answer': 'device/fabric/subnet-manager/administration/subscriptions:#reports',
  'rules of traces': 'device/process/trace/trace-observer:#rules',
  'service records': 'device/fabric/subnet-manager/administration/services:#services',
  subscriptions: 'device/fabric/subnet-manager/administration/subscriptions:#subscriptions',
  'tables of an on-demand region': 'device/hca/protection/page-directory:#tables',
  'transfers that are received': 'device/fabric/subnet-manager/rmpp/receiver:#receptions',
  'transfers that are sent': 'device/fabric/subnet-manager/rmpp/sender:#transfers',
  // Reasons.
  'an object is in it at most once, and all kinds of objects have a row': `
    device/hca/function/object-table:#slots device/personality/mthca/memory/context-table:#objects
    device/personality/mthca/queues/event-queue:#deferred device/personality/mthca/raw-queue-pairs:#waiting
    device/personality/mlx5/queues/event-queue:#waiting
    device/personality/shared/receive-flusher:#watched device/personality/shared/send-queues:#queues
    device/hca/protection/page-faults:#domains device/hca/protection/page-faults:#starved
    device/hca/queues/event-moderation:#held device/hca/transport/receive-queue:#flushing
    device/hca/transport/requester/resend-reads:#waiting device/hca/transport/responder/response-reads:#waiting
    device/hca/transport/requester/retry-timers:#states device/hca/transport/requester/retry-timers:#free`,
  'four accesses of a queue pair can wait for pages': 'device/hca/protection/page-faults:#waits',
  'doorbells name no more requests than the send queue has': 'device/personality/mthca/queues/queue-pair:doorbells',
  'as many as there are credits':
    'device/hca/function/timed-reads:#issuing device/hca/transport/state/send-record:#free',
  'as many as there are event queues and pages that the firmware asks for': `
    device/personality/mlx5/hca/events:#queues device/personality/mlx5/hca/events:commandQueues
    device/personality/mlx5/hca/hca:pages`,
  'one for each number of a domain':
    'device/personality/mlx5/hca/domains:#protection device/personality/mlx5/hca/domains:#xrc',
  'as many as there are memory keys of mlx5: 2^20': `
    device/personality/mlx5/memory/memory-keys:#keys device/personality/mlx5/memory/memory-keys:#free`,
  'as many as there are pages of the collect BAR': `
    device/hca/collect/collect-choke:#parts device/hca/collect/collect-choke:#spare device/hca/collect/collect-unit:#spare`,
  'one for each function': `
    device/hca/protection/page-faults:#outstanding device/hca/scheduler/send-queue-scheduler:#unitsByFunction
    device/hca/shares/lane-table:#outstanding device/hca/shares/share-manager:#lent`,
  'one for each ring of the ports and switches of a process': 'device/loan-book:#holders',
  'one for each field of a command': 'device/hca/management/command-progress:#lists',
  'one for each port, or number of a trap': `
    device/fabric/agents/notice-queue:#notices device/fabric/agents/notice-queue:#queues device/fabric/agents/traps:#traps
    device/hca/transport/engine/mad-receiver:interfaces`,
  'one for each kind of fault': 'device/fabric/link/stream-link:faults',
  'one for each record of subnet administration': 'device/fabric/subnet-manager/administration/components:known',
  'units and sockets that a process has from its start': `
    device/fabric/agents/mad-interface:#doors device/hca/function/dma-timing:#users device/process/host/adapter-process:#opened
    device/hosts/ordering/ordering-model:#hosts device/process/control/capture-file:#views device/process/control/trace-control:#observers device/topology/manager-places:#above
    protocol/vfio-user/callbacks:#pointers protocol/vfio-user/config-space:#capabilities
    protocol/vfio-user/library:loaded protocol/vfio-user/pump:#hooks protocol/vfio-user/pump:#ready
    protocol/vfio-user/watch-list:#entries`,
  'always empty': `
    device/fabric/agents/virtual-adapter:functions device/personality/shared/undivided-adapter:inner
    device/fabric/switch/switch:functions
    device/hca/transport/state/responder-state:NO_ANSWERS`,
  'CLIENTS_MAX of device/process/control/control-server.ts': `
    device/process/control/control-server:#clients device/process/control/trace-control:#snapshots`,
  'CLIENTS_MAX of device/process/ibsim/ibsim-server.ts': `
    device/fabric/link/fabric:#places device/process/ibsim/host-directory:#guids device/process/ibsim/host-directory:#hosts
    device/process/ibsim/host-directory:#passing device/process/ibsim/host-directory:#virtual device/process/ibsim/ibsim-server:clients
    device/process/ibsim/ibsim-server:#connecting device/process/ibsim/ibsim-server:#opening device/process/ibsim/ibsim-server:#waiting
    device/process/ibsim/mad-exchange:#clients`,
  'DOUBTS_MAX of device/hca/function/announced-memory.ts': 'device/hca/function/announced-memory:#doubts',
  'WAITING_MAX of device/process/host/link-listener.ts': 'device/process/host/link-listener:#waiting',
  'TRANSACTIONS_MAX of device/process/ibsim/mad-exchange.ts': 'device/process/ibsim/mad-exchange:#transactions',
  'CAPACITY of device/hosts/ordering/posted-writes.ts': 'device/hosts/ordering/posted-writes:#waiting',
  'OBSERVED_BYTES_MAX of device/process/trace/trace-observer.ts': 'device/process/trace/trace-observer:#traces',
  'the command line, which asks one adapter':
    'device/process/control/control-client:#input device/process/control/control-client:#pending',
  'nodes, ports and tables of the subnet, which a topology has': `
    device/fabric/subnet-manager/administration/administration:managers device/fabric/subnet-manager/sweep/lids:#lids
    device/fabric/subnet-manager/routing/multicast-routing:#order device/fabric/subnet-manager/smp-client:#outstanding
    device/fabric/subnet-manager/smp-client:#waiting device/fabric/subnet-manager/subnet:arbitration
    device/fabric/subnet-manager/subnet:duplicates device/fabric/subnet-manager/subnet:guids device/fabric/subnet-manager/subnet:vlMaps
    device/fabric/subnet-manager/subnet:linear device/fabric/subnet-manager/subnet:multicast device/fabric/subnet-manager/subnet:nodes
    device/fabric/subnet-manager/subnet:pKeys device/fabric/subnet-manager/subnet:ports device/fabric/subnet-manager/manager/sweeper:peers
    device/fabric/subnet-manager/manager/sweeper:#toRead`,
};

const CONTAINER = String.raw`(?:new (?:Map|Set)(?:<[^;]*>)?\(\)|\[\])`;
const TYPE = String.raw`(?:!|\?)?(?:: [^=\n]+)?`;
const forms = [
  // A field; one that the constructor sets; a constant or variable of the module.
  new RegExp(String.raw`^  (?:(?:readonly|static|override|private|protected) )*(#?\w+)${TYPE} =\s+${CONTAINER};`, 'gm'),
  new RegExp(String.raw`\bthis\.(#?\w+) (?:\?\?)?=\s+${CONTAINER}`, 'gm'),
  new RegExp(String.raw`^(?:export )?(?:const|let) (\w+)${TYPE} =\s+${CONTAINER}`, 'gm'),
];

/** Names of the containers in a source that begin empty and outlive a call. */
function findContainers(source: string): string[] {
  return [...new Set(forms.flatMap((form) => [...source.matchAll(form)].map(([, name]) => name as string)))].sort();
}

t.test('containers are found in all their forms', async (t) => {
  const source = `
const known = new Map<string, number>();
let last: readonly number[] = [];
class A {
  readonly #a = new Map<K, Map<K, V>>();
  static b: Set<number> = new Set();
  c: string[] = [];
  #d: { readonly x: number }[] = [];
  readonly fixed = new Uint8Array(4);
  readonly built = Array.from({ length: 4 }, () => 0);
  readonly #long: ReadonlyMap<string, number> =
    new Map();
  constructor() {
    this.#e = new Set<string>();
    const local = [];
  }
  f(): void {
    this.g ??= [];
  }
}`;
  t.same(findContainers(source), ['#a', '#d', '#e', '#long', 'b', 'c', 'g', 'known', 'last']);
});

t.test('each container that can grow has a bound', async (t) => {
  const found = ['device', 'protocol']
    .flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }))
    .map(({ parentPath, name }) => relative(ROOT, join(parentPath, name)))
    .filter((path) => path.endsWith('.ts') && !/\.(test|long)\.ts$/.test(path) && !notServed.test(path))
    .flatMap((path) =>
      findContainers(readFileSync(join(ROOT, path), 'utf8')).map((name) => `${path.slice(0, -3)}:${name}`),
    );
  const listed = Object.values(bounded).flatMap((names) => names.trim().split(/\s+/));
  t.same(
    found.filter((name) => !listed.includes(name)),
    [],
    'has neither a row nor a reason',
  );
  t.same(
    listed.filter((name) => !found.includes(name)),
    [],
    'is no container any more',
  );
  t.equal(new Set(listed).size, listed.length, 'each has one bound');
});

t.test('the rows are in docs/LIMITS.md, and the constants in the code', async (t) => {
  const page = readFileSync(join(ROOT, 'docs/LIMITS.md'), 'utf8');
  const names = Object.keys(bounded);
  const reasons = names.indexOf('an object is in it at most once, and all kinds of objects have a row');
  for (const row of names.slice(0, reasons)) t.ok(page.includes(`| ${row} | `), row);
  for (const reason of names) {
    const [, constant, path] = /^(\w+) of (\S+\.ts)$/.exec(reason) ?? [];
    if (path !== undefined) t.match(readFileSync(join(ROOT, path), 'utf8'), `const ${constant} = `, reason);
  }
});
