/* Exported: the info channel, device share, vNPUs, topology, events. */
#include "calls.h"

/* --- the info channel, device share --------------------------------------------------------- */

int dcmi_get_device_info(int card_id, int device_id, enum dcmi_main_cmd main_cmd,
                         unsigned int sub_cmd, void *buf, unsigned int *size)
{
    SLOT(answer_info(chip, main_cmd, sub_cmd, buf, size));
}

int dcmiv2_get_device_info(int dev_id, enum dcmi_main_cmd main_cmd, unsigned int sub_cmd,
                           void *buf, unsigned int *size)
{
    DEVICE(answer_info(chip, main_cmd, sub_cmd, buf, size));
}

int dcmi_set_device_info(int card_id, int device_id, enum dcmi_main_cmd main_cmd,
                         unsigned int sub_cmd, const void *buf, unsigned int buf_size)
{
    SLOT(change_info(chip, main_cmd, sub_cmd, buf, buf_size));
}

int dcmiv2_set_device_info(int dev_id, enum dcmi_main_cmd main_cmd, unsigned int sub_cmd,
                           const void *buf, unsigned int buf_size)
{
    DEVICE(change_info(chip, main_cmd, sub_cmd, buf, buf_size));
}

int dcmi_get_device_share_enable(int card_id, int device_id, int *enable_flag)
{
    SLOT(answer_share(chip, (unsigned int *)enable_flag));
}

int dcmiv2_get_device_share_enable(int dev_id, unsigned int *enable_flag)
{
    DEVICE(answer_share(chip, enable_flag));
}

int dcmi_set_device_share_enable(int card_id, int device_id, int enable_flag)
{
    SLOT(change_share(chip, (unsigned int)enable_flag));
}

int dcmiv2_set_device_share_enable(int dev_id, unsigned int enable_flag)
{
    DEVICE(change_share(chip, enable_flag));
}

/* The other generation has no such call. */
int dcmi_set_destroy_vdevice(int card_id, int device_id, unsigned int vdevid)
{
    SLOT(change_vnpus(chip, vdevid));
}

/* --- topology ------------------------------------------------------------------------------- */

static struct chip *other_chip(enum addressing how, int first, int second)
{
    struct entry *entry = snapshot_find(how, first, second);
    return entry ? entry->chip : NULL;
}

int dcmi_get_topo_info_by_device_id(int card_id1, int device_id1, int card_id2, int device_id2,
                                    int *topo_type)
{
    return CHIP(BY_SLOT, card_id1, device_id1, IOCTL_FAILED,
                answer_topology(chip, other_chip(BY_SLOT, card_id2, device_id2), topo_type));
}

int dcmiv2_get_topo_info_by_device_id(int dev_id1, int dev_id2, int *topo_type)
{
    return CHIP(BY_LOGIC, dev_id1, -1, IOCTL_FAILED,
                answer_topology(chip, other_chip(BY_LOGIC, dev_id2, -1), topo_type));
}

int dcmi_get_affinity_cpu_info_by_device_id(int card_id, int device_id, char *affinity_cpu,
                                            int *length)
{
    SLOT(answer_affinity(chip, affinity_cpu, length));
}

int dcmiv2_get_affinity_cpu_info_by_dev_id(int dev_id, char *affinity_cpu, int *len)
{
    DEVICE(answer_affinity(chip, affinity_cpu, len));
}

static int partner_of(const struct chip *chip, int *out)
{
    if (hardware.family->chips_per_card < 2 || !hardware.family->topology)
        return NOT_SUPPORTED;
    if (!out)
        return BAD_PARAMETER;
    *out = !hardware.family->partner ? -1 : chip->card >= 4 ? chip->card - 4 : chip->card + 4;
    return OK;
}

int dcmi_get_netdev_brother_device(int card_id, int device_id, int *brother_card_id)
{
    SLOT(partner_of(chip, brother_card_id));
}

/* --- events --------------------------------------------------------------------------------- */

int dcmi_subscribe_fault_event(int card_id, int device_id, struct dcmi_event_filter filter,
                               void (*handler)(struct dcmi_event *))
{
    if (card_id == -1 && device_id == -1)
        return HOST(events_subscribe(-1, filter, handler));
    SLOT(events_subscribe(snapshot_logic(chip), filter, handler));
}

int dcmiv2_subscribe_fault_event(int dev_id, struct dcmi_event_filter filter,
                                 void (*handler)(struct dcmi_event *))
{
    if (dev_id == -1)
        return HOST(events_subscribe(-1, filter, handler));
    DEVICE(events_subscribe(snapshot_logic(chip), filter, handler));
}

int dcmi_get_fault_event(int card_id, int device_id, int timeout, struct dcmi_event_filter filter,
                         struct dcmi_event *event)
{
    if (card_id == -1 && device_id == -1)
        return HOST(events_pull(-1, timeout, filter, event));
    SLOT(events_pull(snapshot_logic(chip), timeout, filter, event));
}

int dcmiv2_get_fault_event(int dev_id, int timeout, struct dcmi_event_filter filter,
                           struct dcmi_event *event)
{
    if (dev_id == -1)
        return HOST(events_pull(-1, timeout, filter, event));
    DEVICE(events_pull(snapshot_logic(chip), timeout, filter, event));
}

int dcmiv2_get_device_current_fault_event(int dev_id, struct dcmi_event *event_buf,
                                          int input_event_buf_length, int *output_event_cnt)
{
    DEVICE(events_standing(chip, event_buf, input_event_buf_length, output_event_cnt));
}
