// SPDX-License-Identifier: Apache-2.0
/**
 * Every list, map and set of the adapter that can grow has a row in docs/LIMITS.md, or a reason
 * here why its size is bounded. The sources are scanned: whoever adds one says what bounds it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import t from 'tap';

const ROOT = join(import.meta.dirname, '../..');
/** Programs of tests, and what only runs in them. */
const notServed =
  /test-support|\/testing\/|\/gen\/|^device\/(simulations|conformance)|hosts\/(in-process|replay)|\/client\//;

/** What bounds the containers; a key that is a row of docs/LIMITS.md says how many they hold. */
const bounded: Readonly<Record<string, string>> = {
  // Rows.
  'answers that wait for routing': 'device/subnet-manager/administration/administration:#waiting',
  'attachments to multicast groups': 'device/queues/multicast-groups:#groupsOf',
  'context memory': 'device/personality/mthca/context-memory:#chunks',
  'copies of the order check': 'device/function/announced-memory:#copies',
  'datagrams at a node': 'device/agents/management-interface:#waiting',
  'datagrams at the subnet manager': 'device/subnet-manager/subnet-manager:#inbox',
  'DMA regions of a client': 'protocol/vfio-user/guest-memory:#regions',
  'jobs of subnet administration': 'device/subnet-manager/administration/administration:#jobs',
  'failed queue pairs that are kept': 'device/main/failed-queue-pairs:#kept',
  'late stores that are kept': 'device/function/announced-memory:reports',
  'management commands of a function': 'device/adapter/pcie-function:pendingManagement',
  'mthca multicast groups': 'device/personality/mthca/multicast-table:#groups',
  'multicast groups that a port created': 'device/subnet-manager/administration/groups:#groups',
  'packets that wait for a WQE': 'device/transport/receive-stage:#held device/transport/receive-stage:#free',
  'page faults of a domain': 'device/protection/on-demand-region:faults',
  'page faults of a function': 'device/protection/page-faults:#waiting',
  'queue pairs of a function in a multicast group': 'device/queues/multicast-groups:members',
  'READs and atomics of a queue pair':
    'device/transport/responder-state:queue device/transport/responder-state:resources',
  'reports without an answer': 'device/subnet-manager/administration/subscriptions:#reports',
  'rules of traces': 'device/main/trace-observer:#rules',
  'service records': 'device/subnet-manager/administration/services:#services',
  subscriptions: 'device/subnet-manager/administration/subscriptions:#subscriptions',
  'tables of an on-demand region': 'device/protection/page-directory:#tables',
  'transfers that are received': 'device/subnet-manager/administration/rmpp-receiver:#receptions',
  'transfers that are sent': 'device/subnet-manager/administration/rmpp-sender:#transfers',
  // Reasons.
  'an object is in it at most once, and all kinds of objects have a row': `
    device/function/object-table:#slots device/personality/mthca/context-table:#objects
    device/personality/mthca/event-queue:#deferred device/personality/mthca/raw-queue-pairs:#waiting
    device/personality/mthca/receive-flusher:#watched device/personality/mthca/send-queues:#queues
    device/protection/page-faults:#domains device/protection/page-faults:#starved
    device/queues/event-moderation:#held device/transport/receive-queue:#flushing
    device/transport/resend-reads:#waiting device/transport/response-reads:#waiting
    device/transport/retry-timers:#states device/transport/retry-timers:#free`,
  'four accesses of a queue pair can wait for pages': 'device/protection/page-faults:#waits',
  'doorbells name no more requests than the send queue has': 'device/personality/mthca/queue-pair:doorbells',
  'as many as there are credits': 'device/function/timed-reads:#issuing device/transport/send-record:#free',
  'as many as there are pages of the collect BAR': `
    device/collect/collect-choke:#parts device/collect/collect-choke:#spare device/collect/collect-unit:#spare`,
  'one for each function': `
    device/protection/page-faults:#outstanding device/scheduler/send-queue-scheduler:#unitsByFunction
    device/shares/lane-table:#outstanding device/shares/share-manager:#lent`,
  'one for each field of a command': 'device/management/command-progress:#lists',
  'one for each port, or number of a trap': `
    device/agents/notice-queue:#notices device/agents/notice-queue:#queues device/agents/traps:#traps
    device/transport/management-receiver:interfaces`,
  'one for each kind of fault': 'device/fabric/stream-link:faults',
  'one for each record of subnet administration': 'device/subnet-manager/administration/components:known',
  'units and sockets that a process has from its start': `
    device/agents/management-interface:#doors device/function/dma-contexts:#users device/main/adapter-process:#opened
    device/hosts/ordering/ordering-model:#hosts device/main/capture-file:#views device/main/trace-control:#observers device/topology/manager-places:#above
    protocol/vfio-user/callbacks:#pointers protocol/vfio-user/config-space:#capabilities
    protocol/vfio-user/library:loaded protocol/vfio-user/pump:#hooks protocol/vfio-user/pump:#ready
    protocol/vfio-user/watch-list:#entries`,
  'always empty': `
    device/agents/virtual-adapter:functions device/personality/mthca/mthca-adapter:inner
    device/switch/switch:functions`,
  'CLIENTS_MAX of device/main/control-server.ts': `
    device/main/control-server:#clients device/main/trace-control:#snapshots`,
  'CLIENTS_MAX of device/main/ibsim-server.ts': `
    device/fabric/fabric:#places device/main/host-directory:#guids device/main/host-directory:#hosts
    device/main/host-directory:#passing device/main/host-directory:#virtual device/main/ibsim-server:clients
    device/main/ibsim-server:#connecting device/main/ibsim-server:#opening device/main/ibsim-server:#waiting
    device/main/mad-exchange:#clients`,
  'DOUBTS_MAX of device/function/announced-memory.ts': 'device/function/announced-memory:#doubts',
  'TRANSACTIONS_MAX of device/main/mad-exchange.ts': 'device/main/mad-exchange:#transactions',
  'CAPACITY of device/hosts/ordering/posted-writes.ts': 'device/hosts/ordering/posted-writes:#waiting',
  'OBSERVED_BYTES_MAX of device/main/trace-observer.ts': 'device/main/trace-observer:#traces',
  'the command line, which asks one adapter': 'device/main/control-client:#input device/main/control-client:#pending',
  'nodes, ports and tables of the subnet, which a topology has': `
    device/subnet-manager/administration/administration:managers device/subnet-manager/lids:#lids
    device/subnet-manager/multicast-routing:#order device/subnet-manager/smp-client:#outstanding
    device/subnet-manager/smp-client:#waiting device/subnet-manager/subnet:arbitration
    device/subnet-manager/subnet:duplicates device/subnet-manager/subnet:guids device/subnet-manager/subnet:laneMaps
    device/subnet-manager/subnet:linear device/subnet-manager/subnet:multicast device/subnet-manager/subnet:nodes
    device/subnet-manager/subnet:pKeys device/subnet-manager/subnet:ports device/subnet-manager/sweeper:peers
    device/subnet-manager/sweeper:#toRead`,
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
