/* What an init remembers of the hardware, and the calls that read nothing else. */
#include "fake.h"

#include <stdlib.h>

struct snapshot snapshot;

static bool found(const struct chip *chip)
{
    return chip->present && snapshot.inits >= chip->from_init;
}

static bool usable(int card)
{
    for (int i = 0; i < hardware.count; i++)
        if (hardware.chips[i].card == card && found(&hardware.chips[i]))
            return true;
    return false;
}

static bool listed(int card)
{
    for (int i = 0; i < snapshot.card_count; i++)
        if (snapshot.cards[i] == card)
            return true;
    return false;
}

static int ascending(const void *one, const void *other)
{
    return *(const int *)one - *(const int *)other;
}

/* Rebuild the snapshot: cards that don't answer stay counted as -1, logic ids close the gap. */
static void take(void)
{
    snapshot = (struct snapshot){.taken = true, .inits = snapshot.inits + 1};
    for (int i = 0; i < hardware.count; i++) {
        struct chip *chip = &hardware.chips[i];
        if (usable(chip->card) && !listed(chip->card) && snapshot.card_count < MAX_CARDS)
            snapshot.cards[snapshot.card_count++] = chip->card;
        if (found(chip) && listed(chip->card)) {
            snapshot.entries[snapshot.count] = (struct entry){chip, snapshot.count};
            snapshot.count++;
        }
    }
    for (int i = 0; i < hardware.count && snapshot.card_count < MAX_CARDS; i++) {
        const struct chip *chip = &hardware.chips[i];
        if (chip->counted && hardware_first(chip->card) == chip && !usable(chip->card)) {
            snapshot.cards[snapshot.card_count++] = -1;
            snapshot.unusable = true;
        }
    }
    qsort(snapshot.cards, (size_t)snapshot.card_count, sizeof *snapshot.cards, ascending);
}

static int initialise(const char *symbol)
{
    struct call call;
    int rc = begin_host(&call, symbol);
    if (rc == NOT_SUPPORTED && hardware.api == API_NONE)
        rc = INNER_ERROR; /* the driver is still loading */
    if (rc == OK)
        take();
    return gate_leave(&call, rc);
}

int dcmi_init(void)
{
    return initialise(__func__);
}

int dcmiv2_init(void)
{
    return initialise(__func__);
}

struct entry *snapshot_find(enum addressing how, int first, int second)
{
    for (int i = 0; i < snapshot.count; i++) {
        struct entry *entry = &snapshot.entries[i];
        if ((how == BY_LOGIC && entry->logic == first) ||
            (how == BY_PHY && entry->chip->phy == first) ||
            (how == BY_CARD && entry->chip->card == first) ||
            (how == BY_SLOT && entry->chip->card == first && entry->chip->slot == second))
            return entry;
    }
    return NULL;
}

/* Return the logic id of *chip* in this snapshot, -1 when it is not in it. */
int snapshot_logic(const struct chip *chip)
{
    for (int i = 0; i < snapshot.count; i++)
        if (snapshot.entries[i].chip == chip)
            return snapshot.entries[i].logic;
    return -1;
}

static int chips_of(int card)
{
    int count = 0;
    for (int i = 0; i < snapshot.count; i++)
        count += snapshot.entries[i].chip->card == card;
    return count;
}

static bool has_mcu(void)
{
    return hardware.family->product != NULL;
}

/* Enter a call of the first generation that reads the snapshot and never touches hardware. */
static int begin_lookup(struct call *call, const char *symbol, enum addressing how, int first,
                        int second)
{
    int rc = gate_enter(call, symbol, how, first, second);
    return rc == OK && hardware.api == API_V2 ? NOT_SUPPORTED : rc;
}

static int list_cards(const char *symbol, int *count, int *list, int size)
{
    struct call call;
    int rc = begin_host(&call, symbol);
    if (rc == OK && !snapshot.taken)
        rc = INNER_ERROR;
    if (rc == OK && (!count || !list || size <= 0 || size < snapshot.card_count))
        rc = BAD_PARAMETER;
    if (rc == OK) {
        *count = snapshot.card_count;
        for (int i = 0; i < size; i++)
            list[i] = i < snapshot.card_count ? snapshot.cards[i] : (int)(STALE & 0x7F);
    }
    return gate_leave(&call, rc);
}

int dcmi_get_card_list(int *card_num, int *card_list, int list_len)
{
    return list_cards(__func__, card_num, card_list, list_len);
}

int dcmi_get_card_num_list(int *card_num, int *card_list, int list_len)
{
    return list_cards(__func__, card_num, card_list, list_len);
}

/* The other generation's list: one unusable chip makes the whole call fail. */
int dcmiv2_get_device_list(int *device_list, int *device_cnt, int list_len)
{
    struct call call;
    int rc = begin_host(&call, __func__);
    if (rc == OK && (!snapshot.taken || snapshot.unusable))
        rc = INNER_ERROR;
    if (rc == OK && (!device_list || !device_cnt || list_len <= 0 || list_len < snapshot.count))
        rc = BAD_PARAMETER;
    if (rc == OK) {
        *device_cnt = snapshot.count;
        for (int i = 0; i < list_len; i++)
            device_list[i] = i < snapshot.count ? snapshot.entries[i].logic : (int)(STALE & 0x7F);
    }
    return gate_leave(&call, rc);
}

static int count_chips(const char *symbol, int *count)
{
    struct call call;
    int rc = begin_host(&call, symbol);
    if (rc == OK && !count)
        rc = BAD_PARAMETER;
    if (rc == OK)
        *count = hardware.count;
    return gate_leave(&call, rc);
}

int dcmi_get_all_device_count(int *all_device_count)
{
    return count_chips(__func__, all_device_count);
}

int dcmiv2_get_all_device_count(int *all_device_count)
{
    return count_chips(__func__, all_device_count);
}

int dcmi_get_device_num_in_card(int card_id, int *device_num)
{
    struct call call;
    int rc = begin_lookup(&call, __func__, BY_CARD, card_id, -1);
    if (rc == OK && (!device_num || (snapshot.taken && chips_of(card_id) == 0)))
        rc = BAD_PARAMETER;
    if (rc == OK)
        *device_num = chips_of(card_id);
    return gate_leave(&call, rc);
}

int dcmi_get_device_id_in_card(int card_id, int *device_id_max, int *mcu_id, int *cpu_id)
{
    struct call call;
    int rc = begin_lookup(&call, __func__, BY_CARD, card_id, -1);
    int count = chips_of(card_id);
    if (rc == OK && (!device_id_max || !mcu_id || !cpu_id || count == 0))
        rc = BAD_PARAMETER;
    if (rc == OK) {
        *device_id_max = count;
        *mcu_id = has_mcu() ? count : -1;
        *cpu_id = -1;
    }
    return gate_leave(&call, rc);
}

int dcmi_get_device_type(int card_id, int device_id, enum dcmi_unit_type *device_type)
{
    struct call call;
    int rc = begin_lookup(&call, __func__, BY_SLOT, card_id, device_id);
    bool mcu = has_mcu() && chips_of(card_id) > 0 && device_id == chips_of(card_id);
    if (rc == OK && (!device_type || (!mcu && !snapshot_find(BY_SLOT, card_id, device_id))))
        rc = BAD_PARAMETER;
    if (rc == OK)
        *device_type = mcu ? DCMI_UNIT_TYPE_MCU : DCMI_UNIT_TYPE_NPU;
    return gate_leave(&call, rc);
}

static int logic_of(int card, int slot, int *logic)
{
    if (!snapshot.taken)
        return NOT_READY;
    if (!logic || card < 0 || slot < 0)
        return BAD_PARAMETER;
    struct entry *entry = snapshot_find(BY_SLOT, card, slot);
    if (entry)
        *logic = entry->logic;
    if (!entry && has_mcu() && chips_of(card) > 0 && slot == chips_of(card))
        return NOT_SUPPORTED;
    return entry ? OK : BAD_PARAMETER;
}

/* The output comes first here. */
int dcmi_get_device_logic_id(int *device_logic_id, int card_id, int device_id)
{
    struct call call;
    int rc = begin_lookup(&call, __func__, BY_SLOT, card_id, device_id);
    return gate_leave(&call, rc != OK ? rc : logic_of(card_id, device_id, device_logic_id));
}

static int address_of(const char *symbol, enum addressing how, unsigned int id, int *card,
                      int *slot)
{
    struct call call;
    int rc = begin_lookup(&call, symbol, how, (int)id, -1);
    struct entry *entry = snapshot_find(how, (int)id, -1);
    if (rc == OK && (!card || !slot))
        rc = BAD_PARAMETER;
    if (rc == OK && !entry)
        rc = NO_DEVICE;
    if (rc == OK) {
        *card = entry->chip->card;
        *slot = entry->chip->slot;
    }
    return gate_leave(&call, rc);
}

int dcmi_get_card_id_device_id_from_logicid(int *card_id, int *device_id,
                                            unsigned int device_logic_id)
{
    return address_of(__func__, BY_LOGIC, device_logic_id, card_id, device_id);
}

int dcmi_get_card_id_device_id_from_phyid(int *card_id, int *device_id, unsigned int device_phy_id)
{
    return address_of(__func__, BY_PHY, device_phy_id, card_id, device_id);
}
