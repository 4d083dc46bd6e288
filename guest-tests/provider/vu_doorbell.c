// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Doorbells and requests for events: one store of 8 bytes each, to words of a
 * collect page that lie beside the data of commands. They may come from any
 * thread, also while another one writes a command.
 */
#include <util/mmio.h>

#include "vu_internal.h"

/* Tells the adapter that the queue has commands from number @sequence on. */
void vu_ring_doorbell(struct vu_page *page, uint32_t qpn, uint16_t sequence)
{
	struct vuhca_doorbell word = {};

	vuhca_doorbell_set_qpn(&word, qpn);
	vuhca_doorbell_set_sequence(&word, sequence);
	mmio_wc_start();
	vu_store(page->at + VUHCA_DOORBELL_OFFSET, &word);
	mmio_flush_writes();
}

/*
 * Asks for one event of a CQ of which @consumed entries were polled. The kernel,
 * not this store, clears the pending event of the CQ.
 */
void vu_request_event(struct vu_page *page, uint32_t cqn, bool solicited_only,
		      uint32_t consumed)
{
	struct vuhca_cq_notify word = { .consumed = htole32(consumed) };

	vuhca_cq_notify_set_cqn(&word, cqn);
	vuhca_cq_notify_set_solicited_only(&word, solicited_only);
	mmio_wc_start();
	vu_store(page->at + VUHCA_NOTIFY_OFFSET, &word);
	mmio_flush_writes();
}
