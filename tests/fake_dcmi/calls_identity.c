/* Exported: versions, the host, identifiers that the kernel converts, identity. */
#include "calls.h"

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
