// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A user of the driver with a planted bug: it rings the doorbell of a request
 * before it posts the request. test-command.long.ts sees each of these
 * doorbells reported.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <vuhca.h>

#define EARLY_REQUESTS 20

static struct vuhca_qp *early_create_qp(struct vuhca_pd *pd, struct vuhca_cq *cq)
{
	struct vuhca_qp_init init = {
		.pd = pd, .send_cq = cq, .recv_cq = cq, .send_entries_log2 = 5, .recv_entries_log2 = 5,
		.send_sge = 1, .recv_sge = 1, .service_type = VUHCA_SERVICE_TYPE_RC,
	};

	return vuhca_create_qp(pd->dev, &init);
}

static int early_connect(struct vuhca_qp *qp, u8 port, struct vuhca_qp *peer, u8 peer_port)
{
	struct vuhca_connection connection = {
		.port = port, .remote_qpn = peer->qpn, .path_mtu = 5, .timeout = 14, .retry_count = 7,
		.rnr_retry = 7,
		.dlid = vuhca_read_csr(qp->dev, VUHCA_CSR_PORT_LID_OFF +
				       (peer_port - 1) * VUHCA_CSR_PORT_LID_STRIDE),
	};

	return vuhca_qp_connect(qp, &connection);
}

static bool early_send(struct vuhca_dev *dev)
{
	struct vuhca_cq_init cq_init = { .entries_log2 = 6 };
	struct vuhca_pd *pd = vuhca_alloc_pd(dev);
	struct vuhca_cq *cq = vuhca_create_cq(dev, &cq_init);
	struct vuhca_qp *from = early_create_qp(pd, cq), *to = early_create_qp(pd, cq);
	struct vuhca_recv_wr receive = { .wr_id = 1 };
	struct vuhca_send_wr send = { .opcode = VUHCA_SEND_OPCODE_SEND_IMMEDIATE, .immediate = 42 };
	struct vuhca_wc wc;
	int done = 0, tries, count;

	if (!early_connect(from, 1, to, 2) && !early_connect(to, 2, from, 1)) {
		for (count = 0; count < EARLY_REQUESTS; count++) {
			vuhca_post_recv(to, &receive, 1);
			/* The bug. */
			vuhca_ring_doorbell(from, from->sq.tail);
			vuhca_post_send(from, &send, 1, VUHCA_POST_AUTO);
		}
		for (tries = 0; tries < 10000 && done < EARLY_REQUESTS; tries++) {
			while (vuhca_poll_cq(cq, 1, &wc) == 1)
				done += wc.receive;
			usleep_range(1000, 2000);
		}
	}
	vuhca_destroy_qp(from);
	vuhca_destroy_qp(to);
	vuhca_destroy_cq(cq);
	vuhca_dealloc_pd(pd);
	return done == EARLY_REQUESTS;
}

static void early_add(struct vuhca_dev *dev)
{
	pr_info("KTAP version 1\n1..1\n");
	pr_info("%s 1 all-messages-arrive\n", early_send(dev) ? "ok" : "not ok");
}

static void early_remove(struct vuhca_dev *dev)
{
}

static struct vuhca_client early_client = { .add = early_add, .remove = early_remove };

static int __init early_init(void)
{
	return vuhca_register_client(&early_client);
}
module_init(early_init);

static void __exit early_exit(void)
{
	vuhca_unregister_client(&early_client);
}
module_exit(early_exit);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("Rings before it posts");
