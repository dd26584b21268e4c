/* Exported: memory, utilisation, sensors, processes, health. */
#include "calls.h"

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
