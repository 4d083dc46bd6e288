// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMA WRITE with immediate data over a reliable connection. Without arguments it serves one
 * client; with an address and a text it writes the text into the memory of the
 * server there. A third argument shifts the write by that many bytes.
 * write-imm.sh compiles and runs both.
 */
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>

#define NEED(call) do { if (!(call)) { perror(#call); exit(1); } } while (0)

struct window { uint64_t address; uint32_t key; };
static char text[64];

/* Fields other than the status are valid only after success. */
static void need_success(int count, const struct ibv_wc *done)
{
	NEED(count == 1);
	if (done->status == IBV_WC_SUCCESS) return;
	fprintf(stderr, "request failed: %s\n", ibv_wc_status_str(done->status));
	exit(1);
}

static void serve(struct rdma_cm_id *listener)
{
	struct rdma_cm_id *id;
	struct ibv_mr *region;
	struct ibv_wc done;

	NEED(!rdma_listen(listener, 1) && !rdma_get_request(listener, &id));
	NEED(region = rdma_reg_write(id, text, sizeof(text)));
	NEED(!rdma_post_recv(id, NULL, text, 0, region)); /* the immediate uses up a receive */
	struct window window = { (uintptr_t)text, region->rkey };
	NEED(!rdma_accept(id, &(struct rdma_conn_param){ .private_data = &window, .private_data_len = sizeof(window) }));
	need_success(rdma_get_recv_comp(id, &done), &done);
	printf("immediate %u, text \"%s\"\n", ntohl(done.imm_data), text);
}

static void write_to(struct rdma_cm_id *id, uint64_t offset)
{
	struct ibv_send_wr *bad;
	struct ibv_mr *region;
	struct ibv_wc done;

	NEED(region = rdma_reg_msgs(id, text, sizeof(text)));
	NEED(!rdma_connect(id, NULL));
	struct window window = *(const struct window *)id->event->param.conn.private_data;
	struct ibv_sge part = { (uintptr_t)text, sizeof(text), region->lkey };
	struct ibv_send_wr request = { .sg_list = &part, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.imm_data = htonl(2026), .wr.rdma = { window.address + offset, window.key } };
	NEED(!ibv_post_send(id->qp, &request, &bad));
	need_success(rdma_get_send_comp(id, &done), &done);
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo hints = { .ai_flags = argc > 1 ? 0 : RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP }, *found;
	struct ibv_qp_init_attr attributes = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC, .sq_sig_all = 1 };
	struct rdma_cm_id *id;

	NEED(!rdma_getaddrinfo(argc > 1 ? argv[1] : "0.0.0.0", "7471", &hints, &found));
	NEED(!rdma_create_ep(&id, found, NULL, &attributes));
	snprintf(text, sizeof(text), "%s", argc > 2 ? argv[2] : "");
	if (argc > 1) write_to(id, argc > 3 ? strtoull(argv[3], NULL, 0) : 0);
	else serve(id);
	return 0;
}
