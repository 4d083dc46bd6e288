// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Address handles (IBTA 11.2.2) and the paths of connections, which have the
 * same form in the adapter.
 */
#include "vib_user.h"

/*
 * The port number is split: its high bit was added later (docs/REGISTERS.md).
 */
#define VIB_PORT_HIGH_SHIFT	2

/* Fills in everything but the valid bit and the PD. */
void vib_put_path(struct vuhca_address_handle *path,
		  const struct rdma_ah_attr *attributes)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attributes);
	u8 port = rdma_ah_get_port_num(attributes);

	vuhca_address_handle_set_port(path, port);
	vuhca_address_handle_set_port_high(path, port >> VIB_PORT_HIGH_SHIFT);
	vuhca_address_handle_set_service_level(path,
					       rdma_ah_get_sl(attributes));
	vuhca_address_handle_set_dlid(path, rdma_ah_get_dlid(attributes));
	vuhca_address_handle_set_source_path_bits(path,
						  rdma_ah_get_path_bits(attributes));
	vuhca_address_handle_set_static_rate(path,
					     rdma_ah_get_static_rate(attributes));
	if (!(rdma_ah_get_ah_flags(attributes) & IB_AH_GRH))
		return;
	vuhca_address_handle_set_global_route(path, 1);
	vuhca_address_handle_set_source_gid_index(path, grh->sgid_index);
	vuhca_address_handle_set_flow_label(path, grh->flow_label);
	path->traffic_class = grh->traffic_class;
	path->hop_limit = grh->hop_limit;
	memcpy(path->destination_gid, grh->dgid.raw,
	       sizeof(path->destination_gid));
}

void vib_get_path(const struct vuhca_address_handle *path,
		  struct rdma_ah_attr *attributes)
{
	union ib_gid gid;

	attributes->type = RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_port_num(attributes,
			     vuhca_address_handle_get_port(path) |
			     vuhca_address_handle_get_port_high(path)
			     << VIB_PORT_HIGH_SHIFT);
	rdma_ah_set_sl(attributes, vuhca_address_handle_get_service_level(path));
	rdma_ah_set_dlid(attributes, vuhca_address_handle_get_dlid(path));
	rdma_ah_set_path_bits(attributes,
			      vuhca_address_handle_get_source_path_bits(path));
	rdma_ah_set_static_rate(attributes,
				vuhca_address_handle_get_static_rate(path));
	if (!vuhca_address_handle_get_global_route(path))
		return;
	memcpy(gid.raw, path->destination_gid, sizeof(gid.raw));
	rdma_ah_set_grh(attributes, &gid,
			vuhca_address_handle_get_flow_label(path),
			vuhca_address_handle_get_source_gid_index(path),
			path->hop_limit, path->traffic_class);
}

int vib_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		  struct ib_udata *udata)
{
	const struct rdma_ah_attr *attributes = init->ah_attr;
	struct vib_ah *ah = to_vah(ibah);
	struct vuhca_ah *hw;

	hw = vuhca_create_ah(to_vpd(ibah->pd)->hw,
			     rdma_ah_get_port_num(attributes),
			     rdma_ah_get_dlid(attributes),
			     rdma_ah_get_sl(attributes), NULL);
	if (IS_ERR(hw))
		return PTR_ERR(hw);
	/* No request names it yet. */
	vib_put_path(vuhca_ah_entry(hw), attributes);
	ah->hw = hw;
	return 0;
}

/* A process names the address handle by its index. */
int vib_create_user_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		       struct ib_udata *udata)
{
	struct vuhca_create_ah_resp answer = {};
	int err;

	err = vib_create_ah(ibah, init, udata);
	if (err)
		return err;
	answer.index = to_vah(ibah)->hw->index;
	err = vib_copy_answer(&answer, sizeof(answer), udata);
	if (err)
		vib_destroy_ah(ibah, 0);
	return err;
}

int vib_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attributes)
{
	memset(attributes, 0, sizeof(*attributes));
	vib_get_path(vuhca_ah_entry(to_vah(ibah)->hw), attributes);
	return 0;
}

int vib_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	vuhca_destroy_ah(to_vah(ibah)->hw);
	return 0;
}
