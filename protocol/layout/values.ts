// SPDX-License-Identifier: Apache-2.0
/**
 * Named values of fields and registers: opcodes, statuses, states, attribute masks. Rows of the
 * other tables name these tables; `npm run generate` emits constants for TypeScript and C.
 */
import type { ValueTable } from './table.ts';
import { numbers } from './table-rows.ts';

const sendOpcode: ValueTable = {
  name: 'send-opcode',
  doc: 'Operations of the send queue.',
  values: numbers([
    ['NOP', 0x00, 'No operation; completes at once when signalled.'],
    ['SEND', 0x01, 'Send a message.'],
    ['SEND_IMMEDIATE', 0x02, 'Send with immediate data.'],
    ['SEND_INVALIDATE', 0x03, 'Send and invalidate a remote key.'],
    ['RDMA_WRITE', 0x04, 'Write remote memory.'],
    ['RDMA_WRITE_IMMEDIATE', 0x05, 'Write remote memory and deliver immediate data.'],
    ['RDMA_READ', 0x06, 'Read remote memory.'],
    ['COMPARE_SWAP', 0x07, 'Atomic compare and swap.'],
    ['FETCH_ADD', 0x08, 'Atomic fetch and add.'],
    ['FLUSH', 0x09, 'Make earlier writes to remote memory visible or persistent.'],
    ['ATOMIC_WRITE', 0x0a, 'Write 8 bytes of remote memory in one store, after all earlier operations.'],
    ['LOCAL_INVALIDATE', 0x10, 'Invalidate a local key.'],
    ['FAST_REGISTER', 0x11, 'Register memory by work request.'],
    ['BIND_WINDOW', 0x12, 'Bind a memory window.'],
  ]),
};

const managementOpcode: ValueTable = {
  name: 'management-opcode',
  doc: 'Management commands. Bits 7:4: kind of object. Bits 1:0: 0 create, 1 modify, 2 query, 3 destroy.',
  values: numbers([
    ['MODIFY_ADAPTER', 0x01, 'Change the node description; physical function only.'],
    ['QUERY_ADAPTER', 0x02, 'Query capabilities and limits of the function.'],
    [
      'MODIFY_PORT',
      0x05,
      'Change the services that software offers at the port in the modifier; physical function only.',
    ],
    ['QUERY_PORT', 0x06, 'Query the port in the modifier.'],
    [
      'MODIFY_GID',
      0x09,
      'Set or clear a GID table entry (object number) of a port (modifier); physical function only.',
    ],
    ['QUERY_GID', 0x0a, 'Query a GID table entry.'],
    ['EXECUTE_MAD', 0x0d, 'Give a management datagram to the agents of a port (modifier); physical function only.'],
    ['CREATE_PD', 0x10, 'Create a protection domain.'],
    ['MODIFY_PD', 0x11, 'Change the token of a protection domain.'],
    ['QUERY_PD', 0x12, 'Query a protection domain.'],
    ['DESTROY_PD', 0x13, 'Destroy a protection domain; refused while in use.'],
    ['CREATE_MR', 0x20, 'Register a memory region.'],
    ['MODIFY_MR', 0x21, 'Change access, PD or translation of a memory region.'],
    ['QUERY_MR', 0x22, 'Query a memory region.'],
    ['DESTROY_MR', 0x23, 'Deregister a memory region.'],
    ['RESOLVE_PAGES', 0x25, 'Make pages of an on-demand region present, or refuse the faults on them.'],
    ['INVALIDATE_PAGES', 0x27, 'Take pages of an on-demand region back; no access uses them after the answer.'],
    ['CREATE_CQ', 0x30, 'Create a completion queue.'],
    ['MODIFY_CQ', 0x31, 'Change a completion queue.'],
    ['QUERY_CQ', 0x32, 'Query a completion queue.'],
    ['DESTROY_CQ', 0x33, 'Destroy a completion queue; refused while in use.'],
    ['CREATE_EQ', 0x40, 'Create an event queue.'],
    ['MODIFY_EQ', 0x41, 'Change an event queue.'],
    ['QUERY_EQ', 0x42, 'Query an event queue.'],
    ['DESTROY_EQ', 0x43, 'Destroy an event queue; refused while in use.'],
    ['CREATE_QP', 0x50, 'Create a queue pair.'],
    ['MODIFY_QP', 0x51, 'Change state and attributes of a queue pair.'],
    ['QUERY_QP', 0x52, 'Query a queue pair.'],
    ['DESTROY_QP', 0x53, 'Destroy a queue pair.'],
    ['CREATE_MW', 0x60, 'Allocate a memory window.'],
    ['QUERY_MW', 0x62, 'Query a memory window.'],
    ['DESTROY_MW', 0x63, 'Deallocate a memory window.'],
    ['CREATE_SRQ', 0x70, 'Create a shared receive queue.'],
    ['MODIFY_SRQ', 0x71, 'Change the limit of a shared receive queue.'],
    ['QUERY_SRQ', 0x72, 'Query a shared receive queue.'],
    ['DESTROY_SRQ', 0x73, 'Destroy a shared receive queue; refused while in use.'],
    ['CREATE_XRC_DOMAIN', 0xf0, 'Create an XRC domain.'],
    ['DESTROY_XRC_DOMAIN', 0xf3, 'Destroy an XRC domain; refused while in use.'],
    ['CREATE_DEVICE_MEMORY', 0xf4, 'Allocate a range of device memory, which is zeroed.'],
    ['QUERY_DEVICE_MEMORY', 0xf6, 'Query a range of device memory.'],
    ['DESTROY_DEVICE_MEMORY', 0xf7, 'Free a range of device memory; refused while in use.'],
    ['REQUEST_RESOURCES', 0x81, 'Resource allocation request; the modifier is the number of resource-changes.'],
    ['QUERY_RESOURCES', 0x82, 'Query the share of the function in the object number.'],
    ['CREATE_SEND_CONTEXT', 0xa0, 'Allocate a send context; it starts disabled.'],
    ['MODIFY_SEND_CONTEXT', 0xa1, 'Change a send context.'],
    ['QUERY_SEND_CONTEXT', 0xa2, 'Query a send context.'],
    ['DESTROY_SEND_CONTEXT', 0xa3, 'Free a send context; refused while enabled.'],
    ['MODIFY_TRACE', 0xb1, 'Turn the trace of a QP on or off.'],
    ['QUERY_TRACE', 0xb2, 'Query the trace of a QP.'],
    ['READ_TRACE', 0xb4, 'Copy command blocks of a QP to memory.'],
    ['ATTACH_MULTICAST', 0xc1, 'Attach a QP to a multicast group.'],
    ['QUERY_MULTICAST', 0xc2, 'Query a multicast group (index in the modifier) of a QP.'],
    ['DETACH_MULTICAST', 0xc3, 'Detach a QP from a multicast group.'],
    ['QUERY_LANE', 0x92, 'Query the transmit virtual lane in the object number.'],
    ['QUERY_PKEYS', 0xe2, 'Query a block (object number) of the P_Key table of the port in the modifier.'],
    ['QUERY_GIDS', 0xe6, 'Query a block (object number) of the GID table of the port in the modifier.'],
    ['CREATE_COLLECT_CONTEXT', 0xd0, 'Create a collect context.'],
    [
      'ASSIGN_COLLECT_PAGE',
      0xd1,
      'Give the collect page in the modifier to a collect context; object number 0 takes it back.',
    ],
    ['QUERY_COLLECT_CONTEXT', 0xd2, 'Query a collect context.'],
    ['DESTROY_COLLECT_CONTEXT', 0xd3, 'Destroy a collect context; refused while in use.'],
  ]),
};

export const managementStatus: ValueTable = {
  name: 'management-status',
  doc: 'Results of management commands. With every status but OK, nothing has changed.',
  values: numbers([
    ['OK', 0, 'Done.'],
    ['BAD_OPCODE', 1, 'No such command.'],
    ['BAD_LENGTH', 2, 'The collect length does not fit the command.'],
    ['BAD_CHECKSUM', 3, 'The command was damaged.'],
    ['BAD_OBJECT', 4, 'No such object, or it belongs to another function.'],
    ['BAD_FIELD', 5, 'A field is out of range; badOffset names it.'],
    ['BAD_ADDRESS', 6, 'A guest address is not mapped, or not aligned.'],
    ['BAD_STATE', 7, 'Not possible in the present state.'],
    ['IN_USE', 8, 'Other objects refer to the object.'],
    ['NO_RESOURCES', 9, 'The requested resource is exhausted.'],
    ['NOT_PERMITTED', 10, 'A virtual function used a command of the physical function.'],
    ['UNSUPPORTED', 11, 'Valid, but this adapter does not support it.'],
    ['DISABLED', 12, 'The device is not enabled.'],
    ['SHARE_EXCEEDED', 13, 'The QoS levels of the function would have more than the function owns.'],
    ['CONVERGING', 14, 'Another function still uses VCBs or send memory that it gave back; try again.'],
    ['NO_TRANSLATIONS', 15, 'The function has too few free translation entries; limit tells how many it has.'],
    [
      'SHARE_USED_UP',
      16,
      'The function uses its share of send contexts or send blocks; limit tells how many are left.',
    ],
  ]),
};

const madResult: ValueTable = {
  name: 'mad-result',
  doc: 'Fate of a management datagram (bits); none: the agents left it to software.',
  values: numbers([
    ['CONSUMED', 1, 'An agent took it.'],
    ['REPLIED', 2, 'The buffer holds the response.'],
  ]),
};

export const completionStatus: ValueTable = {
  name: 'completion-status',
  doc: 'Results of work requests; numbers follow enum ib_wc_status of Linux.',
  source: 'IBTA 11.6.2',
  values: numbers([
    ['SUCCESS', 0, 'Done.'],
    ['LOCAL_LENGTH_ERROR', 1, 'Message longer than the buffer, or than the path MTU allows.'],
    ['LOCAL_QP_OPERATION_ERROR', 2, 'The work request is malformed.'],
    ['LOCAL_PROTECTION_ERROR', 4, 'Key, bounds or access rights of local memory do not allow the access.'],
    ['FLUSHED', 5, 'The QP went into the error state first.'],
    ['WINDOW_BIND_ERROR', 6, 'Memory window bind failed.'],
    ['BAD_RESPONSE_ERROR', 7, 'Unexpected transport opcode in a response.'],
    ['LOCAL_ACCESS_ERROR', 8, 'Remote write into local memory failed.'],
    ['REMOTE_INVALID_REQUEST_ERROR', 9, 'The responder refused the request.'],
    ['REMOTE_ACCESS_ERROR', 10, 'Key, bounds or access rights of remote memory do not allow the access.'],
    ['REMOTE_OPERATION_ERROR', 11, 'The responder could not complete the request.'],
    ['RETRY_EXCEEDED', 12, 'The responder did not answer.'],
    ['RNR_RETRY_EXCEEDED', 13, 'The responder had no receive entry.'],
    ['LOCAL_EEC_STATE_ERROR', 15, 'Reliable datagram only; never posted.'],
    ['ABORTED', 17, 'Remote abort.'],
    ['FATAL', 19, 'The device failed.'],
    ['GENERAL', 21, 'Any other error.'],
  ]),
};

const completionOpcode: ValueTable = {
  name: 'completion-opcode',
  doc: 'Operations that a CQE reports; numbers of those of users follow enum ibv_wc_opcode of libibverbs.',
  values: numbers([
    ['SEND', 0, 'A send completed.'],
    ['RDMA_WRITE', 1, 'An RDMA WRITE completed.'],
    ['RDMA_READ', 2, 'An RDMA READ completed.'],
    ['COMPARE_SWAP', 3, 'A compare and swap completed.'],
    ['FETCH_ADD', 4, 'A fetch and add completed.'],
    ['BIND_WINDOW', 5, 'A bind completed.'],
    ['LOCAL_INVALIDATE', 6, 'A local invalidate completed.'],
    ['FAST_REGISTER', 7, 'A fast registration completed.'],
    ['FLUSH', 8, 'A FLUSH completed: all earlier writes have the requested placement.'],
    ['ATOMIC_WRITE', 9, 'An ATOMIC WRITE completed.'],
    ['NOP', 10, 'A NOP completed.'],
    ['RECEIVE', 128, 'A message was received.'],
    ['RECEIVE_RDMA_IMMEDIATE', 129, 'Immediate data of an RDMA WRITE was received.'],
  ]),
};

const eventType: ValueTable = {
  name: 'event-type',
  doc: 'Events posted to event queues.',
  source: 'IBTA 11.6.3',
  values: numbers([
    ['COMPLETION', 1, 'A CQ has completions.'],
    ['MANAGEMENT_COMPLETE', 2, 'A management command has been answered.'],
    ['CQ_ERROR', 3, 'A CQ overran or its memory cannot be written.'],
    ['EQ_ERROR', 4, 'An EQ overran.'],
    ['QP_FATAL', 5, 'A QP failed and went into the error state.'],
    ['QP_REQUEST_ERROR', 6, 'Invalid request local work queue error.'],
    ['QP_ACCESS_ERROR', 7, 'Access violation local work queue error.'],
    ['COMMUNICATION_ESTABLISHED', 8, 'First packet on a QP in RTR.'],
    ['SEND_QUEUE_DRAINED', 9, 'A QP in SQD has no command left.'],
    ['PATH_MIGRATED', 10, 'Path migration.'],
    ['LAST_WQE_REACHED', 11, 'A QP with an SRQ takes no more entries.'],
    ['SRQ_LIMIT', 12, 'An SRQ fell below its limit.'],
    ['SRQ_ERROR', 13, 'An SRQ failed.'],
    ['XRC_DOMAIN_VIOLATION', 14, 'A request for a QP named an XRC SRQ of another XRC domain; the QP failed.'],
    ['XRC_INVALID_HEADER', 15, 'A request for a QP named an XRC SRQ that does not exist; the QP failed.'],
    ['PORT_ACTIVE', 16, 'A port became active.'],
    ['PORT_ERROR', 17, 'A port went down.'],
    ['LID_CHANGE', 18, 'The LID changed.'],
    ['PKEY_CHANGE', 19, 'The P_Key table changed.'],
    ['GID_CHANGE', 20, 'The GID table changed.'],
    ['SM_CHANGE', 21, 'The subnet manager changed.'],
    ['CLIENT_REREGISTER', 22, 'The subnet manager requests that clients register again.'],
    ['PAGE_FAULT', 23, 'An access met a page of an on-demand region that is not present.'],
    ['SEND_CONTEXT_HALTED', 25, 'A send context halted.'],
    ['TRACE_STOPPED', 26, 'The trace of a QP stopped after the first error.'],
    ['RESOURCES_CHANGED', 24, 'The share of the function has changed; query it.'],
    ['DEVICE_FATAL', 31, 'The function stopped and needs a reset.'],
  ]),
};

export const faultKind: ValueTable = {
  name: 'fault-kind',
  doc: 'Causes of faults, in the vendor error of a CQE, in error events and in the first-fault record.',
  values: numbers([
    ['NONE', 0, 'No fault.'],
    ['REGISTER_RESERVED', 1, 'Access to a reserved register offset.'],
    ['REGISTER_READ_ONLY', 2, 'Write to a read-only register.'],
    ['REGISTER_WIDTH', 3, 'Access of a width or alignment that the register does not support.'],
    ['COLLECT_OUT_OF_RANGE', 4, "Collect write outside the function's buffers."],
    ['COLLECT_RESERVED', 5, 'Write to a reserved offset of a collect page.'],
    ['COLLECT_BAD_LENGTH', 6, 'Collect length out of range.'],
    ['COMMAND_CHECKSUM', 7, 'The checksum of a command is wrong.'],
    [
      'COMMAND_BAD_QP',
      8,
      'Command or doorbell for a QP that does not exist, belongs to another function or cannot send.',
    ],
    ['COMMAND_STALE', 9, 'Command or doorbell with a sequence number already executed.'],
    ['COMMAND_QOS', 10, 'The QoS level of a command is not that of the QP.'],
    ['COMMAND_OPCODE', 11, 'Opcode unknown or not allowed for the service type.'],
    ['COMMAND_SGE', 12, 'Too many SGEs for the operation, or their sum is not the message length.'],
    ['COMMAND_LENGTH', 13, 'Message longer than allowed.'],
    ['COMMAND_SEQUENCE', 14, 'The send queue slot holds another sequence number.'],
    ['DMA_READ', 15, 'Guest memory could not be read.'],
    ['DMA_WRITE', 16, 'Guest memory could not be written.'],
    ['BUS_MASTER_OFF', 17, 'Bus mastering is disabled.'],
    ['KEY_INVALID', 18, 'No such key.'],
    ['KEY_PD', 19, 'Key of another protection domain.'],
    ['KEY_BOUNDS', 20, 'Access outside the memory region.'],
    ['KEY_ACCESS', 21, 'An access right is missing.'],
    [
      'ADDRESS_HANDLE',
      22,
      'Address handle not valid, of another PD or port, or with a GRH on QP0; or P_Key index beyond the table.',
    ],
    ['RECEIVE_ENTRY', 23, 'A receive entry is malformed.'],
    ['RECEIVE_TOO_SHORT', 24, 'The message does not fit the receive entry.'],
    ['CQ_OVERRUN', 25, 'A CQ was full.'],
    ['EQ_OVERRUN', 26, 'An EQ was full.'],
    ['CQ_ERROR', 27, 'The CQ is in error.'],
    ['MANAGEMENT_RESPONSE', 28, 'The response of a management command could not be written.'],
    ['PIO_UNSUPPORTED', 29, 'Access to PIO send memory that no send context owns.'],
    ['DOORBELL_BEYOND_TAIL', 30, 'Doorbell for a command that was not posted.'],
    ['PORT_DOWN', 31, 'The QP has no port.'],
    [
      'DESCRIPTOR_LINK',
      35,
      'The link in a send queue descriptor was not what the adapter wrote; the adapter restored it.',
    ],
    ['OVERFLOW_CONTROL', 36, 'Base or size of the doorbell overflow buffer is out of range.'],
    ['OVERFLOW_ENTRY', 37, 'An entry read back from the overflow buffer is not a doorbell that the adapter wrote.'],
    ['NOT_PERMITTED', 38, 'A virtual function accessed a control of the physical function.'],
    ['SEND_CONTEXT_HALTED', 39, 'A send context halted; its status tells why.'],
    ['SEND_PACKET', 40, 'A packet from a send context was dropped: malformed, or not allowed.'],
    [
      'LANE_TABLE_ENTRY',
      41,
      'An entry of the lane table requests lanes that its function cannot have; nothing was changed.',
    ],
    ['KEY_STATE', 32, 'The key cannot be bound, registered or invalidated in its present state.'],
    ['PKEY_VIOLATION', 33, 'A packet of another partition arrived for a QP. Fault address: source LID, P_Key.'],
    [
      'COLLECT_CONTEXT',
      42,
      'A store to a page of a collect context named a queue pair or completion queue of another context.',
    ],
    ['XRC_DOMAIN', 48, 'A request named an XRC SRQ of another XRC domain. Fault address: its number.'],
    ['XRC_QUEUE', 49, 'A request named an XRC SRQ that does not exist. Fault address: its number.'],
    ['PAGE_FAULT', 43, 'Software refused a fault on a page of an on-demand region.'],
    ['DEVICE_MEMORY', 44, 'Access to device memory that is not allocated.'],
    ['QKEY_VIOLATION', 34, 'A datagram with a wrong Q_Key arrived for a QP. Fault address: source LID, Q_Key.'],
  ]),
};

const faultObject: ValueTable = {
  name: 'fault-object',
  doc: 'Kinds of object that a fault names by their number.',
  values: numbers([
    ['NONE', 0, 'No object: an access to registers or PIO memory.'],
    ['QP', 1, 'Queue pair, by QPN.'],
    ['CQ', 2, 'Completion queue, by CQN.'],
    ['EQ', 3, 'Event queue, by EQN.'],
    ['SRQ', 4, 'Shared receive queue, by SRQN.'],
    ['VCB', 5, 'Virtual collect buffer, by its page in the collect BAR.'],
    ['SEND_CONTEXT', 6, 'Send context, by number.'],
    ['VECTOR', 7, 'MSI-X vector, by number.'],
    ['FUNCTION', 8, 'Underlying function, by number.'],
    ['COMMAND', 9, 'Management command, by its sequence number.'],
    ['PAGE_LIST', 10, 'Page list of a queue or memory region; it has no number.'],
    ['OVERFLOW_BUFFER', 11, 'Doorbell overflow buffer; it has no number.'],
  ]),
};

const serviceType: ValueTable = {
  name: 'service-type',
  doc: 'Transport services.',
  source: 'IBTA 9.1',
  values: numbers([
    ['RC', 0, 'Reliable connection.'],
    ['UC', 1, 'Unreliable connection.'],
    ['UD', 3, 'Unreliable datagram.'],
    ['SMI', 4, 'QP0, subnet management.'],
    ['GSI', 5, 'QP1, general services.'],
    ['XRC_INITIATOR', 6, 'XRC, sending side.'],
    ['XRC_TARGET', 7, 'XRC, receiving side.'],
  ]),
};

const qpState: ValueTable = {
  name: 'qp-state',
  doc: 'Queue pair states; numbers follow enum ib_qp_state of Linux.',
  source: 'IBTA 10.3.1',
  values: numbers([
    ['RESET', 0, 'Created; neither queue works.'],
    ['INIT', 1, 'Receive entries may be posted.'],
    ['RTR', 2, 'Ready to receive.'],
    ['RTS', 3, 'Ready to send.'],
    ['SQD', 4, 'Send queue drained or draining.'],
    ['SQE', 5, 'Send queue in error.'],
    ['ERR', 6, 'In error; all work requests are flushed.'],
  ]),
};

const qpMask: ValueTable = {
  name: 'qp-mask',
  doc: 'Attributes that modify QP changes (bits).',
  values: numbers([
    ['STATE', 0x1, 'state'],
    ['CURRENT_STATE', 0x2, 'currentState'],
    ['SQD_NOTIFY', 0x4, 'enableSqdNotify'],
    ['ACCESS', 0x8, 'access'],
    ['PKEY_INDEX', 0x10, 'pkeyIndex'],
    ['PORT', 0x20, 'port'],
    ['QKEY', 0x40, 'qkey'],
    ['ADDRESS_VECTOR', 0x80, 'addressVector'],
    ['PATH_MTU', 0x100, 'pathMtu'],
    ['TIMEOUT', 0x200, 'timeout'],
    ['RETRY_COUNT', 0x400, 'retryCount'],
    ['RNR_RETRY', 0x800, 'rnrRetry'],
    ['RECEIVE_PSN', 0x1000, 'receivePsn'],
    ['MAX_READS_INITIATED', 0x2000, 'maxReadsInitiated'],
    ['ALTERNATE_PATH', 0x4000, 'alternate path'],
    ['MIN_RNR_TIMER', 0x8000, 'minRnrTimer'],
    ['SEND_PSN', 0x10000, 'sendPsn'],
    ['MAX_READS_SERVED', 0x20000, 'maxReadsServed'],
    ['MIGRATION_STATE', 0x40000, 'migrationState'],
    ['REMOTE_QPN', 0x100000, 'remoteQpn'],
  ]),
};

const mrKind: ValueTable = {
  name: 'mr-kind',
  doc: 'Kinds of memory region.',
  values: numbers([
    ['PHYSICAL', 0, 'Virtual addresses are guest addresses (DMA MR).'],
    ['PAGED', 1, 'A list of pages.'],
    ['FAST', 2, 'Registered by work request (FAST_REGISTER); pageCount is the most pages it can take.'],
    ['DEVICE', 3, 'A part of a range of device memory.'],
  ]),
};

const accessFlag: ValueTable = {
  name: 'access-flag',
  doc: 'Access rights (bits); numbers follow enum ib_access_flags of Linux. Local read is always allowed.',
  source: 'IBTA 11.2.8.2',
  values: numbers([
    ['LOCAL_WRITE', 0x1, 'Local write.'],
    ['REMOTE_WRITE', 0x2, 'RDMA WRITE.'],
    ['REMOTE_READ', 0x4, 'RDMA READ.'],
    ['REMOTE_ATOMIC', 0x8, 'Atomics.'],
    ['WINDOW_BIND', 0x10, 'Memory windows may be bound.'],
    ['ZERO_BASED', 0x20, 'Virtual addresses start at 0; of `startAddress` only the offset in the first page counts.'],
    ['ON_DEMAND', 0x40, 'Pages are made present by page fault and taken back: no right, a property of the region.'],
    ['FLUSH_GLOBAL', 0x100, 'FLUSH for global visibility.'],
    ['FLUSH_PERSISTENT', 0x200, 'FLUSH for persistence: software vouches that the memory is persistent.'],
  ]),
};

const placementType: ValueTable = {
  name: 'placement-type',
  doc: 'Guarantees of a FLUSH for earlier writes (bits); numbers follow enum ib_placement_type of Linux.',
  source: 'IBTA annex A19',
  values: numbers([
    ['GLOBAL_VISIBILITY', 0x1, 'Every reader of the memory finds the data.'],
    ['PERSISTENCE', 0x2, 'The data outlives a loss of power.'],
  ]),
};

const flushSelectivity: ValueTable = {
  name: 'flush-selectivity',
  doc: 'Memory that a FLUSH covers; numbers follow enum ib_selectivity_level of Linux.',
  source: 'IBTA annex A19',
  values: numbers([
    ['RANGE', 0, 'The range that address and length name.'],
    ['MEMORY_REGION', 1, 'The whole region or window of the R_Key; address and length are ignored.'],
  ]),
};

const pageFlag: ValueTable = {
  name: 'page-flag',
  doc: 'Lower bits of a page address in the list of RESOLVE_PAGES.',
  values: numbers([
    ['PRESENT', 0x1, 'The page may be read.'],
    ['WRITABLE', 0x2, 'The page may also be written.'],
  ]),
};

const mwKind: ValueTable = {
  name: 'mw-kind',
  doc: 'Types of memory window.',
  source: 'IBTA 10.6.7.2',
  values: numbers([
    ['TYPE_1', 1, 'The R_Key is valid for all QPs of the PD.'],
    ['TYPE_2', 2, 'Bound to one QP (2B): the R_Key is valid for that QP only and can be invalidated.'],
  ]),
};

const srqMask: ValueTable = {
  name: 'srq-mask',
  doc: 'Attributes that modify SRQ changes (bits).',
  values: numbers([
    ['LIMIT', 0x1, 'limit'],
    ['RESIZE', 0x2, 'queueAddress, entriesLog2, pageShift, paged'],
  ]),
};

const mrMask: ValueTable = {
  name: 'mr-mask',
  doc: 'Attributes that modify MR changes (bits).',
  values: numbers([
    ['TRANSLATION', 0x1, 'startAddress, length, page list'],
    ['PD', 0x2, 'pd'],
    ['ACCESS', 0x4, 'access'],
  ]),
};

const cqMask: ValueTable = {
  name: 'cq-mask',
  doc: 'Attributes that modify CQ changes (bits).',
  values: numbers([
    ['EVENT_QUEUE', 0x1, 'eventQueue'],
    ['MODERATION', 0x2, 'moderationCount, moderationPeriodUs'],
    ['RESIZE', 0x4, 'queueAddress, entriesLog2, pageShift, paged'],
    ['SUMMARY_INDEX', 0x8, 'summaryIndex'],
  ]),
};

const eqMask: ValueTable = {
  name: 'eq-mask',
  doc: 'Attributes that modify EQ changes (bits).',
  values: numbers([
    ['VECTOR', 0x1, 'vector'],
    ['CONTROLS', 0x2, 'controls'],
    ['DELAY', 0x4, 'nextInterruptDelayNs'],
    ['SUMMARY', 0x8, 'summary byte addresses'],
    ['ASYNCHRONOUS', 0x10, 'asynchronous'],
    ['ERROR', 0x20, 'error: the EQ takes events again'],
  ]),
};

const eqControl: ValueTable = {
  name: 'eq-control',
  doc: 'Action of the first completion event on an empty event queue.',
  source: 'IPCOM000126453D par. 3',
  values: numbers([
    ['NOTHING', 0, 'Neither summary byte nor interrupt; an interrupt only when the driver is late.'],
    ['PRIMARY_SUMMARY', 1, 'Primary summary byte; an interrupt only when the driver is late.'],
    ['INTERRUPT', 2, 'Primary summary byte (if it has an address) and interrupt: PSUM+INT.'],
  ]),
};

const notifyState: ValueTable = {
  name: 'notify-state',
  doc: 'Arming states of a completion queue.',
  source: 'IBTA 11.4.2.2; docs/DOCUMENTS.md decision 11',
  values: numbers([
    ['UNARMED', 0, 'No event is requested.'],
    ['ARMED_SOLICITED', 1, 'Event for a solicited or failed completion.'],
    ['ARMED_ALL', 2, 'Event for the next completion.'],
    ['TRIGGERED', 3, 'The event was posted.'],
  ]),
};

const portState: ValueTable = {
  name: 'port-state',
  doc: 'Logical port states.',
  source: 'IBTA 14.2.5.6',
  values: numbers([
    ['DOWN', 1, 'Down.'],
    ['INITIALIZE', 2, 'Link up, not configured.'],
    ['ARMED', 3, 'Armed.'],
    ['ACTIVE', 4, 'Active.'],
  ]),
};

const resourceKind: ValueTable = {
  name: 'resource-kind',
  doc: 'Resources and settings of a resource change. A virtual function may change VCBS, PCBS, TVLS and TVL_MAP of its levels, and its DOORBELL settings.',
  source: 'US 8,484,392 par. 65-85',
  values: numbers([
    ['TVL_EXECUTION_CREDITS', 1, 'Private execution credits of lane `target`.'],
    ['TVL_COMPLETION_CREDITS', 2, 'Private completion credits of lane `target`.'],
    ['TVL_SHARED_CREDITS', 3, 'Shared credits that lane `target` may take: bit 0 execution, bit 1 completion.'],
    ['TVL_LIST_SIZE', 4, 'Most commands of each function and QoS level in the virtual kick list of lane `target`.'],
    ['TVL_WEIGHT', 5, 'Commands per turn of lane `target`.'],
    ['VCBS', 16, 'Number of VCBs: of the function (its BAR may move), or of the level (its sub-BAR moves).'],
    ['VCB_BASE', 17, 'First VCB of the function in the VCB space; moves the BAR.'],
    ['PCBS', 18, 'Number of guaranteed PCBs.'],
    ['TVLS', 19, 'Number of lanes, taken from the shared ones, or for a level from those of the function.'],
    ['TVL_MAP', 20, 'Lanes by number: 32 bits of the map, from lane 32 x `word`.'],
    ['SCHEDULER_BUFFERS', 21, 'Dedicated collect buffers of the send queue scheduler guaranteed to the function.'],
    ['DEDICATED_TVL_MAP', 22, 'Lanes of commands in dedicated buffers, as TVL_MAP; no lane: the lanes of their QP.'],
    ['SEND_CONTEXTS', 23, 'Most send contexts of the function.'],
    ['SEND_BLOCKS', 24, 'Blocks of the PIO send memory that belong to the function.'],
    ['ADAPTER_DISABLE', 32, 'ADAPTER_CONTROL.disable, 0 or 1.'],
    ['ADAPTER_RETURN_SHARES', 33, 'ADAPTER_CONTROL.returnShares, 0 or 1.'],
    ['ADAPTER_LEND_IDLE', 34, 'ADAPTER_CONTROL.lendIdle, 0 or 1.'],
    ['ADAPTER_FREEZE_SENDS', 35, 'ADAPTER_CONTROL.freezeSends, 0 or 1.'],
    ['DOORBELL_POLICY', 48, 'DOORBELL_POLICY.overflow of function `target`.'],
    ['DOORBELL_LINK_CHECK', 49, 'DOORBELL_POLICY.linkCheck of function `target`.'],
    ['DOORBELL_ADAPTIVE', 50, 'DOORBELL_POLICY.adaptive of function `target`.'],
    ['DOORBELL_THRESHOLD_LOW', 51, 'DOORBELL_THRESHOLDS.low of function `target`; below the high one.'],
    ['DOORBELL_THRESHOLD_HIGH', 52, 'DOORBELL_THRESHOLDS.high of function `target`; above the low one.'],
    ['DOORBELL_HOST_QUEUE', 53, 'DOORBELL_POLICY.hostQueue of function `target`.'],
    ['DOORBELL_SPILL_BUFFERED', 54, 'DOORBELL_POLICY.spillBuffered of function `target`.'],
    ['DOORBELL_SPILL_COMMANDS', 55, 'DOORBELL_POLICY.spillCommands of function `target`.'],
    [
      'TVL_TABLE_ENTRY',
      56,
      'Entry of function `target` in LANE_TABLE. 1 marks it as invalid: it is read again before the next command of the function gets a lane.',
    ],
  ]),
};

const tvlState: ValueTable = {
  name: 'tvl-state',
  doc: 'Owner of a transmit virtual lane.',
  values: numbers([
    ['NONE', 0, 'No such lane, or not visible to this function.'],
    ['SHARED', 1, 'Shared by the functions that have no lanes of their own.'],
    ['ALLOCATED', 2, 'Allocated to one function.'],
    ['DEDICATED', 3, 'For commands in dedicated collect buffers.'],
  ]),
};

const overflowPolicy: ValueTable = {
  name: 'overflow-policy',
  doc: 'Doorbells that go to the overflow buffer during a potential deadlock.',
  source: 'US 9,069,485 par. 90',
  values: numbers([
    ['OFF', 0, 'None: the bus waits, possibly forever.'],
    ['NEWEST', 1, 'The doorbells received last.'],
    ['MOST_SPILLED', 2, 'Doorbells of the queue pairs with most doorbells in the overflow buffer.'],
  ]),
};

const linkCheck: ValueTable = {
  name: 'link-check',
  doc: 'Ways in which the scheduler checks whether a send queue is in its list.',
  source: 'US 9,069,485 par. 72',
  values: numbers([
    ['READ', 0, 'Reads the descriptor, then writes it.'],
    ['COMPARE_SWAP', 1, 'Compares and swaps the link in the descriptor.'],
  ]),
};

const sendContextState: ValueTable = {
  name: 'send-context-state',
  doc: 'States of a send context.',
  source: 'docs/DOCUMENTS.md decision 9',
  values: numbers([
    ['DISABLED', 0, 'Accepts no writes; its counters do not change.'],
    ['ENABLED', 1, 'Accepts packets.'],
    ['HALTED', 2, 'Accepts no writes; complete packets still egress.'],
    ['DRAINING', 3, 'Being disabled; complete packets still egress.'],
    ['FROZEN', 4, 'Halted with all others by a freeze.'],
  ]),
};

const sendHaltCause: ValueTable = {
  name: 'send-halt-cause',
  doc: 'Reasons why a send context halted.',
  source: 'docs/DOCUMENTS.md decision 9',
  values: numbers([
    ['NONE', 0, 'The context has not halted.'],
    ['INCONSISTENT_SOP', 1, 'Start-of-packet block inside a packet, or a packet that does not start with one.'],
    ['DISALLOWED_PACKET', 2, 'VL, P_Key or headers are not allowed.'],
    ['CROSSES_BOUNDARY', 3, 'A write crosses a block.'],
    ['OVERFLOW', 4, 'A write to a block that is not free.'],
    ['OUT_OF_BOUNDS', 5, 'A write beyond the context.'],
    ['BAD_LENGTH', 6, 'Length in the control word is out of range.'],
    ['SOFTWARE', 7, 'Software halted the context.'],
    ['FREEZE', 8, 'All contexts were frozen.'],
    ['CREDIT_RETURN', 9, 'The credit-return word could not be written.'],
  ]),
};

const sendContextMask: ValueTable = {
  name: 'send-context-mask',
  doc: 'Attributes that modify send context changes (bits).',
  values: numbers([
    ['VIRTUAL_LANES', 0x1, 'virtualLanes'],
    ['PKEY', 0x2, 'checkPkey, pkey'],
    ['CREDIT_ADDRESS', 0x4, 'creditAddress; only while disabled'],
    ['THRESHOLD', 0x8, 'threshold; forces one return'],
    ['INTERRUPT', 0x10, 'creditInterrupt, vector'],
    ['PORT', 0x20, 'port; only while disabled'],
  ]),
};

const capability: ValueTable = {
  name: 'capability',
  doc: 'Optional features of the adapter (bits).',
  values: numbers([
    ['UD', 0x1, 'Unreliable datagrams.'],
    ['RC', 0x2, 'Reliable connections.'],
    ['UC', 0x4, 'Unreliable connections.'],
    ['SRQ', 0x8, 'Shared receive queues.'],
    ['ATOMICS', 0x10, 'Atomic operations.'],
    ['EQ_TIMERS', 0x20, 'Event queue timers and summary bytes.'],
    ['SEND_CONTEXTS', 0x40, 'PIO send contexts.'],
    ['TRACE', 0x80, 'Selective trace.'],
    ['MEMORY_WINDOWS', 0x100, 'Memory windows of type 1 and 2B.'],
    ['FAST_REGISTRATION', 0x200, 'Memory registration by work request, local and remote invalidation.'],
    ['XRC', 0x800, 'Extended reliable connections.'],
    ['ON_DEMAND_PAGING', 0x1000, 'Regions whose pages are made present by page fault.'],
    ['FLUSH', 0x2000, 'FLUSH, for global visibility and for persistence.'],
    ['ATOMIC_WRITE', 0x4000, 'ATOMIC WRITE.'],
    ['DEVICE_MEMORY', 0x8000, 'Memory of the adapter for software and memory regions.'],
    ['SHADOW_TAILS', 0x10000, 'Send queues are watched, so that streams of commands need no doorbells.'],
    ['POLLS_PAUSE', 0x20000, 'Processors take turns: software that polls in vain ends its turn by PAUSE.'],
    ['OWN_PORTS', 0x400, 'The ports belong to this function alone, which manages them and has their QP0 and QP1.'],
  ]),
};

export const valueTables = [
  sendOpcode,
  managementOpcode,
  managementStatus,
  madResult,
  completionStatus,
  completionOpcode,
  eventType,
  faultKind,
  faultObject,
  serviceType,
  qpState,
  qpMask,
  mrKind,
  mwKind,
  srqMask,
  accessFlag,
  placementType,
  flushSelectivity,
  pageFlag,
  mrMask,
  cqMask,
  eqMask,
  eqControl,
  notifyState,
  portState,
  resourceKind,
  tvlState,
  overflowPolicy,
  linkCheck,
  sendContextState,
  sendHaltCause,
  sendContextMask,
  capability,
];
