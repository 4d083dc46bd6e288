// SPDX-License-Identifier: Apache-2.0
/**
 * Evidence for each paragraph of the five source documents: tests in process, cases of the guest's
 * test module, or the reason why the adapter differs. The rows are those of the tables in
 * docs/DOCUMENTS.md that name a place in the adapter; documents.ts joins both. Titles of tests may
 * be cut at the end.
 */

/** The evidence for one row. */
export interface Evidence {
  /** `folder/file: title` below `device/`, without `.test.ts`. */
  readonly tests?: readonly string[];
  /** `suite case` of guest-tests/kernel. */
  readonly guest?: readonly string[];
  /** Place, kind and reason of a difference of the adapter. */
  readonly otherwise?: string;
}

const test = (...tests: readonly string[]): Evidence => ({ tests });
const guest = (...cases: readonly string[]): Evidence => ({ guest: cases });
const otherwise = (reason: string): Evidence => ({ otherwise: reason });

function both(...parts: readonly Evidence[]): Evidence {
  const tests = parts.flatMap((part) => part.tests ?? []);
  const cases = parts.flatMap((part) => part.guest ?? []);
  const reason = parts.flatMap((part) => part.otherwise ?? []).join('; ');
  return { tests, guest: cases, ...(reason === '' ? {} : { otherwise: reason }) };
}

const DEDICATED = 'hca/collect/dedicated-collect-buffer: ';
const SHARED = 'hca/shares/share-requests: ';
const FIGURE_11 = `${SHARED}figure 11: weather, ocean and control get what the document gives them`;
const COLLECT = 'hca/collect/collect: ';
const LANES = 'hca/lane/transmit-virtual-lanes: ';
const OVERFLOW = 'hca/scheduler/doorbell-overflow: ';
const POLICIES = 'hca/scheduler/overflow-policies: ';
const DOORBELLS = 'hca/scheduler/hazards-doorbells: ';
const TIMERS = 'hca/events/event-timers: ';
const PIO = 'hca/pio/send-contexts: ';
const TRACE = 'hca/trace/trace: ';
const PIPELINE = 'hca/transport/engine/send-pipeline: ';

const HOST_QUEUE = 'hca/scheduler/host-queue: ';
const LEVELS = 'hca/collect/level-pages: ';
const SHARED_CREDITS = 'hca/lane/hazards-lanes: hazard 17: a lane that holds all shared credits';
const MACHINES = 'hca/adapter/several-functions: guests have a driver and memory of their own';
/** The physical function controls the adapter, a virtual one only its part. */
const FUNCTIONS = test(
  'hca/adapter/several-functions: the physical function disables the adapter',
  MACHINES,
  'hca/lane/adapter-lanes: registers show a function its own lanes',
  'rig/qos/isolation: hostile software of one function and none leave the others the same',
);

const qualityOfService: Readonly<Record<string, Evidence>> = {
  '5-7': both(test('hca/shares/shares: a page beyond the share is dropped and counted'), guest('shares outside')),
  '11': test('hca/collect/pcb-allocator: a level binds its own PCBs, then those of its function, then those of all'),
  '12-18': both(test(MACHINES), guest('identity pci')),
  '19': both(test('hca/shares/shares: figure 11: the control machine gives'), guest('share_requests give')),
  '20-21': otherwise('QEMU is hypervisor and processors: nothing of them is in the adapter'),
  '22-23': both(test('hca/queues/queue-pair-states: RESET empties both queues'), guest('once wrap')),
  '24-26': otherwise('QEMU has root complex and IOMMU; the adapter accesses memory through its host'),
  '27-28': both(test('hca/adapter/port-count: 4 ports'), guest('port_count each')),
  '29': test('hca/adapter/several-functions: as many functions as there can be', SHARED_CREDITS),
  '30-32': FUNCTIONS,
  '33': both(test(`${SHARED}refusals name the field`), guest('management pd')),
  '34': both(test('hca/scheduler/exactly-once: queue pairs take turns'), guest('stop again')),
  '35-38': test(`${COLLECT}any size, order and repetition of stores`),
  '39': test(
    'process/host/timeline: bind, kick, launch, releases, completion, event and interrupt',
    `${PIPELINE}a completion waits for all reads of its command`,
    `${PIPELINE}lanes share contexts in turns and overtake each other`,
  ),
  '40': test('hca/lane/hazards-lanes: hazard 18: a completion credit whose ACK was lost'),
  '41': test(`${LANES}a full port stops only the lanes that need it`, `${PIPELINE}lanes share contexts in turns`),
  '42': both(
    test('hca/lane/hazards-lanes: hazard 17: no execution credit leaks', `${PIPELINE}NOPs of every service hold`),
    guest('pipeline credits'),
  ),
  '43': both(
    test('hca/lane/hazards-lanes: hazard 18: repeated ACKs after a retry release the credit once'),
    guest('pipeline datagram-credits'),
  ),
  '44': test(`${LANES}a lane takes private credits first`),
  '45-46': test(`${LANES}a full kick list refuses commands`),
  '47': test(`${LANES}launches follow the weights of lanes exactly`, `${LANES}a lane that needs two shared credits`),
  '48': both(test(`${COLLECT}any size, order and repetition of stores`), guest('collect mixed-sizes')),
  '49': both(
    test(`${DEDICATED}several dedicated buffers: a lock, a state and a page for each`),
    guest('dedicated locks'),
  ),
  '50': test('hca/collect/pcb-allocator: a level binds its own PCBs'),
  '51-52': test(`${LANES}the lane map has lanes for levels, functions and dedicated buffers`),
  '53': test('hca/collect/pcb-allocator: a share that shrinks below its use converges'),
  '54': test(`${SHARED}PCBs as in the example of the document`),
  '55': guest('shares accounts'),
  '56': test('hca/collect/hazards-collect: hazard 6: a command begins before the last one'),
  '57': guest('shares shortage-level-0'),
  '58': both(
    test('hca/collect/vcb-space: the runs of functions start one behind the other'),
    guest('shares divider', 'share_allocation function'),
  ),
  '59-60': both(
    test('hca/collect/vcb-space: the runs of functions start one behind the other'),
    guest('shares divider'),
  ),
  '61': test('hca/collect/pcb-allocator: lent PCBs are used by other functions'),
  '62-63': both(test('hca/shares/shares: the host asks with more rights than any guest'), guest('share_requests give')),
  '64': test(
    'hca/shares/share-adjuster: a share returns when its guest leaves',
    'hca/shares/shares: idle shares are lent',
  ),
  '65': test('hca/shares/shares: refused requests name the field in the command'),
  '66-68': both(test(FIGURE_11), guest('share_allocation lane')),
  '69': both(test(`${SHARED}refusals name the field`), guest('share_requests refused-functions')),
  '70-71': test('hca/collect/vcb-space: a number in use stays with its page through a move'),
  '72-73': test(`${SHARED}PCBs as in the example of the document`),
  '74-76': both(
    test(
      `${SHARED}figure 11 by explicit map of lanes`,
      'hca/shares/lane-table: an invalid entry is read before the next command',
      'hca/shares/lane-table: an entry cannot give away what another function or level owns',
    ),
    guest('share_allocation map', 'lane_table marked-entry'),
  ),
  '77': test('hca/adapter/fuzz: random management commands'),
  '78': test(`${SHARED}lanes that come go to every level`),
  '79': test(`${SHARED}what one change gives back the next one may take`),
  '80-86': both(test(`${SHARED}figure 11: the tenants split what they have`), guest('share_requests split')),
  '87': both(test('hca/shares/shares: two users of one dedicated collect buffer'), guest('dedicated beside')),
  '88': test('hca/shares/shares: two users of one dedicated collect buffer'),
  '89': both(
    test(`${DEDICATED}waiting management commands execute in the order in which they were complete`),
    guest('dedicated waiting', 'reset lock'),
  ),
  '90': test('hca/management/management: commands may be written in any order and size'),
  '91': test('hca/lane/adapter-lanes: fetched commands use the lanes of dedicated buffers'),
  '92-94': both(
    test(`${LEVELS}a process gets a VCB of its QoS level`),
    guest('parallel own-buffers', 'shares divider'),
  ),
  '95': guest('collect words'),
  '96': test('hca/collect/pcb-allocator: a level binds its own PCBs', `${COLLECT}one QoS level cannot take`),
  '97': test(`${COLLECT}nothing happens before the last missing piece`),
  '98': test(`${COLLECT}without a PCB a command is refused`),
  '99-100': both(test(`${COLLECT}send-queue mode keeps the first 8 bytes`), guest('collect_errors refused')),
  '101': test(
    `${COLLECT}send-queue mode ends by cancel`,
    'hca/scheduler/host-queue: refused commands wait in host memory, oldest first',
  ),
  '102-107': both(
    test(
      `${HOST_QUEUE}commands of several queue pairs execute in the order of the FIFO`,
      `${HOST_QUEUE}the FIFO goes on behind commands that are gone`,
      `${HOST_QUEUE}an exact doorbell stands for the commands up to its own`,
    ),
    guest('collect_errors host-queue', 'collect_errors exact'),
  ),
  '108-111': both(
    test('hca/collect/hazards-collect: hazard 2: the word with the length'),
    guest('collect length-last'),
  ),
  '112-113': test('hca/collect/hazards-collect: hazard 5: words arrive twice'),
  '114': test(`${LANES}queue pairs are spread evenly over their lanes`),
  '115': test(`${LANES}a kick list filled by one function`),
  '116-117': test(`${LANES}a lane that needs two shared credits`),
  '118-119': both(test('rig/conformance/connected-lists: SENDs and WRITEs may have inline'), guest('connected inline')),
  '120': guest('datagram sizes'),
  '121': test('process/host/timeline: bind, kick, launch, releases, completion, event and interrupt'),
  '122-124': test('hca/lane/hazards-lanes: hazard 18: a completion credit whose ACK was lost'),
  '125-131': test(FIGURE_11, 'hca/shares/shares: figure 11: the control machine gives'),
};

const doorbells: Readonly<Record<string, Evidence>> = {
  '4-6': both(test(`${DOORBELLS}hazard 14: with overflow the same seed drains`), guest('overflow spill')),
  '10': test('hca/scheduler/exactly-once: one doorbell covers all commands up to the tail'),
  '11-16': otherwise('these are host and QEMU: the adapter reaches memory through its host'),
  '17-19': guest('ports all-ways'),
  '20': guest('management pd'),
  '21': test(`${DOORBELLS}hazard 13: a full scheduler buffer spills in order`),
  '22-23': guest('datagram sizes'),
  '24': guest('once wrap'),
  '25-26': test('hca/scheduler/exactly-once: queue pairs take turns'),
  '27': test('hca/registers/effective-values: the descriptor has queue pair, read pointer and write pointer'),
  '28-29': both(test(`${OVERFLOW}each function spills only its own doorbells`), guest('overflow refused-rings')),
  '30-38': otherwise('guests and QEMU: nothing of them is in the adapter'),
  '39': guest('identity pci'),
  '40-42': FUNCTIONS,
  '43-46': test(
    'process/host/timeline: bind, kick, launch, releases, completion, event and interrupt',
    'process/host/timeline: refuse: no PCB is free for the page; the command comes by doorbell and is fetched',
    'rig/conformance/connected-lists: SGE lists are gathered and scattered',
  ),
  '47': test(`${PIPELINE}lanes share contexts in turns and overtake each other`),
  '48': test('hca/lane/hazards-lanes: hazard 18: a completion credit whose ACK was lost'),
  '49-52': test(`${LANES}launches follow the weights of lanes exactly`),
  '53-58': test('hca/collect/pcb-allocator: a level binds its own PCBs'),
  '59': test(`${COLLECT}without a PCB a command is refused`),
  '60-61': guest('shares accounts'),
  '62': test(
    'hca/collect/collect-contexts: a page of a context posts to its own queue pairs, and the kernel to all',
    'hca/collect/collect-contexts: hazard 43: a page of a context neither posts to, rings nor stops',
  ),
  '63': both(
    test(`${LEVELS}without a free VCB a process rings a doorbell`),
    guest('parallel own-buffers', 'parallel one-buffer'),
  ),
  '64-65': test(`${COLLECT}any size, order and repetition of stores`),
  '66': test(`${COLLECT}send-queue mode keeps the first 8 bytes`),
  '67': test(
    `${OVERFLOW}thresholds: spilling begins below the low threshold`,
    'hca/scheduler/bus-model: a full bus holds the next access up and drops no doorbell',
  ),
  '68': guest('shares shortage-level-0'),
  '69': guest('datagram doorbell-bulk'),
  '70': test('hca/scheduler/exactly-once: queue pairs take turns'),
  '71': both(test(`${OVERFLOW}waiting send queues are a linked list of descriptors`), guest('waiting links')),
  '72': test(`${DOORBELLS}hazard 16: a QP linked by two sources is in the list once`),
  '73': test(`${OVERFLOW}waiting send queues are a linked list of descriptors`),
  '74': both(
    test(
      `${DOORBELLS}hazard 14: without overflow`,
      'hca/scheduler/bus-latency: the same load with and without',
      'hca/scheduler/bus-model: a register read behind a blocked doorbell waits until the doorbell is taken',
    ),
    guest('overload deadlock', 'blocked_bus read-waits', 'pipeline load'),
  ),
  '75': test(`${DOORBELLS}hazard 14: reads at their limit with no dedicated buffer free`),
  '76': both(test(`${DOORBELLS}hazard 11: a tail that is visible before its WQE`), guest('waiting links')),
  '77': test(`${LANES}launches follow the weights of lanes exactly`),
  '78-80': test('rig/conformance/connected-lists: SGE lists are gathered and scattered'),
  '81': both(
    test(
      `${PIPELINE}a completion waits for all reads of its command`,
      'hca/events/events: hazard 31: entry, then event, then interrupt',
    ),
    otherwise('a completion does not wait for reads of other commands: decision 27'),
  ),
  '82': test('process/host/timeline: bind, kick, launch, releases, completion, event and interrupt'),
  '83': both(
    test('hca/transport/engine/buffer-release: the PCB of a command is free behind its completion'),
    otherwise('that of a reliable connection is free when its last packet is with the port: decision 28'),
  ),
  '84': test(`${DOORBELLS}hazard 14: reads at their limit with no dedicated buffer free`),
  '85': test('hca/scheduler/overflow-thresholds: adaptive: an episode without reads at their limit'),
  '86-88': both(
    test(
      `${DOORBELLS}hazard 13: a full scheduler buffer spills in order`,
      `${POLICIES}a command with a PCB is spilled after the detection`,
    ),
    guest('overflow spill'),
  ),
  '89': test('process/host/timeline: spill and drain: each doorbell written to the overflow buffer'),
  '90-91': test(
    `${OVERFLOW}policy most-spilled: a QP with doorbells in the overflow buffer`,
    `${POLICIES}newest by place: the last of the scheduler buffer`,
    `${POLICIES}most spilled: queue pairs with most entries`,
  ),
  '92': both(
    test(
      `${OVERFLOW}thresholds: spilling begins below the low threshold`,
      `${POLICIES}adaptive: reads that hold all dedicated buffers raise the low threshold`,
    ),
    guest('overload threshold-falls', 'overload threshold-rises'),
  ),
  '93-95': test('process/host/timeline: spill and drain: each doorbell written to the overflow buffer'),
  '96-97': both(test(`${DOORBELLS}hazard 14: with overflow the same seed drains`), guest('overload spill')),
};

const events: Readonly<Record<string, Evidence>> = {
  '1': both(test(`${TIMERS}hazard 30: stamp and local time compare across the wrap`), guest('timers time-wrap')),
  '2': test(`${TIMERS}hazard 29: clearing a clear EQ pending bit changes nothing`),
  '3': both(test(`${TIMERS}the first event sets both bytes`), guest('polling summary')),
  '4': both(test(`${TIMERS}a late driver is interrupted once per delay`), guest('timers unresponsive')),
};

const trace: Readonly<Record<string, Evidence>> = {
  '1': both(
    test('hca/trace/trace-equivalence: hazard 40: guest memory, wire and interrupts'),
    guest('trace changes-nothing'),
  ),
  '2': both(test(`${TRACE}blocks keep all headers of datagrams, UC messages`), guest('trace packets')),
  '4': both(
    test(`${TRACE}a message of an RC connection is one block`, `${TRACE}hazard 40: a ring that wraps`),
    guest('trace wraps-during-a-message', 'trace running'),
  ),
};

const sendContexts: Readonly<Record<string, Evidence>> = {
  'abstract; claim 1 (partitioning)': both(
    test('hca/pio/send-memory: a function that takes all that it can leaves the others their shares'),
    guest('pio allocator', 'pio share', 'pio_halts partition'),
  ),
  'abstract; claim 1 (implementing)': both(test(`${PIO}hazard 21: stores of many packets`), guest('pio counter-wrap')),
  'claim 1 (receiving)': both(test(`${PIO}hazard 21: stores of many packets`), guest('pio out-of-order-fill')),
  'claim 1 (egressing)': test('hca/pio/send-context-limits: hazard 22: packets leave in order of completion'),
  'abstract; claim 1 (detecting, returning)': test(`${PIO}hazard 22: a packet that leaves before an older one`),
  'abstract, last sentence': both(
    test('hca/pio/send-context-limits: hazard 21: the counter wraps'),
    guest('pio reasons'),
  ),
};

/** By document, and by the first column of its table in docs/DOCUMENTS.md. */
export const evidence: Readonly<Record<string, Readonly<Record<string, Evidence>>>> = {
  'US 8,484,392': qualityOfService,
  'US 9,069,485': doorbells,
  IPCOM000126453D: events,
  IPCOM000010133D: trace,
  'US 2015/0378953': sendContexts,
};
