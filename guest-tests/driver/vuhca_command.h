/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Management commands and their answers. */
#ifndef VUHCA_COMMAND_H
#define VUHCA_COMMAND_H

#include <linux/completion.h>
#include <linux/mutex.h>

#include "vuhca_hw.h"

struct vuhca_dev;

/**
 * struct vuhca_admin - The management path of a function; one command at a time.
 * @lock: Held from laying out a command until its answer has been read.
 * @response: Memory that the adapter writes the answer to.
 * @response_dma: Bus address of @response.
 * @command: Buffer in which vuhca_admin_execute() lays out its command.
 * @sequence: Number of the last command.
 * @event_queue: EQ that reports answers, 0: answers are polled.
 * @done: Completed when an answer is there, and to abort a wait.
 * @commands: Count of commands submitted.
 * @refusals: Count of answers with an error status.
 * @timeouts: Count of commands without an answer.
 * @missed_events: Count of answers that were found without their event.
 */
struct vuhca_admin {
	struct mutex lock;	/* commands */
	struct vuhca_management_response *response;
	dma_addr_t response_dma;
	u8 command[VUHCA_COMMAND_MAX_BYTES] __aligned(8);
	u16 sequence;
	u32 event_queue;
	struct completion done;
	u64 commands;
	u64 refusals;
	u64 timeouts;
	u64 missed_events;
};

/**
 * struct vuhca_command - A management command before it gets its sequence
 *	number and checksum.
 * @opcode: VUHCA_MANAGEMENT_OPCODE_*.
 * @object: Number of the object that the command is about.
 * @modifier: Depends on @opcode.
 * @token: Software's handle of a created object; events repeat it.
 * @payload: Attributes of the object, or NULL.
 * @payload_bytes: Length of @payload.
 */
struct vuhca_command {
	u8 opcode;
	u32 object;
	u32 modifier;
	u64 token;
	const void *payload;
	size_t payload_bytes;
};

/**
 * struct vuhca_answer - Answer of the adapter to a command.
 * @status: VUHCA_MANAGEMENT_STATUS_*.
 * @object: Number of the created object.
 * @bad_offset: Offset in the command of the field at fault.
 * @limit: Amount that would have been accepted.
 * @payload: Attributes that were asked for.
 */
struct vuhca_answer {
	u8 status;
	u32 object;
	u16 bad_offset;
	u64 limit;
	u8 payload[sizeof_field(struct vuhca_management_response, payload)];
};

u32 vuhca_checksum(const void *bytes, size_t length, u32 seed);
size_t vuhca_admin_prepare(struct vuhca_dev *dev,
			   const struct vuhca_command *command, void *bytes);
void vuhca_admin_seal(void *bytes, size_t length);
int vuhca_admin_submit(struct vuhca_dev *dev, const void *bytes, size_t length,
		       struct vuhca_answer *answer);
int vuhca_admin_execute(struct vuhca_dev *dev,
			const struct vuhca_command *command,
			struct vuhca_answer *answer);
int vuhca_query_adapter(struct vuhca_dev *dev,
			struct vuhca_adapter_attributes *attributes);
int vuhca_query_port(struct vuhca_dev *dev, u8 port,
		     struct vuhca_port_attributes *attributes);
int vuhca_query_pkeys(struct vuhca_dev *dev, u8 port, unsigned int block,
		      struct vuhca_pkey_block *found);
int vuhca_query_gids(struct vuhca_dev *dev, u8 port, unsigned int block,
		     struct vuhca_gid_block *found);

#endif /* VUHCA_COMMAND_H */
