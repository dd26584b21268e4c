/* The vNPUs of a chip: what the info channel tells of them, and what goes away.
 *
 * They come by a script alone, as a container runtime or another program would have cut them. A
 * chip whose family has no templates can't be cut: it answers NOT_SUPPORTED to every question.
 */
#include "fake.h"

#include <stdio.h>
#include <string.h>

enum { EACH = 0, TOTAL = 1, ACTIVITY = 5, UNUSED = 0xFF };

static struct vnpu *find(struct chip *chip, unsigned int id)
{
    for (int i = 0; i < chip->vnpu_count; i++)
        if (chip->vnpus[i].id == id)
            return &chip->vnpus[i];
    return NULL;
}

/* Put a vNPU in place; one that is there already is changed. False: there is no room. */
bool vnpu_put(struct chip *chip, const struct vnpu *vnpu)
{
    struct vnpu *place = find(chip, vnpu->id);
    if (!place) {
        if (chip->vnpu_count == MAX_VDEV)
            return false;
        place = &chip->vnpus[chip->vnpu_count++];
    }
    *place = *vnpu;
    return true;
}

/* Take one vNPU away; one that is not there is fine: a script may be read by who wrote it. */
bool vnpu_take(struct chip *chip, unsigned int id)
{
    struct vnpu *place = find(chip, id);
    if (!place)
        return false;
    struct vnpu *last = &chip->vnpus[--chip->vnpu_count];
    memmove(place, place + 1, (size_t)(last - place) * sizeof *place);
    return true;
}

/* Full-size writes; what this fake does not count is "not supported" all over. */
static void describe(struct dcmi_vdev_query_info *out, const struct vnpu *vnpu)
{
    memset(out, UNUSED, sizeof *out);
    memcpy(out->name, vnpu->name, sizeof out->name);
    out->status = 0;
    out->is_container_used = vnpu->used;
    out->vfid = vnpu->id - VDEV_ID_MIN;
    out->container_id = vnpu->container;
}

static int answer_each(struct chip *chip, struct dcmi_vdev_query_stru *out, unsigned int *size)
{
    struct vnpu *vnpu = *size < sizeof *out ? NULL : find(chip, out->vdev_id);
    if (!vnpu)
        return BAD_PARAMETER;
    *size = sizeof *out;
    describe(&out->query_info, vnpu);
    return OK;
}

static int answer_total(const struct chip *chip, struct dcmi_soc_total_resource *out,
                        unsigned int *size)
{
    if (*size < sizeof *out)
        return BAD_PARAMETER;
    *size = sizeof *out;
    memset(out, UNUSED, sizeof *out);
    for (int i = 0; i < MAX_VDEV; i++)
        out->vdev_id[i] = i < chip->vnpu_count ? chip->vnpus[i].id : STALE;
    out->vdev_num = chip->claimed_vnpus == AUTO ? (unsigned int)chip->vnpu_count
                                                : (unsigned int)chip->claimed_vnpus;
    out->computing.aic = (float)hardware.family->cores;
    return OK;
}

int answer_vnpus(struct chip *chip, unsigned int sub, void *out, unsigned int *size)
{
    if (!hardware.family->cuttable)
        return NOT_SUPPORTED;
    if (sub == EACH || sub == ACTIVITY)
        return answer_each(chip, out, size);
    return sub == TOTAL ? answer_total(chip, out, size) : NOT_SUPPORTED;
}

static void record_gone(const struct chip *chip, unsigned int id)
{
    char line[64];
    snprintf(line, sizeof line, "vnpu %d %u gone\n", chip->phy, id);
    script_record(line);
}

/* One vNPU, or every one of the chip. The host remembers it for the next process. */
int change_vnpus(struct chip *chip, unsigned int id)
{
    if (!hardware.family->cuttable)
        return NOT_SUPPORTED;
    if (id == DESTROY_ALL_VDEV) {
        while (chip->vnpu_count)
            record_gone(chip, chip->vnpus[--chip->vnpu_count].id);
        return OK;
    }
    if (id < VDEV_ID_MIN || id >= VDEV_ID_END || !vnpu_take(chip, id))
        return BAD_PARAMETER;
    record_gone(chip, id);
    return OK;
}
