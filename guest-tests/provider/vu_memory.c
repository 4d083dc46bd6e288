// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory that the adapter reads and writes: queues, each in pages of its own,
 * and records, which share pages. Children of fork() do not get it. All of it
 * is zeroed, so that valgrind takes it as initialised, even where the adapter
 * writes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "vu_internal.h"

#define VU_RECORDS_OF_PAGE (VU_PAGE_BYTES / VU_RECORD_BYTES)

/* A page of records, with a bit for each one in use. */
struct vu_record_page {
	struct vu_record_page *next;
	uint64_t used;
	uint8_t *at;
};

static void *vu_map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (ibv_dontfork_range(at, bytes)) {
		munmap(at, bytes);
		return NULL;
	}
	return at;
}

static void vu_unmap(void *at, size_t bytes)
{
	ibv_dofork_range(at, bytes);
	munmap(at, bytes);
}

/*
 * Allocates zeroed pages: by the allocator of the parent domain if it has one
 * that provides them.
 */
int vu_alloc(struct vu_memory *memory, size_t bytes, struct vu_pd *parent,
	     uint64_t resource)
{
	void *at = IBV_ALLOCATOR_USE_DEFAULT;

	memory->bytes = align(bytes, VU_PAGE_BYTES);
	memory->resource = resource;
	memory->owner = NULL;
	if (parent && parent->alloc)
		at = parent->alloc(&parent->base, parent->context,
				   memory->bytes, VU_PAGE_BYTES, resource);
	if (at == IBV_ALLOCATOR_USE_DEFAULT)
		at = vu_map(memory->bytes);
	else
		memory->owner = parent;
	memory->at = at;
	if (!at)
		return ENOMEM;
	if (memory->owner)
		memset(at, 0, memory->bytes);
	return 0;
}

void vu_free(struct vu_memory *memory)
{
	if (!memory->at)
		return;
	if (memory->owner)
		memory->owner->free(&memory->owner->base,
				    memory->owner->context, memory->at,
				    memory->resource);
	else
		vu_unmap(memory->at, memory->bytes);
	memory->at = NULL;
}

static struct vu_record_page *vu_add_records(struct vu_context *context)
{
	struct vu_record_page *page = calloc(1, sizeof(*page));

	if (!page)
		return NULL;
	page->at = vu_map(VU_PAGE_BYTES);
	if (!page->at) {
		free(page);
		return NULL;
	}
	page->next = context->records;
	context->records = page;
	return page;
}

/* A zeroed record, or NULL. */
void *vu_alloc_record(struct vu_context *context)
{
	struct vu_record_page *page;
	void *record = NULL;
	int index;

	pthread_mutex_lock(&context->lock);
	for (page = context->records; page && page->used == UINT64_MAX;
	     page = page->next)
		;
	if (!page)
		page = vu_add_records(context);
	if (page) {
		index = __builtin_ctzll(~page->used);
		page->used |= 1ULL << index;
		record = page->at + index * VU_RECORD_BYTES;
		memset(record, 0, VU_RECORD_BYTES);
	}
	pthread_mutex_unlock(&context->lock);
	return record;
}

void vu_free_record(struct vu_context *context, void *record)
{
	struct vu_record_page *page;
	size_t index;

	if (!record)
		return;
	pthread_mutex_lock(&context->lock);
	for (page = context->records; page; page = page->next) {
		index = ((uint8_t *)record - page->at) / VU_RECORD_BYTES;
		if ((uint8_t *)record >= page->at && index < VU_RECORDS_OF_PAGE)
			page->used &= ~(1ULL << index);
	}
	pthread_mutex_unlock(&context->lock);
}

void vu_free_records(struct vu_context *context)
{
	struct vu_record_page *page;

	while ((page = context->records)) {
		context->records = page->next;
		vu_unmap(page->at, VU_PAGE_BYTES);
		free(page);
	}
}
