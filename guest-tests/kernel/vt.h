/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * In-kernel tests of the vuhca adapter and its driver: cases, their reports and
 * their objects. A suite is a file in debugfs (vuhca-test/suites/NAME): reading
 * it runs the suite and returns its KTAP.
 */
#ifndef VT_H
#define VT_H

#include <linux/delay.h>
#include <linux/prandom.h>
#include <linux/wait.h>

#include "vuhca.h"

#define VT_PORTS		2
#define VT_QKEY			0x11223344
/* Memory of a case for payloads: one coherent piece. */
#define VT_MEMORY_BYTES		(1024 * 1024)
/*
 * Bound of a wait. It ends only waits that would never end: on a busy machine a
 * step may take seconds. It is shorter than the silence after which the host
 * ends a guest.
 */
#define VT_TIMEOUT_MS		240000
/*
 * Time after which a case considers an event absent. Waits for an event that
 * must come do not use it.
 */
#define VT_QUIET_MS		30
#define VT_POISON		0xa5
/* A gap in the guest's physical address space, far above its memory. */
#define VT_HOLE			0x7f00000000ULL

/* A number that no object has; numbers have 24 bits. */
#define VT_ABSENT		0xabcdef

struct vt_run;
struct vt;

struct vt_case {
	const char *name;
	void (*run)(struct vt *t);
	/*
	 * Turns the deadman off: only interrupts and polling report an event,
	 * and a lost one is never found. On a busy machine the deadman may find
	 * an event before its interrupt comes.
	 */
	bool no_deadman;
};

struct vt_suite {
	const char *name;
	const struct vt_case *cases;
	unsigned int count;
};

#define VT_SUITE(suite, list)				\
	const struct vt_suite vt_suite_##suite = {	\
		.name = #suite,				\
		.cases = list,				\
		.count = ARRAY_SIZE(list),		\
	}

/* A completion queue whose events are counted. */
struct vt_cq {
	struct vuhca_cq *cq;
	atomic_t completions;
	atomic_t errors;
	u8 error_fault;
	wait_queue_head_t wait;
};

/* A QP that is ready to send on its port. */
struct vt_end {
	struct vuhca_qp *qp;
	atomic_t events;
	u8 last_event;
	u8 last_fault;
};

/* Objects of a case; created before it and destroyed after it. */
struct vt {
	struct vuhca_dev *dev;
	struct vt_run *run;
	bool failed;
	bool skipped;
	char skip_reason[64];
	unsigned int complaints;
	struct rnd_state random;

	struct vuhca_pd *pd;
	struct vuhca_mr *mr;
	struct vt_cq send_cq;
	struct vt_cq recv_cq;
	/* end[i] is on port i + 1; both are on the only port of an adapter */
	struct vt_end end[VT_PORTS];
	struct vuhca_ah *ah[VT_PORTS][VT_PORTS];	/* from port, to port */
	u8 *memory;
	dma_addr_t dma;
	u32 mtu_bytes;
};

struct vt_qp_options {
	struct vuhca_cq *send_cq;
	struct vuhca_cq *recv_cq;
	unsigned int entries_log2;
	unsigned int sge;
	u8 qos_level;
	u8 port;
	bool checksum_off;
	bool signal_all;
	bool connected;		/* of service_type, else UD */
	u8 service_type;
	struct vuhca_srq *srq;
	struct vuhca_xrcd *xrcd;	/* of an XRC target, or NULL */
	struct vuhca_collect_context *collect;
};

static inline u32 vt_csr(struct vt *t, unsigned int offset)
{
	return vuhca_read_csr(t->dev, offset);
}

/*
 * For a case that publishes tails without a doorbell: the adapter does not
 * watch tails by itself until the case has ended.
 */
static inline void vt_hide_tails(struct vt *t)
{
	vuhca_write_csr(t->dev, VUHCA_CSR_SHADOW_TAILS_OFF, 0);
}

/* Drains write-combining: the adapter has all earlier stores. */
static inline void vt_drain_stores(void)
{
	/* Stores to the BARs come before all later accesses. */
	wmb();
}

/* vt_report.c */
__printf(2, 3) void vt_note(struct vt *t, const char *format, ...);
__printf(2, 3) void vt_complain(struct vt *t, const char *format, ...);
__printf(2, 3) void vt_skip(struct vt *t, const char *format, ...);

/* vt_run.c */
void vt_emit(struct vt_run *run, const char *text, size_t length);
u64 vt_seed(void);
unsigned int vt_count(void);

/*
 * A failed check is reported with its place and the case continues; a failed
 * requirement ends the function that makes it.
 */
#define VT_CHECK(t, condition, format, ...)				\
	({								\
		bool ok_ = !!(condition);				\
									\
		if (!ok_)						\
			vt_complain(t, "%s:%d: %s: " format, __func__,	\
				    __LINE__, #condition, ##__VA_ARGS__); \
		ok_;							\
	})

#define VT_REQUIRE(t, condition, format, ...)				\
	do {								\
		if (!VT_CHECK(t, condition, format, ##__VA_ARGS__))	\
			return;						\
	} while (0)

#define VT_EQUAL(t, actual, expected)					\
	({								\
		u64 actual_ = (actual), expected_ = (expected);		\
		bool same_ = actual_ == expected_;			\
									\
		if (!same_)						\
			vt_complain(t, "%s:%d: %s is %llu, not %llu",	\
				    __func__, __LINE__, #actual,	\
				    actual_, expected_);		\
		same_;							\
	})

/* Waits for a condition up to VT_TIMEOUT_MS; a timeout fails the case. */
#define VT_WAIT(t, condition)						\
	({								\
		ktime_t end_ = ktime_add_ms(ktime_get(), VT_TIMEOUT_MS); \
		bool came_ = condition;					\
		unsigned int nap_us_ = 0;				\
									\
		while (!came_ && ktime_before(ktime_get(), end_)) {	\
			vt_nap(&nap_us_);				\
			came_ = condition;				\
		}							\
		if (!came_)						\
			vt_complain(t, "%s:%d: not within %u ms: %s",	\
				    __func__, __LINE__, VT_TIMEOUT_MS,	\
				    #condition);			\
		came_;							\
	})

/* vt_env.c */
int vt_env_create(struct vt *t);
void vt_env_destroy(struct vt *t);
struct vuhca_cq *vt_create_cq(struct vt *t, struct vt_cq *watch,
			      unsigned int entries_log2, unsigned int eq_index);
struct vuhca_cq *vt_create_user_cq(struct vt *t, struct vt_cq *watch,
				   struct vuhca_collect_context *collect);
struct vuhca_qp *vt_create_qp(struct vt *t, struct vt_end *end,
			      const struct vt_qp_options *options);
int vt_ready(struct vuhca_qp *qp, u8 port);

/* vt_status.c */
void vt_nap(unsigned int *us);
unsigned int vt_poll(struct vuhca_cq *cq, struct vuhca_wc *wc,
		     unsigned int count, unsigned int timeout_ms);
bool vt_has_entries(struct vuhca_cq *cq, u32 count);
bool vt_wait_event(struct vt_cq *watch, int count, unsigned int timeout_ms);
u32 vt_fault_count(struct vt *t, enum vuhca_fault_kind kind);
void vt_clear_first_fault(struct vt *t);
void vt_expect_first_fault(struct vt *t, enum vuhca_fault_kind kind,
			   u32 object);
u64 vt_port_drops(struct vt *t, unsigned int port);
int vt_qp_state(struct vuhca_qp *qp);
int vt_command(struct vt *t, u8 opcode, u32 object, const void *payload,
	       size_t payload_bytes, struct vuhca_answer *answer);

/* vt_message.c */
void vt_fill(void *bytes, size_t length, u32 key);
bool vt_holds(const void *bytes, size_t length, u32 key);
bool vt_is_poison(const void *bytes, size_t length);
struct vuhca_buffer vt_buffer(struct vt *t, size_t offset, u32 length);
int vt_post_recv(struct vt *t, struct vuhca_qp *qp, size_t offset, u32 length,
		 u64 wr_id);
struct vuhca_send_wr vt_send_wr(struct vt *t, unsigned int from, unsigned int to,
				const struct vuhca_buffer *sge);
int vt_post_nops(struct vuhca_qp *qp, unsigned int count);
bool vt_roundtrip(struct vt *t, unsigned int from, unsigned int to, u32 length,
		  enum vuhca_post_mode mode);
bool vt_alive(struct vt *t);

extern const struct vt_suite vt_suite_identity;
extern const struct vt_suite vt_suite_management;
extern const struct vt_suite vt_suite_dedicated;
extern const struct vt_suite vt_suite_lane_table;
extern const struct vt_suite vt_suite_refusal;
extern const struct vt_suite vt_suite_datagram;
extern const struct vt_suite vt_suite_collect;
extern const struct vt_suite vt_suite_collect_errors;
extern const struct vt_suite vt_suite_parallel;
extern const struct vt_suite vt_suite_events;
extern const struct vt_suite vt_suite_interrupt;
extern const struct vt_suite vt_suite_overrun;
extern const struct vt_suite vt_suite_isolation;
extern const struct vt_suite vt_suite_ports;
extern const struct vt_suite vt_suite_port_count;
extern const struct vt_suite vt_suite_faults;
extern const struct vt_suite vt_suite_flush;
extern const struct vt_suite vt_suite_connected;
extern const struct vt_suite vt_suite_connected_bulk;
extern const struct vt_suite vt_suite_connected_errors;
extern const struct vt_suite vt_suite_connected_breaks;
extern const struct vt_suite vt_suite_connected_keys;
extern const struct vt_suite vt_suite_shared_receive;
extern const struct vt_suite vt_suite_xrc;
extern const struct vt_suite vt_suite_windows;
extern const struct vt_suite vt_suite_device_memory;
extern const struct vt_suite vt_suite_drain;
extern const struct vt_suite vt_suite_global;
extern const struct vt_suite vt_suite_mad;
extern const struct vt_suite vt_suite_shares;
extern const struct vt_suite vt_suite_stop;
extern const struct vt_suite vt_suite_overflow;
extern const struct vt_suite vt_suite_overload;
extern const struct vt_suite vt_suite_blocked_bus;
extern const struct vt_suite vt_suite_waiting;
extern const struct vt_suite vt_suite_pipeline;
extern const struct vt_suite vt_suite_once;
extern const struct vt_suite vt_suite_share_requests;
extern const struct vt_suite vt_suite_share_allocation;
extern const struct vt_suite vt_suite_converge;
extern const struct vt_suite vt_suite_lend;
extern const struct vt_suite vt_suite_flood;
extern const struct vt_suite vt_suite_timers;
extern const struct vt_suite vt_suite_polling;
extern const struct vt_suite vt_suite_resize;
extern const struct vt_suite vt_suite_pio;
extern const struct vt_suite vt_suite_pio_halts;
extern const struct vt_suite vt_suite_trace;
extern const struct vt_suite vt_suite_reset;
extern const struct vt_suite vt_suite_peer;

/* vt_peer.c */
extern const struct file_operations vt_peer_fops;

#endif /* VT_H */
