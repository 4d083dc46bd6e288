// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Packets with a GRH, of connections and of datagrams. */
#include "vt_pair.h"

#define VT_OK		VUHCA_COMPLETION_STATUS_SUCCESS
#define VT_GID_BYTES	16

/*
 * Fills in the route to @port: entry 0 of its GID table is subnet prefix and
 * GUID.
 */
static bool vt_route_to(struct vt *t, u8 port, struct vuhca_global_route *route)
{
	struct vuhca_port_attributes attributes;

	if (!VT_EQUAL(t, vuhca_query_port(t->dev, port, &attributes), 0))
		return false;
	*route = (struct vuhca_global_route) {
		.hop_limit = 17, .traffic_class = 0x5a, .flow_label = 0xabcde,
	};
	memcpy(route->destination_gid, attributes.subnet_prefix, 8);
	memcpy(route->destination_gid + 8, attributes.port_guid, 8);
	return VT_CHECK(t, memchr_inv(route->destination_gid + 8, 0, 8),
			"port %u has no GUID", port);
}

struct vt_routes {
	struct vuhca_global_route to[VT_PORTS];	/* to port i + 1 */
};

static bool vt_routes_init(struct vt *t, struct vt_routes *routes)
{
	return vt_route_to(t, 1, &routes->to[0]) &&
	       vt_route_to(t, 2, &routes->to[1]) &&
	       VT_CHECK(t, memcmp(routes->to[0].destination_gid,
				  routes->to[1].destination_gid, VT_GID_BYTES),
			"both ports have one GID");
}

/* Both ends send GRHs with the right GIDs. */
static void vt_connection(struct vt *t)
{
	static const u8 services[] = {
		VUHCA_SERVICE_TYPE_RC, VUHCA_SERVICE_TYPE_UC,
	};
	struct vt_pair_options options = { .path_mtu = 2 };
	struct vt_routes routes;
	struct vt_areas areas;
	struct vt_pair pair;
	unsigned int i;

	if (!vt_routes_init(t, &routes) || !vt_areas_create(t, &areas))
		return;
	options.routes[0] = &routes.to[1];
	options.routes[1] = &routes.to[0];
	for (i = 0; i < ARRAY_SIZE(services); i++) {
		options.service = services[i];
		if (vt_pair_create(t, &pair, &options)) {
			vt_pair_transfer(&pair, &areas,
					 VUHCA_SEND_OPCODE_SEND_IMMEDIATE, 5000,
					 VUHCA_POST_AUTO);
			vt_pair_transfer(&pair, &areas,
					 VUHCA_SEND_OPCODE_RDMA_WRITE, 777,
					 VUHCA_POST_DOORBELL);
			if (!i)
				vt_pair_transfer(&pair, &areas,
						 VUHCA_SEND_OPCODE_RDMA_READ,
						 5000, VUHCA_POST_AUTO);
		}
		vt_pair_destroy(&pair);
	}
	vt_areas_destroy(t, &areas);
}

/* Expects that end 0 of a pair with these routes gets no message to end 1. */
static void vt_is_cut(struct vt *t, const struct vuhca_global_route *there,
		      const struct vuhca_global_route *back)
{
	struct vt_pair_options options = {
		.timeout = 10, .retry_count = 1, .routes = { there, back },
	};
	struct vt_areas areas;
	struct vuhca_send_wr wr;
	struct vt_pair pair;

	if (!vt_areas_create(t, &areas))
		return;
	wr = vt_rdma_wr(&areas, VUHCA_SEND_OPCODE_RDMA_WRITE, NULL, 0);
	if (vt_pair_create(t, &pair, &options))
		vt_do(&pair, &wr, VUHCA_COMPLETION_STATUS_RETRY_EXCEEDED);
	vt_pair_destroy(&pair);
	vt_areas_destroy(t, &areas);
}

/* A GRH at one end only, or with a GID that is not the other end's. */
static void vt_mismatch(struct vt *t)
{
	struct vuhca_global_route wrong;
	struct vt_routes routes;

	if (!vt_routes_init(t, &routes))
		return;
	vt_is_cut(t, &routes.to[1], NULL);
	vt_is_cut(t, NULL, &routes.to[0]);
	wrong = routes.to[1];
	wrong.destination_gid[15] ^= 1;
	vt_is_cut(t, &wrong, &routes.to[0]);
	wrong = routes.to[0];
	wrong.destination_gid[0] ^= 0x80;
	vt_is_cut(t, &routes.to[1], &wrong);
}

/* A source GID index of an empty entry, or of none. */
static void vt_no_source(struct vt *t)
{
	static const u8 indices[] = { 3, VUHCA_GID_TABLE_ENTRIES };
	struct vt_pair_options options = { .refusal = -EINVAL };
	struct vt_routes routes;
	struct vt_pair pair;
	unsigned int i;

	if (!vt_routes_init(t, &routes))
		return;
	options.routes[0] = &routes.to[1];
	options.routes[1] = &routes.to[0];
	for (i = 0; i < ARRAY_SIZE(indices); i++) {
		routes.to[1].source_gid_index = indices[i];
		VT_CHECK(t, !vt_pair_create(t, &pair, &options),
			 "connected from GID %u", indices[i]);
		vt_pair_destroy(&pair);
	}
}

/* Sends one datagram with the address handle and expects @status. */
static bool vt_datagram(struct vt *t, struct vuhca_ah *ah, u8 status,
			struct vuhca_wc *wc)
{
	struct vuhca_buffer here = vt_buffer(t, 0, 100);
	struct vuhca_send_wr wr = vt_send_wr(t, 0, 1, &here);

	wr.ud.ah = ah->index;
	return VT_EQUAL(t, vuhca_post_send(t->end[0].qp, &wr, 1,
					   VUHCA_POST_AUTO), 1) &&
	       vt_completes(t, t->send_cq.cq, status, wc);
}

/*
 * The GRH stands in front of the payload, with the fields of the address
 * handle.
 */
static void vt_datagrams(struct vt *t)
{
	u8 *received = t->memory + 4096;
	struct vt_routes routes;
	struct vuhca_ah *ah;
	struct vuhca_wc wc;
	u32 lid = vuhca_read_csr(t->dev, VUHCA_CSR_PORT_LID_OFF +
				 VUHCA_CSR_PORT_LID_STRIDE);

	if (!vt_routes_init(t, &routes))
		return;
	ah = vuhca_create_ah(t->pd, 1, lid, 0, &routes.to[1]);
	VT_REQUIRE(t, !IS_ERR(ah), "%pe", ah);
	vt_fill(t->memory, 100, 9);
	memset(received, VT_POISON, 200);
	VT_EQUAL(t, vt_post_recv(t, t->end[1].qp, 4096, 200, 1), 0);
	if (vt_datagram(t, ah, VT_OK, &wc) &&
	    vt_completes(t, t->recv_cq.cq, VT_OK, &wc)) {
		VT_CHECK(t, wc.global_route, "no GRH reported");
		VT_EQUAL(t, wc.byte_length, VUHCA_GRH_AREA_BYTES + 100);
		VT_EQUAL(t, get_unaligned_be32(received),
			 0x60000000 | 0x5a << 20 | 0xabcde);
		VT_EQUAL(t, received[6], 0x1b);
		VT_EQUAL(t, received[7], 17);
		VT_CHECK(t, !memcmp(received + 8, routes.to[0].destination_gid,
				    VT_GID_BYTES), "source GID");
		VT_CHECK(t, !memcmp(received + 24, routes.to[1].destination_gid,
				    VT_GID_BYTES), "destination GID");
		VT_CHECK(t, vt_holds(received + VUHCA_GRH_AREA_BYTES, 100, 9),
			 "payload");
	}
	vuhca_destroy_ah(ah);
}

/* With an invalid source GID index the datagram is not sent. */
static void vt_bad_index(struct vt *t)
{
	struct vt_routes routes;
	struct vuhca_ah *ah;
	struct vuhca_wc wc;

	if (!vt_routes_init(t, &routes))
		return;
	routes.to[1].source_gid_index = VUHCA_GID_TABLE_ENTRIES;
	ah = vuhca_create_ah(t->pd, 1, 2, 0, &routes.to[1]);
	VT_REQUIRE(t, !IS_ERR(ah), "%pe", ah);
	if (vt_datagram(t, ah, VUHCA_COMPLETION_STATUS_LOCAL_QP_OPERATION_ERROR,
			&wc))
		VT_EQUAL(t, wc.vendor_error, VUHCA_FAULT_KIND_ADDRESS_HANDLE);
	vuhca_destroy_ah(ah);
}

static const struct vt_case vt_cases[] = {
	{ "connection", vt_connection },
	{ "mismatch", vt_mismatch },
	{ "no-source", vt_no_source },
	{ "datagrams", vt_datagrams },
	{ "bad-index", vt_bad_index },
};
VT_SUITE(global, vt_cases);
