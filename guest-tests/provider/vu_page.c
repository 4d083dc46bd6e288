// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Collect pages in user space. A command is written with stores of 8 bytes,
 * exactly as many as it has: one more store would begin another command.
 */
#include <errno.h>
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
