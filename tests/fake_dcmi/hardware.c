/* The host's hardware: the presets, and the chips that a preset puts in place. */
#include "fake.h"

#include <string.h>
#include <time.h>

struct hardware hardware;

#define TYPES_310 (BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(5))
#define TYPES_910A (TYPES_310 | BIT(6) | BIT(10))
#define TYPES_910B (BIT(2) | BIT(3) | BIT(4) | BIT(6) | BIT(10) | BIT(12) | BIT(13))
#define TYPES_950 (TYPES_910B | BIT(14))

#define FAMILY_910B(name, core_count, memory) \
    {.preset = name, .api = API_V1, .chip_name = name, .npu_name = name, .cores = core_count, \
     .board = 0x30, .mainboard = 0x02, .pci_device = 0xD802, .hbm_mib = memory, \
     .idle_mib = 3400, .npus = 8, .chips_per_card = 1, .utilisation = TYPES_910B, \
     .callbacks = true, .multi_utilisation = true, .affinity = true, .topology = true, .pci = true, \
     .cuttable = true}

#define FAMILY_910C(name, board_id, mainboard_id, has_partner) \
    {.preset = name, .api = API_V1, .chip_name = "Ascend910", .npu_name = "9391", .cores = 24, \
     .board = board_id, .mainboard = mainboard_id, .pci_device = 0xD803, .hbm_mib = 65536, \
     .idle_mib = 3400, .npus = 16, .chips_per_card = 2, .utilisation = TYPES_910B, \
     .callbacks = true, .multi_utilisation = true, .topology = true, .pci = true, \
     .partner = has_partner, .affinity = (mainboard_id) == 0x15, .switches = true}

#define FAMILY_950(name, board_id, mainboard_id, count, on_pci) \
    {.preset = name, .api = API_V2, .chip_name = "Ascend950PR", .npu_name = "9579", .cores = 32, \
     .board = board_id, .mainboard = mainboard_id, .pci_device = 0xD806, .hbm_mib = 131072, \
     .idle_mib = 3400, .npus = count, .chips_per_card = 1, .utilisation = TYPES_950, \
     .multi_utilisation = true, .affinity = true, .topology = true, .pci = on_pci}

static const struct family FAMILIES[] = {
    {.preset = "310", .api = API_V1, .chip_name = "310", .npu_name = "310",
     .product = "Atlas 300I Model 3010", .board = 0x01, .mainboard = NONE, .pci_device = 0xD100,
     .ddr_mib = 8192, .idle_mib = 2703, .npus = 4, .chips_per_card = 4, .utilisation = TYPES_310,
     .pci = true},
    {.preset = "310B4", .api = API_V1, .chip_name = "310B4", .npu_name = "310B4",
     .product = "Atlas 200I A2", .cores = 1, .board = 0x00, .mainboard = NONE,
     .pci_device = 0xD105, .ddr_mib = 15609, .idle_mib = 2800, .npus = 1, .chips_per_card = 1,
     .utilisation = TYPES_310, .callbacks = true, .pci = true},
    {.preset = "310P3", .api = API_V1, .chip_name = "310P3", .npu_name = "310P3",
     .product = "Atlas 300I Pro", .cores = 8, .board = 0x64, .mainboard = NONE,
     .pci_device = 0xD500, .ddr_mib = 21527, .idle_mib = 1500, .npus = 1, .chips_per_card = 1,
     .utilisation = TYPES_310, .callbacks = true, .pci = true, .cuttable = true},
    {.preset = "310P3-duo", .api = API_V1, .chip_name = "310P3", .npu_name = "310P3",
     .product = "Atlas 300I Duo", .cores = 8, .board = 0x97, .mainboard = NONE,
     .pci_device = 0xD500, .ddr_mib = 44280, .idle_mib = 1500, .npus = 2, .chips_per_card = 2,
     .utilisation = TYPES_310, .callbacks = true, .pci = true, .cuttable = true},
    {.preset = "910A", .api = API_V1, .chip_name = "910A", .npu_name = "910A", .cores = 30,
     .board = 0x02, .mainboard = NONE, .pci_device = 0xD801, .hbm_mib = 32768, .ddr_mib = 15037,
     .idle_mib = 2800, .npus = 8, .chips_per_card = 1, .utilisation = TYPES_910A,
     .callbacks = true, .old_die = true, .pci = true, .cuttable = true},
    FAMILY_910B("910B1", 24, 65536),
    FAMILY_910B("910B2", 24, 65536),
    FAMILY_910B("910B3", 20, 65536),
    FAMILY_910B("910B4", 20, 32768),
    FAMILY_910C("910C", 0xB3, 0x14, true),
    FAMILY_910C("910C-x86", 0xB3, 0x15, true),
    FAMILY_910C("910C-9000", 0xB1, 0x1C, false),
    FAMILY_950("950", 0x28, 0x23, 8, false),
    FAMILY_950("950-card", 0x18, 0x6C, 4, true),
};

/* Hosts on which one id can't pass for another: card, slot, physical id, in order of logic ids. */
struct layout {
    const char *preset, *family;
    int count;
    int places[4][3];
};

static const struct layout LAYOUTS[] = {
    {"mixed-ids", "910C", 4, {{4, 1, 7}, {9, 0, 5}, {9, 1, 0}, {4, 0, 6}}},
    {"sparse-cards", "910B3", 4, {{1, 0, 2}, {4, 0, 3}, {5, 0, 6}, {12, 0, 7}}},
    {"mixed-ids-950", "950", 4, {{7, 0, 7}, {5, 0, 5}, {0, 0, 0}, {6, 0, 6}}},
};

static const struct family *find_family(const char *preset)
{
    for (size_t i = 0; i < sizeof FAMILIES / sizeof *FAMILIES; i++)
        if (!strcmp(FAMILIES[i].preset, preset))
            return &FAMILIES[i];
    return NULL;
}

struct chip *hardware_add(int card, int slot, int phy)
{
    if (hardware.count == MAX_CHIPS || hardware_at(card, slot) || hardware_phy(phy))
        return NULL;
    struct chip *chip = &hardware.chips[hardware.count++];
    *chip = (struct chip){.card = card, .slot = slot, .phy = phy, .present = true, .counted = true,
                          .health = AUTO, .claimed = AUTO, .claimed_vnpus = AUTO,
                          .used_mib = hardware.family->idle_mib,
                          .temperature = 41, .boot_status = 16};
    for (int type = 0; type < MAX_UTILISATION; type++)
        chip->utilisation[type] = 3u + (unsigned int)type;
    return chip;
}

static bool install_layout(const char *preset)
{
    for (size_t i = 0; i < sizeof LAYOUTS / sizeof *LAYOUTS; i++) {
        const struct layout *layout = &LAYOUTS[i];
        if (strcmp(layout->preset, preset))
            continue;
        hardware_install(layout->family, 0);
        for (int n = 0; n < layout->count; n++)
            hardware_add(layout->places[n][0], layout->places[n][1], layout->places[n][2]);
        return true;
    }
    return false;
}

/* Replace the whole host. *npus* -1: as many as the preset usually has; 0: none, to be placed. */
bool hardware_install(const char *preset, int npus)
{
    const struct family *family = find_family(preset);
    if (!family)
        return install_layout(preset);
    hardware = (struct hardware){.family = family, .api = family->api,
                                 .callbacks = family->callbacks, .switches = family->switches};
    if (npus < 0)
        npus = family->npus;
    for (int phy = 0; phy < npus; phy++)
        if (!hardware_add(phy / family->chips_per_card, phy % family->chips_per_card, phy))
            return false;
    return true;
}

struct chip *hardware_at(int card, int slot)
{
    for (int i = 0; i < hardware.count; i++)
        if (hardware.chips[i].card == card && hardware.chips[i].slot == slot)
            return &hardware.chips[i];
    return NULL;
}

struct chip *hardware_first(int card)
{
    for (int i = 0; i < hardware.count; i++)
        if (hardware.chips[i].card == card)
            return &hardware.chips[i];
    return NULL;
}

struct chip *hardware_phy(int phy)
{
    for (int i = 0; i < hardware.count; i++)
        if (hardware.chips[i].phy == phy)
            return &hardware.chips[i];
    return NULL;
}

static struct standing *find_standing(struct chip *chip, unsigned int code)
{
    for (int i = 0; i < chip->codes; i++)
        if (chip->standing[i].code == code)
            return &chip->standing[i];
    return NULL;
}

static unsigned long long wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (unsigned long long)now.tv_sec * 1000 + (unsigned long long)now.tv_nsec / 1000000;
}

void chip_raise(struct chip *chip, unsigned int code, unsigned char severity)
{
    if (!find_standing(chip, code) && chip->codes < MAX_CODES)
        chip->standing[chip->codes++] = (struct standing){code, severity, wall_ms()};
}

/* Return when *code* was raised on *chip*, now if it does not stand. */
unsigned long long chip_raised_ms(struct chip *chip, unsigned int code)
{
    const struct standing *found = find_standing(chip, code);
    return found ? found->raised_ms : wall_ms();
}

/* Remove *code* and return when it had been raised: a recovery carries that time. */
unsigned long long chip_clear(struct chip *chip, unsigned int code)
{
    struct standing *found = find_standing(chip, code);
    if (!found)
        return wall_ms();
    unsigned long long raised_ms = found->raised_ms;
    *found = chip->standing[--chip->codes];
    return raised_ms;
}

/* The highest standing severity, unless a script set the value. */
unsigned int chip_health(const struct chip *chip)
{
    if (chip->health != AUTO)
        return (unsigned int)chip->health;
    unsigned int worst = 0;
    for (int i = 0; i < chip->codes; i++)
        if (chip->standing[i].severity > worst)
            worst = chip->standing[i].severity;
    return worst;
}
