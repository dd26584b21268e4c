/* The exported functions of both generations that ask one chip or the host, one line each.
 *
 * ``chip`` names the chip of the call inside the last argument of CARD, SLOT and DEVICE. A chip
 * whose hardware is gone answers IOCTL_FAILED, but for the few calls with a code of their own.
 */
#include "fake.h"

#define CHIP(how, first, second, lost, expression) \
    ({ \
        struct call call_; \
        struct chip *chip = NULL; \
        int rc_ = begin_chip(&call_, __func__, how, first, second, lost, &chip); \
        gate_leave(&call_, rc_ != OK ? rc_ : (expression)); \
    })

#define HOST(expression) \
    ({ \
        struct call call_; \
        int rc_ = begin_host(&call_, __func__); \
        gate_leave(&call_, rc_ != OK ? rc_ : (expression)); \
    })

#define ANYWHERE(expression) \
    ({ \
        struct call call_; \
        int rc_ = gate_enter(&call_, __func__, NO_ADDRESS, -1, -1); \
        gate_leave(&call_, rc_ != OK ? rc_ : (expression)); \
    })

#define CARD(expression) return CHIP(BY_CARD, card_id, -1, IOCTL_FAILED, expression)
#define SLOT(expression) return CHIP(BY_SLOT, card_id, device_id, IOCTL_FAILED, expression)
#define DEVICE(expression) return CHIP(BY_LOGIC, (int)dev_id, -1, IOCTL_FAILED, expression)

#define DCMI_VERSION "25.2.0"
#define DRIVER_VERSION "25.2.0.b020"

/* --- versions and the host ---------------------------------------------------------------- */

int dcmi_get_dcmi_version(char *dcmi_ver, unsigned int len)
{
    return ANYWHERE(answer_text(dcmi_ver, (int)len, VERSION_LEN_MIN, DCMI_VERSION));
}

int dcmiv2_get_dcmi_version(char *dcmi_ver, unsigned int len)
{
    return ANYWHERE(answer_text(dcmi_ver, (int)len, VERSION_LEN_MIN, DCMI_VERSION));
}

int dcmi_get_driver_version(char *driver_ver, unsigned int len)
{
    return HOST(answer_text(driver_ver, (int)len, VERSION_LEN_MIN, DRIVER_VERSION));
}

int dcmiv2_get_driver_version(char *driver_ver, unsigned int len)
{
    return HOST(answer_text(driver_ver, (int)len, VERSION_LEN_MIN, DRIVER_VERSION));
}

int dcmi_get_driver_health(unsigned int *health)
{
    return HOST(answer_number(health, 0));
}

int dcmiv2_get_driver_health(unsigned int *health)
{
    return HOST(answer_number(health, 0));
}

static int change_mode(int *mode, unsigned int value)
{
    if (value > 1)
        return BAD_PARAMETER;
    *mode = (int)value;
    return OK;
}

int dcmi_get_device_share_config_recover_mode(unsigned int *enable_flag)
{
    return HOST(answer_number(enable_flag, (unsigned int)hardware.recover_mode));
}

int dcmi_set_device_share_config_recover_mode(unsigned int enable_flag)
{
    return HOST(change_mode(&hardware.recover_mode, enable_flag));
}

/* --- identifiers that the kernel converts ------------------------------------------------- */

int dcmi_get_device_phyid_from_logicid(unsigned int logicid, unsigned int *phyid)
{
    return CHIP(BY_LOGIC, (int)logicid, -1, NOT_READY,
                answer_number(phyid, (unsigned int)chip->phy));
}

int dcmi_get_device_logicid_from_phyid(unsigned int phyid, unsigned int *logicid)
{
    return CHIP(BY_PHY, (int)phyid, -1, NOT_READY,
                answer_number(logicid, (unsigned int)snapshot_logic(chip)));
}

int dcmiv2_get_chip_phy_id_by_dev_id(unsigned int dev_id, unsigned int *phyid)
{
    return CHIP(BY_LOGIC, (int)dev_id, -1, NOT_READY,
                answer_number(phyid, (unsigned int)chip->phy));
}

int dcmiv2_get_dev_id_by_chip_phy_id(unsigned int phyid, unsigned int *dev_id)
{
    return CHIP(BY_PHY, (int)phyid, -1, NOT_READY,
                answer_number(dev_id, (unsigned int)snapshot_logic(chip)));
}

int dcmiv2_get_device_type(int dev_id, enum dcmi_unit_type *device_type)
{
    DEVICE(device_type ? (*device_type = DCMI_UNIT_TYPE_NPU, OK) : BAD_PARAMETER);
}

static int slot_of(const struct chip *chip, unsigned int *slot, unsigned int *number)
{
    int rc = answer_number(slot, (unsigned int)chip->card);
    return rc != OK ? rc : answer_number(number, (unsigned int)chip->slot);
}

int dcmiv2_get_slot_id_and_chip_id_by_dev_id(int dev_id, unsigned int *slot_id,
                                             unsigned int *chip_id)
{
    DEVICE(slot_of(chip, slot_id, chip_id));
}

int dcmiv2_get_dev_id_by_slot_id_and_chip_id(unsigned int slot_id, unsigned int chip_id,
                                             int *dev_id)
{
    return CHIP(BY_SLOT, (int)slot_id, (int)chip_id, NOT_READY,
                dev_id ? (*dev_id = snapshot_logic(chip), OK) : BAD_PARAMETER);
}

/* --- identity ----------------------------------------------------------------------------- */

int dcmi_get_device_chip_info_v2(int card_id, int device_id, struct dcmi_chip_info_v2 *chip_info)
{
    SLOT(answer_chip(chip_info));
}

int dcmi_get_device_chip_info(int card_id, int device_id, struct dcmi_chip_info *chip_info)
{
    SLOT(answer_chip_old(chip_info));
}

int dcmiv2_get_device_chip_info(int dev_id, struct dcmi_chip_info_v2 *chip_info)
{
    DEVICE(answer_chip(chip_info));
}

int dcmi_get_device_board_info(int card_id, int device_id, struct dcmi_board_info *board_info)
{
    SLOT(answer_board(chip, board_info));
}

int dcmiv2_get_device_board_info(int dev_id, struct dcmi_board_info *board_info)
{
    DEVICE(answer_board(chip, board_info));
}

int dcmi_get_mainboard_id(int card_id, int device_id, unsigned int *mainboard_id)
{
    SLOT(answer_mainboard(mainboard_id));
}

int dcmiv2_get_mainboard_id(int dev_id, unsigned int *mainboard_id)
{
    DEVICE(answer_mainboard(mainboard_id));
}

int dcmi_get_product_type(int card_id, int device_id, char *product_type_str, int buf_size)
{
    SLOT(answer_product(product_type_str, buf_size));
}

int dcmi_get_device_die_v2(int card_id, int device_id, enum dcmi_die_type input_type,
                           struct dcmi_die_id *die_id)
{
    SLOT(answer_die(chip, input_type, die_id));
}

int dcmiv2_get_device_die_id(int dev_id, enum dcmi_die_type input_type, struct dcmi_die_id *die_id)
{
    DEVICE(answer_die(chip, input_type, die_id));
}

int dcmi_get_device_pcie_info_v2(int card_id, int device_id, struct dcmi_pcie_info_all *pcie_info)
{
    SLOT(answer_pci(chip, pcie_info));
}

int dcmiv2_get_device_pcie_info(int dev_id, struct dcmi_pcie_info_all *pcie_info)
{
    DEVICE(answer_pci(chip, pcie_info));
}

int dcmi_get_card_elabel_v2(int card_id, struct dcmi_elabel_info *elabel_info)
{
    CARD(answer_elabel(chip, elabel_info));
}

int dcmiv2_get_device_elabel_info(int dev_id, struct dcmi_elabel_info *elabel_info)
{
    DEVICE(answer_elabel(chip, elabel_info));
}

/* --- memory, utilisation, sensors, processes ---------------------------------------------- */

int dcmi_get_device_hbm_info(int card_id, int device_id, struct dcmi_hbm_info *hbm_info)
{
    SLOT(answer_hbm(chip, hbm_info));
}

int dcmiv2_get_device_hbm_info(int dev_id, struct dcmi_hbm_info *hbm_info)
{
    DEVICE(answer_hbm(chip, hbm_info));
}

int dcmi_get_device_memory_info_v3(int card_id, int device_id,
                                   struct dcmi_get_memory_info_stru *memory_info)
{
    SLOT(answer_ddr(chip, memory_info));
}

int dcmi_get_device_utilization_rate(int card_id, int device_id, int input_type,
                                     unsigned int *utilization_rate)
{
    SLOT(answer_utilisation(chip, input_type, utilization_rate));
}

int dcmiv2_get_device_utilization_rate(int dev_id, int input_type, unsigned int *utilization_rate)
{
    DEVICE(answer_utilisation(chip, input_type, utilization_rate));
}

int dcmi_get_device_multi_utilization_rate(int card_id, int device_id,
                                           struct dcmi_multi_utilization_info *util_info)
{
    SLOT(answer_multi(chip, util_info));
}

int dcmiv2_get_device_multi_utilization_rate(int dev_id,
                                             struct dcmi_multi_utilization_info *util_info)
{
    DEVICE(answer_multi(chip, util_info));
}

int dcmi_get_device_frequency(int card_id, int device_id, enum dcmi_freq_type input_type,
                              unsigned int *frequency)
{
    SLOT(answer_frequency(input_type, frequency));
}

int dcmiv2_get_device_frequency(int dev_id, enum dcmi_freq_type input_type,
                                unsigned int *frequency)
{
    DEVICE(answer_frequency(input_type, frequency));
}

int dcmi_get_device_temperature(int card_id, int device_id, int *temperature)
{
    SLOT(answer_temperature(chip, temperature));
}

int dcmiv2_get_device_temperature(int dev_id, int *temperature)
{
    DEVICE(answer_temperature(chip, temperature));
}

int dcmi_get_device_voltage(int card_id, int device_id, unsigned int *voltage)
{
    SLOT(answer_number(voltage, 80)); /* 0.01 V */
}

int dcmiv2_get_device_voltage(int dev_id, unsigned int *voltage)
{
    DEVICE(answer_number(voltage, 80));
}

int dcmi_get_device_power_info(int card_id, int device_id, int *power)
{
    SLOT(answer_power(power));
}

int dcmiv2_get_device_power_info(int dev_id, int *power)
{
    DEVICE(answer_power(power));
}

int dcmi_get_device_ecc_info(int card_id, int device_id, enum dcmi_device_type input_type,
                             struct dcmi_ecc_info *device_ecc_info)
{
    SLOT(answer_ecc(input_type, device_ecc_info));
}

int dcmiv2_get_device_ecc_info(int dev_id, enum dcmi_device_type input_type,
                               struct dcmi_ecc_info *device_ecc_info)
{
    DEVICE(answer_ecc(input_type, device_ecc_info));
}

int dcmi_get_device_resource_info(int card_id, int device_id, struct dcmi_proc_mem_info *proc_info,
                                  int *proc_num)
{
    SLOT(answer_processes(chip, proc_info, proc_num));
}

int dcmiv2_get_device_proc_mem_info(int dev_id, struct dcmi_proc_mem_info *proc_info,
                                    int *proc_num)
{
    DEVICE(answer_processes(chip, proc_info, proc_num));
}

/* --- health: the lost card's signature is NOT_READY, the code query masks it --------------- */

int dcmi_get_device_health(int card_id, int device_id, unsigned int *health)
{
    return CHIP(BY_SLOT, card_id, device_id, NOT_READY, answer_number(health, chip_health(chip)));
}

int dcmiv2_get_device_health(int dev_id, unsigned int *health)
{
    return CHIP(BY_LOGIC, dev_id, -1, NOT_READY, answer_number(health, chip_health(chip)));
}

int dcmi_get_device_errorcode_v2(int card_id, int device_id, int *error_count,
                                 unsigned int *error_code_list, unsigned int list_len)
{
    return CHIP(BY_SLOT, card_id, device_id, INNER_ERROR,
                answer_codes(chip, error_count, error_code_list, list_len));
}

int dcmiv2_get_device_error_code_list(int dev_id, int *error_count, unsigned int *error_code_list,
                                      unsigned int list_len)
{
    return CHIP(BY_LOGIC, dev_id, -1, INNER_ERROR,
                answer_codes(chip, error_count, error_code_list, list_len));
}

int dcmi_get_device_errorcode_string(int card_id, int device_id, unsigned int error_code,
                                     unsigned char *error_info, int buf_size)
{
    (void)error_code;
    SLOT(answer_text((char *)error_info, buf_size, 48, "fault of the fake library"));
}

int dcmiv2_get_device_error_info(int dev_id, unsigned int error_code, unsigned char *error_info,
                                 int buf_size)
{
    (void)error_code;
    DEVICE(answer_text((char *)error_info, buf_size, 48, "fault of the fake library"));
}

int dcmi_get_device_boot_status(int card_id, int device_id, enum dcmi_boot_status *boot_status)
{
    SLOT(answer_boot(chip, boot_status));
}

int dcmiv2_get_device_boot_status(int dev_id, enum dcmi_boot_status *boot_status)
{
    DEVICE(answer_boot(chip, boot_status));
}

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
