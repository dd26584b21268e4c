/* What one chip answers, whichever generation asks. Structures are always written in full size. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

#define SHARE_FLAG_SIZE 4u

static void copy_text(void *out, size_t size, const char *text)
{
    memset(out, 0, size);
    memcpy(out, text, strnlen(text, size));
}

/* A text and NULs over the whole buffer of the caller, so that a wrong size shows. */
int answer_text(char *out, int size, int least, const char *text)
{
    if (!out || size < least)
        return BAD_PARAMETER;
    copy_text(out, (size_t)size, text);
    out[size - 1] = '\0';
    return OK;
}

int answer_number(unsigned int *out, unsigned int value)
{
    if (!out)
        return BAD_PARAMETER;
    *out = value;
    return OK;
}

int answer_chip(struct dcmi_chip_info_v2 *out)
{
    if (!out)
        return BAD_PARAMETER;
    copy_text(out->chip_type, sizeof out->chip_type, "Ascend");
    copy_text(out->chip_name, sizeof out->chip_name, hardware.family->chip_name);
    copy_text(out->chip_ver, sizeof out->chip_ver, "V1");
    copy_text(out->npu_name, sizeof out->npu_name, hardware.family->npu_name);
    out->aicore_cnt = hardware.family->cores;
    return OK;
}

int answer_chip_old(struct dcmi_chip_info *out)
{
    struct dcmi_chip_info_v2 full;
    if (!out)
        return BAD_PARAMETER;
    answer_chip(&full);
    memcpy(out, &full, sizeof *out); /* the old form is the beginning of the new one */
    return OK;
}

int answer_board(const struct chip *chip, struct dcmi_board_info *out)
{
    if (!out)
        return BAD_PARAMETER;
    *out = (struct dcmi_board_info){hardware.family->board, 0, 0, (unsigned int)chip->card};
    return OK;
}

int answer_mainboard(unsigned int *out)
{
    if (hardware.family->mainboard == NONE)
        return NOT_SUPPORTED;
    return answer_number(out, hardware.family->mainboard);
}

int answer_product(char *out, int size)
{
    if (!hardware.family->product)
        return NOT_SUPPORTED;
    return answer_text(out, size, PRODUCT_TYPE_LEN_MIN, hardware.family->product);
}

int answer_die(const struct chip *chip, enum dcmi_die_type type, struct dcmi_die_id *out)
{
    enum dcmi_die_type served =
        hardware.api == API_V2 ? DCMI_DIE_TYPE_DDIE : DCMI_DIE_TYPE_VDIE;
    bool old = type == DCMI_DIE_TYPE_NDIE && hardware.family->old_die;
    bool alike = type == DCMI_DIE_TYPE_DDIE && hardware.api == API_V1; /* reads the same register */
    if (!out || type >= DCMI_DIE_TYPE_INVALID)
        return BAD_PARAMETER;
    if (type != served && !old && !alike)
        return NOT_SUPPORTED;
    unsigned int first = (old ? 0x0BAD0000u : 0x1A2B3C00u) + (unsigned int)chip->phy;
    *out = (struct dcmi_die_id){{first, 0x5, 0xDEADBEEF, 0, 0x00FF00FF}};
    return OK;
}

int answer_pci(const struct chip *chip, struct dcmi_pcie_info_all *out)
{
    unsigned int place = 0xC1u + (unsigned int)chip->phy;
    if (!hardware.family->pci)
        return NOT_SUPPORTED;
    if (!out)
        return BAD_PARAMETER;
    *out = (struct dcmi_pcie_info_all){.venderid = 0x19E5, .subvenderid = 0x19E5,
                                       .deviceid = hardware.family->pci_device,
                                       .subdeviceid = 0x4000, .domain = (int)(place >> 8),
                                       .bdf_busid = place & 0xFF};
    return OK;
}

int answer_elabel(const struct chip *chip, struct dcmi_elabel_info *out)
{
    char serial[32];
    if (!out)
        return BAD_PARAMETER;
    snprintf(serial, sizeof serial, "SN%014d", chip->card);
    copy_text(out->product_name, sizeof out->product_name, "Fake card");
    copy_text(out->model, sizeof out->model, hardware.family->preset);
    copy_text(out->manufacturer, sizeof out->manufacturer, "Huawei");
    copy_text(out->manufacturer_date, sizeof out->manufacturer_date, "2026-01-01");
    copy_text(out->serial_number, sizeof out->serial_number, serial);
    return OK;
}

int answer_hbm(const struct chip *chip, struct dcmi_hbm_info *out)
{
    if (!hardware.family->hbm_mib)
        return NOT_SUPPORTED;
    if (!out)
        return BAD_PARAMETER;
    *out = (struct dcmi_hbm_info){.memory_size = hardware.family->hbm_mib, .freq = 1600,
                                  .memory_usage = chip->used_mib, .temp = chip->temperature,
                                  .bandwith_util_rate = chip->utilisation[10]};
    return OK;
}

int answer_ddr(const struct chip *chip, struct dcmi_get_memory_info_stru *out)
{
    unsigned int size = hardware.family->ddr_mib;
    if (!size)
        return NOT_SUPPORTED;
    if (!out)
        return BAD_PARAMETER;
    memset(out, 0, sizeof *out);
    out->memory_size = size;
    out->memory_available = chip->used_mib < size ? size - chip->used_mib : 0;
    out->freq = 1600;
    out->hugepagesize = 2048;
    out->utiliza = chip->used_mib * 100 / size;
    return OK;
}

int answer_utilisation(const struct chip *chip, int type, unsigned int *out)
{
    if (!out || type < 0 || type >= MAX_UTILISATION)
        return BAD_PARAMETER;
    if (!(hardware.family->utilisation & BIT(type)))
        return NOT_SUPPORTED;
    *out = chip->utilisation[type];
    return OK;
}

int answer_multi(const struct chip *chip, struct dcmi_multi_utilization_info *out)
{
    if (!hardware.family->multi_utilisation)
        return NOT_SUPPORTED;
    if (!out)
        return BAD_PARAMETER;
    const unsigned int *rates = chip->utilisation;
    *out = (struct dcmi_multi_utilization_info){rates[14], rates[12], rates[2], rates[13], {0}};
    return OK;
}

int answer_frequency(enum dcmi_freq_type type, unsigned int *out)
{
    bool vector = type == DCMI_FREQ_TYPE_VECTORCORE_CURRENT;
    if (type == DCMI_FREQ_TYPE_HBM ? !hardware.family->hbm_mib
                                   : vector && hardware.family->hbm_mib)
        return NOT_SUPPORTED;
    return answer_number(out, 800u + 100u * (unsigned int)type);
}

int answer_temperature(const struct chip *chip, int *out)
{
    if (!out)
        return BAD_PARAMETER;
    *out = chip->temperature;
    return OK;
}

int answer_power(int *out)
{
    if (!out)
        return BAD_PARAMETER;
    *out = 915; /* 0.1 W */
    return OK;
}

/* The published driver writes the first 28 of 36 bytes; the fake writes all of them. */
int answer_ecc(enum dcmi_device_type type, struct dcmi_ecc_info *out)
{
    bool hbm = type == DCMI_DEVICE_TYPE_HBM && hardware.family->hbm_mib;
    bool ddr = type == DCMI_DEVICE_TYPE_DDR && hardware.family->ddr_mib;
    if (!hbm && !ddr)
        return NOT_SUPPORTED;
    if (!out)
        return BAD_PARAMETER;
    *out = (struct dcmi_ecc_info){.enable_flag = 1, .single_bit_error_cnt = 2,
                                  .total_single_bit_error_cnt = 7};
    return OK;
}

int answer_processes(const struct chip *chip, struct dcmi_proc_mem_info *out, int *count)
{
    if (!out || !count)
        return BAD_PARAMETER;
    memcpy(out, chip->processes, (size_t)chip->running * sizeof *out);
    *count = chip->running;
    return OK;
}

/* A claimed count answers 0 and lies: the list holds what fits, the rest of it stays stale. */
int answer_codes(const struct chip *chip, int *count, unsigned int *list, unsigned int size)
{
    if (!count || !list || size == 0)
        return BAD_PARAMETER;
    if (chip->claimed == AUTO && (unsigned int)chip->codes > size)
        return BAD_PARAMETER;
    *count = chip->claimed == AUTO ? chip->codes : (int)chip->claimed;
    for (unsigned int i = 0; i < size; i++)
        list[i] = i < (unsigned int)chip->codes ? chip->standing[i].code : STALE;
    return OK;
}

int answer_boot(const struct chip *chip, enum dcmi_boot_status *out)
{
    if (!out)
        return BAD_PARAMETER;
    *out = (enum dcmi_boot_status)chip->boot_status;
    return OK;
}

int answer_share(const struct chip *chip, unsigned int *out)
{
    return answer_number(out, (unsigned int)chip->share);
}

/* A card on which something runs can't be switched; setting what is set already is no change. */
static bool keeps_share(const struct chip *chip, unsigned int value)
{
    for (int i = 0; i < hardware.count; i++) {
        const struct chip *other = &hardware.chips[i];
        if (other->card == chip->card && other->running && other->share != (int)value)
            return true;
    }
    return false;
}

/* One call switches every chip of the card. The host remembers it for the next process. */
int change_share(struct chip *chip, unsigned int value)
{
    char line[64];
    if (value > 1)
        return BAD_PARAMETER;
    if (keeps_share(chip, value))
        return OCCUPIED;
    for (int i = 0; i < hardware.count; i++) {
        struct chip *other = &hardware.chips[i];
        if (other->card != chip->card)
            continue;
        other->share = (int)value;
        snprintf(line, sizeof line, "share %d %u\n", other->phy, value);
        script_record(line);
    }
    return OK;
}

static bool is_share(enum dcmi_main_cmd main, unsigned int sub)
{
    return main == DCMI_MAIN_CMD_DEVICE_SHARE && sub == 0;
}

/* The generic channel: of its commands the share flag and vNPUs are served so far. */
int answer_info(struct chip *chip, enum dcmi_main_cmd main, unsigned int sub, void *out,
                unsigned int *size)
{
    if (!out || !size)
        return BAD_PARAMETER;
    if (main == DCMI_MAIN_CMD_VDEV_MNG)
        return answer_vnpus(chip, sub, out, size);
    if (!is_share(main, sub))
        return NOT_SUPPORTED;
    if (*size < SHARE_FLAG_SIZE)
        return BAD_PARAMETER;
    *size = SHARE_FLAG_SIZE;
    return answer_share(chip, out);
}

int change_info(struct chip *chip, enum dcmi_main_cmd main, unsigned int sub, const void *value,
                unsigned int size)
{
    unsigned int flag;
    if (!is_share(main, sub))
        return NOT_SUPPORTED;
    if (!value || size != SHARE_FLAG_SIZE)
        return BAD_PARAMETER;
    memcpy(&flag, value, sizeof flag);
    return change_share(chip, flag);
}

/* The library isn't told the buffer's size and writes up to 32 bytes; here always all of them. */
int answer_affinity(const struct chip *chip, char *out, int *length)
{
    const char *text = chip->phy % 8 < 4 ? "0-63,128-191" : "64-127,192-255";
    if (!hardware.family->affinity)
        return NOT_SUPPORTED;
    if (!out || !length)
        return BAD_PARAMETER;
    copy_text(out, AFFINITY_SIZE, text);
    *length = (int)strlen(text);
    return OK;
}

int answer_topology(const struct chip *one, const struct chip *other, int *out)
{
    enum { SAME = 0, SYS = 1, HCCS = 3, SIO = 6, HCCS_SWITCH = 7, UB = 8 };
    if (!hardware.family->topology)
        return NOT_SUPPORTED;
    if (!out || !other)
        return BAD_PARAMETER;
    if (one == other)
        *out = SAME;
    else if (hardware.api == API_V2)
        *out = UB;
    else if (hardware.family->chips_per_card > 1)
        *out = one->card == other->card ? SIO : HCCS_SWITCH;
    else
        *out = one->phy / 8 == other->phy / 8 ? HCCS : SYS;
    return OK;
}
