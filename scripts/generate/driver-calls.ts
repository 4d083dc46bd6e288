// SPDX-License-Identifier: Apache-2.0
/**
 * The exported calls of the guest driver by topic, in the order in which a module uses them.
 * driver-api.ts writes docs/DRIVER-API.md in this order, and refuses a call that is missing here.
 */

/** Calls of one topic. */
export interface CallTopic {
  readonly title: string;
  readonly text: string;
  /** Names without `vuhca_`. */
  readonly calls: string;
}

export const callTopics: readonly CallTopic[] = [
  {
    title: 'Functions of the adapter',
    text: 'A module registers as a client. `add` gets each function (`struct vuhca_dev`) when it comes into service, `remove` before it leaves.',
    calls: 'register_client unregister_client query_adapter query_port query_pkeys query_gids adapter_disabled reset',
  },
  {
    title: 'Protection domains and memory regions',
    text: 'Every queue pair and memory region belongs to a protection domain. A module in the kernel usually needs one DMA region.',
    calls: 'alloc_pd get_dma_mr reg_pages reg_indirect rereg_mr alloc_fast_mr dereg_mr dealloc_pd',
  },
  {
    title: 'On-demand regions',
    text: 'The pages of such a region are made present when the adapter misses them, and taken back at any time.',
    calls: 'reg_on_demand resolve_pages refuse_pages invalidate_pages stop_faults',
  },
  {
    title: 'Completion queues',
    text: 'Completions are polled. An armed CQ calls its handler at the next completion; arm it, then poll once more.',
    calls: 'create_cq arm_cq poll_cq query_cq moderate_cq resize_cq resize_user_cq destroy_cq',
  },
  {
    title: 'Collect buffers',
    text: 'A command that is written to a collect buffer starts at once, and its doorbell is implicit (US 8,484,392). Without one, a module posts to the send queue and rings.',
    calls: 'alloc_vcb vcb_write vcb_cancel free_vcb set_collect collects_lone',
  },
  {
    title: 'Collect contexts',
    text: 'A page of a collect context can be mapped into a user process. It acts only on the queue pairs and completion queues that were created with the context.',
    calls: 'create_collect_context give_vcb vcb_phys query_collect_context take_back_vcb destroy_collect_context',
  },
  {
    title: 'Shared receive queues',
    text: 'Several queue pairs can take their receive WQEs from one queue.',
    calls: 'create_srq post_srq_recv set_srq_limit resize_srq resize_user_srq destroy_srq',
  },
  {
    title: 'Device memory',
    text: 'Memory of the adapter, which the driver reads and writes by MMIO and which memory regions show to queue pairs.',
    calls: 'alloc_dm dm_io dm_phys reg_dm free_dm',
  },
  {
    title: 'XRC domains',
    text: 'XRC targets of a domain give their messages to the shared receive queue that each request names (IBTA annex A14).',
    calls: 'alloc_xrcd dealloc_xrcd',
  },
  {
    title: 'Queue pairs',
    text: 'A datagram QP goes through `vuhca_qp_to_init()`, `_to_rtr()` and `_to_rts()`; a connected QP through `vuhca_qp_connect()`, or its three steps when the peer is known late.',
    calls:
      'create_qp qp_to_init qp_to_rtr qp_to_rts qp_connect qp_connect_init qp_connect_rtr qp_connect_rts query_qp modify_qp qp_to_state qp_drain stop_qp destroy_qp',
  },
  {
    title: 'Address handles',
    text: 'Datagrams name their destination by an address handle.',
    calls: 'create_ah ah_entry destroy_ah',
  },
  {
    title: 'Sending and receiving',
    text: 'Post receives before the peer sends. The last four calls are the steps of `vuhca_post_send()`, for modules that write WQEs themselves.',
    calls: 'post_recv post_send build_send_wqe seal_send_wqe publish_send_tail ring_doorbell ring_unwatched',
  },
  {
    title: 'Management datagrams',
    text: 'QP0 and QP1 of a port are queue pairs with the service types SMI and GSI. The agents of the adapter answer what they receive first; a module can ask them without a packet.',
    calls: 'execute_mad modify_port modify_device',
  },
  {
    title: 'Multicast',
    text: 'A datagram QP receives the datagrams of a group while it is attached. Subnet administration makes the group.',
    calls: 'attach_mcast detach_mcast',
  },
  {
    title: 'Memory windows',
    text: 'A window opens a part of a region to a peer; binding it is a send.',
    calls: 'alloc_mw bind_mw query_mw dealloc_mw',
  },
  {
    title: 'Events, interrupts and doorbell overflow',
    text: 'The driver creates the event queues and handles their interrupts; most modules leave them alone.',
    calls: 'query_eq modify_eq poll_eq set_adaptive set_poll_period set_poll_parts set_deadman overflow_start',
  },
  {
    title: 'Send contexts (PIO)',
    text: 'A send context takes whole packets by stores to the adapter (US 2015/0378953).',
    calls:
      'create_send_context datagram_bytes compose_datagram pio_send_datagram pio_send_smp pio_alloc pio_write pio_done pio_send_packet pio_wait pio_cancel_wait pio_update_credits pio_force_credits query_send_context destroy_send_context',
  },
  {
    title: 'Traces of queue pairs',
    text: '`vuhca trace` does the same from the host.',
    calls: 'modify_trace query_trace read_trace',
  },
  {
    title: 'Shares of the adapter',
    text: 'Collect buffers, lanes and credits of this function and, for the physical function, of others.',
    calls: 'query_resources query_lane request_resources shares_refresh',
  },
  {
    title: 'Management commands by hand',
    text: 'Every call above that may sleep executes a management command. These send one that the API lacks, or a wrong one.',
    calls: 'admin_execute admin_prepare checksum admin_seal admin_submit',
  },
];
