// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Collect pages in user space. A command is written with stores of 8 bytes,
 * exactly as many as it has: one store more would begin another command. A
 * doorbell or a request for an event is one store of 8 bytes beside the data,
 * and may come from any thread.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <util/mmio.h>

#include "vu_internal.h"

int vu_map_page(struct vu_context *context, struct vu_page *page,
		unsigned int offset, bool needs_lock)
{
	void *at = mmap(NULL, VU_PAGE_BYTES, PROT_WRITE, MAP_SHARED,
			context->base.context.cmd_fd,
			(off_t)offset * VU_PAGE_BYTES);

	if (at == MAP_FAILED)
		return errno;
	page->at = at;
	vu_lock_init(&page->lock, needs_lock);
	return 0;
}

void vu_unmap_page(struct vu_page *page)
{
	if (page->at)
		munmap(page->at, VU_PAGE_BYTES);
	page->at = NULL;
}

/*
 * Stores eight bytes, which are in the adapter's byte order, at once. The page
 * is write-combining: the store leaves the processor at the flush.
 */
static void vu_store(uint8_t *at, const void *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	__atomic_store_n((uint64_t *)at, word, __ATOMIC_RELAXED);
}

/* Writes a whole command; false when the page cannot be used. */
bool vu_page_collect(struct vu_page *page, const void *command, size_t bytes)
{
	size_t offset;

	if (page->shared || !vu_try_lock(&page->lock))
		return false;
	mmio_wc_start();
	for (offset = 0; offset < bytes; offset += sizeof(uint64_t))
		vu_store(page->at + VUHCA_DATA_OFFSET + offset,
			 command + offset);
	/* The whole command leaves before the next one is written. */
	mmio_flush_writes();
	vu_unlock(&page->lock);
	return true;
}

void vu_page_doorbell(struct vu_page *page, uint32_t qpn, uint16_t sequence)
{
	struct vuhca_doorbell word = {};

	vuhca_doorbell_set_qpn(&word, qpn);
	vuhca_doorbell_set_sequence(&word, sequence);
	mmio_wc_start();
	vu_store(page->at + VUHCA_DOORBELL_OFFSET, &word);
	mmio_flush_writes();
}

/* The kernel, not this store, clears the pending event of the CQ. */
void vu_page_notify(struct vu_page *page, uint32_t cqn, bool solicited_only,
		    uint32_t consumed)
{
	struct vuhca_cq_notify word = { .consumed = htole32(consumed) };

	vuhca_cq_notify_set_cqn(&word, cqn);
	vuhca_cq_notify_set_solicited_only(&word, solicited_only);
	mmio_wc_start();
	vu_store(page->at + VUHCA_NOTIFY_OFFSET, &word);
	mmio_flush_writes();
}
