// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The function's share of the adapter's resources: requests, queries, and
 * changes by another function.
 */
#include "vuhca_internal.h"

static void vuhca_shares_update(struct work_struct *work)
{
	struct vuhca_dev *dev = container_of(work, struct vuhca_dev,
					     shares.changed);

	if (!vuhca_is_up(dev))
		return;
	vuhca_vcbs_update(dev);
	vuhca_ring_outstanding(dev);
}

void vuhca_shares_init(struct vuhca_dev *dev)
{
	mutex_init(&dev->shares.lock);
	INIT_WORK(&dev->shares.changed, vuhca_shares_update);
}

/**
 * vuhca_shares_refresh() - Count a change of the function's share and adopt it
 *	later.
 * @dev: Function of the adapter.
 *
 * Context: Any context.
 */
void vuhca_shares_refresh(struct vuhca_dev *dev)
{
	dev->shares.events++;
	schedule_work(&dev->shares.changed);
}
EXPORT_SYMBOL_GPL(vuhca_shares_refresh);

/* Event handler: another function has changed this function's share. */
void vuhca_shares_event(struct vuhca_dev *dev,
			const struct vuhca_event_entry *entry)
{
	vuhca_shares_refresh(dev);
}

/**
 * vuhca_request_resources() - Request changes of shares, all or none.
 * @dev: Function of the adapter.
 * @changes: Changes.
 * @count: Number of changes.
 * @answer: Receives the answer: which change was refused, and why.
 *
 * Context: May sleep. On return the driver has adopted the function's own
 * share.
 * Return: 0; -EINVAL: no changes or too many; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_request_resources(struct vuhca_dev *dev,
			    const struct vuhca_resource_change *changes,
			    unsigned int count, struct vuhca_answer *answer)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_REQUEST_RESOURCES,
		.modifier = count,
		.payload = changes,
		.payload_bytes = count * sizeof(*changes),
	};
	unsigned int i;
	int err;

	memset(answer, 0, sizeof(*answer));
	if (!count || count > VUHCA_RESOURCE_CHANGES_MAX)
		return -EINVAL;
	err = vuhca_admin_execute(dev, &command, answer);
	if (err)
		return err;
	for (i = 0; i < count; i++)
		if (vuhca_resource_change_get_resource(&changes[i]) ==
		    VUHCA_RESOURCE_KIND_VCBS &&
		    vuhca_resource_change_get_qos_level(&changes[i]) <
		    VUHCA_QOS_LEVELS)
			dev->vcbs_split = true;
	/* The requesting function gets no event. */
	schedule_work(&dev->shares.changed);
	flush_work(&dev->shares.changed);
	return 0;
}
EXPORT_SYMBOL_GPL(vuhca_request_resources);

static int vuhca_query(struct vuhca_dev *dev, u8 opcode, u32 object,
		       void *attributes, size_t bytes)
{
	struct vuhca_command command = { .opcode = opcode, .object = object };
	struct vuhca_answer answer;
	int err = vuhca_admin_execute(dev, &command, &answer);

	if (!err)
		memcpy(attributes, answer.payload, bytes);
	return err;
}

/**
 * vuhca_query_resources() - Query the share of a function.
 * @dev: Function of the adapter.
 * @function: Number of the function; a virtual function may name only itself.
 * @share: Receives the share.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_admin_execute().
 */
int vuhca_query_resources(struct vuhca_dev *dev, u32 function,
			  struct vuhca_resource_share *share)
{
	return vuhca_query(dev, VUHCA_MANAGEMENT_OPCODE_QUERY_RESOURCES,
			   function, share, sizeof(*share));
}
EXPORT_SYMBOL_GPL(vuhca_query_resources);

/**
 * vuhca_query_lane() - Query a transmit virtual lane.
 * @dev: Function of the adapter.
 * @lane: Number of the lane.
 * @attributes: Receives the attributes.
 *
 * Context: May sleep.
 * Return: 0; -EPERM: a virtual function may not see this lane; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_query_lane(struct vuhca_dev *dev, u32 lane,
		     struct vuhca_lane_attributes *attributes)
{
	return vuhca_query(dev, VUHCA_MANAGEMENT_OPCODE_QUERY_LANE, lane,
			   attributes, sizeof(*attributes));
}
EXPORT_SYMBOL_GPL(vuhca_query_lane);
