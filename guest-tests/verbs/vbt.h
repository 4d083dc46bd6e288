/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Tests of an InfiniBand device by the API that kernel users have: two queue
 * pairs, one at each port of the device, connected to each other. They do not
 * depend on the device's driver.
 */
#ifndef VBT_H
#define VBT_H

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <rdma/ib_verbs.h>

#define VBT_PREFIX	"vbt: "
#define VBT_BYTES	16384
#define VBT_ENTRIES	16
/*
 * Bound of a wait that a working device ends; a busy machine may need most of
 * it.
 */
#define VBT_WAIT_MS	240000

struct vbt_end {
	struct ib_qp *qp;
	struct ib_cq *cq;
	u32 port;
	u16 lid;
	u8 *bytes;
	u64 dma;
};

struct vbt {
	struct ib_device *dev;
	struct ib_pd *pd;
	struct vbt_end end[2];
	bool failed;
};

struct vbt_case {
	const char *name;
	enum ib_qp_type type;
	void (*run)(struct vbt *t);
};

#define VBT_CHECK(t, condition, format, ...) \
	vbt_check(t, condition, "%s:%d: " #condition ": " format, \
		  __func__, __LINE__, ##__VA_ARGS__)
#define VBT_OK(t, call) \
	do { \
		int vbt_err = (call); \
		VBT_CHECK(t, !vbt_err, "%s is %d", #call, vbt_err); \
	} while (0)

/* vbt_pair.c */
__printf(3, 4)
bool vbt_check(struct vbt *t, bool condition, const char *format, ...);
bool vbt_pair_create(struct vbt *t, enum ib_qp_type type, struct ib_srq *srq);
void vbt_pair_destroy(struct vbt *t);
struct ib_sge vbt_sge(struct vbt *t, int end, u32 offset, u32 length);
void vbt_fill(struct vbt *t, int end, u32 offset, u32 length, u8 seed);
bool vbt_holds(struct vbt *t, int end, u32 offset, u32 length, u8 seed);
void vbt_recv(struct vbt *t, int end, u32 offset, u32 length, u64 wr_id);
void vbt_send(struct vbt *t, int end, struct ib_send_wr *wr);
bool vbt_completes(struct vbt *t, int end, enum ib_wc_status status,
		   enum ib_wc_opcode opcode, struct ib_wc *wc);

extern const struct vbt_case vbt_message_cases[];
extern const unsigned int vbt_message_count;
extern const struct vbt_case vbt_key_cases[];
extern const unsigned int vbt_key_count;
extern const struct vbt_case vbt_queue_cases[];
extern const unsigned int vbt_queue_count;

#endif /* VBT_H */
